//! What was written down of a run when it began, and decided before its first block: what a report needs
//! beside the result.

use hopcost_core::{Code, CpuSet, Known, Machine, NodeId};
use rusqlite::OptionalExtension;
use serde::Deserialize;

use crate::{Store, StoreError};

/// The head of a run.
#[derive(Debug)]
pub struct Header {
    /// The experiment's name.
    pub experiment: String,
    /// What it asks.
    pub question: String,
    /// The database under test, where there is one.
    pub target: Option<String>,
    /// How much was asked of it: `quick`, `normal`, `full`.
    pub effort: String,
    /// Its seed.
    pub seed: u64,
    /// The hopcost that measured.
    pub version: String,
    /// Seconds since 1970.
    pub begun_s: i64,
    /// The machine it ran on.
    pub machine: Known<Machine>,
    /// How it was asked for: all that has to be equal for another run to go on with it.
    pub identity: Option<String>,
    /// What was decided before its first block.
    pub decided: Decided,
}

/// What a reader needs of a run's preparation. Whoever prepares it decides its form, and that may grow:
/// what is not there stays unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decided {
    /// The names of the levels, the baseline first, as blocks number them.
    pub levels: Vec<String>,
    /// The node that each level's workers stand on, by binding and then by level.
    pub workers_at: Vec<Vec<Option<NodeId>>>,
    /// The CPUs that each level leaves unused, by binding and then by level.
    pub spare: Vec<Vec<CpuSet>>,
    /// A cost within this is no difference.
    pub margin: Option<f64>,
    /// Was distance planted?
    pub is_emulated: bool,
    /// The command that measured it.
    pub command: Option<String>,
}

/// The form in which it is kept, as far as it matters here.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Preparation {
    plan: Plan,
    pace: Pace,
    circumstances: Circumstances,
    command: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Plan {
    levels: Vec<String>,
    placements: Vec<Vec<Placement>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Placement {
    at: Option<NodeId>,
    spare: CpuSet,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Pace {
    margin: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Circumstances {
    emulated: bool,
}

impl Decided {
    fn of(preparation: Option<&str>) -> Self {
        let kept = preparation.and_then(|text| serde_json::from_str(text).ok());
        let Preparation { plan, pace, circumstances, command } = kept.unwrap_or_default();
        let nodes = |levels: &Vec<Placement>| levels.iter().map(|level| level.at).collect();
        let spare = |levels: &Vec<Placement>| levels.iter().map(|l| l.spare.clone()).collect();
        Self {
            spare: plan.placements.iter().map(spare).collect(),
            workers_at: plan.placements.iter().map(nodes).collect(),
            levels: plan.levels,
            margin: pace.margin,
            is_emulated: circumstances.emulated,
            command,
        }
    }
}

impl Store {
    /// The head of a run; none if there is no such run.
    pub fn header(&self, id: i64) -> Result<Option<Header>, StoreError> {
        let read = |row: &rusqlite::Row<'_>| {
            let (machine, preparation): (String, Option<String>) = (row.get(7)?, row.get(8)?);
            let machine = serde_json::from_str(&machine).map_or_else(
                |error| {
                    Known::missing(
                        Code::NotStored,
                        format!("it was kept in another form ({error})"),
                    )
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
            "pace": {"margin": 0.03, "window_s": 0.2}, "circumstances": {"emulated": true}}"#;
        let decided = Decided::of(Some(text));
        assert_eq!(decided.levels, ["near", "far"]);
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
