//! Rule: no comment merely repeats the name below it.

use super::scan::{is_word, tokens};
use super::tree::{Complaint, File, Tree};

const EMPTY: &[&str] = &[
    "a", "an", "are", "at", "by", "for", "from", "in", "is", "it", "its", "of", "on", "one",
    "that", "the", "their", "them", "these", "this", "those", "to", "with",
];
const MOST_WORDS: usize = 4;

pub fn comments_say_more_than_names(tree: &Tree) -> Vec<Complaint> {
    tree.sources().flat_map(repeating).collect()
}

fn repeating(file: &File) -> Vec<Complaint> {
    let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
    let mut complaints = Vec::new();
    for (n, line) in lines.iter().enumerate() {
        let Some(comment) = line.strip_prefix("/// ") else { continue };
        let is_alone = n == 0 || !lines[n - 1].starts_with("///");
        let mut below = lines[n + 1..].iter().skip_while(|line| line.starts_with("#["));
        let Some(name) = below.next().and_then(|line| name(line)).filter(|_| is_alone) else {
            continue;
        };
        if repeats(comment, name) {
            complaints.push(file.complain(n + 1, format!("says no more than '{name}'")));
        }
    }
    complaints
}

fn name(line: &str) -> Option<&str> {
    const BEFORE: &[&str] = &[
        "async", "const", "crate", "enum", "extern", "fn", "in", "mod", "mut", "pub", "self",
        "static", "struct", "super", "trait", "type", "unsafe",
    ];
    let name = tokens(line)
        .map(|(_, token)| token)
        .find(|token| is_word(token) && !BEFORE.contains(token))?;
    (!matches!(name, "impl" | "let" | "use")).then_some(name)
}

fn repeats(comment: &str, name: &str) -> bool {
    let words = comment.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let words = words.map(|word| word.trim_end_matches("'s")).filter(|word| !word.is_empty());
    let words: Vec<String> =
        words.map(str::to_lowercase).filter(|word| !EMPTY.contains(&&**word)).collect();
    let is_in_name =
        |word: &String| words_of(name).iter().any(|of_name| stem(of_name) == stem(word));
    (1..=MOST_WORDS).contains(&words.len()) && words.iter().all(is_in_name)
}

/// Of `ByteCount` as of `BYTE_COUNT`: byte, count.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if c == '_' || was_lower && c.is_uppercase() {
            words.push(String::new());
        }
        was_lower = c.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| c != '_') {
            word.extend(c.to_lowercase());
        }
    }
    words
}

fn stem(word: &str) -> &str {
    let endings = ["ings", "ing", "ies", "ers", "er", "ed", "es", "s", "e", "y"];
    let mut stems = endings.iter().filter_map(|ending| word.strip_suffix(ending));
    stems.find(|stem| stem.len() > 2).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_that_says_its_name_again_is_seen() {
        let cases = [
            ("/// Its name.\npub name: String,", true),
            ("/// The table's columns\n#[serde(default)]\npub(crate) table_columns: u8,", true),
            ("/// Reads a page.\npub fn read_page()", true),
            ("/// Writing of bytes.\nstruct ByteWriter;", true),
            ("/// All of them.\npub const ALL: u8 = 1;", true),
            ("/// Its name, in UTF-8.\npub name: String,", false),
            ("/// One of them.\nstruct File;", false),
            ("/// Its name.\n/// And more.\nname: String,", false),
            ("/// Reads.\nimpl Read for X {", false),
        ];
        for (text, repeats) in cases {
            let tree = Tree::of([("a.rs".to_owned(), text.to_owned())]);
            assert_eq!(comments_say_more_than_names(&tree).len(), usize::from(repeats), "{text}");
        }
    }
}
