//! What a report needs of a run beside the result.

use std::collections::BTreeMap;

use hopcost_core::{Code, CpuSet, Known, Machine, NodeId, Words};
use rusqlite::OptionalExtension;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::StoreError;
use crate::store::Store;

#[derive(Debug)]
pub struct Header {
    pub experiment: String,
    pub question: String,
    pub target: Option<String>,
    /// `quick`, `normal` or `full`.
    pub effort: String,
    pub seed: u64,
    pub version: String,
    /// Seconds since 1970.
    pub begun_s: i64,
    pub machine: Known<Machine>,
    pub identity: Option<String>,
    pub decided: Decided,
}

/// Missing fields stay unknown, since the writer may be another version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decided {
    /// The baseline is first.
    pub levels: Vec<String>,
    /// By binding, then by variant.
    pub workers_at: Vec<Vec<Option<NodeId>>>,
    /// By binding, then by variant.
    pub spare: Vec<Vec<CpuSet>>,
    pub margin: Option<f64>,
    pub is_emulated: bool,
    pub command: Option<String>,
    pub words: Words,
    pub labels: BTreeMap<String, String>,
    pub unit: Option<String>,
}

impl Decided {
    fn of(preparation: Option<&str>) -> Self {
        let kept = preparation.and_then(|text| serde_json::from_str::<Value>(text).ok());
        let kept = kept.unwrap_or_default();
        let placements: Vec<Vec<Value>> = known(&kept["plan"]["placements"]);
        Self {
            levels: known(&kept["plan"]["levels"]),
            workers_at: of_each(&placements, "at"),
            spare: of_each(&placements, "spare"),
            margin: known(&kept["pace"]["margin"]),
            is_emulated: known(&kept["circumstances"]["emulated"]),
            command: known(&kept["command"]),
            words: known(&kept["words"]),
            labels: known(&kept["labels"]),
            unit: known(&kept["unit"]),
        }
    }
}

fn of_each<T: DeserializeOwned + Default>(placements: &[Vec<Value>], key: &str) -> Vec<Vec<T>> {
    let of_binding = |levels: &Vec<Value>| levels.iter().map(|level| known(&level[key])).collect();
    placements.iter().map(of_binding).collect()
}

fn known<T: DeserializeOwned + Default>(part: &Value) -> T {
    T::deserialize(part).unwrap_or_default()
}

impl Store {
    pub fn header(&self, id: i64) -> Result<Option<Header>, StoreError> {
        let read = |row: &rusqlite::Row<'_>| {
            let (machine, preparation): (String, Option<String>) = (row.get(7)?, row.get(8)?);
            let machine = serde_json::from_str(&machine).map_or_else(
                |why| {
                    Known::missing(Code::NotStored, format!("it was kept in another form ({why})"))
                },
                Known::Is,
            );
            Ok(Header {
                experiment: row.get(0)?,
                question: row.get(1)?,
                target: row.get(2)?,
                effort: row.get(3)?,
                seed: row.get::<_, i64>(4)?.cast_unsigned(),
                version: row.get(5)?,
                begun_s: row.get(6)?,
                machine,
                identity: row.get(9)?,
                decided: Decided::of(preparation.as_deref()),
            })
        };
        let query = "SELECT experiment, question, target, effort, seed, hopcost_version, begun_s,
                            machine, preparation, identity
                       FROM run WHERE id = ?1";
        Ok(self.connection.query_row(query, [id], read).optional()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preparation_is_read_as_far_as_it_is_known() {
        let text = r#"{"plan": {"levels": ["near", "far"], "bindings": [],
            "placements": [[{"at": 0, "home": 0, "workers": [0]}, {"at": null, "spare": [2, 3]}]]},
            "pace": {"margin": 0.03, "window_s": 0.2}, "circumstances": {"emulated": true},
            "words": {"unit": "commits"}, "labels": {"far": "far memory"},
            "unit": "mariadb"}"#;
        let decided = Decided::of(Some(text));
        assert_eq!(decided.levels, ["near", "far"]);
        assert_eq!(decided.words.unit.as_deref(), Some("commits"));
        assert_eq!(decided.labels["far"], "far memory");
        assert_eq!(decided.unit.as_deref(), Some("mariadb"));
        assert_eq!(decided.workers_at, [[Some(NodeId(0)), None]]);
        assert_eq!(decided.spare, [[CpuSet::new(), CpuSet::parse_list("2-3").unwrap()]]);
        assert_eq!(
            (decided.margin, decided.is_emulated, decided.command),
            (Some(0.03), true, None)
        );
        for other in [None, Some("[1.5, 2.5]"), Some("{}"), Some("not JSON")] {
            assert_eq!(Decided::of(other), Decided::default());
        }
    }
}
