//! What `--emulate` plants, and what hopcost finds: does the interval hold what was counted?

use anyhow::Result;
use xtask::cargo::build_hopcost;

use super::rounds::Rounds;
use crate::validate::{Ended, ns_for, ran};

const NAME: &str = "planted";
const SHARES: [f64; 4] = [0.03, 0.10, 0.20, 0.40];
const SEEDS: u64 = 20;
/// Of one round: an interrupted campaign loses no more.
const SEEDS_OF_A_ROUND: u64 = 5;
const LEAST_HELD: usize = 18;
/// Once, to learn what a nanosecond plants here.
const TRIED_NS: f64 = 200.0;
/// A fixed number of units, at one client, so that all runs of a share plant the same.
const ARGUMENTS: [&str; 5] =
    ["remote-memory", "--quick", "--set=units=12", "--set=streams=1", "--json"];

pub fn run() -> Result<u8> {
    let mut rounds = Rounds::of(NAME)?;
    let hopcost = build_hopcost()?;
    let dir = tempfile::tempdir()?;
    let measured = |seed: u64, ns: f64| {
        let seed = format!("--seed={seed}");
        let arguments = [&ARGUMENTS[..], &[&seed]].concat();
        let emulated = format!("nodes=2,remote_ns={ns:.3}");
        Ended::read(&ran(&hopcost, dir.path(), &arguments, Some(&emulated))?)
    };
    let all = SHARES.iter().flat_map(|share| {
        (0..SEEDS / SEEDS_OF_A_ROUND).map(move |round| (*share, 1 + round * SEEDS_OF_A_ROUND))
    });
    let per_ns = measured(999, TRIED_NS)?.planted_per_ns(TRIED_NS)?;
    for (share, first) in all.skip(rounds.done.len()) {
        let ns = ns_for(share, per_ns);
        let seeds = first..first + SEEDS_OF_A_ROUND;
        let runs = seeds.clone().map(|seed| measured(seed, ns)).collect::<Result<Vec<_>>>()?;
        let held = runs.iter().filter(|run| run.covers_truth()).count();
        let each: Vec<String> = runs.iter().map(one).collect();
        rounds.push(format!(
            "{:.0}% | {first}–{} | {} | {held} of {SEEDS_OF_A_ROUND}",
            100.0 * share,
            seeds.end - 1,
            each.join("; ")
        ))?;
    }
    let held = SHARES.map(|share| held(&rounds.done, share));
    let told = SHARES.iter().zip(held);
    let told: Vec<String> =
        told.map(|(share, held)| format!("{held} of {SEEDS} at {:.0}%", 100.0 * share)).collect();
    let summary = format!(
        "`hopcost run {} --emulate nodes=2,remote_ns=…`: the interval holds what was counted as planted in \
         {}. {LEAST_HELD} of {SEEDS} are needed at each.",
        ARGUMENTS[..4].join(" "),
        told.join(", ")
    );
    rounds.conclude(&summary, "asked | seeds | planted: found, % of throughput | held")?;
    Ok(u8::from(held.iter().any(|held| *held < LEAST_HELD)))
}

/// `10.1: 10.3 (9.8 to 10.9)`.
fn one(run: &Ended) -> String {
    let planted = format!("{:.1}", 100.0 * run.planted);
    match run.estimate {
        Some([point, low, high]) => {
            format!("{planted}: {:.1} ({:.1} to {:.1})", 100.0 * point, 100.0 * low, 100.0 * high)
        }
        None => format!("{planted}: {}", run.verdict),
    }
}

fn held(done: &[String], share: f64) -> usize {
    let of_share = format!("{:.0}% |", 100.0 * share);
    let held = |line: &String| -> Option<usize> {
        line.rsplit(" | ").next()?.split(' ').next()?.parse().ok()
    };
    done.iter().filter(|line| line.starts_with(&of_share)).filter_map(held).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_held_is_read_from_the_rounds() {
        let done = ["3% | 1–5 | 3.0: 3.1 (2.0 to 4.0) | 5 of 5", "3% | 6–10 | x | 4 of 5"];
        let done = done.map(str::to_owned);
        assert_eq!(held(&done, 0.03), 9);
        assert_eq!(held(&done, 0.10), 0);
    }
}
