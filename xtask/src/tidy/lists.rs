//! Rules about lists: error codes, and the claims of tests.

use std::collections::BTreeSet;

use super::tree::{Complaint, Tree};

pub const CODES: &str = "crates/core/src/code.rs";
const DOCUMENTED: &str = "docs/reference/errors.md";

/// Each code must be used, expected by a test, and documented.
pub fn codes_are_given_tested_and_documented(tree: &Tree) -> Vec<Complaint> {
    let Some(list) = tree.file(CODES) else {
        return Vec::new();
    };
    let mut given = String::new();
    let mut tested = String::new();
    for file in tree.files.iter().filter(|file| file.path != CODES) {
        if file.is_test || file.path.contains("/testkit/") || file.has_extension("snap") {
            tested.push_str(&file.text);
        } else {
            given.push_str(&file.scan.code);
            tested.extend(file.tests());
        }
    }
    let documented = tree.file(DOCUMENTED).map_or("", |file| &file.text);
    let mut complaints = Vec::new();
    for (n, line) in list.text.lines().enumerate() {
        // `    Class Name = "code", "What it means.";`
        let mut words = line.split_whitespace();
        let (Some(_), Some(name), Some("="), Some(code)) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            continue;
        };
        let Some(code) = code.strip_prefix('"').and_then(|code| code.strip_suffix("\",")) else {
            continue;
        };
        let is_in = |text: &str| {
            let name = format!("Code::{name}");
            let follows = |at: usize| text[at + name.len()..].chars().next();
            let is_whole = |next: Option<char>| !next.is_some_and(char::is_alphanumeric);
            text.match_indices(&name).any(|(at, _)| is_whole(follows(at)))
        };
        let is_written = |text: &str| {
            ["\"", " "].iter().any(|before| {
                ["\"", ":"].iter().any(|after| text.contains(&format!("{before}{code}{after}")))
            })
        };
        if !is_in(&given) {
            complaints.push(list.complain(n + 1, format!("nothing gives {code}")));
        }
        if !is_in(&tested) && !is_written(&tested) {
            complaints.push(list.complain(n + 1, format!("no test expects {code}")));
        }
        if !documented.contains(&format!("`{code}`")) {
            complaints.push(list.complain(n + 1, format!("{DOCUMENTED} does not have {code}")));
        }
    }
    complaints
}

/// What tests claimed before the redesign: a name per line, or `name -> name, name` of what covers
/// it now.
const CLAIMS: &str = "fixtures/claims.txt";

pub fn no_claim_is_lost(tree: &Tree) -> Vec<Complaint> {
    let Some(claims) = tree.file(CLAIMS) else {
        return Vec::new();
    };
    let functions: BTreeSet<&str> = tree
        .sources()
        .flat_map(|file| file.text.lines())
        .filter_map(|line| line.trim_start().strip_prefix("fn ")?.split('(').next())
        .collect();
    let is_claim = |(_, line): &(usize, &str)| !line.starts_with('#');
    let mut complaints = Vec::new();
    for (n, line) in claims.text.lines().enumerate().filter(is_claim) {
        let held_by = line.split_once(" -> ").map_or(line, |(_, now)| now);
        let lost = held_by.split(", ").filter(|name| !functions.contains(name));
        complaints.extend(
            lost.map(|name| claims.complain(n + 1, format!("no test is called '{name}' any more"))),
        );
    }
    complaints
}
