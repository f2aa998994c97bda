//! Executes steps on a real server.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use hopcost_core::Console;
use hopcost_method::advice::{Apply, Step, Verified};

use super::{Case, Kind, assert_shows, filled, has_sql, kind, owned, recipe, shows};

pub trait Bench {
    fn engine(&self) -> &'static str;

    fn connect(&self) -> Box<dyn Console>;

    /// All settings and definitions that a recipe could change.
    fn state(&self) -> Vec<String>;

    /// With what `file` says, if there is one.
    fn restart(&self, file: &Path);

    /// A program that finds the server by its environment.
    fn shell(&self, line: &str) -> Command;

    fn directory(&self) -> PathBuf;
}

/// Of each case `do`, `then`, `check` and `undo` of the step for this engine, which leaves all as
/// it was.
pub fn execute(bench: &dyn Bench, cases: &[Case]) {
    for case in cases {
        execute_one(bench, case);
    }
}

fn execute_one(bench: &dyn Bench, case: &Case) {
    let recipe = recipe(case.recipe);
    let is_for = |step: &&Step| step.engine.iter().any(|of| of == bench.engine()) && has_sql(step);
    let step = recipe.steps.iter().find(is_for);
    let step = step.unwrap_or_else(|| panic!("{} has none for {}", case.recipe, bench.engine()));
    assert_eq!(recipe.verified(step), Verified::Measured, "{}: say so", case.recipe);
    Run::begin(bench, case, step).end();
}

struct Run<'a> {
    bench: &'a dyn Bench,
    case: &'a Case,
    step: &'a Step,
    session: Box<dyn Console>,
    values: Vec<(String, String)>,
    file: PathBuf,
}

impl<'a> Run<'a> {
    fn begin(bench: &'a dyn Bench, case: &'a Case, step: &'a Step) -> Self {
        let file = step.file.as_deref().map_or("none", |file| file.rsplit('/').next().unwrap());
        let file = bench.directory().join(file);
        let values = owned(&[("{file}", &file.display().to_string()), ("{kind}", bench.engine())]);
        let session = bench.connect();
        let mut run = Self { bench, case, step, session, values, file };
        let here = bench.directory().display().to_string();
        run.values.push(("HERE".to_owned(), here));
        case.given.iter().for_each(|line| drop(run.execute(line)));
        for (name, value) in owned(case.values) {
            let asks = kind(&value) == Kind::Sql;
            let value = if asks { run.execute(&value).unwrap() } else { run.filled(&value) };
            run.values.push((name, value));
        }
        run
    }

    fn end(mut self) {
        let (name, step) = (self.case.recipe, self.step);
        let before = self.bench.state();
        let shown_before = self.checked();
        if step.file.is_some() {
            std::fs::write(&self.file, step.lines.join("\n") + "\n").unwrap();
        } else {
            self.execute_all(&step.lines);
        }
        self.execute_all(&step.then);
        let case = self.case;
        let is_in_effect = |shown: &[String]| {
            shown.iter().zip(case.shows).all(|(shown, wanted)| shows(shown, wanted))
        };
        let shown = self.settled(is_in_effect);
        assert_shows(case, &shown);
        assert_ne!(shown, shown_before, "{name}: the checks show no change");
        assert_ne!(self.bench.state(), before, "{name}: nothing has changed");
        self.execute_all(&step.undo);
        let after = self.settled(|shown| *shown == shown_before);
        assert_eq!(after, shown_before, "{name}: the checks do not show the undo");
        let [before, after] =
            [before, self.bench.state()].map(|lines| lines.into_iter().collect::<BTreeSet<_>>());
        let left: Vec<_> = before.symmetric_difference(&after).collect();
        assert!(left.is_empty(), "{name} is not undone: {left:?}");
    }

    /// A server may take its time to reload.
    fn settled(&mut self, is_settled: impl Fn(&[String]) -> bool) -> Vec<String> {
        if self.step.apply == Apply::Reconnect {
            self.session = self.bench.connect();
        }
        for _ in 0..100 {
            let shown = self.checked();
            if is_settled(&shown) {
                return shown;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        self.checked()
    }

    fn checked(&mut self) -> Vec<String> {
        let step = self.step;
        let checked = step.check.iter().filter_map(|line| {
            let shown = self.execute(line)?;
            // A plan's estimates change by themselves.
            let is_plan = line.starts_with("EXPLAIN");
            Some(if is_plan { shown.replace(|c: char| c.is_ascii_digit(), "") } else { shown })
        });
        checked.collect()
    }

    fn execute_all(&mut self, lines: &[String]) {
        let executed = lines.iter().filter_map(|line| self.execute(line)).count();
        let are_any = executed > 0 || lines.is_empty();
        assert!(are_any, "{}: none of {lines:?} can be executed", self.case.recipe);
    }

    fn filled(&self, line: &str) -> String {
        filled(line, &self.values)
    }

    /// `None` for what is not to be executed here.
    fn execute(&mut self, line: &str) -> Option<String> {
        let filled = self.filled(line);
        match kind(line) {
            Kind::Comment | Kind::Hopcost => None,
            Kind::Sql => {
                let wrong = |why| panic!("{}: {filled}: {why}", self.case.recipe);
                let rows = self.session.rows(filled.trim_end_matches(';')).unwrap_or_else(wrong);
                let row = |row: Vec<Option<String>>| {
                    row.into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>().join("\t")
                };
                Some(rows.into_iter().map(row).collect::<Vec<_>>().join("\n"))
            }
            // Nothing that starts services is here: it is what this test does itself.
            Kind::Shell if line == "systemctl restart {unit}" => {
                self.bench.restart(&self.file);
                self.session = self.bench.connect();
                Some(String::new())
            }
            Kind::Shell => {
                let mut shell = self.bench.shell(&filled);
                let output = shell.stdin(Stdio::null()).stdout(Stdio::piped());
                let output = output.stderr(Stdio::piped()).output().unwrap();
                let said = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{}: {filled}: {said}", self.case.recipe);
                Some(String::from_utf8_lossy(&output.stdout).into_owned())
            }
        }
    }
}
