//! Rust text for the rules: comments, literals and tests are blanked, offsets are kept.

use std::iter;
use std::ops::Range;

const TEST: &str = "#[cfg(test)]";

#[derive(Debug, Default)]
pub struct Scan {
    /// As long as the file: comments and tests are blanks, literals are quotation marks.
    pub code: String,
    pub tests: Vec<Range<usize>>,
    pub test_modules: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Function<'a> {
    pub name: &'a str,
    /// The offset of its name.
    pub at: usize,
    pub signature: &'a str,
    pub lines: usize,
}

impl Scan {
    pub fn of(text: &str) -> Self {
        let mut code = without_words(text);
        let mut tests = Vec::new();
        let mut test_modules = Vec::new();
        while let Some(begin) = code.find(TEST) {
            let behind = begin + TEST.len();
            let end = behind + end_of_item(&code[behind..]);
            let item = code[begin..end].to_owned();
            let mut names = tokens(&item).map(|(_, token)| token);
            if item.ends_with(';') && names.any(|token| token == "mod") {
                test_modules.extend(names.next().map(str::to_owned));
            }
            code.replace_range(begin..end, &blank(&item, ' '));
            tests.push(begin..end);
        }
        Self { code, tests, test_modules }
    }

    pub fn functions(&self) -> Vec<Function<'_>> {
        let mut all = Vec::new();
        let mut tokens = tokens(&self.code).peekable();
        while let Some((_, token)) = tokens.next() {
            let Some(&(at, name)) = tokens.peek().filter(|_| token == "fn") else { continue };
            let rest = &self.code[at..];
            let signature = end_of_item_head(rest);
            if is_word(name) && rest[signature..].starts_with('{') {
                let body = &rest[signature + 1..end_of_item(rest) - 1];
                let lines = body.lines().filter(|line| !line.trim().is_empty()).count();
                all.push(Function { name, at, signature: &rest[..signature], lines });
            }
        }
        all
    }
}

/// Words, `::`, and single characters, with their offsets.
pub fn tokens(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    iter::from_fn(move || {
        at += code[at..].find(|c: char| !c.is_whitespace())?;
        let length = token_length(&code[at..]);
        at += length;
        Some((at - length, &code[at - length..at]))
    })
}

pub fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

fn token_length(rest: &str) -> usize {
    if is_word(rest) {
        rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
    } else if rest.starts_with("::") {
        2
    } else {
        rest.chars().next().map_or(0, char::len_utf8)
    }
}

fn end_of_item_head(rest: &str) -> usize {
    let mut depth = 0;
    for (at, token) in tokens(rest) {
        match token {
            "(" | "[" => depth += 1,
            ")" | "]" => depth -= 1,
            "{" | ";" if depth == 0 => return at,
            _ => {}
        }
    }
    rest.len()
}

fn end_of_item(rest: &str) -> usize {
    let head = end_of_item_head(rest);
    let mut depth = 0;
    for (at, token) in tokens(&rest[head..]) {
        match token {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return head + at + 1;
        }
    }
    rest.len()
}

fn without_words(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    while let Some(rest) = text.get(code.len()..).filter(|rest| !rest.is_empty()) {
        if let Some(length) = comment(rest) {
            code.push_str(&blank(&rest[..length], ' '));
        } else if let Some(length) = literal(rest) {
            code.push_str(&blank(&rest[..length], '"'));
        } else {
            code.push_str(&rest[..token_length(rest)]);
        }
    }
    code
}

fn blank(text: &str, with: char) -> String {
    text.bytes().map(|byte| if byte == b'\n' { '\n' } else { with }).collect()
}

fn comment(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    let mut inside = rest.strip_prefix("/*")?;
    let mut depth = 1;
    while depth > 0 {
        let Some(at) = ["/*", "*/"].iter().filter_map(|mark| inside.find(mark)).min() else {
            return Some(rest.len());
        };
        depth += if inside[at..].starts_with('/') { 1 } else { -1 };
        inside = &inside[at + 2..];
    }
    Some(rest.len() - inside.len())
}

fn literal(rest: &str) -> Option<usize> {
    let prefix = rest.find(|c: char| !matches!(c, 'b' | 'c' | 'r' | '#'))?;
    let (prefix, body) = rest.split_at(prefix);
    let quote = body.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let behind = |end: usize| prefix.len() + end;
    if prefix.contains('r') {
        let end = format!("\"{}", "#".repeat(prefix.matches('#').count()));
        return Some(behind(1 + body[1..].find(&end)? + end.len()));
    }
    let mut is_escaped = false;
    for (at, c) in body.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return (!prefix.contains('#')).then_some(behind(at + 1)),
            _ if quote == '\'' && !body[at + c.len_utf8()..].starts_with('\'') && at == 1 => {
                return None;
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked_in_their_places() {
        let cases = [
            ("a // b\nc", "a     \nc"),
            ("a /* b /* c\n */ d */ e", "a          \n         e"),
            ("f(\"a\\\"{\", 'x', '\\'', b'{')", "f(\"\"\"\"\"\", \"\"\", \"\"\"\", \"\"\"\")"),
            ("r#\"a\"}\"# b\"{\" bar", "\"\"\"\"\"\"\"\" \"\"\"\" bar"),
            ("for<'a> &'a str 'x'", "for<'a> &'a str \"\"\""),
            ("\"é\"", "\"\"\"\""),
            ("r#type", "r#type"),
        ];
        for (text, code) in cases {
            assert_eq!(Scan::of(text).code, code);
        }
    }

    #[test]
    fn tests_are_no_code() {
        let text = "#[cfg(test)]\nmod far;\nfn a() {}\n#[cfg(test)]\n#[rustfmt::skip]\nfn b(x: [u8; 2]) { c(\"}\"); }\nfn d() {}";
        let scan = Scan::of(text);
        assert_eq!(scan.code.split_whitespace().collect::<String>(), "fna(){}fnd(){}");
        assert_eq!(scan.code.len(), text.len());
        assert_eq!(scan.test_modules, ["far"]);
        assert!(text[scan.tests[1].clone()].ends_with("c(\"}\"); }"));
    }

    #[test]
    fn a_function_is_as_long_as_its_code() {
        let text = "trait T { fn none(&self); }\nfn a(x: [u8; 2]) -> u8 {\n\n    // Why.\n    if x {\n        1\n    }\n}\nlet f: fn(u8);";
        let scan = Scan::of(text);
        let functions: Vec<_> = scan.functions();
        let [a] = &functions[..] else { panic!("{functions:?}") };
        assert_eq!((a.name, a.lines, a.signature), ("a", 3, "a(x: [u8; 2]) -> u8 "));
    }
}
