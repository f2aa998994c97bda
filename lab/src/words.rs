//! `cargo lab words`: words that no American English dictionary has, in help, messages and documents.
//!
//! The dictionary is that of hunspell (Debian: `hunspell hunspell-en-us`). Terms of the field are
//! in `lab/words.txt`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result, bail};
use xtask::project;
use xtask::tidy::tree::Tree;
use xtask::tidy::words::read_by_people;

const TERMS: &str = include_str!("../words.txt");

/// Returns 1 if there are unknown words.
pub fn run() -> Result<u8> {
    let tree = Tree::read(project())?;
    let terms: BTreeSet<&str> = TERMS.lines().filter(|line| !line.starts_with('#')).collect();
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // Wrong experiments are wrong in their words, too.
    for file in tree.files.iter().filter(|file| !file.path.starts_with("experiments/invalid/")) {
        for (n, line) in read_by_people(file).lines().enumerate() {
            let line = line.replace("\\n", " ");
            for word in words(&line).filter(|word| !terms.contains(word.to_lowercase().as_str())) {
                places.entry(word.to_owned()).or_default().push(format!("{}:{}", file.path, n + 1));
            }
        }
    }
    let unknown = unknown(places.keys())?;
    for word in &unknown {
        let at = &places[word];
        println!("{word:<24} {}{}", at[0], more(at.len()));
    }
    println!("lab: words: {} of {} unknown", unknown.len(), places.len());
    Ok(u8::from(!unknown.is_empty()))
}

fn more(places: usize) -> String {
    if places == 1 { String::new() } else { format!(" and {} more", places - 1) }
}

/// Runs of letters; parts of identifiers, options, paths and placeholders are none.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| c.is_whitespace() || "()[],;:!?\"“”|…".contains(c);
    let all = line.split(ends).map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    all.flat_map(|word| word.split(['-', '–', '/'])).map(|word| word.trim_end_matches("'s")).filter(
        |word| {
            let is_plain = word.chars().all(|c| c.is_ascii_alphabetic() || c == '\'');
            let has_capitals_inside = word.chars().skip(1).any(|c| c.is_ascii_uppercase());
            word.len() > 2 && is_plain && !has_capitals_inside
        },
    )
}

fn unknown<'a>(words: impl Iterator<Item = &'a String>) -> Result<Vec<String>> {
    let mut checker = Command::new("hunspell")
        .args(["-d", "en_US", "-i", "utf-8", "-l"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("hunspell is missing: apt install hunspell hunspell-en-us")?;
    let text: String = words.map(|word| format!("{word}\n")).collect();
    let mut input = checker.stdin.take().context("hunspell has no input")?;
    // Its output would fill while it is not read.
    let writer = thread::spawn(move || input.write_all(text.as_bytes()));
    let output = checker.wait_with_output()?;
    writer.join().ok().context("writing to hunspell failed")??;
    if !output.status.success() {
        bail!("hunspell failed: {}", output.status);
    }
    let found: BTreeSet<String> =
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    Ok(found.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_words_are_checked() {
        let line =
            "The `x` server's set_value costs 12ms: see --help, PostgreSQL, (cold) caches/nodes.";
        let found: Vec<&str> = words(line).collect();
        assert_eq!(found, ["The", "server", "costs", "see", "help", "cold", "caches", "nodes"]);
        assert!(TERMS.lines().all(|line| line.starts_with('#') || line == line.to_lowercase()));
    }
}
