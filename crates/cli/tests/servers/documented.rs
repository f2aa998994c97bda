//! Every printed JSON key is documented.

use std::collections::BTreeSet;

use serde_json::Value;

const JSON_DOC: &str = include_str!("../../../../docs/reference/json.md");

/// The keys of all objects, but not of maps keyed by numbers or counter names.
fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                found.insert(key.clone());
                if key != "counters" && !key.ends_with("by_node") {
                    keys(value, found);
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

pub fn assert_documented(document: &Value) {
    let mut found = BTreeSet::new();
    keys(document, &mut found);
    let documented = |key: &String| {
        [format!("`{key}`"), format!("\"{key}\"")].iter().any(|form| JSON_DOC.contains(form))
    };
    let missing: Vec<_> = found.iter().filter(|key| !documented(key)).collect();
    assert!(missing.is_empty(), "docs/reference/json.md does not know {missing:?}");
}
