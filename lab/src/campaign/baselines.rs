//! Runs of one name against their baseline: are equal runs left alone, and is a slow-down found?
//!
//! Method: a managed PostgreSQL does an amount of work per call that it reads from a file. Eight runs of
//! a name are equal. In the ninth, the work is longer by twice the half-width that the eighth told.
//! Limits: in the first runs of a name the interval cannot know how much runs differ, so alarms there
//! count, too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::cargo::build_hopcost;

use super::rounds::Rounds;
use crate::validate::figures;

const NAME: &str = "baselines";
const NAMES: u64 = 5;
const EQUAL_RUNS: usize = 8;
const MOST_ALARMS: usize = 1;
/// Rows of a call, of some milliseconds: what a call takes without them (0.2 ms) must not count, or less
/// is planted than is said.
const AMOUNT: f64 = 60_000.0;
const CONDITION: &str = "worse > 0%";

pub fn run() -> Result<u8> {
    let mut rounds = Rounds::of(NAME)?;
    let hopcost = build_hopcost()?;
    for seed in rounds.done.len() as u64 + 1..=NAMES {
        let dir = tempfile::tempdir()?;
        let name = OfName::new(&hopcost, dir.path(), seed)?;
        let mut equal = Vec::new();
        for _ in 0..EQUAL_RUNS {
            equal.push(name.run(AMOUNT)?);
        }
        let last = equal.last().and_then(|run| run.worse);
        let [_, low, high] = last.context("the eighth run has no figure")?;
        let planted = high - low;
        let slower = name.run(AMOUNT / (1.0 - planted))?;
        let each: Vec<String> = equal.iter().skip(1).map(Compared::in_words).collect();
        let alarms = equal.iter().filter(|run| run.is_alarm).count();
        let found = if slower.is_alarm { "found" } else { "not found" };
        rounds.push(format!(
            "{seed} | {} | {alarms} | {:.1} | {}, {found}",
            each.join("; "),
            100.0 * planted,
            slower.in_words()
        ))?;
    }
    let alarms: usize = rounds.done.iter().filter_map(|line| alarms(line)).sum();
    let found = rounds.done.iter().filter(|line| line.ends_with(", found")).count();
    let summary = format!(
        "`hopcost run placebo --target postgres:managed --quick --baseline NAME --fail-if '{CONDITION}'`, \
         {NAMES} names of {EQUAL_RUNS} equal runs: {alarms} of {} later runs raised an alarm, {MOST_ALARMS} \
         at most. A ninth run, slower by twice the half-width of the eighth: found in {found} of {NAMES}.",
        NAMES as usize * (EQUAL_RUNS - 1)
    );
    rounds.conclude(
        &summary,
        "name | `worse` of runs 2 to 8, % | alarms | planted, % | `worse` of run 9, %",
    )?;
    Ok(u8::from(alarms > MOST_ALARMS || found < NAMES as usize))
}

struct OfName<'a> {
    hopcost: &'a Path,
    dir: &'a Path,
    amount: PathBuf,
    script: PathBuf,
    seed: u64,
}

struct Compared {
    worse: Option<[f64; 3]>,
    is_alarm: bool,
}

impl<'a> OfName<'a> {
    fn new(hopcost: &'a Path, dir: &'a Path, seed: u64) -> Result<Self> {
        // The server reads the amount, as another user.
        let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(dir, all)?;
        let (amount, script) = (dir.join("amount"), dir.join("work.sql"));
        fs::write(
            &script,
            format!(
                "SELECT count(*) FROM generate_series(1, pg_read_file('{}')::int);\n",
                amount.display()
            ),
        )?;
        Ok(Self { hopcost, dir, amount, script, seed })
    }

    fn run(&self, amount: f64) -> Result<Compared> {
        fs::write(&self.amount, format!("{amount:.0}"))?;
        let mut run = Command::new(self.hopcost);
        run.args(["run", "placebo", "--target", "postgres:managed", "--quick", "--json", "--file"]);
        run.arg(&self.script).args(["--baseline", "name", "--fail-if", CONDITION]);
        run.args(["--seed", &self.seed.to_string(), "--store"]).arg(self.dir.join("runs.db"));
        let output = run.stderr(Stdio::inherit()).output().context("hopcost")?;
        let code = output.status.code();
        ensure!(matches!(code, Some(0 | 1 | 4)), "{run:?}: {}", output.status);
        let result: Value = serde_json::from_slice(&output.stdout)?;
        Ok(Compared { worse: figures(&result["against"]["worse"]), is_alarm: code == Some(4) })
    }
}

impl Compared {
    fn in_words(&self) -> String {
        let mark = if self.is_alarm { " alarm" } else { "" };
        self.worse.map_or("nothing".to_owned(), |figures| {
            let [point, low, high] = figures.map(|share| 100.0 * share);
            format!("{point:.1} ({low:.1} to {high:.1}){mark}")
        })
    }
}

fn alarms(line: &str) -> Option<usize> {
    line.split(" | ").nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alarms_are_read_from_the_rounds() {
        let run = |is_alarm| Compared { worse: Some([0.01, 0.0, 0.02]), is_alarm };
        assert_eq!(run(true).in_words(), "1.0 (0.0 to 2.0) alarm");
        let line =
            format!("3 | {} | 1 | 4.0 | {}, found", run(true).in_words(), run(false).in_words());
        assert_eq!(alarms(&line), Some(1));
    }
}
