//! Rule: help, messages and documents use the field's own words.

use super::tree::{Complaint, File, Tree};

/// Each with what to write in its place.
const BANNED: &[(&str, &str)] = &[
    ("are told", "shows, reports"),
    ("behaviour", "behavior"),
    ("colour", "color"),
    ("crew", "worker pool"),
    ("crews", "worker pools"),
    ("errand", "task, request"),
    ("favour", "favor"),
    ("favours", "favors"),
    ("harness", "hopcost itself, overhead"),
    ("is told", "shows, reports"),
    ("lies", "is"),
    ("look-up", "page access"),
    ("look-ups", "page accesses"),
    ("mend", "fix"),
    ("scribe", "parser, writer"),
    ("so many", "a number, or N"),
    ("somebody", "name the actor"),
    ("spoil", "distort"),
    ("spoils", "distorts"),
    ("stands", "is on, runs on"),
    ("tells", "shows, reports, says"),
    ("was told", "shows, reports"),
    ("weather", "drift, are correlated"),
    ("whoever", "name the actor"),
];

pub fn texts_use_the_words_of_the_field(tree: &Tree) -> Vec<Complaint> {
    tree.files.iter().flat_map(complaints).collect()
}

fn complaints(file: &File) -> Vec<Complaint> {
    let text = read_by_people(file);
    let of_line = |(n, line): (usize, &str)| {
        let padded = format!(" {} ", words(line));
        let found = BANNED.iter().filter(move |(word, _)| padded.contains(&format!(" {word} ")));
        found.map(move |(word, instead)| {
            file.complain(n + 1, format!("'{word}' is dialect; write: {instead}"))
        })
    };
    text.lines().enumerate().flat_map(of_line).collect()
}

fn is_shipped(file: &File) -> bool {
    file.path.starts_with("crates/") && !file.path.starts_with("crates/testkit/") && !file.is_test
}

/// Lower case, single spaces, identifiers with underscores whole.
fn words(line: &str) -> String {
    let part = |c: char| !(c.is_alphanumeric() || c == '_' || c == '-' || c == '.');
    let all = line.split(part).map(|word| word.trim_matches('.').to_lowercase());
    all.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The lines of a file with all blanked that no user sees.
pub fn read_by_people(file: &File) -> String {
    let of_data = file.path.starts_with("experiments/") || file.path.starts_with("advice/");
    if file.has_extension("md") {
        without_code(&file.text)
    } else if of_data {
        file.text.clone()
    } else if is_shipped(file) {
        literals(file) + &help(file)
    } else {
        String::new()
    }
}

fn without_code(text: &str) -> String {
    let mut out = String::new();
    for line in outside_fences(text) {
        out.extend(line.split('`').step_by(2));
        out.push('\n');
    }
    out
}

/// The lines of a document; those of code are empty.
pub fn outside_fences(text: &str) -> impl Iterator<Item = &str> {
    let mut is_fenced = false;
    text.lines().map(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        if is_fence || is_fenced { "" } else { line }
    })
}

fn literals(file: &File) -> String {
    let code = file.scan.code.as_bytes();
    let kept = file.text.char_indices().map(|(at, c)| match code.get(at) {
        Some(b'"') => c,
        _ if c == '\n' => c,
        _ => ' ',
    });
    kept.collect()
}

/// Comments above options are their help.
fn help(file: &File) -> String {
    if !file.path.starts_with("crates/cli/src/args/") {
        return String::new();
    }
    file.text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("///"))
        .collect::<Vec<_>>()
        .join("\n")
}
