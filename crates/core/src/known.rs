//! A value, or the reason why there is none.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::code::Code;

/// Why something was refused, failed or is missing: a code for scripts, and words for people.
///
/// In JSON, the keys `reason` and `reason_code` beside those of the thing it explains.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reason {
    code: Code,
    words: Cow<'static, str>,
}

impl Code {
    pub fn because(self, words: impl Into<Cow<'static, str>>) -> Reason {
        Reason { code: self, words: words.into() }
    }
}

impl Reason {
    pub fn as_str(&self) -> &str {
        &self.words
    }

    pub const fn code(&self) -> Code {
        self.code
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl std::error::Error for Reason {}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("reason", &self.words)?;
        map.serialize_entry("reason_code", &self.code)?;
        map.end()
    }
}

/// Stored form; versions without codes stored only words.
#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Stored {
    Words(String),
    Whole {
        reason: String,
        #[serde(default)]
        reason_code: Code,
    },
}

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Stored::deserialize(deserializer)? {
            Stored::Words(words) => Code::Uncoded.because(words),
            Stored::Whole { reason, reason_code } => reason_code.because(reason),
        })
    }
}

/// A value that may be absent, but never without a reason, and never as a zero.
///
/// In JSON it is the value itself, or `{"missing": "because …", "code": "missing.not_told"}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known<T> {
    Is(T),
    Missing(Reason),
}

impl<T> Known<T> {
    pub fn missing(code: Code, words: impl Into<Cow<'static, str>>) -> Self {
        Self::Missing(code.because(words))
    }

    pub fn found<W: Into<Cow<'static, str>>>(
        value: Option<T>,
        code: Code,
        words: impl FnOnce() -> W,
    ) -> Self {
        value.map_or_else(|| Self::missing(code, words()), Self::Is)
    }

    pub fn ok(self) -> Option<T> {
        if let Self::Is(value) = self { Some(value) } else { None }
    }

    pub fn get(&self) -> Option<&T> {
        if let Self::Is(value) = self { Some(value) } else { None }
    }

    pub fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Is(_) => None,
            Self::Missing(reason) => Some(reason),
        }
    }

    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Known<U> {
        self.and_then(|value| Known::Is(change(value)))
    }

    pub fn and_then<U>(self, change: impl FnOnce(T) -> Known<U>) -> Known<U> {
        match self {
            Self::Is(value) => change(value),
            Self::Missing(reason) => Known::Missing(reason),
        }
    }

    #[must_use]
    pub fn or_else(self, other: impl FnOnce(Reason) -> Self) -> Self {
        match self {
            Self::Is(value) => Self::Is(value),
            Self::Missing(reason) => other(reason),
        }
    }

    pub fn as_ref(&self) -> Known<&T> {
        match self {
            Self::Is(value) => Known::Is(value),
            Self::Missing(reason) => Known::Missing(reason.clone()),
        }
    }
}

impl<T: fmt::Display> fmt::Display for Known<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(value) => value.fmt(f),
            Self::Missing(reason) => write!(f, "missing, because {reason}"),
        }
    }
}

/// Serializes a reason as the keys `missing` and `code` beside those of the missing thing:
/// `#[serde(flatten, serialize_with = "as_missing")]`.
pub fn as_missing<S: Serializer>(reason: &Reason, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(2))?;
    map.serialize_entry("missing", reason.as_str())?;
    map.serialize_entry("code", &reason.code())?;
    map.end()
}

impl<T: Serialize> Serialize for Known<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Is(value) => value.serialize(serializer),
            Self::Missing(reason) => as_missing(reason, serializer),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Known<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(untagged)]
        enum Form<T> {
            Missing {
                missing: String,
                #[serde(default)]
                code: Code,
            },
            Is(T),
        }
        Ok(match Form::deserialize(deserializer)? {
            Form::Missing { missing, code } => Self::missing(code, missing),
            Form::Is(value) => Self::Is(value),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absence_is_written_with_its_reason() {
        let known = Known::Is(7);
        let missing: Known<u32> = Known::missing(Code::KernelLacks, "the kernel is too old");
        assert_eq!(serde_json::to_string(&known).unwrap(), "7");
        assert_eq!(
            serde_json::to_string(&missing).unwrap(),
            r#"{"missing":"the kernel is too old","code":"kernel.feature"}"#
        );
        for known in [known, missing.clone()] {
            let text = serde_json::to_string(&known).unwrap();
            assert_eq!(serde_json::from_str::<Known<u32>>(&text).unwrap(), known);
        }
        assert_eq!(missing.to_string(), "missing, because the kernel is too old");
    }
}
