//! `cargo xtask tidy`: the rules of the house that the compiler does not check.
//!
//! A rule looks at all files and complains. A new one is a function here and a line in [`RULES`].

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::project;

const RULES: &[fn(&House) -> Vec<Complaint>] = &[
    crates_point_one_way,
    the_core_stays_small_and_light,
    unsafe_code_lives_in_sys,
    files_are_named_for_what_they_hold,
    every_source_says_what_it_is,
    files_fit_a_head,
    nothing_is_left_for_later,
    nothing_leans_on_one_machine,
    links_lead_somewhere,
    machines_say_where_they_come_from,
    codes_are_given_tested_and_documented,
    no_claim_is_lost,
];

/// Checks them all; 1 if there was something to complain of.
pub fn run() -> Result<u8> {
    let house = House::read(project())?;
    let complaints: Vec<Complaint> = RULES.iter().flat_map(|rule| rule(&house)).collect();
    for complaint in &complaints {
        eprintln!("{complaint}");
    }
    println!("xtask: tidy: {} rules, {} complaints", RULES.len(), complaints.len());
    Ok(u8::from(!complaints.is_empty()))
}

/// All text files of the project.
struct House {
    files: Vec<Paper>,
}

/// One of them.
struct Paper {
    /// Relative to the project's root.
    path: String,
    text: String,
}

/// What a rule found.
#[derive(Debug)]
struct Complaint {
    path: String,
    line: usize,
    words: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.words)
    }
}

impl House {
    fn read(root: &Path) -> Result<Self> {
        let mut files = Vec::new();
        let mut rooms = vec![root.to_path_buf()];
        while let Some(room) = rooms.pop() {
            let entries = room.read_dir().with_context(|| room.display().to_string())?;
            for path in entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()? {
                // In a second work tree `.git` is a file.
                if path.ends_with("target") || path.ends_with(".git") {
                    continue;
                }
                if path.is_dir() {
                    rooms.push(path);
                } else if let Ok(text) = std::fs::read_to_string(&path) {
                    let path = path.strip_prefix(root)?.to_string_lossy().into_owned();
                    files.push(Paper { path, text });
                }
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { files })
    }

    fn sources(&self) -> impl Iterator<Item = &Paper> {
        self.files.iter().filter(|paper| paper.has_extension("rs"))
    }

    /// What is written for people or machines to read, lock file and recordings aside.
    fn writings(&self) -> impl Iterator<Item = &Paper> {
        let kept = |paper: &&Paper| {
            !paper.path.starts_with("fixtures/machines/") && !paper.has_extension("lock")
        };
        self.files.iter().filter(kept)
    }
}

impl Paper {
    fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|e| e == extension)
    }

    /// A complaint for every line that holds one of the words.
    fn lines_with(&self, words: &[String], why: &str) -> Vec<Complaint> {
        let mut found = Vec::new();
        for (n, line) in self.text.lines().enumerate() {
            if let Some(word) = words.iter().find(|word| line.contains(*word)) {
                found.push(self.complain(n + 1, format!("'{word}': {why}")));
            }
        }
        found
    }

    fn complain(&self, line: usize, words: impl Into<String>) -> Complaint {
        Complaint { path: self.path.clone(), line, words: words.into() }
    }

    /// Lines of code: no comments, no blank lines, and nothing from the tests on.
    fn code_lines(&self) -> usize {
        let code = self.text.split("#[cfg(test)]").next().unwrap_or_default();
        let counts = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
        code.lines().filter(counts).count()
    }
}

/// Which of our crates each may depend on: arrows point down only.
const MAY_SEE: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("pgbench", &[]),
    ("stats", &["core"]),
    ("sys", &["core"]),
    ("data", &["core", "pgbench"]),
    ("method", &["core", "stats"]),
    ("engines", &["core", "data", "pgbench", "sys"]),
    ("host", &["core", "stats", "sys"]),
    ("drive", &["core", "method", "stats", "sys"]),
    ("store", &["core", "method"]),
    ("view", &["core", "method", "stats"]),
    (
        "app",
        &[
            "core", "data", "drive", "engines", "host", "method", "pgbench", "stats", "store",
            "sys", "view",
        ],
    ),
    ("cli", &["app", "core", "method", "view"]),
    ("testkit", &["core", "data", "engines", "sys"]),
];

/// The names of a manifest's ordinary dependencies, with their lines.
fn dependencies(manifest: &Paper) -> impl Iterator<Item = (usize, &str)> {
    let lines = manifest.text.lines().enumerate();
    let section = lines.skip_while(|(_, line)| *line != "[dependencies]").skip(1);
    section.take_while(|(_, line)| !line.starts_with('[')).filter_map(|(n, line)| {
        let end = line.find(['.', ' ', '='])?;
        Some((n + 1, &line[..end]))
    })
}

fn crates_point_one_way(house: &House) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for paper in &house.files {
        let name = paper.path.strip_prefix("crates/").and_then(|p| p.strip_suffix("/Cargo.toml"));
        let Some(name) = name else { continue };
        let Some((_, allowed)) = MAY_SEE.iter().find(|(of, _)| *of == name) else {
            complaints.push(paper.complain(1, "a crate without a rule in xtask/src/tidy.rs"));
            continue;
        };
        let ours = dependencies(paper)
            .filter_map(|(line, name)| Some((line, name.strip_prefix("hopcost-")?)))
            .filter(|(_, seen)| !allowed.contains(seen));
        complaints.extend(
            ours.map(|(line, seen)| paper.complain(line, format!("{name} must not see {seen}"))),
        );
    }
    complaints
}

/// Lines of code, without tests.
const MOST_OF_CORE: usize = 3400;

fn the_core_stays_small_and_light(house: &House) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let in_core = |paper: &&Paper| paper.path.starts_with("crates/core/");
    for paper in house.files.iter().filter(in_core).filter(|p| p.path.ends_with("Cargo.toml")) {
        let heavy = dependencies(paper).filter(|(_, name)| !["serde", "thiserror"].contains(name));
        complaints.extend(
            heavy.map(|(line, name)| paper.complain(line, format!("core does without {name}"))),
        );
    }
    let lines: usize = house.sources().filter(in_core).map(Paper::code_lines).sum();
    if lines > MOST_OF_CORE {
        let words = format!("core has {lines} lines of code, more than {MOST_OF_CORE}");
        complaints.push(Complaint { path: "crates/core".into(), line: 1, words });
    }
    complaints
}

fn unsafe_code_lives_in_sys(house: &House) -> Vec<Complaint> {
    // A C interface of a database's, or of what lets us in, where no safe binding offers what its target needs.
    const INTERFACES: [&str; 3] = [
        "crates/engines/src/duckdb/ffi/",
        "crates/engines/src/server/ffi/",
        "crates/engines/src/sqlite/ffi/",
    ];
    let word = [format!("allow({})", "unsafe_code")];
    let may = |path: &str| {
        path.starts_with("crates/sys/") || INTERFACES.iter().any(|dir| path.starts_with(dir))
    };
    let outside = house.sources().filter(|paper| !may(&paper.path));
    outside.flat_map(|paper| paper.lines_with(&word, "unsafe code lives in crates/sys")).collect()
}

fn files_are_named_for_what_they_hold(house: &House) -> Vec<Complaint> {
    const EMPTY_NAMES: [&str; 6] = ["utils", "util", "helpers", "helper", "common", "misc"];
    let mut complaints = Vec::new();
    for paper in house.sources() {
        let path = Path::new(&paper.path).with_extension("");
        let named = path.iter().any(|part| EMPTY_NAMES.iter().any(|name| part == *name));
        complaints.extend(named.then(|| paper.complain(1, "a name that says nothing")));
    }
    complaints
}

fn every_source_says_what_it_is(house: &House) -> Vec<Complaint> {
    let silent = house.sources().filter(|paper| !paper.text.starts_with("//! "));
    silent.map(|paper| paper.complain(1, "begin with //! and say what this file is")).collect()
}

fn files_fit_a_head(house: &House) -> Vec<Complaint> {
    const MOST_LINES: usize = 600;
    let long = house.sources().filter(|paper| paper.text.lines().count() > MOST_LINES);
    long.map(|paper| paper.complain(MOST_LINES, "too long: this file holds two things")).collect()
}

fn nothing_is_left_for_later(house: &House) -> Vec<Complaint> {
    // Spelt in two parts, or this file would complain of itself.
    let words =
        [("TO", "DO"), ("FIX", "ME"), ("XX", "X"), ("#[ign", "ore"), ("#[allow(de", "ad_code")]
            .map(|(a, b)| format!("{a}{b}"));
    let why = "finish it, or leave it out and say so";
    house.writings().flat_map(|paper| paper.lines_with(&words, why)).collect()
}

fn nothing_leans_on_one_machine(house: &House) -> Vec<Complaint> {
    let words = [("/tm", "p/"), ("/hom", "e/"), ("/roo", "t/"), ("/wor", "k/"), ("../sha", "red")]
        .map(|(a, b)| format!("{a}{b}"));
    let why = "a path of one machine";
    house.writings().flat_map(|paper| paper.lines_with(&words, why)).collect()
}

fn links_lead_somewhere(house: &House) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for paper in house.files.iter().filter(|paper| paper.has_extension("md")) {
        let dir = Path::new(&paper.path).parent().unwrap_or(Path::new(""));
        for (n, line) in paper.text.lines().enumerate() {
            for link in line.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
                let leads = link.is_empty()
                    || link.contains("://")
                    || project().join(dir).join(link).exists();
                complaints.extend((!leads).then(|| paper.complain(n + 1, format!("no {link}"))));
            }
        }
    }
    complaints
}

fn machines_say_where_they_come_from(house: &House) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for paper in house.files.iter().filter(|paper| paper.path.starts_with("fixtures/machines/")) {
        let name = paper.path.rsplit('/').next().unwrap_or_default();
        let by_hand = paper.text.contains("# Written by hand, no recording");
        if !name.starts_with(if by_hand { "hand-" } else { "vm-" }) {
            complaints.push(paper.complain(1, "name it hand-… and say so inside, or vm-…"));
        }
    }
    complaints
}

const CODES: &str = "crates/core/src/code.rs";
const DOCUMENTED: &str = "docs/ERRORS.md";

/// A code that nothing gives, that no test expects, or that nobody can look up is none.
fn codes_are_given_tested_and_documented(house: &House) -> Vec<Complaint> {
    let Some(list) = house.files.iter().find(|paper| paper.path == CODES) else {
        return Vec::new();
    };
    let others = || house.files.iter().filter(|paper| paper.path != CODES);
    let mut given = String::new();
    let mut tested = String::new();
    for paper in others().filter(|paper| paper.has_extension("rs") || paper.has_extension("snap")) {
        let is_test = ["/tests", "/testkit/", "/stub/", "/toy.rs", "/goldens.rs"]
            .iter()
            .any(|part| paper.path.contains(part));
        if is_test || paper.has_extension("snap") {
            tested.push_str(&paper.text);
        } else {
            let (code, tests) = paper.text.split_once("#[cfg(test)]").unwrap_or((&paper.text, ""));
            given.push_str(code);
            tested.push_str(tests);
        }
    }
    let documented = others().find(|paper| paper.path == DOCUMENTED);
    let documented = documented.map_or("", |paper| &paper.text);
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

/// What tests claimed when the redesign began: a name a line, or `name -> name, name` of what holds it now.
const CLAIMS: &str = "fixtures/claims.txt";

fn no_claim_is_lost(house: &House) -> Vec<Complaint> {
    let Some(claims) = house.files.iter().find(|paper| paper.path == CLAIMS) else {
        return Vec::new();
    };
    let functions: BTreeSet<&str> = house
        .sources()
        .flat_map(|paper| paper.text.lines())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn house(path: &str, text: &str) -> House {
        House { files: vec![Paper { path: path.into(), text: text.into() }] }
    }

    #[test]
    fn this_house_is_tidy() {
        let house = House::read(project()).unwrap();
        assert!(house.sources().count() > 50, "the walk misses the sources");
        let complaints: Vec<_> = RULES.iter().flat_map(|rule| rule(&house)).collect();
        assert!(complaints.is_empty(), "{complaints:#?}");
    }

    #[test]
    fn each_rule_sees_what_it_is_for() {
        let long = "//! Long.\n".repeat(601);
        let fat_core = "let x = 1;\n".repeat(MOST_OF_CORE + 1);
        let cases: &[(usize, &str, &str)] = &[
            (0, "crates/method/Cargo.toml", "[dependencies]\nhopcost-sys.workspace = true\n"),
            (0, "crates/new/Cargo.toml", ""),
            (1, "crates/core/Cargo.toml", "[dependencies]\nlibc = \"0.2\"\n"),
            (1, "crates/core/src/lib.rs", &fat_core),
            (2, "crates/host/src/lib.rs", concat!("#![allow(", "unsafe_code)]")),
            (2, "crates/engines/src/sqlite/mod.rs", concat!("#![allow(", "unsafe_code)]")),
            (3, "crates/host/src/utils.rs", ""),
            (3, "crates/host/src/helpers/mod.rs", ""),
            (4, "crates/host/src/lib.rs", "use std::fmt;\n"),
            (5, "crates/host/src/lib.rs", &long),
            (6, "docs/A.md", concat!("TO", "DO: the rest")),
            (6, "crates/host/src/lib.rs", concat!("#[ign", "ore = \"slow\"]")),
            (7, "README.md", concat!("see /hom", "e/me/notes")),
            (8, "docs/A.md", "see [this](no-such-file.md)"),
            (11, "fixtures/claims.txt", "# Claims\nthe_sun_rises -> it_rises_in_the_east\n"),
            (9, "fixtures/machines/vm-n9.tree", "# Written by hand, no recording"),
        ];
        let listed = "    NotHere Unused = \"machine.unused\", \"Nothing gives it.\";\n";
        assert_eq!(RULES[10](&house(CODES, listed)).len(), 3);
        for (rule, path, text) in cases {
            assert_eq!(RULES[*rule](&house(path, text)).len(), 1, "rule {rule} on {path}");
        }
    }

    #[test]
    fn only_ordinary_dependencies_count() {
        let text = "[dependencies]\nserde = \"1\"\n\n[dev-dependencies]\nlibc = \"0.2\"\n";
        let house = house("crates/core/Cargo.toml", text);
        assert!(the_core_stays_small_and_light(&house).is_empty());
        assert_eq!(dependencies(&house.files[0]).collect::<Vec<_>>(), [(2, "serde")]);
    }
}
