//! The goal of a sweep, and what it requires.

use toml::Spanned;

use super::flaw::Flaw;
use super::names::one_of;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Find {
    Nothing,
    Worst,
    /// The highest throughput of the only variant.
    Score,
    Scaling,
}

impl Find {
    pub fn of(text: Option<&Spanned<String>>) -> Result<Self, Flaw> {
        let Some(text) = text else { return Ok(Self::Nothing) };
        let known = [("worst", Self::Worst), ("score", Self::Score), ("scaling", Self::Scaling)];
        one_of("search", text, &known)
    }

    pub fn check_levels(self, name: &Spanned<String>, levels: usize) -> Result<(), Flaw> {
        if self == Self::Score && levels != 1 {
            return Err(Flaw::of(
                name,
                format!("'{}' has {levels} levels", name.get_ref()),
                "a score compares nothing: keep one level, or leave out find = \"score\"",
            ));
        }
        if levels < 2 && !matches!(self, Self::Score | Self::Scaling) {
            return Err(Flaw::of(
                name,
                format!("'{}' has {levels} level", name.get_ref()),
                "a comparison needs two or more, the baseline first; a score has find = \"score\"",
            ));
        }
        Ok(())
    }

    pub fn check_streams<T>(self, at: &Spanned<T>, streams: &[u32]) -> Result<(), Flaw> {
        let least = hopcost_stats::LEAST_FOR_A_LAW;
        if self == Self::Scaling && streams.len() < least {
            return Err(Flaw::of(
                at,
                match streams.len() {
                    1 => "1 number of clients".to_owned(),
                    n => format!("{n} numbers of clients"),
                },
                format!(
                    "a law of three parameters needs {least} of them, and six tell where it turns \
                     down: streams = [1, 2, 3, 4, 6, 8]"
                ),
            ));
        }
        Ok(())
    }
}
