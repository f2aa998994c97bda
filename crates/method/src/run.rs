//! Identity and preparation of a run, as stored.

use std::collections::{BTreeMap, BTreeSet};

use hopcost_core::{Comparison, CpuSet, Emulation, Words};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::judge::Circumstances;
use crate::plan::Plan;
use crate::schedule::Pace;

/// Must be equal for a run to be resumed or compared with a baseline. Stored as JSON.
#[derive(Clone, Debug, Serialize)]
pub struct RunIdentity<'a> {
    pub experiment: &'a str,
    pub comparison: &'a Comparison,
    pub target: &'a str,
    /// Of the data's main table.
    pub rows: u64,
    /// Windows end by time instead of after whole calls.
    pub sliced: bool,
    pub seed: u64,
    pub emulation: Option<Emulation>,
    /// From `Wishes::written`.
    pub wishes: String,
    /// A plan for other CPUs would exceed the current bounds.
    pub cpus: &'a CpuSet,
    /// Omitted when false, so that runs of versions without the option can be resumed and compared.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unused_off_line: bool,
}

impl RunIdentity<'_> {
    pub fn key(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct HardwareIdentity {
    pub seed: u64,
    pub emulation: Emulation,
}

impl HardwareIdentity {
    pub fn key(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Decisions before the first block, which a resumed run reuses.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunPreparation {
    pub plan: Plan,
    pub pace: Pace,
    pub circumstances: Circumstances,
    #[serde(default)]
    pub command: Option<String>,
    /// For reports: an experiment's file may be gone by then.
    #[serde(default)]
    pub words: Words,
    /// Of its variants, by name.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// The systemd unit of an existing server on this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

/// In the form of a comparison's.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct HardwarePreparation {
    pub circumstances: HardwareCircumstances,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct HardwareCircumstances {
    pub emulated: bool,
}

/// By name, each once.
pub fn differing_options(then: &str, now: &str) -> Vec<String> {
    let options: BTreeSet<String> =
        differing_keys(then, now).iter().map(|key| known_as(key).to_owned()).collect();
    options.into_iter().collect()
}

pub fn differing_keys(then: &str, now: &str) -> Vec<String> {
    let read = |text: &str| current(serde_json::from_str(text).unwrap_or_default());
    let (then, now) = (read(then), read(now));
    let keys =
        [&then, &now].into_iter().filter_map(Value::as_object).flat_map(serde_json::Map::keys);
    let keys: BTreeSet<&String> = keys.collect();
    let differ = |key: &&String| match (then.get(key.as_str()), now.get(key.as_str())) {
        // Older runs lack this key; their CPUs are those of the machine.
        (None, _) | (_, None) if *key == "cpus" => false,
        (then, now) => then != now,
    };
    keys.into_iter().filter(differ).cloned().collect()
}

/// Without the CPUs and the address, which are of one machine. The comparison, which may quote the
/// user's own statements, becomes its digest.
pub fn without_own_words(identity: &str, digest: impl FnOnce(&str) -> String) -> String {
    let mut identity = current(serde_json::from_str(identity).unwrap_or_default());
    if let Value::Object(options) = &mut identity {
        options.retain(|key, _| !OF_ONE_MACHINE.contains(&key.as_str()));
        if let Some(comparison) = options.get_mut("comparison").filter(|it| it.is_object()) {
            *comparison = digest(&comparison.to_string()).into();
        }
    }
    identity.to_string()
}

const OF_ONE_MACHINE: [&str; 2] = ["cpus", "target"];

/// Older versions have no key for unset options, and no address in the target.
fn current(identity: Value) -> Value {
    let mut identity = without_nulls(identity);
    if let Some(Value::Object(comparison)) = identity.get_mut("comparison") {
        comparison.retain(|_, asked| *asked != Value::Bool(false));
    }
    if let Some(Value::String(target)) = identity.get_mut("target")
        && !target.contains(':')
    {
        target.push(':');
    }
    identity
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let known = object.into_iter().filter(|(_, value)| !value.is_null());
            known.map(|(key, value)| (key, without_nulls(value))).collect()
        }
        Value::Array(all) => all.into_iter().map(without_nulls).collect(),
        value => value,
    }
}

/// The option that changes a key, or the experiment's file.
pub fn known_as(key: &str) -> &str {
    const KNOWN_AS: [(&str, &str); 7] = [
        ("comparison", "the experiment's file or --set"),
        ("rows", "--scale"),
        ("sliced", "--full"),
        ("seed", "--seed"),
        ("emulation", "--emulate"),
        ("wishes", "--quick, --full, --budget or --set"),
        ("unused_off_line", "--allow-machine-changes"),
    ];
    KNOWN_AS.iter().find(|(known, _)| *known == key).map_or(key, |(_, option)| option)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_differ_in_options() {
        let then = r#"{"experiment": "x", "rows": 50, "seed": 1, "emulation": null}"#;
        assert!(differing_options(then, then).is_empty());
        let now = r#"{"experiment": "x", "rows": 60, "seed": 1, "emulation": {"nodes": 2}}"#;
        assert_eq!(differing_options(then, now), ["--emulate", "--scale"]);
    }

    #[test]
    fn what_an_earlier_version_had_no_key_for_was_not_asked_for() {
        let then = r#"{"target": "sqlite", "comparison": {"levels": [{"name": "near"}]}}"#;
        let now = |siblings: &str, spread: bool| {
            format!(
                r#"{{"target": "sqlite:", "cpus": [0], "comparison":
                   {{"levels": [{{"name": "near", "siblings": {siblings}}}], "spread": {spread}}}}}"#
            )
        };
        assert_eq!(differing_keys(then, &now("null", false)), [""; 0]);
        for other in [now("false", false), now("null", true)] {
            assert_eq!(differing_keys(then, &other), ["comparison"]);
        }
        assert_eq!(differing_keys(r#"{"cpus": [0]}"#, r#"{"cpus": [1]}"#), ["cpus"]);
        assert_eq!(differing_keys(then, r#"{"target": "null:"}"#), ["comparison", "target"]);
    }
}
