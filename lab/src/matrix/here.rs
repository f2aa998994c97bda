//! One cell on this machine, with a budget that decides; emulated if the machine cannot have it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use hopcost_method::overrides;
use xtask::{libduckdb, newer_mysql};

use super::cells::{EMULATED, Named, OWN, is_of_hardware, streams};
use crate::validate::Ended;

const BUDGET_S: u64 = 60;
const MOST_BUDGET_S: u64 = 600;
const S_PER_START: u64 = 10;
const TRIES: usize = 3;

/// Programs and libraries that Debian's stable suites lack are found by the environment: the command
/// of a run names no directory of this machine.
fn environment(engine: &str) -> Result<Option<(&'static str, PathBuf)>> {
    Ok(match engine {
        "mysql" => {
            let path = env::var_os("PATH").unwrap_or_default();
            let all = [newer_mysql::programs()?].into_iter().chain(env::split_paths(&path));
            Some(("PATH", env::join_paths(all)?.into()))
        }
        "duckdb" => {
            let library = libduckdb::ensure()?;
            Some(("LD_LIBRARY_PATH", library.parent().context("no directory")?.to_owned()))
        }
        _ => None,
    })
}

/// Returns what it ended in.
pub fn run(hopcost: &Path, store: &Path, of: Named, engine: &str) -> Result<Ended> {
    let here = decided(hopcost, store, of, engine, None)?;
    if here.verdict != "NOT_APPLICABLE" {
        return Ok(here);
    }
    for how in EMULATED {
        let emulated = decided(hopcost, store, of, engine, Some(how))?;
        if emulated.verdict != "NOT_APPLICABLE" {
            return Ok(emulated);
        }
    }
    Ok(here)
}

/// Again with what would decide, if it is undecided; again as it was, if something disturbed it.
fn decided(
    hopcost: &Path,
    store: &Path,
    of: Named,
    engine: &str,
    emulated: Option<&str>,
) -> Result<Ended> {
    let mut more = vec!["--budget".to_owned(), format!("{BUDGET_S}s")];
    let mut ended = once(hopcost, store, of, engine, emulated, &more)?;
    for _ in 1..TRIES {
        match ended.verdict.as_str() {
            "INCONCLUSIVE" => match would_decide(&ended.reason) {
                Some(options) if options != more => more = options,
                _ => break,
            },
            "DISTURBED" | "REFUSED" => {}
            _ => break,
        }
        ended = once(hopcost, store, of, engine, emulated, &more)?;
    }
    Ok(ended)
}

/// The options that the reason names, as far as they are affordable.
fn would_decide(reason: &str) -> Option<Vec<String>> {
    let after = |option: &str| {
        let (_, rest) = reason.rsplit_once(option)?;
        rest.split_whitespace().next().map(|it| it.trim_end_matches(['.', ',']).to_owned())
    };
    if let Some(starts) = after("--starts ") {
        let starts: u64 = starts.parse().ok()?;
        let budget_s = (starts * S_PER_START).min(MOST_BUDGET_S);
        let starts = starts.min(MOST_BUDGET_S / S_PER_START);
        return Some(
            ["--starts", &starts.to_string(), "--budget", &format!("{budget_s}s")]
                .map(str::to_owned)
                .to_vec(),
        );
    }
    let seconds = overrides::seconds(&after("--budget ")?).ok()?.min(MOST_BUDGET_S as f64);
    Some(vec!["--budget".to_owned(), format!("{seconds:.0}s")])
}

fn once(
    hopcost: &Path,
    store: &Path,
    (name, file): Named,
    engine: &str,
    emulated: Option<&str>,
    more: &[String],
) -> Result<Ended> {
    let mut command = Command::new(hopcost);
    command.args(["run", name, "--quick", "--json", "--store"]).arg(store);
    if !is_of_hardware(file) {
        command.args(more).args(streams(file).split_whitespace());
    }
    let target = match engine {
        OWN => None,
        "sqlite" | "duckdb" => Some(format!("{engine}:")),
        _ => Some(format!("{engine}:managed")),
    };
    command.args(target.iter().flat_map(|target| ["--target", target]));
    command.args(emulated.iter().flat_map(|how| ["--emulate", how]));
    if let Some((name, value)) = environment(engine)? {
        command.env(name, value);
    }
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    Ended::read(&output.stdout).with_context(|| format!("{command:?}: {said}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_decide_is_read_from_the_reason() {
        let read = |reason| would_decide(reason).map(|options| options.join(" "));
        assert_eq!(read("2 of 6 fit. All fit into --budget 4m").as_deref(), Some("--budget 240s"));
        assert_eq!(
            read("14 starts would decide: --starts 14").as_deref(),
            Some("--starts 14 --budget 140s")
        );
        assert_eq!(read("would decide: --budget 3h.").as_deref(), Some("--budget 600s"));
        assert_eq!(read("the interval says nothing"), None);
    }
}
