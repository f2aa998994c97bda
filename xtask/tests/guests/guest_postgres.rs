//! PostgreSQL in guests: placed shared buffers, backends near and far; one boot per machine.

use anyhow::Result;
use hopcost_core::gauge;
use serde_json::Value;
use xtask::newer_postgres::NewerPostgres;
use xtask::vm::{Kernel, Load};

use crate::aboard::{Aboard, CACHE, QUICK, ROWS, SHIPPED, UNBALANCED, shipped};
use crate::proofs::serves_both_arms;
use crate::steps::{Boot, Steps};

/// The shared buffers and a copy of the data per node, beside the initial RAM disk.
const MIB_PER_NODE: u32 = 1100;
/// Workers must live long enough to be observed: whole queries, and more rows.
const PARALLEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guests/parallel.toml");
const ROWS_OF_PARALLEL: u32 = 60_000;

fn on(shape: &str) -> Result<Steps> {
    Ok(Steps::on(shape, Kernel::V6_1, Load::One)?.mib_per_node(MIB_PER_NODE))
}

static N2: Boot = Boot::of(|| {
    let postgres = Aboard::postgres(ROWS_OF_PARALLEL)?;
    let (target, unpack) = postgres.named();
    let run = format!("--target '{target}' --scale {ROWS_OF_PARALLEL} {QUICK} --budget 1s > run");
    let parallel = format!(
            "{CACHE}hopcost run /parallel.toml {run} || exit 1
             hopcost report --store store.db > text && hopcost report --store store.db --html page.html"
        );
    let steps = shipped(postgres.comes_with(on("n2")?))
        .with(PARALLEL.as_ref(), "/parallel.toml")
        .step("unpack", 60, unpack)
        .step("parallel", 600, &parallel);
    let placed = |steps: Steps, name: &'static str| {
        let script = format!("{CACHE}{UNBALANCED}hopcost run /{name}.toml --set streams=4 {run}");
        steps.step(name, 600, &script)
    };
    SHIPPED.iter().fold(steps, |steps, (name, _)| placed(steps, name)).run()
});

/// A pinned leader does not pin its workers, and the report shows where they ran; a pinned
/// postmaster does.
#[test]
fn parallel_workers_follow_the_postmaster() {
    let step = N2.step("parallel").is_done();
    let result = step.json("run");
    let arms = result["details"]["arms"].as_array().unwrap();
    let looks = |level: &str, node: u32, leader: u32| {
        let arm = arms.iter().find(|arm| arm["level"] == level).unwrap();
        let of = format!("node {node}, leader on node {leader}");
        let is = |seen: &&Value| {
            seen["metric"] == gauge::PARALLEL_WORKER_SAMPLES.name && seen["of"] == of
        };
        arm["observed"].as_array().unwrap().iter().find(is).unwrap()["value"].as_f64().unwrap()
    };
    let (text, page) = (step.read("text"), step.read("page.html"));
    for leader in [0, 1] {
        let other = 1 - leader;
        let sides = |level| (looks(level, leader, leader), looks(level, other, leader));
        let (near, far) = sides("postmaster");
        assert!(near > 0.0 && 50.0 * far <= near, "pinned with the session: {near} {far}");
        let (near, far) = sides("elsewhere");
        assert!(far > 0.0 && 50.0 * near <= far, "pinned elsewhere: {near} {far}");
        let (near, far) = sides("leader");
        assert!(near + far > 0.0, "wherever the kernel put them, they were seen");
        for told in ["leader at 1 client: ", &format!("with the session on node {leader}, ")] {
            let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(one_line.contains(told) && page.contains(told), "{told}: {text}");
        }
    }
    let proof = result["proof"].as_array().unwrap();
    assert_eq!(proof.len(), 7, "{proof:?}");
    let holds = |proved: &Value| proved["found"].as_f64() >= proved["least"].as_f64();
    assert!(proof.iter().all(holds), "{proof:?}");
}

/// A server for each policy on each node, and one per node: the policy places shared buffers, and
/// each connection uses its own node's server.
fn memory_went_where_the_policy_put_it((name, text): (&'static str, &str)) {
    let result = N2.step(name).is_done().json("run");
    let proof = result["proof"].as_array().unwrap();
    assert_eq!(proof.len(), text.matches(" >= ").count(), "{proof:?}");
    for proved in proof {
        let claim = proved["claim"].as_str().unwrap();
        let is_dealt_out = claim.contains("interleave") || claim.ends_with(" one");
        let least = if is_dealt_out { 0.95 } else { 0.98 };
        assert!(proved["found"].as_f64() >= Some(least), "{name}: {proof:?}");
    }
}

#[test]
fn memory_goes_where_a_policy_puts_it() {
    memory_went_where_the_policy_put_it(SHIPPED[0]);
}

#[test]
fn memory_goes_where_its_instance_is() {
    memory_went_where_the_policy_put_it(SHIPPED[1]);
}

#[test]
fn both_arms_are_placed_on_n4() {
    let postgres = Aboard::postgres(ROWS).unwrap();
    let steps = postgres.comes_with(on("n4").unwrap());
    let tried = steps.step("postgres", 600, &postgres.both_arms()).run().unwrap();
    serves_both_arms(tried.step("postgres"), 12, 4);
}

fn is_placed_by_two_witnesses(shape: &str, bindings: usize) {
    let newer = NewerPostgres::ensure().unwrap();
    let postgres = Aboard::newer_postgres(&newer).unwrap();
    let steps = postgres.comes_with(on(shape).unwrap());
    let tried = steps.step("postgres", 600, &postgres.both_arms()).run().unwrap();
    let result = serves_both_arms(tried.step("postgres"), bindings, 4);
    let details = &result["details"];
    let identity = details["identity"].as_str().unwrap();
    assert!(identity.starts_with(&format!("PostgreSQL {}", newer.version)), "{identity}");
    for method in ["move_pages", "pg_buffercache_numa"] {
        let by = details["proved_by"].as_array().unwrap();
        let seen = by.iter().find(|seen| seen["by"] == method);
        let found = seen.and_then(|seen| seen["found"].as_f64());
        assert!(found >= Some(0.98), "{shape}, {method}: {by:?}");
    }
}

#[test]
fn postgresql_18_is_placed_on_n2() {
    is_placed_by_two_witnesses("n2", 2);
}

#[test]
fn postgresql_18_is_placed_on_n4() {
    is_placed_by_two_witnesses("n4", 12);
}
