//! A recipe's steps as a shell script for an emulated machine, and what it has to leave.

use std::fmt::Write as _;

use hopcost_method::advice::Step;

use super::{Case, Kind, filled, kind, owned};

/// Leaves `before.N`, `shown.N` and `after.N`, what the Nth check said; fails if a line does.
///
/// `APP` goes into the background and leaves its first process's id in the file `pid`. Such a
/// program runs before and, as the comments of `undo` say, afterwards without what was put before
/// it.
pub fn script(case: &Case, step: &Step) -> String {
    let values = owned(case.values);
    let mut out = "set -e\n".to_owned();
    for line in case.given {
        let _ = writeln!(out, "{line}");
    }
    let starts = starts(step);
    // The child last: its parent ends with it.
    let again = "kill $(cat pid) $(pgrep -P $(cat pid))\nrm pid\n";
    if starts {
        out += "sh /app\n";
    }
    let checks = |out: &mut String, when: &str| {
        out.push_str("pid=$(cat pid 2>/dev/null) || true\n");
        for (number, line) in checks(step).enumerate() {
            let _ = writeln!(out, "{{ {}\n}} > {when}.{number}", filled(line, &values));
        }
    };
    let lines = |out: &mut String, lines: &[String]| {
        for line in lines.iter().filter(|line| kind(line) == Kind::Shell) {
            let _ = writeln!(out, "{}", filled(line, &values));
        }
    };
    checks(&mut out, "before");
    if starts {
        out += again;
    }
    lines(&mut out, &step.lines);
    checks(&mut out, "shown");
    lines(&mut out, &step.undo);
    if starts {
        out = out + again + "sh /app\n";
    }
    checks(&mut out, "after");
    out + "[ ! -e pid ] || kill $(cat pid) $(pgrep -P $(cat pid))\n"
}

fn starts(step: &Step) -> bool {
    let names = |line: &String| line.ends_with(" APP") || line.ends_with(" START_COMMAND");
    let undone = |line: &String| line.starts_with("# start ") && line.contains(" without ");
    let starts = step.lines.iter().any(names);
    assert!(!starts || step.undo.iter().all(undone), "{:?}", step.undo);
    starts
}

/// An experiment takes too long there.
fn checks(step: &Step) -> impl Iterator<Item = &String> {
    let is_executed = |line: &&String| match kind(line) {
        Kind::Shell => true,
        Kind::Hopcost => !line.starts_with("hopcost run "),
        Kind::Sql | Kind::Comment => false,
    };
    step.check.iter().filter(is_executed)
}

/// What a check shows after `do` it shows neither before nor after `undo`. `read` has the files.
pub fn assert_done_and_undone<'a>(case: &Case, step: &Step, read: impl Fn(&str) -> &'a str) {
    let name = case.recipe;
    let checks: Vec<&String> = checks(step).collect();
    assert_eq!(checks.len(), case.shows.len(), "{name}: {checks:?}");
    assert!(case.shows.iter().any(|wanted| !wanted.is_empty()), "{name}: nothing is asked");
    for (number, wanted) in case.shows.iter().enumerate() {
        let [before, shown, after] =
            ["before", "shown", "after"].map(|when| read(&format!("{when}.{number}")));
        assert!(super::shows(shown, wanted), "{name}: {wanted}: {shown}");
        for other in [before, after].iter().filter(|_| !wanted.is_empty()) {
            assert!(!super::shows(other, wanted), "{name}: not undone: {wanted}: {other}");
        }
    }
}
