//! The bundled comparison of local with remote memory, on SQLite.

use serde_json::Value;

use crate::aboard::CACHE;
use crate::proofs::{proves, sides};
use crate::steps::Step;

/// As short as possible: a call is about twenty times slower here.
pub const RUN: &str = "hopcost run remote-memory --scale 20000 --set streams=1 --quick --starts 1 \
                       --set window=0.3s --set guard=20ms --json --store store.db";

pub fn remote_memory() -> String {
    format!("{CACHE}{RUN} --budget 1s > run || [ $? = 1 ]")
}

/// Each node was near and far, and each variant accessed only the pages that it should.
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
    // A second is too short for a verdict. On a busy machine an empty call may be slow enough to
    // refuse the run for the harness's share; this test is about places only.
    let is_refused_for_time = result["reason"].as_str().unwrap().contains("is hopcost's own time");
    assert!(result["verdict"] == "INCONCLUSIVE" || is_refused_for_time, "{}", result["reason"]);
}
