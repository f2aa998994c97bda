//! Is the server that answers one of those on this host?
//!
//! Hosts share pids and directories and are copies of each other, so several signs must match: the
//! backend's pid, its membership in a PostgreSQL server, its start time within two seconds, and the
//! start time of the server's first process, by the kernel or by `postmaster.pid`. A different
//! kernel `boot_id` alone proves that the server is elsewhere.

use std::ops::RangeInclusive;

use hopcost_core::{Code, Known};
use hopcost_sys::standing;

use super::ground::Ground;
use super::pid_file::PidFile;
use super::postgresql;
use super::told::Told;
use crate::occupancy::servers::Found;

#[derive(Debug)]
pub struct Sameness<'a> {
    pub server: Option<&'a Found>,
    pub is_here: Known<bool>,
    pub because: String,
}

/// Tolerance in seconds: the kernel's figure is in ticks since a boot time in whole seconds.
const EQUAL_S: RangeInclusive<i64> = -2..=2;
/// A server reads its settings and allocates memory between its process's start and the start time
/// that it reports.
const BIRTH_TO_BEGIN_S: RangeInclusive<i64> = -2..=60;

impl<'a> Sameness<'a> {
    pub fn of(ground: &'a Ground<'_>, told: &Told) -> Self {
        let elsewhere =
            |words: String| Self { server: None, is_here: Known::Is(false), because: words };
        let our_kernel = ground.root.text("proc/sys/kernel/random/boot_id");
        let is_our_kernel = match (&told.boot_id, &our_kernel) {
            (Known::Is(theirs), Known::Is(ours)) => Some(theirs == ours),
            _ => None,
        };
        if is_our_kernel == Some(false) {
            return elsewhere("its kernel is another one than this (boot_id)".to_owned());
        }
        let mut objections = Vec::new();
        for found in ground.servers.iter().filter(|found| postgresql::is_it(found)) {
            match objection(ground, found, told) {
                None => return Self::here(ground, found, told),
                Some(words) => objections.push(format!("pid {}: {words}", found.pid())),
            }
        }
        let words = match objections[..] {
            [] => format!("no PostgreSQL server runs here{}", ground.hidden()),
            _ => format!("none of the PostgreSQL servers here is it ({})", objections.join("; ")),
        };
        if is_our_kernel == Some(true) {
            let because = format!("its kernel is this one (boot_id), but {words}");
            return Self { server: None, is_here: Known::Is(true), because };
        }
        if told.is_by_socket() || !ground.hidden().is_empty() {
            let because = format!("it cannot be told from here: {words}");
            return Self {
                server: None,
                is_here: Known::missing(Code::NotMeasured, words),
                because,
            };
        }
        elsewhere(words)
    }

    fn here(ground: &Ground<'_>, found: &'a Found, told: &Told) -> Self {
        let ours = postgresql::by_own_number(ground, found);
        let because = format!(
            "pid {} serves this very connection, descends from pid {}, and both began when the server \
             says",
            ours.get(&told.own).unwrap_or(&told.own),
            found.pid()
        );
        Self { server: Some(found), is_here: Known::Is(true), because }
    }
}

fn objection(ground: &Ground<'_>, found: &Found, told: &Told) -> Option<String> {
    let ours = postgresql::by_own_number(ground, found);
    let Some(serves_us) = ours.get(&told.own) else {
        return Some(format!("it has no process {}, which serves this connection", told.own));
    };
    if !is_within(&EQUAL_S, &began(ground, *serves_us), &told.own_began_s) {
        return Some(format!("its process {serves_us} began at another time"));
    }
    let file = PidFile::read(ground.root, found.pid());
    if let (Known::Is(file), Known::Is(directory)) = (&file, &told.data_directory)
        && file.data_directory != *directory
    {
        return Some(format!("its data is in {}, not in {directory}", file.data_directory));
    }
    let by_file = file.map(|file| file.began_s);
    let by_kernel = began(ground, found.pid());
    let agrees = |birth| is_within(&BIRTH_TO_BEGIN_S, birth, &told.began_s);
    let begins_alike = agrees(&by_file) || agrees(&by_kernel);
    (!begins_alike).then(|| "it began at another time".to_owned())
}

fn began(ground: &Ground<'_>, pid: u32) -> Known<i64> {
    standing::began_s(ground.root, &standing::of_process(pid))
}

/// False if either is missing.
fn is_within(range: &RangeInclusive<i64>, first: &Known<i64>, second: &Known<i64>) -> bool {
    match (first, second) {
        (Known::Is(first), Known::Is(second)) => range.contains(&second.saturating_sub(*first)),
        _ => false,
    }
}
