//! What a run was asked for, and what was decided before its first block: as stores keep it.

use std::collections::BTreeSet;

use hopcost_core::{Comparison, CpuSet, Emulation};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::judge::Circumstances;
use crate::plan::Plan;
use crate::schedule::Pace;

/// What has to be equal if a run of a comparison is to be resumed, or compared with a baseline. It is kept as
/// JSON.
#[derive(Clone, Debug, Serialize)]
pub struct RunIdentity<'a> {
    pub experiment: &'a str,
    pub comparison: &'a Comparison,
    /// The URL, without anything secret.
    pub target: &'a str,
    /// Of the data's main table.
    pub rows: u64,
    /// Whether a window is cut by time, and not by whole calls.
    pub sliced: bool,
    pub seed: u64,
    pub emulation: Option<Emulation>,
    /// As `Wishes::written` has them.
    pub wishes: String,
    /// A plan for other CPUs would leave the bounds of now.
    pub cpus: &'a CpuSet,
    /// Left out if they stay on-line: runs from before the option can be resumed, and stay comparable.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unused_off_line: bool,
}

impl RunIdentity<'_> {
    pub fn key(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The same of an experiment on emulated hardware.
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

/// What was decided before the first block: a resumed run must not decide it again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunPreparation {
    pub plan: Plan,
    pub pace: Pace,
    pub circumstances: Circumstances,
    /// The command line that began the run.
    #[serde(default)]
    pub command: Option<String>,
}

/// The same of an experiment on the hardware, in the form of a comparison's.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct HardwarePreparation {
    pub circumstances: HardwareCircumstances,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct HardwareCircumstances {
    pub emulated: bool,
}

/// In what two identities differ, in terms of the options that change it.
pub fn differing_options(then: &str, now: &str) -> Vec<String> {
    differing_keys(then, now).iter().map(|key| known_as(key).to_owned()).collect()
}

/// Whichever versions wrote the two.
pub fn differing_keys(then: &str, now: &str) -> Vec<String> {
    let read = |text: &str| current(serde_json::from_str(text).unwrap_or_default());
    let (then, now) = (read(then), read(now));
    let keys =
        [&then, &now].into_iter().filter_map(Value::as_object).flat_map(serde_json::Map::keys);
    let keys: BTreeSet<&String> = keys.collect();
    let differ = |key: &&String| match (then.get(key.as_str()), now.get(key.as_str())) {
        // This key came later: the machine tells which CPUs an older run had.
        (None, _) | (_, None) if *key == "cpus" => false,
        (then, now) => then != now,
    };
    keys.into_iter().filter(differ).cloned().collect()
}

/// An identity as this version would write it, without what was not asked for: older versions have no key for
/// that, and none wrote a target with an address.
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

/// What changes a key of an identity: an option, or the experiment's file.
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
