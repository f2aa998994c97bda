//! Pages that another process moves after their placement.

use serde_json::Value;

use crate::aboard::{CACHE, WORKING};
use crate::proofs::cells;
use crate::sqlite::RUN;
use crate::steps::Step;

pub fn robbed(percent: u32) -> String {
    format!(
        "hopcost probe latency --quick --starts 1 --budget 2s --size 8M --pages 4k --nodes 0 --json > report &\n\
         page_thief $! {percent} 1 16777216 || exit 1\n\
         wait $!; echo $? > code"
    )
}

/// They are reported as moved and void the figure; a void figure is a failed check.
pub fn reads_as_moved(step: Step<'_>, percent: u32) {
    let report = step.is_done().json("report");
    let cell = cells(&report)[0];
    let pages = &cell["proof"][1]["memory"][0]["pages_by_node"];
    let count = |node: &str| pages[node].as_u64().unwrap_or(0) as f64;
    let read = 100.0 * count("1") / (count("0") + count("1"));
    assert!((read - f64::from(percent)).abs() <= 0.5, "{percent} % read as {read} %");
    let void = cell["outcome"].get("void").is_some();
    assert_eq!(void, percent > 0, "{percent} %: {}", cell["outcome"]);
    assert_eq!(step.word("code"), if void { "1" } else { "0" });
}

/// The helper moves single pages, and splits huge ones through debugfs. Left alone, the kernel
/// merges them again on the majority's node, and moves used ones back.
const BEFORE: &str = "\
    balancing=/proc/sys/kernel/numa_balancing huge=/sys/kernel/mm/transparent_hugepage/enabled
    was=$(cat $balancing); echo 0 > $balancing; echo never > $huge
    mount -t debugfs none /sys/kernel/debug || exit 103
    trap 'echo $was > $balancing; echo always > $huge; umount /sys/kernel/debug' EXIT
";

/// It ends when the move is noticed; a slow helper has a minute.
pub fn moved_data(percent: u32) -> String {
    format!(
        "{CACHE}{BEFORE}\
         {RUN} --budget 1m > run & run=$!
         {WORKING}
         page_thief $run {percent} 1 3000000 || exit 1
         wait $run; echo $? > code"
    )
}

pub fn refuses_as_moved(step: Step<'_>, percent: u32) {
    let result = step.is_done().json("run");
    assert_eq!(result["verdict"], "REFUSED", "{}", step.said());
    assert_eq!(step.word("code"), "1");
    let reason = result["reason"].as_str().unwrap();
    assert!(reason.contains("% of the pages were on node 0"), "{reason}");
    let proof = result["proof"].as_array().unwrap();
    let is_of_pages =
        |proved: &&Value| proved["claim"] == "local_lookups at local, different pages";
    let moved = 100.0 - 100.0 * proof.iter().find(is_of_pages).unwrap()["found"].as_f64().unwrap();
    assert!((moved - f64::from(percent)).abs() <= 0.5, "read as {moved} %: {reason}; {proof:?}");
}
