//! `cargo xtask tidy`: rules that the compiler does not check.
//!
//! Each is a function from all files to complaints, registered in [`RULES`].

mod comments;
mod crates;
mod documents;
pub mod imports;
mod lists;
pub mod scan;
mod texts;
pub mod tree;
pub mod words;

use anyhow::Result;

use crate::project;
use tree::{Complaint, Tree};

const RULES: &[fn(&Tree) -> Vec<Complaint>] = &[
    crates::crates_point_one_way,
    crates::the_core_stays_small_and_light,
    texts::unsafe_code_lives_in_sys,
    texts::files_are_named_for_what_they_hold,
    texts::every_source_says_what_it_is,
    texts::files_fit_a_head,
    texts::nothing_is_left_for_later,
    texts::nothing_leans_on_one_machine,
    documents::links_lead_somewhere,
    texts::machines_say_where_they_come_from,
    lists::codes_are_given_tested_and_documented,
    lists::no_claim_is_lost,
    imports::files_do_not_import_each_other,
    comments::comments_say_more_than_names,
    words::texts_use_the_words_of_the_field,
    documents::a_line_of_a_document_is_a_sentence,
];

/// Returns 1 if there are complaints.
pub fn run() -> Result<u8> {
    let tree = Tree::read(project())?;
    let complaints: Vec<Complaint> = RULES.iter().flat_map(|rule| rule(&tree)).collect();
    for complaint in &complaints {
        eprintln!("{complaint}");
    }
    println!("xtask: tidy: {} rules, {} complaints", RULES.len(), complaints.len());
    Ok(u8::from(!complaints.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(path: &str, text: &str) -> Tree {
        Tree::of([(path.to_owned(), text.to_owned())])
    }

    #[test]
    fn this_tree_is_tidy() {
        let tree = Tree::read(project()).unwrap();
        assert!(tree.sources().count() > 50, "the walk misses the sources");
        let complaints: Vec<_> = RULES.iter().flat_map(|rule| rule(&tree)).collect();
        assert!(complaints.is_empty(), "{complaints:#?}");
    }

    #[test]
    fn each_rule_sees_what_it_is_for() {
        let long = "//! Long.\n".repeat(601);
        let fat_core = "let x = 1;\n".repeat(crates::MOST_OF_CORE + 1);
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
            (8, "docs/A.md", "see [below](#no-such-heading)\n# Below\n[it](#below)\n"),
            (
                15,
                "docs/A.md",
                "It ends. It goes on.\n```\nIt ends. It goes on.\n```\nAs a b (e.g. C) is.\n",
            ),
            (11, "fixtures/claims.txt", "# Claims\nthe_sun_rises -> it_rises_in_the_east\n"),
            (14, "docs/A.md", "`nobody` asks\n```\nit lies\n```\nIt lies here.\n"),
            (
                14,
                "crates/new/src/lib.rs",
                "fn of() -> &'static str {\n    \"the crew\" // a crew\n}\n",
            ),
            (14, "crates/cli/src/args/new.rs", "/// How so many are used\nlet crew = 1;\n"),
            (9, "fixtures/machines/vm-n9.tree", "# Written by hand, no recording"),
        ];
        let listed = "    NotHere Unused = \"machine.unused\", \"Nothing gives it.\";\n";
        assert_eq!(RULES[10](&tree(lists::CODES, listed)).len(), 3);
        for (rule, path, text) in cases {
            assert_eq!(RULES[*rule](&tree(path, text)).len(), 1, "rule {rule} on {path}");
        }
    }
}
