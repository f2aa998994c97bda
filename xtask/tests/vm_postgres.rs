//! PostgreSQL on emulated machines with many memory nodes: its shared buffers at home, the processes of its
//! connections near and far.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::MutexGuard;

use serde_json::Value;
use xtask::test::build_hopcost;
use xtask::vm::{self, Kernel, Vm};

/// The shared buffers and a copy of the data for each node, beside the initial RAM disk.
const MIB_PER_NODE: u32 = 1100;

/// A query of one table: the guest is slow, and its data travels with it.
const EXPERIMENT: &str = r#"
question = "What does 100 % remote memory cost a cached query of PostgreSQL's?"

[subject]
target = "postgres"
dataset = "tran_stats"
scale = { quick = 60_000, full = 60_000 }
workload = "reporting_p2"

[factor.memory]
local = { data = "node:A", workers = "node:A" }
remote = { data = "node:A", workers = "node:B" }

[measure]
response = "calls_per_second"
prove = [
  "local_lookups >= 98% when memory = local",
  "remote_lookups >= 98% when memory = remote",
  "answered_in_place >= 99% when memory = local",
  "answered_in_place >= 99% when memory = remote",
]
"#;

const UNPACK: &str = "\
    mkdir -p /cache/hopcost/postgres
    tar -C /cache/hopcost/postgres -xf /data.tar && tar -C / -xf /share.tar && rm /data.tar /share.tar
    chmod 755 /cache /cache/hopcost /cache/hopcost/postgres
    chown -R nobody /cache/hopcost/postgres
";

const OPTIONS: &str = "--quick --set window=0.6s --set guard=50ms --budget 1s --json";

/// The server's programs and what they read, from the newest version that is installed.
fn installation() -> (PathBuf, PathBuf) {
    let versions = Path::new("/usr/lib/postgresql").read_dir().expect("PostgreSQL is installed");
    let newest = versions
        .map(|entry| entry.unwrap().file_name())
        .max_by_key(|version| version.to_string_lossy().parse::<u32>().unwrap_or(0));
    let newest = newest.expect("PostgreSQL is installed");
    (Path::new("/usr/lib/postgresql").join(&newest), Path::new("usr/share/postgresql").join(newest))
}

fn tar(archive: &Path, from: &Path, what: &[&Path]) {
    let mut tar = Command::new("tar");
    tar.arg("-C").arg(from).arg("-cf").arg(archive).args(what);
    assert!(tar.status().unwrap().success());
}

/// Loads the data here, where that is quick.
fn loaded(dir: &Path) {
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(dir, all).unwrap();
    let mut drive = Command::new(build_hopcost().unwrap());
    drive.args(["drive", "postgres:managed", "--workload", "reporting_p2", "--scale", "60000"]);
    drive.args(["--duration", "0.1s", "--cache-dir"]).arg(dir);
    let output = drive.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    tar(&dir.join("data.tar"), &dir.join("postgres"), &[Path::new(".")]);
}

/// A guest with a server's programs and loaded data, and these files at its root.
fn guest(shape: &str, dir: &Path, files: &[&str]) -> (Vm, MutexGuard<'static, ()>) {
    loaded(dir);
    let (programs, share) = installation();
    let shared = [share.join("timezonesets"), share.join("extension")];
    let zones = ["usr/share/zoneinfo/UTC", "usr/share/zoneinfo/Etc/UTC"].map(Path::new);
    let what: Vec<&Path> = shared.iter().map(PathBuf::as_path).chain(zones).collect();
    tar(&dir.join("share.tar"), Path::new("/"), &what);
    let (mut vm, turn) = vm::guest(shape, Kernel::V6_1).unwrap();
    for file in ["bin/postgres", "bin/initdb", "lib/pg_prewarm.so"] {
        let file = programs.join(file);
        vm = vm.with(&file, &file.display().to_string());
    }
    for file in ["data.tar", "share.tar"].iter().chain(files) {
        vm = vm.with(&dir.join(file), &format!("/{file}"));
    }
    let vm = vm.with(Path::new("/bin/cp"), "/usr/bin/cp").mib_per_node(MIB_PER_NODE).seconds(900);
    (vm, turn)
}

fn places_both_arms(shape: &str, bindings: usize) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("experiment.toml"), EXPERIMENT).unwrap();
    let (vm, _turn) = guest(shape, dir.path(), &["experiment.toml"]);
    let run = format!(
        "{UNPACK}XDG_CACHE_HOME=/cache hopcost run /experiment.toml {OPTIONS} \
         --store /out/store.db > /out/run\n\
         echo $? > /out/code"
    );
    let outcome = vm.run(&run).unwrap();
    assert_eq!(outcome.read("code").unwrap().trim(), "0", "{}", outcome.console);
    let result: Value = serde_json::from_str(&outcome.read("run").unwrap()).unwrap();
    assert_eq!(result["details"]["bindings"].as_array().unwrap().len(), bindings);
    // The connections' own pages: a local arm that saw none of another node, a remote arm none of its own.
    let arms = result["details"]["arms"].as_array().unwrap();
    for (level, side) in [("local", 0), ("remote", 1)] {
        let arm = arms.iter().find(|arm| arm["level"] == level).unwrap();
        let pages = [0, 1].map(|side| arm["distinct_pages"][side].as_u64().unwrap());
        assert!(
            pages[side] > 500 && pages[1 - side] * 50 < pages[side],
            "{shape}: {level} {pages:?}"
        );
    }
    let proof = result["proof"].as_array().unwrap();
    assert_eq!(proof.len(), 4, "{proof:?}");
    assert!(proof.iter().all(|proved| proved["found"].as_f64() >= Some(0.98)), "{proof:?}");
}

#[test]
fn postgresql_is_placed_on_both_arms_on_n2() {
    places_both_arms("n2", 2);
}

#[test]
fn postgresql_is_placed_on_both_arms_on_n4() {
    places_both_arms("n4", 12);
}

/// A worker has to live for a while to be seen: whole queries, however small their table.
const PARALLEL: &str = r#"
question = "Does parallel work follow its session?"

[subject]
target = "postgres"
dataset = "tran_stats"
scale = { quick = 60_000, full = 60_000 }
workload = "reporting_p2_whole"

[factor.pinned]
postmaster = { data = "node:A", workers = "node:A", dop = 2, postmaster = "node:A" }
leader = { data = "node:A", workers = "node:A", dop = 2 }
workers = { data = "node:A", workers = "node:A", dop = 2, parallel_workers = "node:A" }
elsewhere = { data = "node:A", workers = "node:A", dop = 2, postmaster = "node:B" }

[measure]
response = "calls_per_second"
prove = [
  "answered_in_place >= 99% when pinned = leader",
  "parallel_workers_ran >= 90% when pinned = postmaster",
  "parallel_workers_ran >= 90% when pinned = leader",
  "parallel_workers_ran >= 90% when pinned = elsewhere",
  "parallel_workers_in_place >= 98% when pinned = postmaster",
  "parallel_workers_in_place >= 98% when pinned = elsewhere",
  "parallel_workers_in_place >= 50% when pinned = workers",
]
"#;

/// A pinned leader does not pin its workers, and the report says where they ran; a pinned postmaster does.
#[test]
fn parallel_workers_follow_the_postmaster_on_n2() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("experiment.toml"), PARALLEL).unwrap();
    let (vm, _turn) = guest("n2", dir.path(), &["experiment.toml"]);
    let run = format!(
        "{UNPACK}XDG_CACHE_HOME=/cache hopcost run /experiment.toml {OPTIONS} \
         --store /out/store.db > /out/run\n\
         echo $? > /out/code\n\
         hopcost report --store /out/store.db --html /out/page.html > /out/text"
    );
    let outcome = vm.run(&run).unwrap();
    assert_eq!(outcome.read("code").unwrap().trim(), "0", "{}", outcome.console);
    let result: Value = serde_json::from_str(&outcome.read("run").unwrap()).unwrap();
    let arms = result["details"]["arms"].as_array().unwrap();
    // Looks that found a worker on one node, while its session stood on another or the same.
    let looks = |level: &str, node: u32, leader: u32| {
        let arm = arms.iter().find(|arm| arm["level"] == level).unwrap();
        let of = format!("node {node}, leader on node {leader}");
        let is = |seen: &&Value| seen["metric"] == "parallel_worker_samples" && seen["of"] == of;
        arm["observed"].as_array().unwrap().iter().find(is).unwrap()["value"].as_f64().unwrap()
    };
    let (text, page) = (outcome.read("text").unwrap(), outcome.read("page.html").unwrap());
    for leader in [0, 1] {
        let other = 1 - leader;
        let sides = |level| (looks(level, leader, leader), looks(level, other, leader));
        let (near, far) = sides("postmaster");
        assert!(near > 0.0 && 50.0 * far <= near, "pinned with the session: {near} {far}");
        let (near, far) = sides("elsewhere");
        assert!(far > 0.0 && 50.0 * near <= far, "pinned elsewhere: {near} {far}");
        let (near, far) = sides("leader");
        assert!(near + far > 0.0, "wherever the kernel put them, they were seen");
        for told in ["leader at 1 stream: ", &format!("with the session on node {leader}, ")] {
            let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(one_line.contains(told) && page.contains(told), "{told}: {text}");
        }
    }
    let proof = result["proof"].as_array().unwrap();
    assert_eq!(proof.len(), 7, "{proof:?}");
    let holds = |proved: &Value| proved["found"].as_f64() >= proved["least"].as_f64();
    assert!(proof.iter().all(holds), "{proof:?}");
}

/// The experiments as they come, on a query of one table.
const SHIPPED: [(&str, &str); 2] = [
    ("memory-policy", include_str!("../../experiments/memory-policy.toml")),
    ("instances", include_str!("../../experiments/instances.toml")),
];

/// A server for each policy on each node, and for each node one of its own: their shared buffers are where
/// the policy puts them, and each connection works on the node of the server that it asks.
#[test]
fn policies_and_instances_of_postgresql_are_placed_on_n2() {
    let dir = tempfile::tempdir().unwrap();
    let mut script = UNPACK.to_owned();
    for (name, text) in SHIPPED {
        let text = text.replace("reporting_p1", "reporting_p2");
        std::fs::write(dir.path().join(format!("{name}.toml")), text).unwrap();
        let _ = write!(
            script,
            "XDG_CACHE_HOME=/cache hopcost run /{name}.toml {OPTIONS} --scale 60000 \
             --target postgres:managed --set streams=4 --store /out/{name}.db > /out/{name}\n\
             echo $? > /out/{name}.code\n"
        );
    }
    let (vm, _turn) = guest("n2", dir.path(), &["memory-policy.toml", "instances.toml"]);
    let outcome = vm.run(&script).unwrap();
    for (name, text) in SHIPPED {
        let code = outcome.read(&format!("{name}.code")).unwrap();
        assert_eq!(code.trim(), "0", "{name}: {}", outcome.console);
        let result: Value = serde_json::from_str(&outcome.read(name).unwrap()).unwrap();
        let proof = result["proof"].as_array().unwrap();
        assert_eq!(proof.len(), text.matches(" >= ").count(), "{proof:?}");
        for proved in proof {
            let claim = proved["claim"].as_str().unwrap();
            let is_dealt_out = claim.contains("interleave") || claim.ends_with(" one");
            let least = if is_dealt_out { 0.95 } else { 0.98 };
            assert!(proved["found"].as_f64() >= Some(least), "{name}: {proof:?}");
        }
    }
}
