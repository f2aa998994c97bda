//! What a run was asked for, and what was decided before its first block: as stores keep it.

use std::collections::BTreeSet;

use hopcost_core::{Comparison, CpuSet, Emulation};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::judge::Circumstances;
use crate::plan::Plan;
use crate::schedule::Pace;

/// All that has to be equal for a run of a comparison to go on with another, or to be held against it.
#[derive(Clone, Debug, Serialize)]
pub struct RunIdentity<'a> {
    /// The experiment's name.
    pub experiment: &'a str,
    /// What is compared.
    pub comparison: &'a Comparison,
    /// The database's URL, without anything secret.
    pub target: &'a str,
    /// How large the data is.
    pub rows: u64,
    /// Is a window cut by time, not by whole calls?
    pub sliced: bool,
    /// The seed of everything.
    pub seed: u64,
    /// What is emulated.
    pub emulation: Option<Emulation>,
    /// What was wished for, in the words of the first version.
    pub wishes: String,
    /// A plan that was made for other CPUs would leave the bounds that are set now.
    pub cpus: &'a CpuSet,
    /// Left out where they stay on-line: runs of before the option go on, and stay comparable.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unused_off_line: bool,
}

impl RunIdentity<'_> {
    /// As stores keep it.
    pub fn key(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The same of an experiment on emulated hardware.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct HardwareIdentity {
    /// The seed of everything.
    pub seed: u64,
    /// What is emulated.
    pub emulation: Emulation,
}

impl HardwareIdentity {
    /// As stores keep it.
    pub fn key(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// What was decided before the first block: a run that goes on must not decide it again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunPreparation {
    /// Where what is measured.
    pub plan: Plan,
    /// How long it takes.
    pub pace: Pace,
    /// What else a verdict needs.
    pub circumstances: Circumstances,
    /// The command that began it, for whoever wants to do it again.
    #[serde(default)]
    pub command: Option<String>,
}

/// The same of an experiment on the hardware, as far as it is in the form of a comparison's.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct HardwarePreparation {
    /// What else a reader needs.
    pub circumstances: HardwareCircumstances,
}

/// What else a reader of a run on the hardware needs.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct HardwareCircumstances {
    /// Was anything emulated?
    pub emulated: bool,
}

/// What two identities differ in, as the user knows it.
pub fn differing_options(then: &str, now: &str) -> Vec<String> {
    differing_keys(then, now).iter().map(|key| known_as(key).to_owned()).collect()
}

/// The keys in which two identities differ, whichever versions wrote them.
pub fn differing_keys(then: &str, now: &str) -> Vec<String> {
    let read = |text: &str| current(serde_json::from_str(text).unwrap_or_default());
    let (then, now) = (read(then), read(now));
    let keys =
        [&then, &now].into_iter().filter_map(Value::as_object).flat_map(serde_json::Map::keys);
    let keys: BTreeSet<&String> = keys.collect();
    let differ = |key: &&String| match (then.get(key.as_str()), now.get(key.as_str())) {
        // It came later: what a run had without it, its machine tells.
        (None, _) | (_, None) if *key == "cpus" => false,
        (then, now) => then != now,
    };
    keys.into_iter().filter(differ).cloned().collect()
}

/// An identity as this version would write it, less what was not asked for: an earlier version has no key for
/// that, and none had a target with an address.
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

/// By what a user changes a key of an identity.
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
