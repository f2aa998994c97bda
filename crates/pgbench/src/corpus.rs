//! Test cases kept as texts in `corpus/`.

pub const EXPRESSIONS: &str = include_str!("../corpus/expressions.txt");
pub const SCRIPTS: &str = include_str!("../corpus/scripts.txt");

#[track_caller]
pub fn cases(corpus: &'static str, section: &str) -> Vec<(String, &'static str)> {
    let head = format!("[{section}]\n");
    let (_, from_here) = corpus.split_once(&head).unwrap_or_else(|| panic!("{section} is missing"));
    let lines = from_here.lines().take_while(|line| !line.starts_with('['));
    let case = |line: &'static str| {
        let (text, expected) =
            line.split_once(" -> ").unwrap_or_else(|| panic!("{line} expects nothing"));
        (text.replace('⏎', "\n"), expected)
    };
    let cases: Vec<_> = lines.filter(|line| !line.is_empty()).map(case).collect();
    assert!(!cases.is_empty(), "{section} has no cases");
    cases
}

/// Expected: a position, and a part of the message there.
pub fn is_so_far(expected: &str, found: &str) -> bool {
    let (place, says) = expected.split_once(": ").unwrap_or_default();
    found.starts_with(&format!("{place}: ")) && found.contains(says)
}
