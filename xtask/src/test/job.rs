//! The unit of scheduling: a test binary, or a part of it.

use std::path::PathBuf;

use anyhow::{Result, ensure};

use super::build::Built;
use super::groups::{self, Binary, Group};
use super::selection::Selection;
use super::verified::Verified;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Beside,
    Alone,
}

const ALONE: &[Binary] = &[("hopcost", "alone"), ("hopcost-drive", "pool")];
/// Their emulated machines keep all CPUs busy.
const ALONE_GROUPS: &[&str] = &["guest-shapes"];
const MEASURED: &str = "measured::";

#[derive(Clone, Debug)]
pub struct Job {
    /// `hopcost/servers`, or with its group `everything: hopcost/servers`.
    pub name: String,
    pub group: Option<&'static Group>,
    pub kind: Kind,
    pub program: PathBuf,
    pub arguments: Vec<String>,
    pub directory: PathBuf,
    pub tests: usize,
    /// Seconds it took the last time.
    pub last: Option<u64>,
}

impl Job {
    /// Clippy leaves half of the machine idle at its end.
    pub fn lints() -> Self {
        let cargo = super::cargo();
        let arguments = "clippy --quiet --workspace --all-targets -- -D warnings";
        Self {
            name: LINTS.to_owned(),
            group: None,
            kind: Kind::Beside,
            program: cargo.get_program().into(),
            arguments: arguments.split(' ').map(str::to_owned).collect(),
            directory: crate::project().to_owned(),
            tests: 0,
            last: None,
        }
    }

    pub fn is_lints(&self) -> bool {
        self.name == LINTS
    }
}

const LINTS: &str = "lints";

pub fn jobs(
    binaries: &[Built],
    groups: &[&'static Group],
    selection: &Selection,
    verified: &Verified,
) -> Result<Vec<Job>> {
    let mut jobs = Vec::new();
    for built in binaries {
        if selection.has(&format!("{}/{}", built.package, built.target)) {
            jobs.extend(of_first_tier(built));
        }
        jobs.extend(groups.iter().filter_map(|group| of_group(built, group)));
    }
    for group in groups {
        let has_tests = jobs.iter().any(|job| job.group.is_some_and(|of| of.name == group.name));
        ensure!(has_tests, "the group {} has no tests", group.name);
    }
    ensure!(!jobs.is_empty(), "nothing of that name; the binaries are {}", names(binaries));
    for job in &mut jobs {
        job.last = verified.seconds(&job.name);
    }
    // First tier first, then the longest. New jobs have no known duration.
    jobs.sort_by_key(|job| {
        let place = job.group.and_then(|of| groups.iter().position(|group| group.name == of.name));
        (place.map_or(0, |place| place + 1), std::cmp::Reverse(job.last.unwrap_or(u64::MAX)))
    });
    Ok(jobs)
}

fn names(binaries: &[Built]) -> String {
    let names = binaries.iter().map(|built| format!("{}/{}", built.package, built.target));
    names.collect::<Vec<_>>().join(", ")
}

fn of_first_tier(built: &Built) -> Vec<Job> {
    let binary = (built.package.as_str(), built.target.as_str());
    let (skipped, tests): (Vec<&String>, Vec<&String>) =
        built.tests.iter().partition(|test| groups::of_test(binary, test).is_some());
    let (measured, others): (Vec<&String>, Vec<&String>) =
        tests.into_iter().partition(|test| test.contains(MEASURED));
    let mut skips: Vec<String> = skipped
        .iter()
        .filter_map(|test| groups::of_test(binary, test))
        .map(Group::module)
        .collect();
    skips.dedup();
    let kind = kind_of(binary);
    let skip = |what: &[String]| -> Vec<String> {
        what.iter().flat_map(|module| ["--skip".to_owned(), module.clone()]).collect()
    };
    let name = format!("{}/{}", built.package, built.target);
    let mut jobs = Vec::new();
    if !others.is_empty() {
        let measured = (!measured.is_empty()).then(|| MEASURED.to_owned());
        let skips: Vec<String> = skips.iter().cloned().chain(measured).collect();
        jobs.push(job(built, name.clone(), kind, skip(&skips), others.len()));
    }
    if !measured.is_empty() {
        let arguments = [vec![MEASURED.to_owned()], skip(&skips)].concat();
        let name = format!("{name}, measured");
        jobs.push(job(built, name, Kind::Alone, arguments, measured.len()));
    }
    jobs
}

fn kind_of(binary: (&str, &str)) -> Kind {
    if ALONE.contains(&binary) { Kind::Alone } else { Kind::Beside }
}

fn of_group(built: &Built, group: &'static Group) -> Option<Job> {
    let binary = (built.package.as_str(), built.target.as_str());
    let is_of_it =
        |test: &&String| groups::of_test(binary, test).is_some_and(|of| of.name == group.name);
    let tests = built.tests.iter().filter(is_of_it).count();
    let name = format!("{}: {}/{}", group.name, built.package, built.target);
    let job = job(built, name, kind_of(binary), vec![group.module()], tests);
    // Emulated machines take turns among themselves.
    let kind = if ALONE_GROUPS.contains(&group.name) { Kind::Alone } else { job.kind };
    (tests > 0).then_some(Job { group: Some(group), kind, ..job })
}

/// Of the first tier. Tests that run alone also run one by one in their binary.
fn job(built: &Built, name: String, kind: Kind, mut arguments: Vec<String>, tests: usize) -> Job {
    if kind == Kind::Alone {
        arguments.push("--test-threads=1".to_owned());
    }
    Job {
        name,
        group: None,
        kind,
        program: built.program.clone(),
        arguments,
        directory: built.directory.clone(),
        tests,
        last: None,
    }
}
