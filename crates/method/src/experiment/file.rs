//! The TOML tables of an experiment file.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use toml::Spanned;

use super::level::LevelTable;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub question: Spanned<String>,
    pub title: Option<Spanned<String>>,
    pub unit: Option<Spanned<String>>,
    pub why: Option<Spanned<String>>,
    pub survey: Option<u32>,
    pub subject: Spanned<SubjectTable>,
    #[serde(default)]
    pub factor: Ordered<Ordered<LevelTable>>,
    pub sweep: Option<Spanned<Sweep>>,
    #[serde(default)]
    pub load: LoadTable,
    pub measure: Option<Spanned<Measure>>,
    #[serde(default)]
    pub published: Beside,
    #[serde(default)]
    pub advice: Vec<AdviceTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubjectTable {
    pub probes: Option<Spanned<Vec<Spanned<String>>>>,
    pub target: Option<Spanned<String>>,
    pub dataset: Option<Spanned<String>>,
    pub scale: Option<Spanned<ScaleTable>>,
    pub workload: Option<Spanned<String>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScaleTable {
    pub quick: u64,
    pub full: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    pub streams: Spanned<Vec<Spanned<u32>>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadTable {
    pub think: Option<Spanned<String>>,
    pub rate: Option<Spanned<f64>>,
    pub arrivals: Option<Spanned<String>>,
    pub ramp: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    pub response: Spanned<String>,
    pub find: Option<Spanned<String>>,
    #[serde(default)]
    pub spread: bool,
    #[serde(default)]
    pub prove: Vec<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beside {
    #[serde(default)]
    pub beside: Vec<Spanned<String>>,
}

/// A table in file order: the first variant is the baseline.
pub struct Ordered<T>(pub Vec<(Spanned<String>, T)>);

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Ordered<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder<T>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for InOrder<T> {
            type Value = Ordered<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Ordered<T>, M::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Ordered(entries))
            }
        }

        deserializer.deserialize_map(InOrder(std::marker::PhantomData))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdviceTable {
    pub verdict: Option<Spanned<String>>,
    pub level: Option<Spanned<String>>,
    pub beyond: Option<Spanned<String>>,
    pub recipes: Spanned<Vec<Spanned<String>>>,
    pub unless: Option<UnlessTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnlessTable {
    pub recipe: Spanned<String>,
    pub says: Spanned<String>,
}
