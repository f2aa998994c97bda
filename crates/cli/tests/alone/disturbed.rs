//! A run on a busy machine.

use hopcost_sys::affinity;

use crate::bench::{Bench, ends, json};

const STREAMS: &str = r#"
question = "How many bytes does each node give?"

[subject]
probes = ["bandwidth"]
"#;

#[test]
fn where_every_cpu_is_kept_busy_the_machine_was_disturbed() {
    let bench = Bench::with(&[("streams.toml", STREAMS)]);
    let cpus: Vec<_> = affinity::mask().unwrap().iter().collect();
    // Keep every CPU busy, hopcost's included.
    let run = || bench.hopcost(&["run", "streams.toml", "--quick", "--budget=100ms", "--json"]);
    let output = affinity::accompanied(cpus[0], &cpus, run).unwrap();
    ends(&output, 5, &[]);
    let result = json(&output);
    assert_eq!(result["verdict"], "DISTURBED", "{}", result["reason"]);
    assert_eq!(result["reason_code"], "disturbed.others", "{}", result["reason"]);
}
