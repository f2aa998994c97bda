//! PostgreSQL on emulated machines with many memory nodes: its shared buffers at home, the processes of its
//! connections near and far.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use xtask::newer_postgres::NewerPostgres;
use xtask::test::build_hopcost;
use xtask::vm::{self, Kernel, Load, Outcome};

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

/// The experiments as they come, on a query of one table.
const SHIPPED: [(&str, &str); 2] = [
    ("memory-policy", include_str!("../../experiments/memory-policy.toml")),
    ("instances", include_str!("../../experiments/instances.toml")),
];

/// Where a newer PostgreSQL than the system's is put, with its own libraries.
const NEWER: &str = "/newer";

const UNPACK: &str = "\
    mkdir -p /newer && if [ -f /newer.tar ]; then tar -C /newer -xf /newer.tar && rm /newer.tar; fi
    mkdir -p /cache/hopcost/postgres
    tar -C /cache/hopcost/postgres -xf /data.tar && tar -C / -xf /share.tar && rm /data.tar /share.tar
    chmod 755 /cache /cache/hopcost /cache/hopcost/postgres
    chown -R nobody /cache/hopcost/postgres
    export XDG_CACHE_HOME=/cache
";

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
fn loaded(dir: &Path, target: &str) {
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(dir, all).unwrap();
    let mut drive = Command::new(build_hopcost().unwrap());
    drive.args(["drive", target, "--workload", "reporting_p2", "--scale", "60000"]);
    drive.args(["--duration", "0.1s", "--cache-dir"]).arg(dir);
    let output = drive.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    tar(&dir.join("data.tar"), &dir.join("postgres"), &[Path::new(".")]);
}

/// An experiment to run in a guest, and what else is said of it.
struct Run<'a> {
    name: &'a str,
    experiment: String,
    options: &'a str,
    before: &'a str,
}

/// What is not bound stays where it was touched only where the kernel does not balance memory.
const UNBALANCED: &str = "echo 0 > /proc/sys/kernel/numa_balancing\n";

/// Runs experiments in a guest with a server aboard, the system's or a newer one, and keeps of each the
/// result by its name.
fn run(shape: &str, newer: Option<&NewerPostgres>, runs: &[Run<'_>], then: &str) -> Outcome {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let managed = |programs: &Path| format!("postgres:managed?programs={}", programs.display());
    let (programs, share) = installation();
    let (here, there) = match newer {
        Some(newer) => (newer.programs(), Path::new(NEWER).join(NewerPostgres::PROGRAMS)),
        None => (programs.join("bin"), programs.join("bin")),
    };
    loaded(dir, &managed(&here));
    let shared = [share.join("timezonesets"), share.join("extension")];
    let zones = ["usr/share/zoneinfo/UTC", "usr/share/zoneinfo/Etc/UTC"].map(Path::new);
    let what: Vec<&Path> = shared.iter().map(PathBuf::as_path).chain(zones).collect();
    tar(&dir.join("share.tar"), Path::new("/"), &what);
    let (mut vm, _turn) = vm::guest(shape, Kernel::V6_1, Load::One).unwrap();
    let mut files = vec!["data.tar".to_owned(), "share.tar".to_owned()];
    if let Some(newer) = newer {
        newer.pack(&dir.join("newer.tar")).unwrap();
        files.push("newer.tar".to_owned());
    } else {
        for file in ["bin/postgres", "bin/initdb", "lib/pg_prewarm.so"] {
            let file = programs.join(file);
            vm = vm.with(&file, &file.display().to_string());
        }
    }
    let mut script = UNPACK.to_owned();
    for Run { name, experiment, options, before } in runs {
        let file = format!("{name}.toml");
        std::fs::write(dir.join(&file), experiment).unwrap();
        files.push(file);
        script += &[
            *before,
            &format!("hopcost run /{name}.toml --target {} {options} ", managed(&there)),
            "--quick --set window=0.6s --set guard=50ms --budget 1s --json ",
            &format!("--store /out/{name}.db > /out/{name} 2> /out/{name}.said\n"),
            &format!("echo $? > /out/{name}.code\n"),
        ]
        .concat();
    }
    for file in &files {
        vm = vm.with(&dir.join(file), &format!("/{file}"));
    }
    let vm = vm.with(Path::new("/bin/cp"), "/usr/bin/cp").mib_per_node(MIB_PER_NODE).seconds(900);
    let outcome = vm.run(&format!("{script}{then}")).unwrap();
    for Run { name, .. } in runs {
        let code = outcome.read(&format!("{name}.code")).unwrap();
        let said = outcome.read(&format!("{name}.said")).unwrap();
        assert_eq!(code.trim(), "0", "{name}: {said} {:?}", outcome.read(name));
    }
    outcome
}

fn result(outcome: &Outcome, name: &str) -> Value {
    serde_json::from_str(&outcome.read(name).unwrap()).unwrap()
}

fn both_arms() -> Run<'static> {
    Run { name: "both-arms", experiment: EXPERIMENT.to_owned(), options: "", before: "" }
}

fn placed_both_arms(result: &Value, bindings: usize) {
    assert_eq!(result["details"]["bindings"].as_array().unwrap().len(), bindings);
    // The connections' own pages: a local arm that saw none of another node, a remote arm none of its own.
    let arms = result["details"]["arms"].as_array().unwrap();
    for (level, side) in [("local", 0), ("remote", 1)] {
        let arm = arms.iter().find(|arm| arm["level"] == level).unwrap();
        let pages = [0, 1].map(|side| arm["distinct_pages"][side].as_u64());
        let [Some(here), Some(there)] = pages else { panic!("{level}: {result:#}") };
        let pages = [here, there];
        // How many are looked at is a matter of how fast the guest is, where they lie is not.
        assert!(pages[1 - side] * 50 < pages[side], "{level} {pages:?}");
    }
    let proof = result["proof"].as_array().unwrap();
    assert_eq!(proof.len(), 4, "{proof:?}");
    assert!(proof.iter().all(|proved| proved["found"].as_f64() >= Some(0.98)), "{proof:?}");
}

/// A pinned leader does not pin its workers, and the report says where they ran; a pinned postmaster does.
fn workers_followed_the_postmaster(outcome: &Outcome) {
    let result = result(outcome, "parallel");
    let arms = result["details"]["arms"].as_array().unwrap();
    // Looks that found a worker on one node, while its session stood on another or the same.
    let looks = |level: &str, node: u32, leader: u32| {
        let arm = arms.iter().find(|arm| arm["level"] == level).unwrap();
        let of = format!("node {node}, leader on node {leader}");
        let is = |seen: &&Value| seen["metric"] == "parallel_worker_samples" && seen["of"] == of;
        arm["observed"].as_array().unwrap().iter().find(is).unwrap()["value"].as_f64().unwrap()
    };
    let [text, page] = ["text", "page.html"].map(|name| outcome.read(name).unwrap());
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

/// A server for each policy on each node, and for each node one of its own: their shared buffers are where
/// the policy puts them, and each connection works on the node of the server that it asks.
fn memory_went_where_the_policy_put_it(outcome: &Outcome, name: &str, text: &str) {
    let result = result(outcome, name);
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
fn postgresql_is_placed_on_n2() {
    let policies = SHIPPED.map(|(name, text)| Run {
        name,
        experiment: text.replace("reporting_p1", "reporting_p2"),
        options: "--scale 60000 --set streams=4",
        before: UNBALANCED,
    });
    let experiment = PARALLEL.to_owned();
    let parallel = Run { name: "parallel", experiment, options: "", before: "" };
    let runs: Vec<_> = [both_arms(), parallel].into_iter().chain(policies).collect();
    let told = "hopcost report --store /out/parallel.db > /out/text
                hopcost report --store /out/parallel.db --html /out/page.html";
    let outcome = run("n2", None, &runs, told);
    placed_both_arms(&result(&outcome, "both-arms"), 2);
    workers_followed_the_postmaster(&outcome);
    for (name, text) in SHIPPED {
        memory_went_where_the_policy_put_it(&outcome, name, text);
    }
}

#[test]
fn postgresql_is_placed_on_n4() {
    let outcome = run("n4", None, &[both_arms()], "");
    placed_both_arms(&result(&outcome, "both-arms"), 12);
}

#[test]
fn postgresql_18_is_placed_and_its_own_view_says_so() {
    let newer = NewerPostgres::ensure().unwrap();
    for (shape, bindings) in [("n2", 2), ("n4", 12)] {
        let outcome = run(shape, Some(&newer), &[both_arms()], "");
        let result = result(&outcome, "both-arms");
        placed_both_arms(&result, bindings);
        let details = &result["details"];
        let identity = details["identity"].as_str().unwrap();
        assert!(identity.starts_with(&format!("PostgreSQL {}", newer.version)), "{identity}");
        // Its own view is as good a witness as the kernel.
        for method in ["move_pages", "pg_buffercache_numa"] {
            let by = details["proved_by"].as_array().unwrap();
            let seen = by.iter().find(|seen| seen["by"] == method);
            let found = seen.and_then(|seen| seen["found"].as_f64());
            assert!(found >= Some(0.98), "{shape}, {method}: {by:?}");
        }
    }
}
