//! Rules about texts: forbidden words and required headings.

use std::path::Path;

use super::tree::{Complaint, Tree};

pub fn unsafe_code_lives_in_sys(tree: &Tree) -> Vec<Complaint> {
    // FFI of a database or of an authentication library without a sufficient safe binding.
    const INTERFACES: [&str; 3] = [
        "crates/engines/src/duckdb/ffi/",
        "crates/engines/src/server/ffi/",
        "crates/engines/src/sqlite/ffi/",
    ];
    let word = [format!("allow({})", "unsafe_code")];
    let may = |path: &str| {
        path.starts_with("crates/sys/") || INTERFACES.iter().any(|dir| path.starts_with(dir))
    };
    let outside = tree.sources().filter(|file| !may(&file.path));
    outside.flat_map(|file| file.lines_with(&word, "unsafe code lives in crates/sys")).collect()
}

pub fn files_are_named_for_what_they_hold(tree: &Tree) -> Vec<Complaint> {
    const EMPTY_NAMES: [&str; 6] = ["utils", "util", "helpers", "helper", "common", "misc"];
    let mut complaints = Vec::new();
    for file in tree.sources() {
        let path = Path::new(&file.path).with_extension("");
        let named = path.iter().any(|part| EMPTY_NAMES.iter().any(|name| part == *name));
        complaints.extend(named.then(|| file.complain(1, "a name that says nothing")));
    }
    complaints
}

pub fn every_source_says_what_it_is(tree: &Tree) -> Vec<Complaint> {
    let silent = tree.sources().filter(|file| !file.text.starts_with("//! "));
    silent.map(|file| file.complain(1, "begin with //! and say what this file is")).collect()
}

pub fn files_fit_a_head(tree: &Tree) -> Vec<Complaint> {
    const MOST_LINES: usize = 600;
    let long = tree.sources().filter(|file| file.text.lines().count() > MOST_LINES);
    long.map(|file| file.complain(MOST_LINES, "too long: this file holds two things")).collect()
}

pub fn nothing_is_left_for_later(tree: &Tree) -> Vec<Complaint> {
    let words =
        [("TO", "DO"), ("FIX", "ME"), ("XX", "X"), ("#[ign", "ore"), ("#[allow(de", "ad_code")]
            .map(|(a, b)| format!("{a}{b}"));
    let why = "finish it, or leave it out and say so";
    tree.writings().flat_map(|file| file.lines_with(&words, why)).collect()
}

pub fn nothing_leans_on_one_machine(tree: &Tree) -> Vec<Complaint> {
    let words = [("/tm", "p/"), ("/hom", "e/"), ("/roo", "t/"), ("/wor", "k/"), ("../sha", "red")]
        .map(|(a, b)| format!("{a}{b}"));
    let why = "a path of one machine";
    tree.writings().flat_map(|file| file.lines_with(&words, why)).collect()
}

pub fn machines_say_where_they_come_from(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.starts_with("fixtures/machines/")) {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        let by_hand = file.text.contains("# Written by hand, no recording");
        if !name.starts_with(if by_hand { "hand-" } else { "vm-" }) {
            complaints.push(file.complain(1, "name it hand-… and say so inside, or vm-…"));
        }
    }
    complaints
}
