//! `hopcost run` on emulated machines with many memory nodes: a real database, placed and proved.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;
use xtask::test::{build_hopcost, build_saboteur};
use xtask::vm::{self, Kernel, Load, Outcome, Turn, Vm};

/// Each copy of the data has to fit on its node, beside what the initial RAM disk left there.
const MIB_PER_NODE: u32 = 900;
const ROWS: u32 = 200_000;

/// The command, as short as it can be where a call takes some twenty times as long.
const RUN: &str = "XDG_CACHE_HOME=/cache hopcost run remote-memory --quick --scale 200000 --set streams=1 \
                   --set window=0.6s --set guard=50ms --json --store /out/store.db";

/// Waits until the workers of $run stand at their posts: by then all data is in place.
const WORKING: &str = "until [ $(ls /proc/$run/task | wc -l) -gt 6 ]; do sleep 1; done";

/// A guest that finds the data in its cache: generating it would take it minutes.
fn guest(shape: &str) -> (Vm, Turn, TempDir) {
    let (mut vm, turn) = vm::guest(shape, Kernel::V6_1, Load::One).unwrap();
    let cache = tempfile::tempdir().unwrap();
    for file in generated(&cache) {
        let to = format!("/cache/hopcost/{}", file.file_name().unwrap().to_string_lossy());
        vm = vm.with(&file, &to);
    }
    (vm.mib_per_node(MIB_PER_NODE).seconds(900), turn, cache)
}

/// The data, as a run on this machine leaves it in its cache.
fn generated(cache: &TempDir) -> Vec<PathBuf> {
    let run = Command::new(build_hopcost().unwrap())
        .args(["run", "placebo", "--quick", "--scale", &ROWS.to_string(), "--set", "units=8"])
        .args(["--set", "window=10ms", "--set", "guard=5ms", "--json"])
        .arg("--store")
        .arg(cache.path().join("store.db"))
        .env("XDG_CACHE_HOME", cache.path())
        .output()
        .unwrap();
    assert!(!run.stdout.is_empty(), "{}", String::from_utf8_lossy(&run.stderr));
    let entries = cache.path().join("hopcost").read_dir().unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn json(outcome: &Outcome, name: &str) -> Value {
    serde_json::from_str(&outcome.read(name).unwrap())
        .unwrap_or_else(|error| panic!("{name}: {error}\n{}", outcome.console))
}

/// A level's lookups on its workers' own node and on others.
fn sides(result: &Value, level: &str, of: &str) -> [u64; 2] {
    let arms = result["details"]["arms"].as_array().unwrap();
    let arm = arms.iter().find(|arm| arm["level"] == level).unwrap();
    [0, 1].map(|side| arm[of][side].as_u64().unwrap_or_else(|| panic!("no {of} in {arm}")))
}

/// Each node has been near and far, each arm looked up what it should, and nothing else.
fn places_both_arms(shape: &str, bindings: usize) {
    let (vm, _turn, _cache) = guest(shape);
    let outcome = vm.run(&format!("{RUN} --budget 1s > /out/run; echo $? > /out/code")).unwrap();
    assert_eq!(outcome.read("code").unwrap().trim(), "0", "{}", outcome.console);
    let result = json(&outcome, "run");
    let bound = result["details"]["bindings"].as_array().unwrap();
    assert_eq!(bound.len(), bindings, "{bound:?}");
    for of in ["acquisitions", "distinct_pages"] {
        let [near, far] = sides(&result, "local", of);
        assert!(near > 100 && far == 0, "{shape}: the local arm has {near} and {far} {of}");
        let [near, far] = sides(&result, "remote", of);
        assert!(far > 100 && near == 0, "{shape}: the remote arm has {near} and {far} {of}");
    }
    let proof = result["proof"].as_array().unwrap();
    assert_eq!(proof.len(), 4);
    assert!(proof.iter().all(|proved| proved["found"] == 1.0), "{proof:?}");
    assert_eq!((&result["emulated"], &result["planted"]), (&false.into(), &Value::Null));
    // A second is no budget for a verdict.
    assert_eq!(result["verdict"], "INCONCLUSIVE");
}

#[test]
fn remote_memory_places_both_arms_on_n2() {
    places_both_arms("n2", 2);
}

#[test]
fn remote_memory_places_both_arms_on_n4() {
    places_both_arms("n4", 12);
}

#[test]
fn remote_memory_places_both_arms_on_n8() {
    places_both_arms("n8", 8);
}

/// The experiments as they come, on a query of one small table: the guest is slow.
const SHIPPED: [(&str, &str, usize); 2] = [
    ("memory-policy", include_str!("../../experiments/memory-policy.toml"), 2),
    ("instances", include_str!("../../experiments/instances.toml"), 1),
];
const FEW_ROWS: &str = "20000";

/// Every policy's pages are where it puts them, as the kernel says and as its own account of the mappings
/// says; and of an instance per node each stream asks its own.
#[test]
fn policies_and_instances_are_placed_on_n2() {
    let (mut vm, _turn) = vm::guest("n2", Kernel::V6_1, Load::One).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let drive = Command::new(build_hopcost().unwrap())
        .args(["drive", "sqlite:", "--workload", "reporting_p2", "--scale", FEW_ROWS])
        .args(["--duration", "0.1s", "--cache-dir"])
        .arg(dir.path().join("cache"))
        .output()
        .unwrap();
    assert!(drive.status.success(), "{}", String::from_utf8_lossy(&drive.stderr));
    for entry in dir.path().join("cache").read_dir().unwrap() {
        let file = entry.unwrap().path();
        let to = format!("/cache/hopcost/{}", file.file_name().unwrap().to_string_lossy());
        vm = vm.with(&file, &to);
    }
    // Of so little data huge pages would be too few to be dealt out evenly, and what is not bound stays
    // where it was touched only where the kernel does not balance memory.
    let mut script = "echo never > /sys/kernel/mm/transparent_hugepage/enabled\n\
                      echo 0 > /proc/sys/kernel/numa_balancing\n"
        .to_owned();
    for (name, text, _) in SHIPPED {
        let file = dir.path().join(format!("{name}.toml"));
        std::fs::write(&file, text.replace("reporting_p1", "reporting_p2")).unwrap();
        vm = vm.with(&file, &format!("/{name}.toml"));
        let _ = write!(
            script,
            "XDG_CACHE_HOME=/cache hopcost run /{name}.toml --quick --scale {FEW_ROWS} \
             --set streams=4 --set window=0.2s --set guard=20ms --budget 1s --json \
             --store /out/{name}.db > /out/{name} 2> /out/{name}.said &\n\
             run=$!\n\
             until [ $(ls /proc/$run/task | wc -l) -gt 6 ] || ! [ -d /proc/$run ]; do sleep 1; done\n\
             cat /proc/$run/numa_maps > /out/{name}.maps\n\
             wait $run; echo $? > /out/{name}.code\n"
        );
    }
    let outcome = vm.mib_per_node(MIB_PER_NODE).seconds(900).run(&script).unwrap();
    for (name, text, bindings) in SHIPPED {
        let code = outcome.read(&format!("{name}.code")).unwrap();
        let said = outcome.read(&format!("{name}.said")).unwrap();
        assert_eq!(code.trim(), "0", "{name}: {said} {:?}", outcome.read(name));
        let result = json(&outcome, name);
        assert_eq!(result["details"]["bindings"].as_array().unwrap().len(), bindings);
        let proof = result["proof"].as_array().unwrap();
        assert_eq!(proof.len(), text.matches(" >= ").count(), "{proof:?}");
        assert!(proof.iter().all(|proved| proved["found"].as_f64() >= Some(0.98)), "{proof:?}");
        let maps = outcome.read(&format!("{name}.maps")).unwrap();
        is_dealt_out(&maps);
        assert!(maps.contains(" bind:0 ") && maps.contains(" bind:1 "), "{maps}");
    }
}

/// The largest interleaved mapping of a process has as many pages on the one node as on the other.
fn is_dealt_out(maps: &str) {
    let pages = |line: &str, node: &str| -> f64 {
        let count = line.split_whitespace().find_map(|word| word.strip_prefix(node));
        count.and_then(|count| count.parse().ok()).unwrap_or(0.0)
    };
    let dealt = maps.lines().filter(|line| line.contains(" interleave:0-1 "));
    let counts = dealt.map(|line| ["N0=", "N1="].map(|node| pages(line, node)));
    let most = counts.max_by(|[a, b], [c, d]| (a + b).total_cmp(&(c + d)));
    let [first, second] = most.unwrap_or_else(|| panic!("nothing is interleaved: {maps}"));
    assert!(first > 500.0 && (first / second - 1.0).abs() < 0.02, "{first} and {second}: {maps}");
}

/// Pages of the data that were moved behind the run's back are read as moved, and refuse it. Its windows
/// are long enough to see the whole table.
#[test]
fn moved_pages_refuse_the_run() {
    let thief = build_saboteur("page_thief").unwrap();
    let (vm, _turn, _cache) = guest("n2");
    let vm = vm.with(&thief, "/usr/local/bin/page_thief");
    let sabotaged = |percent: u32| {
        format!(
            "{RUN} --set window=3s --budget 20s > /out/run{percent} &\n\
             run=$!; {WORKING}\n\
             page_thief $run {percent} 1 100000000 || exit 1\n\
             wait $run; echo $? > /out/code{percent}; rm /out/store.db\n"
        )
    };
    // The thief moves single pages, and takes the huge ones apart by debugfs. Left to itself the kernel
    // puts huge pages together again, on the node of the most, and carries used ones home.
    let script = [5, 50, 100].map(sabotaged).concat();
    let before = "mount -t debugfs none /sys/kernel/debug
                  echo 0 > /proc/sys/kernel/numa_balancing
                  echo never > /sys/kernel/mm/transparent_hugepage/enabled";
    let outcome = vm.run(&format!("{before}\n{script}")).unwrap();
    assert_eq!(outcome.exit, 0, "{}", outcome.console);
    for percent in [5, 50, 100] {
        let result = json(&outcome, &format!("run{percent}"));
        assert_eq!(result["verdict"], "REFUSED", "{percent} %: {}", result["reason"]);
        assert_eq!(outcome.read(&format!("code{percent}")).unwrap().trim(), "1");
        let reason = result["reason"].as_str().unwrap();
        assert!(reason.contains(" % of the pages were on node 0"), "{percent} %: {reason}");
        let proof = result["proof"].as_array().unwrap();
        let pages = |claim: &str| {
            let of = |proved: &&Value| proved["claim"] == claim;
            100.0 * proof.iter().find(of).unwrap()["found"].as_f64().unwrap()
        };
        let moved = 100.0 - pages("local_lookups at local, different pages");
        assert!(
            (moved - f64::from(percent)).abs() <= 0.5,
            "{percent} % read as {moved} %: {reason}; {proof:?}; {}",
            result["details"]["arms"]
        );
    }
}

/// A worker that somebody else pins to another CPU is noticed, and refuses the run.
#[test]
fn a_worker_pinned_by_somebody_else_refuses_the_run() {
    let (vm, _turn, _cache) = guest("n2");
    let vm = vm.with("/usr/bin/taskset".as_ref(), "/usr/local/bin/taskset");
    let outcome = vm
        .run(&format!(
            "{RUN} --budget 60s > /out/run &\n\
             run=$!\n\
             {WORKING}; sleep 2\n\
             for task in /proc/$run/task/*; do\n\
                 [ ${{task##*/}} = $run ] || taskset -pc 3 ${{task##*/}}\n\
             done\n\
             wait $run; echo $? > /out/code"
        ))
        .unwrap();
    let result = json(&outcome, "run");
    assert_eq!(result["verdict"], "REFUSED", "{}", result["reason"]);
    let reason = result["reason"].as_str().unwrap();
    assert!(reason.contains("was re-pinned to CPU 3"), "{reason}");
    assert_eq!(outcome.read("code").unwrap().trim(), "1");
}

/// Siblings left idle: no two workers share a core, as their own CPUs say.
#[test]
fn siblings_are_left_idle_on_n4s2() {
    let (vm, _turn, _cache) = guest("n4s2");
    let outcome = vm
        .run(
            "XDG_CACHE_HOME=/cache hopcost run smt-reporting --quick --scale 200000 --set streams=8 \
                 --set window=0.6s --set guard=50ms --budget 1s --json --store /out/store.db > /out/run
             echo $? > /out/code",
        )
        .unwrap();
    assert_eq!(outcome.read("code").unwrap().trim(), "0", "{}", outcome.console);
    let result = json(&outcome, "run");
    let proof = result["proof"].as_array().unwrap();
    assert_eq!(proof[0]["claim"], "cores_unshared at idle", "{proof:?}");
    assert!(proof.iter().all(|proved| proved["found"] == 1.0), "{proof:?}");
    let levels = result["details"]["arms"].as_array().unwrap().iter().map(|arm| &arm["level"]);
    assert_eq!(levels.collect::<Vec<_>>(), ["idle", "used"], "half of one core is none");
}

/// Siblings that are left idle are off-line in their level's windows, which does not unsettle a run; and
/// on-line again afterwards, after Ctrl-C, and by `hopcost restore` after a kill. One that somebody else
/// brings back meanwhile refuses the run.
#[test]
fn siblings_are_truly_off_on_n4s2() {
    let (vm, _turn, _cache) = guest("n4s2");
    let outcome = vm
        .run(
            "online=/sys/devices/system/cpu/online
             all=$(cat $online)
             export XDG_CACHE_HOME=/cache
             run() {
                 hopcost run smt-reporting --allow-machine-changes --quick --scale 200000 --set streams=8 \
                     --set window=0.6s --set guard=50ms --json --store /out/store.db $*
             }
             fewer() { until [ $(cat $online) != $all ]; do [ -d /proc/$1 ] || return 1; sleep 0.1; done; }
             run --budget 5s > /out/run 2> /out/said; echo $? > /out/code; cat $online > /out/after_run
             run --budget 60s > /out/meddled & run=$!
             while fewer $run; do
                 sleep 0.3; echo 1 > /sys/devices/system/cpu/cpu1/online
                 until [ $(cat $online) = $all ]; do sleep 0.1; done
             done
             wait $run; cat $online > /out/after_meddling
             run --budget 60s > /dev/null 2>&1 & run=$!
             fewer $run || exit 1
             kill -INT $(pidof hopcost); wait $run; echo $? > /out/stopped; cat $online > /out/after_stop
             run --budget 60s > /dev/null 2>&1 & run=$!
             fewer $run || exit 2
             sleep 1; kill -9 $(pidof hopcost); wait $run; cat $online > /out/after_kill
             hopcost restore > /out/restore || exit 3
             cat $online > /out/after_restore
             ls -A /var/lib/hopcost > /out/state; echo $all > /out/all",
        )
        .unwrap();
    let said = || outcome.read("said").unwrap_or_default();
    assert_eq!(outcome.exit, 0, "{} {}", said(), outcome.console);
    let read = |name: &str| outcome.read(name).unwrap().trim().to_owned();
    assert_eq!(read("code"), "0", "{} {}", said(), read("run"));
    let result = json(&outcome, "run");
    assert_eq!(result["proof"][0]["claim"], "cores_unshared at idle", "{}", result["proof"]);
    assert_eq!(result["proof"][0]["found"], 1.0, "{}", result["proof"]);
    let notes = result["details"]["notes"].as_array().unwrap();
    let is_told = |note: &&Value| note.as_str().unwrap().contains("truly off in its windows");
    let told = notes.iter().find(is_told).unwrap_or_else(|| panic!("{notes:?}"));
    assert!(told.as_str().unwrap().ends_with(": idle CPU 1,3,5,7"), "{told}");
    let meddled = json(&outcome, "meddled");
    assert_eq!(meddled["verdict"], "REFUSED", "{}", meddled["reason"]);
    let reason = meddled["reason"].as_str().unwrap();
    assert!(reason.contains("CPU 0-2,4,6 were on-line where only 0,2,4,6 should"), "{reason}");
    assert_eq!(read("stopped"), "130");
    for name in ["after_run", "after_meddling", "after_stop", "after_restore"] {
        assert_eq!(read(name), read("all"), "{name}");
    }
    assert_ne!(read("after_kill"), read("all"), "a kill cannot put anything back");
    assert!(
        read("restore").contains("put back   /sys/devices/system/cpu/cpu"),
        "{}",
        read("restore")
    );
    assert_eq!(read("state"), "");
}

/// A disk that fills up while a run goes on: it says so, and what was finished stays, whole.
#[test]
fn a_full_disk_keeps_what_was_finished() {
    let (vm, _turn, _cache) = guest("n2");
    let outcome = vm
        .run(
            "mkdir /small && mount -t tmpfs -o size=400k none /small
             export XDG_CACHE_HOME=/cache
             hopcost run remote-memory --quick --scale 200000 --set streams=1 --set window=50ms \
                 --set guard=10ms --set units=400 --set half_width=0.01% \
                 --store /small/store.db > /out/text 2> /out/said
             echo $? > /out/code
             cp /small/store.db /out/
             hopcost report --store /small/store.db > /out/report 2>&1; echo $? > /out/reported",
        )
        .unwrap();
    let [said, text] = ["said", "text"].map(|name| outcome.read(name).unwrap());
    assert_eq!(outcome.read("code").unwrap().trim(), "1", "{said}\n{text}\n{}", outcome.console);
    assert!(said.contains("/small/store.db") && said.contains("disk is full"), "{said}");
    let report = outcome.read("report").unwrap();
    assert_eq!(outcome.read("reported").unwrap().trim(), "0", "{report}");
    assert!(report.contains("was not finished"), "{report}");
    assert!(report.contains("what it had is shown"), "{report}");
    let blocks = report.split(" blocks").next().unwrap().rsplit(' ').next().unwrap();
    assert!(blocks.parse::<u32>().unwrap() > 0, "{report}");
}
