//! Known names in an experiment file, and suggestions for unknown ones.

use toml::Spanned;

use super::flaw::Flaw;

#[derive(Clone, Copy, Debug, Default)]
pub struct Vocabulary<'a> {
    pub targets: &'a [&'a str],
    pub datasets: &'a [&'a str],
    pub workloads: &'a [&'a str],
    pub probes: &'a [&'a str],
    pub published: &'a [&'a str],
}

pub fn expect_one_of(what: &str, word: &Spanned<String>, known: &[&str]) -> Result<(), Flaw> {
    if known.contains(&word.get_ref().as_str()) {
        return Ok(());
    }
    Err(unknown(what, word, known))
}

pub fn one_of<T: Copy>(what: &str, word: &Spanned<String>, known: &[(&str, T)]) -> Result<T, Flaw> {
    let found = known.iter().find(|(name, _)| name == word.get_ref());
    found.map(|(_, of)| *of).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        unknown(what, word, &names)
    })
}

pub fn unknown(what: &str, word: &Spanned<String>, known: &[&str]) -> Flaw {
    let advice = format!("{}known: {}", nearest(word.get_ref(), known), list(known));
    Flaw::of(word, format!("there is no {what} '{}'", word.get_ref()), advice)
}

/// `did you mean 'x'? `
pub fn nearest(word: &str, known: &[&str]) -> String {
    let likeness = |name: &&&str| (strsim::jaro_winkler(word, name) * 1000.0) as u32;
    let best = known.iter().max_by_key(likeness).filter(|name| likeness(name) > 800);
    best.map_or_else(String::new, |name| format!("did you mean '{name}'? "))
}

pub fn list(names: &[&str]) -> String {
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

pub fn plain<T: Clone>(value: Option<&Spanned<T>>) -> Option<T> {
    value.map(|value| value.get_ref().clone())
}
