//! Executes and undoes the lines of recipes of `advice/`, as its files have them.
//!
//! A line that ends in `;` is SQL, one that begins with `\` is psql's, `#` and `--` begin a
//! comment, and the rest is for a shell. Lines that call hopcost itself are left to its own tests.

mod benches;
pub mod cases;
mod guest;
mod server;

use hopcost_data::advice::RECIPES;
use hopcost_method::advice::{Recipe, Step, Verified};

pub use guest::{assert_done_and_undone, script};
pub use server::{Bench, execute};

/// How the steps of a recipe are tried that say they were measured.
#[derive(Debug)]
pub struct Case {
    pub recipe: &'static str,
    /// Executed before, and not undone.
    pub given: &'static [&'static str],
    /// What stands for words in capitals and names in braces. A query is asked before `do`.
    pub values: &'static [(&'static str, &'static str)],
    /// What each executed check shows after `do`; after a `!`, what it does not show.
    pub shows: &'static [&'static str],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Sql,
    Shell,
    Hopcost,
    Comment,
}

pub fn kind(line: &str) -> Kind {
    match line {
        _ if line.starts_with('#') || line.starts_with("--") => Kind::Comment,
        _ if line.starts_with("hopcost ") => Kind::Hopcost,
        _ if line.ends_with(';') => Kind::Sql,
        _ => Kind::Shell,
    }
}

pub fn recipe(name: &str) -> Recipe {
    let found = RECIPES.iter().find(|(of, _)| *of == name);
    let (_, text) = found.unwrap_or_else(|| panic!("there is no recipe {name}"));
    Recipe::read(text).unwrap_or_else(|wrong| panic!("{name}: {wrong}"))
}

/// All that say so, with their recipe's name.
pub fn measured() -> Vec<(&'static str, Step)> {
    let of = |name: &'static str| {
        let recipe = recipe(name);
        let is_measured = |step: &&Step| recipe.verified(step) == Verified::Measured;
        let steps: Vec<Step> = recipe.steps.iter().filter(is_measured).cloned().collect();
        steps.into_iter().map(move |step| (name, step))
    };
    RECIPES.iter().flat_map(|(name, _)| of(name)).collect()
}

/// It needs a server.
pub fn has_sql(step: &Step) -> bool {
    let parts = [&step.lines, &step.then, &step.check, &step.undo];
    parts.into_iter().flatten().any(|line| kind(line) == Kind::Sql)
}

/// Whole words in capitals, and names in braces.
fn filled(line: &str, values: &[(String, String)]) -> String {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = String::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let braced = rest.strip_prefix('{').and_then(|of| of.find('}')).map(|end| &rest[..end + 2]);
        let end = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len()).max(first.len_utf8());
        let is_known = |word: &&str| values.iter().any(|(name, _)| name == word);
        let word = braced.filter(is_known).unwrap_or(&rest[..end]);
        let value = values.iter().find(|(name, _)| name == word);
        out.push_str(value.map_or(word, |(_, value)| value));
        rest = &rest[word.len()..];
    }
    out
}

fn owned(values: &[(&str, &str)]) -> Vec<(String, String)> {
    values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Of the checks that are executed.
fn assert_shows(case: &Case, shown: &[String]) {
    let name = case.recipe;
    assert_eq!(shown.len(), case.shows.len(), "{name}: {shown:?}");
    let wrong = shown.iter().zip(case.shows).find(|(shown, wanted)| !shows(shown, wanted));
    assert!(wrong.is_none(), "{name}: {wrong:?}");
}

fn shows(shown: &str, wanted: &str) -> bool {
    match wanted.strip_prefix('!') {
        Some(unwanted) => !shown.is_empty() && !shown.contains(unwanted),
        None => !shown.is_empty() && shown.contains(wanted),
    }
}
