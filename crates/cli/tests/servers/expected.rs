//! Assertions on runs of one machine, measured or simulated.

use serde_json::Value;

use crate::documented::assert_documented;

pub fn is_held_against_the_first(second: &Value) {
    let against = &second["against"];
    assert_eq!((&against["run"], &against["is_first"]), (&1.into(), &false.into()));
    for figure in ["worse", "dearer"] {
        let [low, point, high] = ["low", "point", "high"].map(|end| against[figure][end].as_f64());
        assert!(low < point && point < high && point.unwrap().abs() < 0.9, "{against}");
    }
    assert_documented(against);
    assert!(against["notes"][0].as_str().unwrap().contains("two runs"), "{against}");
}

/// It measured only the first run's worst point.
pub fn is_at_the_worst_of_the_first(second: &Value, first: &Value) {
    let points = |result: &Value| result["details"]["points"].as_array().unwrap().clone();
    let reported = |result: &Value| {
        let mut points = points(result).into_iter();
        points.find(|point| point["exploratory"] == false).unwrap()["streams"].clone()
    };
    assert_eq!(points(second).len(), 1);
    assert_eq!(reported(second), reported(first));
    let left_out = second["details"]["left_out"][0].as_str().unwrap();
    assert!(left_out.contains("baseline 'main' (run 1)"), "{left_out}");
}

pub fn is_alike(compared: &Value) {
    assert_documented(compared);
    let effects = compared["effects"].as_array().unwrap();
    assert_eq!((effects.len(), &effects[0]["level"]), (1, &Value::from("far")));
    assert_eq!(compared["emulated"], true);
    assert!(compared["found"].as_str().unwrap().starts_with("EMULATED"));
    let traits = compared["traits"].as_array().unwrap();
    let known = traits.iter().filter(|it| it["a"].is_string());
    assert!(known.clone().count() > 4 && known.clone().all(|it| it["same"] == true), "{traits:?}");
}
