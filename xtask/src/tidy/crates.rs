//! Rules: the allowed dependencies of each crate, and the core's size limit.

use super::tree::{Complaint, File, Tree};

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
    ("testkit", &["core", "data", "engines", "method", "sys"]),
];

fn dependencies(manifest: &File) -> impl Iterator<Item = (usize, &str)> {
    let lines = manifest.text.lines().enumerate();
    let section = lines.skip_while(|(_, line)| *line != "[dependencies]").skip(1);
    section.take_while(|(_, line)| !line.starts_with('[')).filter_map(|(n, line)| {
        let end = line.find(['.', ' ', '='])?;
        Some((n + 1, &line[..end]))
    })
}

pub fn crates_point_one_way(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in &tree.files {
        let name = file.path.strip_prefix("crates/").and_then(|p| p.strip_suffix("/Cargo.toml"));
        let Some(name) = name else { continue };
        let Some((_, allowed)) = MAY_SEE.iter().find(|(of, _)| *of == name) else {
            complaints.push(file.complain(1, "a crate without a rule in xtask/src/tidy/crates.rs"));
            continue;
        };
        let ours = dependencies(file)
            .filter_map(|(line, name)| Some((line, name.strip_prefix("hopcost-")?)))
            .filter(|(_, seen)| !allowed.contains(seen));
        complaints.extend(
            ours.map(|(line, seen)| file.complain(line, format!("{name} must not see {seen}"))),
        );
    }
    complaints
}

/// Lines of code, without tests.
pub const MOST_OF_CORE: usize = 3475;

pub fn the_core_stays_small_and_light(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let in_core = |file: &&File| file.path.starts_with("crates/core/");
    for file in tree.files.iter().filter(in_core).filter(|p| p.path.ends_with("Cargo.toml")) {
        let heavy = dependencies(file).filter(|(_, name)| !["serde", "thiserror"].contains(name));
        complaints.extend(
            heavy.map(|(line, name)| file.complain(line, format!("core does without {name}"))),
        );
    }
    let lines: usize = tree.sources().filter(in_core).map(File::code_lines).sum();
    if lines > MOST_OF_CORE {
        let words = format!("core has {lines} lines of code, more than {MOST_OF_CORE}");
        complaints.push(Complaint { path: "crates/core".into(), line: 1, words });
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ordinary_dependencies_count() {
        let text = "[dependencies]\nserde = \"1\"\n\n[dev-dependencies]\nlibc = \"0.2\"\n";
        let tree = Tree::of([("crates/core/Cargo.toml".to_owned(), text.to_owned())]);
        assert!(the_core_stays_small_and_light(&tree).is_empty());
        assert_eq!(dependencies(&tree.files[0]).collect::<Vec<_>>(), [(2, "serde")]);
    }
}
