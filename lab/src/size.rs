//! `cargo lab size`: size and dependencies of the project, beside its limits.

use std::collections::BTreeMap;

use anyhow::Result;
use hopcost_core::Metric;
use xtask::project;
use xtask::tidy::imports::circles;
use xtask::tidy::tree::{File, Tree};

const ENGINES: [(&[&str], usize); 4] = [
    (&["postgres"], 2_600),
    (&["mysql"], 2_100),
    (&["sqlserver"], 3_600),
    (&["duckdb", "hosted"], 2_100),
];
const MOST_LINES: usize = 78_000;
const MOST_OF_ONE_CRATE: f64 = 0.28;
const MOST_LINES_OF_A_FILE: usize = 450;
const MOST_LINES_OF_A_FUNCTION: usize = 70;
const MOST_FAILING_WITH_TEXT: usize = 10;
const MOST_LINES_OF_STUB: usize = 700;
const MOST_FILES_OF_STUB: usize = 8;

pub fn run() -> Result<u8> {
    let tree = Tree::read(project())?;
    println!("{:<56} {:>8} {:>8}", "", "is", "limit");
    of_lines(&tree);
    of_files(&tree);
    of_names(&tree);
    Ok(0)
}

fn of_lines(tree: &Tree) {
    let rust = lines(tree.sources());
    row("Rust lines, tests included", rust, Some(MOST_LINES));
    let tests = tree.sources().map(|file| lines([file]) - production_lines(file)).sum::<usize>();
    row("  of these tests", tests, None);
    let is_shipped = |file: &&File| {
        let shipped = ["crates/", "experiments/", "published/"];
        shipped.iter().any(|folder| file.path.starts_with(folder))
            && !file.path.ends_with("Cargo.toml")
            && !file.path.starts_with("experiments/invalid/")
    };
    for (extension, what) in [("toml", "TOML lines that are built in"), ("sql", "SQL lines")] {
        let of_kind = tree.files.iter().filter(|file| file.has_extension(extension));
        row(what, lines(of_kind.filter(is_shipped)), None);
    }
    let mut crates: BTreeMap<&str, usize> = BTreeMap::new();
    for file in tree.sources() {
        *crates.entry(crate_of(file)).or_default() += lines([file]);
    }
    let mut crates: Vec<(&str, usize)> = crates.into_iter().collect();
    crates.sort_by_key(|(_, lines)| std::cmp::Reverse(*lines));
    let most = (rust as f64 * MOST_OF_ONE_CRATE) as usize;
    for (n, (name, lines)) in crates.into_iter().enumerate() {
        let share = 100.0 * lines as f64 / rust as f64;
        row(&format!("  {name}, {share:.1}%"), lines, (n == 0).then_some(most));
    }
    for (folders, most) in ENGINES {
        let is_in = |file: &&File| {
            let rest = file.path.strip_prefix("crates/engines/src/").unwrap_or_default();
            folders.iter().any(|folder| rest.split(['/', '.']).next() == Some(folder))
        };
        let what = format!("  of engines: {}", folders.join(" and "));
        row(&what, lines(tree.sources().filter(is_in)), Some(most));
    }
    let is_stub = |file: &&File| crate_of(file) == "engines" && file.path.contains("/stub/");
    let stub: Vec<&File> = tree.sources().filter(is_stub).collect();
    row("  of the stub of an engine: lines", lines(stub.iter().copied()), Some(MOST_LINES_OF_STUB));
    row("  of the stub of an engine: files", stub.len(), Some(MOST_FILES_OF_STUB));
}

fn of_files(tree: &Tree) {
    let circles = circles(tree);
    row("circles of files that import each other", circles.len(), Some(0));
    row("  files in them", circles.iter().map(Vec::len).sum(), Some(0));
    for circle in &circles {
        let paths: Vec<&str> = circle.iter().map(|importer| &*importer.file.path).collect();
        println!("    {}", paths.join(" "));
    }
    let long = |file: &&File| production_lines(file) > MOST_LINES_OF_A_FILE;
    let long: Vec<&File> = tree.production().filter(long).collect();
    let what = format!("files of more than {MOST_LINES_OF_A_FILE} lines without tests");
    row(&what, long.len(), Some(0));
    for file in long {
        println!("    {} {}", production_lines(file), file.path);
    }
}

fn of_names(tree: &Tree) {
    let functions = tree
        .production()
        .flat_map(|file| file.scan.functions().into_iter().map(move |function| (file, function)));
    let functions: Vec<_> = functions.collect();
    if let Some((file, longest)) = functions.iter().max_by_key(|(_, function)| function.lines) {
        row("longest function, in lines of code", longest.lines, Some(MOST_LINES_OF_A_FUNCTION));
        println!("    {} {}:{}", longest.name, file.path, file.line(longest.at));
    }
    let fails_with_text = functions.iter().filter(|(file, function)| {
        let before = file.scan.code[..function.at].lines().last().unwrap_or_default();
        let returned = function.signature.rsplit("-> ").next().unwrap_or_default();
        let is_text = returned.starts_with("Result<") && returned.contains(", String>");
        before.contains("pub ") && is_text
    });
    let of_crates: Vec<&str> = fails_with_text.map(|(file, _)| crate_of(file)).collect();
    let what = "public functions that fail with a String";
    row(what, of_crates.len(), Some(MOST_FAILING_WITH_TEXT));
    let is_metric = |literal: &&str| Metric::ALL.iter().any(|metric| *literal == metric.name());
    let elsewhere = tree.production().filter(|file| file.path != "crates/core/src/metric.rs");
    let literals = elsewhere.map(|file| file.literals().filter(is_metric).count()).sum();
    row("metrics named by a literal outside of their list", literals, Some(0));
}

fn crate_of(file: &File) -> &str {
    let path = file.path.strip_prefix("crates/").unwrap_or(&file.path);
    path.split('/').next().unwrap_or_default()
}

fn lines<'a>(files: impl IntoIterator<Item = &'a File>) -> usize {
    files.into_iter().map(|file| file.text.lines().count()).sum()
}

fn production_lines(file: &File) -> usize {
    if file.is_test { 0 } else { file.lines_without_tests() }
}

fn row(what: &str, is: usize, limit: Option<usize>) {
    let mark = if limit.is_some_and(|limit| is > limit) { "  over" } else { "" };
    let limit = limit.map_or(String::new(), |limit| limit.to_string());
    println!("{what:<56} {is:>8} {limit:>8}{mark}");
}
