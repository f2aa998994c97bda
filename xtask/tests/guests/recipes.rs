//! Recipes of advice that change a host or how a program is started, in one boot.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::Result;
use hopcost_method::advice::Step;
use hopcost_testkit::recipes::{Case, assert_done_and_undone, cases, has_sql, measured, script};
use xtask::vm::{Kernel, Load};

use crate::steps::{Steps, Tried};

/// Not busybox's, which know fewer options and which its shell prefers.
const PROGRAMS: [&str; 4] = ["taskset", "sysctl", "pgrep", "migratepages"];

/// A program that stays, with some memory and a second process.
const APP: &str = r#"
awk 'BEGIN {
    for (n = 0; n < 100000; n++) held[n] = n
    system("touch ready; exec sleep 1000")
}' > /dev/null 2>&1 &
echo $! > pid
until [ -e ready ]; do sleep 0.1; done
rm ready
"#;

fn all() -> &'static [(&'static str, &'static Case, Step)] {
    static ALL: OnceLock<Vec<(&str, &Case, Step)>> = OnceLock::new();
    ALL.get_or_init(|| {
        let steps = measured().into_iter().filter(|(_, step)| !has_sql(step)).enumerate();
        let with_case = steps.map(|(number, (name, step))| {
            let case = cases::GUEST.iter().find(|case| case.recipe == name);
            let case = case.unwrap_or_else(|| panic!("how is {name} tried?"));
            let name: &str = format!("{name}-{number}").leak();
            (name, case, step)
        });
        with_case.collect()
    })
}

fn tries() -> Result<Tried> {
    let mut steps = Steps::on("n2", Kernel::V6_1, Load::One)?.with_text("/app", APP);
    for program in PROGRAMS {
        let from = ["/usr/bin", "/usr/sbin", "/sbin"].map(|dir| Path::new(dir).join(program));
        let from = from.iter().find(|path| path.is_file());
        let from = from.ok_or_else(|| anyhow::anyhow!("{program} is not installed"))?;
        steps = steps.with(from, &format!("/usr/local/bin/{program}"));
    }
    let function = |program| format!("{program}() {{ /usr/local/bin/{program} \"$@\"; }}\n");
    let functions: String = PROGRAMS.into_iter().map(function).collect();
    let script = |case, step| format!("{functions}{}", script(case, step));
    let tried = all().iter();
    tried.fold(steps, |steps, (name, case, step)| steps.step(name, 60, &script(case, step))).run()
}

#[test]
fn in_a_guest_recipes_do_and_undo_what_they_say() {
    let tried = tries().unwrap();
    let mut wrong = String::new();
    for (name, case, step) in all() {
        let of = tried.step(name);
        if of.word("exit") != "0" {
            let _ = writeln!(wrong, "{name}: {}", of.said());
            continue;
        }
        assert_done_and_undone(case, step, |file| of.read(file));
    }
    assert!(wrong.is_empty(), "{wrong}");
}
