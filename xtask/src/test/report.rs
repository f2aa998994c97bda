//! The summary of a run: seconds by binary, skipped groups and when they last passed.

use std::collections::BTreeSet;
use std::time::Instant;

use crate::clock;

use super::build::Built;
use super::groups::{self, GROUPS, Group};
use super::queue::{Ended, Round};
use super::verified::Verified;

/// Minutes above which a first tier, and a whole run, get a warning.
const FIRST_TIER_MINUTES: u64 = 12;
const ALL_MINUTES: u64 = 70;

pub struct Report<'a> {
    begun: Instant,
    built: Option<Instant>,
    verified: &'a Verified,
    rounds: Vec<Round>,
    left: Vec<String>,
}

impl<'a> Report<'a> {
    pub fn new(begun: Instant, verified: &'a Verified) -> Self {
        Self { begun, built: None, verified, rounds: Vec::new(), left: Vec::new() }
    }

    pub fn built(&mut self) {
        self.built = Some(clock::now());
    }

    pub fn round(&mut self, round: Round) {
        if !round.not_begun.is_empty() {
            println!("not enough time for: {}", round.not_begun.join(", "));
        }
        let again: usize = round.ended.iter().map(|ended| ended.again).sum();
        println!("xtask: {again} runs were made again");
        self.rounds.push(round);
    }

    pub fn left(&mut self, left: Vec<String>) {
        for difference in &left {
            println!("left on this machine: {difference}");
        }
        self.left = left;
    }

    fn ended(&self) -> impl Iterator<Item = &Ended> {
        self.rounds.iter().flat_map(|round| &round.ended)
    }

    pub fn is_green(&self) -> bool {
        let is_whole = |round: &Round| round.not_begun.is_empty();
        self.left.is_empty() && self.rounds.iter().all(is_whole) && self.ended().all(Ended::is_ok)
    }

    /// What passed, its seconds, and its group if all of that passed.
    pub fn passed(&self, chosen: &[&'static Group]) -> Vec<(String, u64, Option<&'static str>)> {
        let group = |ended: &Ended| {
            let of = ended.job.group?;
            chosen.iter().map(|group| group.name).find(|name| *name == of.name)
        };
        self.ended()
            .map(|ended| (ended.job.name.clone(), ended.seconds.round() as u64, group(ended)))
            .collect()
    }

    pub fn close(&self, chosen: &[&'static Group], binaries: &[Built], first_tier: bool) {
        println!("\nseconds  last  tests");
        let mut jobs: Vec<&Ended> = self.ended().collect();
        jobs.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        for ended in &jobs {
            let last = ended.job.last.map_or("-".to_owned(), |seconds| seconds.to_string());
            println!("{:7.0} {last:>5} {:6}  {}", ended.seconds, ended.passed, ended.job.name);
        }
        let took = clock::now() - self.begun;
        let building = self.built.map_or(took, |built| built - self.begun);
        let sum = |of: fn(&Ended) -> usize| self.ended().map(of).sum::<usize>();
        let [passed, failed] = [sum(|ended| ended.passed), sum(|ended| ended.failed)];
        println!();
        for ended in self.ended().filter(|ended| !ended.is_ok()) {
            println!(
                "FAILED: {} ({} tests, {})",
                ended.job.name,
                ended.failed,
                ended.complaints.join("; ")
            );
        }
        println!(
            "{} in {}, {} of it building; {} runs were made again, {} kernels died while they booted",
            what(chosen, first_tier),
            clock::minutes(took),
            clock::minutes(building),
            sum(|ended| ended.again),
            sum(|ended| ended.died)
        );
        let most = if chosen.len() == GROUPS.len() { ALL_MINUTES } else { FIRST_TIER_MINUTES };
        if first_tier
            && (chosen.is_empty() || chosen.len() == GROUPS.len())
            && took.as_secs() > 60 * most
        {
            println!("warning: longer than {most} minutes");
        }
        self.say_what_was_not_tried(chosen, binaries);
        let remarks: BTreeSet<&String> = self.ended().flat_map(|ended| &ended.remarks).collect();
        for line in remarks {
            println!("{line}");
        }
        // A job can fail without a failed test.
        let failed = if failed == 0 && !self.is_green() { 1 } else { failed };
        println!("tests: {passed} passed, {failed} failed");
    }

    fn say_what_was_not_tried(&self, chosen: &[&'static Group], binaries: &[Built]) {
        let is_left_out = |group: &&Group| chosen.iter().all(|other| other.name != group.name);
        let mut left_out: Vec<&Group> = GROUPS.iter().filter(is_left_out).collect();
        if left_out.is_empty() {
            return;
        }
        left_out.sort_by_key(|group| self.verified.group(group.name).map_or(0, |passed| passed.at));
        let count = |group: &Group| -> usize {
            let of_binary = |built: &Built| {
                let binary = (built.package.as_str(), built.target.as_str());
                let is_its = |test: &&String| {
                    groups::of_test(binary, test).is_some_and(|of| of.name == group.name)
                };
                built.tests.iter().filter(is_its).count()
            };
            binaries.iter().map(of_binary).sum()
        };
        let tests: usize = left_out.iter().map(|group| count(group)).sum();
        println!("not tried: {tests} tests of {} groups (cargo xtask test --all):", left_out.len());
        for group in left_out {
            let when =
                self.verified.group(group.name).map_or("never passed yet".to_owned(), |passed| {
                    let hours = clock::since_1970().saturating_sub(passed.at) / 3600;
                    format!("last passed {hours} hours ago, on {}", passed.commit)
                });
            println!("  {:16} {:3} tests, {when}", group.name, count(group));
        }
    }
}

fn what(chosen: &[&'static Group], first_tier: bool) -> String {
    let names: Vec<_> = chosen.iter().map(|group| group.name).collect();
    match (first_tier, names.len()) {
        (true, 0) => "first tier".to_owned(),
        (true, all) if all == GROUPS.len() => "everything".to_owned(),
        (true, _) => format!("first tier and {}", names.join(", ")),
        (false, 0) => "what was named".to_owned(),
        (false, _) => names.join(", "),
    }
}
