//! A value, or the reason why there is none.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// Why something is missing, in words for the reader of a report.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reason(Cow<'static, str>);

impl Reason {
    /// The words.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&'static str> for Reason {
    fn from(words: &'static str) -> Self {
        Self(words.into())
    }
}

impl From<String> for Reason {
    fn from(words: String) -> Self {
        Self(words.into())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

/// A value that may be absent, but never without a reason, and never as a zero.
///
/// In JSON it is the value itself, or `{"missing": "because …"}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known<T> {
    /// The value.
    Is(T),
    /// There is none, because.
    Missing(Reason),
}

impl<T> Known<T> {
    /// Absent, because.
    pub fn missing(reason: impl Into<Reason>) -> Self {
        Self::Missing(reason.into())
    }

    /// The value where there is one.
    pub fn ok(self) -> Option<T> {
        match self {
            Self::Is(value) => Some(value),
            Self::Missing(_) => None,
        }
    }

    /// A reference to the value where there is one.
    pub fn get(&self) -> Option<&T> {
        match self {
            Self::Is(value) => Some(value),
            Self::Missing(_) => None,
        }
    }

    /// The reason where there is no value.
    pub fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Is(_) => None,
            Self::Missing(reason) => Some(reason),
        }
    }

    /// The same for a changed value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Known<U> {
        match self {
            Self::Is(value) => Known::Is(change(value)),
            Self::Missing(reason) => Known::Missing(reason),
        }
    }

    /// The same where the change may find that there is none after all.
    pub fn and_then<U>(self, change: impl FnOnce(T) -> Known<U>) -> Known<U> {
        match self {
            Self::Is(value) => change(value),
            Self::Missing(reason) => Known::Missing(reason),
        }
    }

    /// The value, or what another source says.
    #[must_use]
    pub fn or_else(self, other: impl FnOnce(Reason) -> Self) -> Self {
        match self {
            Self::Is(value) => Self::Is(value),
            Self::Missing(reason) => other(reason),
        }
    }

    /// A borrowed view.
    pub fn as_ref(&self) -> Known<&T> {
        match self {
            Self::Is(value) => Known::Is(value),
            Self::Missing(reason) => Known::Missing(reason.clone()),
        }
    }
}

/// The value or the reason, as a person reads it.
impl<T: fmt::Display> fmt::Display for Known<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(value) => value.fmt(f),
            Self::Missing(reason) => write!(f, "missing, because {reason}"),
        }
    }
}

impl<T: Serialize> Serialize for Known<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Is(value) => value.serialize(serializer),
            Self::Missing(reason) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("missing", reason)?;
                map.end()
            }
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Known<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(untagged)]
        enum Form<T> {
            Missing { missing: Reason },
            Is(T),
        }
        Ok(match Form::deserialize(deserializer)? {
            Form::Missing { missing } => Self::Missing(missing),
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
        let missing: Known<u32> = Known::missing("the kernel is too old");
        assert_eq!(serde_json::to_string(&known).unwrap(), "7");
        assert_eq!(
            serde_json::to_string(&missing).unwrap(),
            r#"{"missing":"the kernel is too old"}"#
        );
        for known in [known, missing.clone()] {
            let text = serde_json::to_string(&known).unwrap();
            assert_eq!(serde_json::from_str::<Known<u32>>(&text).unwrap(), known);
        }
        assert_eq!(missing.to_string(), "missing, because the kernel is too old");
    }
}
