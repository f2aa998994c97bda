//! A read position in a script's text.

use super::place::{Place, ScriptError};

#[derive(Clone, Copy)]
pub struct Cursor<'a> {
    name: &'a str,
    text: &'a str,
    passed: usize,
    at: Place,
}

impl<'a> Cursor<'a> {
    pub fn new(name: &'a str, text: &'a str) -> Self {
        Self { name, text, passed: 0, at: Place { line: 1, column: 1 } }
    }

    pub fn at(&self) -> Place {
        self.at
    }

    pub fn rest(&self) -> &'a str {
        &self.text[self.passed..]
    }

    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub fn before(&self) -> Option<char> {
        self.text[..self.passed].chars().next_back()
    }

    pub fn is_at(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    pub fn take(&mut self) -> Option<char> {
        let taken = self.peek()?;
        self.passed += taken.len_utf8();
        self.at = match taken {
            '\n' => Place { line: self.at.line + 1, column: 1 },
            _ => Place { column: self.at.column + 1, ..self.at },
        };
        Some(taken)
    }

    pub fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let from = self.passed;
        while self.peek().is_some_and(&belongs) {
            self.take();
        }
        &self.text[from..self.passed]
    }

    pub fn skip(&mut self, text: &str) -> bool {
        let is_here = self.is_at(text);
        if is_here {
            for _ in text.chars() {
                self.take();
            }
        }
        is_here
    }

    /// Reads blanks, and line ends continued by a backslash.
    pub fn skip_blanks(&mut self) {
        loop {
            self.take_while(is_blank);
            match self.continuation() {
                Some(mark) => self.skip(mark),
                None => return,
            };
        }
    }

    /// Reads a word of a backslash command; `None` at the end of the command.
    pub fn word(&mut self) -> Option<(Place, &'a str)> {
        self.skip_blanks();
        let (at, from) = (self.at, self.passed);
        let belongs = |c| !is_blank(c) && c != '\n';
        while self.continuation().is_none() && self.peek().is_some_and(belongs) {
            self.take();
        }
        let word = &self.text[from..self.passed];
        (!word.is_empty()).then_some((at, word))
    }

    fn continuation(&self) -> Option<&'static str> {
        ["\\\n", "\\\r\n"].into_iter().find(|mark| self.is_at(mark))
    }

    pub fn wrong(&self, at: Place, says: impl Into<String>) -> ScriptError {
        ScriptError { name: self.name.to_owned(), at, says: says.into() }
    }
}

pub fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\x0b' | '\x0c')
}

pub fn begins_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || !c.is_ascii()
}

pub fn goes_on_in_name(c: char) -> bool {
    begins_name(c) || c.is_ascii_digit()
}

pub fn is_name(text: &str) -> bool {
    text.starts_with(begins_name) && text.chars().all(goes_on_in_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_knows_its_line_and_column() {
        let mut cursor = Cursor::new("s", "aä\r\nb");
        cursor.take_while(|c| c != 'b');
        assert_eq!(cursor.at(), Place { line: 2, column: 1 });
        assert_eq!((cursor.take(), cursor.take(), cursor.before()), (Some('b'), None, Some('b')));
        assert_eq!(cursor.at(), Place { line: 2, column: 2 });
        assert_eq!(cursor.wrong(cursor.at(), "no").to_string(), "s:2:2: no");
    }

    #[test]
    fn words_end_at_blanks_and_lines_go_on_behind_a_backslash() {
        let mut cursor = Cursor::new("s", " set\\\n \\\r\n x\\y\t1\\ \r\nnext");
        let words: Vec<_> = std::iter::from_fn(|| cursor.word()).collect();
        let place = |line, column| Place { line, column };
        assert_eq!(words, [(place(1, 2), "set"), (place(3, 2), "x\\y"), (place(3, 6), "1\\"),]);
        assert!(cursor.is_at("\nnext"));
    }

    #[test]
    fn names_begin_with_no_digit() {
        for name in ["a", "_1", "größe", "É2"] {
            assert!(is_name(name), "{name}");
        }
        for other in ["", "1a", "a-b", "a b", "?column?"] {
            assert!(!is_name(other), "{other}");
        }
    }
}
