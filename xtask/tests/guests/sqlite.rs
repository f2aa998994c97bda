//! The shipped comparison of local with remote memory, on SQLite.

use serde_json::Value;

use crate::aboard::CACHE;
use crate::proofs::{proves, sides};
use crate::steps::Step;

/// The command, as short as it can be where a call takes some twenty times as long.
pub const RUN: &str = "hopcost run remote-memory --scale 20000 --set streams=1 --quick \
                       --set window=0.3s --set guard=20ms --json --store store.db";

pub fn remote_memory() -> String {
    format!("{CACHE}{RUN} --budget 1s > run || [ $? = 1 ]")
}

/// Each node has been near and far, each arm looked up what it should, and nothing else.
pub fn places_both_arms(step: Step<'_>, bindings: usize) {
    let result = step.is_done().json("run");
    proves(&result, bindings, 4, 1.0);
    for of in ["acquisitions", "distinct_pages"] {
        let [near, far] = sides(&result, "local", of);
        assert!(near > 100 && far == 0, "the local arm has {near} and {far} {of}");
        let [near, far] = sides(&result, "remote", of);
        assert!(far > 100 && near == 0, "the remote arm has {near} and {far} {of}");
    }
    assert_eq!((&result["emulated"], &result["planted"]), (&false.into(), &Value::Null));
    // A second is no budget for a verdict. On a busy machine a call that does nothing may take so long that its share
    // of each call refuses one: that is a time, and the claim here is of places.
    let is_refused_for_time = result["reason"].as_str().unwrap().contains("are the harness's own");
    assert!(result["verdict"] == "INCONCLUSIVE" || is_refused_for_time, "{}", result["reason"]);
}
