//! Interned variable names, so that a running script compares no texts.

use std::sync::{PoisonError, RwLock};

/// Equal texts are equal names in all scripts. They are never freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name(usize);

static TEXTS: RwLock<Vec<&'static str>> = RwLock::new(Vec::new());

impl Name {
    pub fn of(text: &str) -> Self {
        let find = |texts: &[&str]| texts.iter().position(|known| *known == text).map(Self);
        if let Some(known) = find(&TEXTS.read().unwrap_or_else(PoisonError::into_inner)) {
            return known;
        }
        let mut texts = TEXTS.write().unwrap_or_else(PoisonError::into_inner);
        find(&texts).unwrap_or_else(|| {
            texts.push(text.to_owned().leak());
            Self(texts.len() - 1)
        })
    }

    pub fn text(self) -> &'static str {
        TEXTS.read().unwrap_or_else(PoisonError::into_inner)[self.0]
    }

    pub fn number(self) -> usize {
        self.0
    }

    pub fn numbered(number: usize) -> Self {
        Self(number)
    }
}
