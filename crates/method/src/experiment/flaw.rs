//! An error in an experiment file, with its position.

use std::fmt;

use toml::Spanned;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    pub message: String,
    /// Empty if the message is enough.
    pub advice: String,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)?;
        if self.advice.is_empty() { Ok(()) } else { write!(f, "; {}", self.advice) }
    }
}

impl std::error::Error for FileError {}

pub struct Flaw {
    /// In bytes of the file.
    at: usize,
    message: String,
    advice: String,
}

impl Flaw {
    pub fn new(at: usize, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { at, message: message.into(), advice: advice.into() }
    }

    pub fn of<T>(what: &Spanned<T>, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(what.span().start, message, advice)
    }

    pub fn locate(self, text: &str) -> FileError {
        let before = &text[..self.at.min(text.len())];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        FileError {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: self.message,
            advice: self.advice,
        }
    }
}

pub fn line(key: &str, text: &Spanned<String>) -> Result<String, Flaw> {
    let words = text.get_ref().trim();
    if words.is_empty() || words.contains('\n') {
        return Err(Flaw::of(text, format!("'{key}' is one line of words"), "or leave it out"));
    }
    Ok(words.to_owned())
}
