//! `hopcost run` on a real database: kills, resumption, faults.

use std::fs;
use std::process::{Command, Output, Stdio};

use hopcost_testkit::named::machine;
use rusqlite::Connection;

use crate::at_work::interrupted;
use crate::bench::{Bench, FAR, SHORT, TWO_NODES, ends, is_over, json, stderr, stdout, wait_until};

pub fn bench() -> Bench {
    Bench::with(&[("far.toml", FAR)])
}

pub fn run(bench: &Bench, arguments: &[&str]) -> Output {
    bench.hopcost(&[&["run", "far.toml", "--quick"], arguments].concat())
}

fn whole_run(bench: &Bench, arguments: &[&str]) -> Output {
    let output = bench.hopcost(&[&["run", "far.toml"], &SHORT[..], arguments].concat());
    is_over(&output);
    output
}

/// All finished blocks; also asserts the store's integrity.
fn blocks(bench: &Bench) -> Vec<String> {
    let store = bench.store();
    let integrity: String =
        store.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(integrity, "ok");
    let mut statement = store.prepare("SELECT number, record FROM block ORDER BY number").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let blocks: Vec<(i64, String)> = rows.collect::<Result<_, _>>().unwrap();
    assert!((0..).zip(&blocks).all(|(place, (number, _))| place == *number), "a block is missing");
    blocks.into_iter().map(|(_, record)| record).collect()
}

/// Kills a run once `moment` holds in the store. False if the run ended first.
fn killed(bench: &Bench, more: &[&str], moment: &str) -> bool {
    let mut command = bench.command(&[&["run", "far.toml"], &SHORT[..], &WHOLE, more].concat());
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until(moment, || bench.has(moment) || run.try_wait().unwrap().is_some());
    let met = run.try_wait().unwrap().is_none();
    run.kill().unwrap();
    run.wait().unwrap();
    met
}

/// Prevents an early end.
const WHOLE: [&str; 1] = ["--set=half_width=0.01%"];

#[test]
fn a_killed_run_goes_on_from_its_last_block() {
    let blocks = [1, 3, 7].map(|blocks| format!("count(*) >= {blocks} FROM block"));
    goes_on_after_kills(&blocks.each_ref().map(String::as_str));
}

/// Kills the run at each moment and resumes it: the store is intact, every finished block is kept,
/// and the last run ends.
pub fn goes_on_after_kills(moments: &[&str]) {
    let bench = bench();
    let mut kept = Vec::new();
    for moment in moments {
        let more: &[&str] = if bench.has("count(*) FROM run") { &["--resume"] } else { &[] };
        assert!(killed(&bench, more, moment), "it ended before it was killed when {moment}");
        if !bench.has("count(*) FROM run") {
            continue;
        }
        let blocks = blocks(&bench);
        assert_eq!(blocks[..kept.len()], kept, "what was measured stays as it was");
        kept = blocks;
    }
    let output = whole_run(&bench, &[&WHOLE[..], &["--resume", "--json"]].concat());
    let blocks = blocks(&bench);
    assert_eq!(blocks[..kept.len()], kept, "what was measured stays as it was");
    assert!(blocks.len() > kept.len());
    assert_eq!(bench.count("SELECT count(*) FROM run"), 1);
    // On a busy machine the verdict may be none.
    assert!(json(&output)["verdict"].is_string());
    // An embedded database leaves nothing behind, whatever else was left on this machine.
    let restored = stdout(&bench.hopcost(&["restore"]));
    assert!(!restored.contains("sqlite"), "{restored}");
}

#[test]
fn an_interrupted_run_says_how_to_go_on() {
    let bench = bench();
    let mut command = bench.command(&["run", "far.toml", "--quick", TWO_NODES]);
    command.args(["--set=units=400", "--set=window=40ms", "--set=guard=10ms"]);
    let run = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("a block is finished", || bench.has("count(*) FROM block"));
    let said = interrupted(run, 130);
    assert!(said.contains("--resume"), "{said}");
    assert!(!blocks(&bench).is_empty());
    ends(&bench.hopcost(&["report", "--html", "page.html"]), 0, &[]);
    let html = fs::read_to_string(bench.path("page.html")).unwrap();
    assert!(html.contains(">INTERRUPTED<") && html.contains("before there was a verdict"));
}

/// On the CPUs of one node: some machines have no more.
#[test]
fn one_node_ends_with_a_named_reason_and_what_to_do() {
    let bench = bench();
    let node = machine().nodes_with_memory().find(|node| !node.cpus.is_empty()).unwrap();
    let output = run(&bench, &["--json", &format!("--allow-load=cpus:{}", node.cpus)]);
    let result = json(&output);
    assert_eq!(result["verdict"], "NOT_APPLICABLE", "{}", result["reason"]);
    assert_eq!(output.status.code(), Some(3));
    let reason = result["reason"].as_str().unwrap();
    assert!(reason.contains("needs 2 memory nodes; this machine has 1"), "{reason}");
}

#[test]
fn nothing_to_resume_is_wrong_use() {
    let bench = bench();
    ends(&run(&bench, &[TWO_NODES, "--resume"]), 2, &["no unfinished run"]);
}

#[test]
fn stores_that_cannot_be_used_are_told_apart() {
    let bench = bench();
    fs::write(bench.path("notes.txt"), "x".repeat(5000)).unwrap();
    ends(&run(&bench, &["--store", "notes.txt"]), 1, &["notes.txt", "damaged"]);
    Connection::open(bench.path("other.db")).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    ends(&run(&bench, &["--store", "other.db"]), 1, &["other.db", "no store of hopcost"]);
    run(&bench, &["--store", "newer.db"]);
    let newer = Connection::open(bench.path("newer.db")).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    ends(&run(&bench, &["--store", "newer.db"]), 1, &["newer.db", "version 99", "update hopcost"]);
    run(&bench, &["--store", "locked.db"]);
    let locked = Connection::open(bench.path("locked.db")).unwrap();
    locked.execute_batch("BEGIN EXCLUSIVE").unwrap();
    ends(&run(&bench, &["--store", "locked.db"]), 1, &["locked.db", "another process"]);
    ends(&run(&bench, &["--store", "no/such/dir/x.db"]), 1, &["no/such/dir/x.db"]);
}

#[test]
fn memory_and_places_that_are_not_there_are_named_before_anything_runs() {
    let bench = bench();
    let output = run(&bench, &[TWO_NODES, "--scale", "100000000000"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let said = stdout(&output);
    assert!(said.contains("of memory") && said.contains("--scale"), "{said}");
    let blocked = bench.path("cache");
    fs::write(&blocked, "a file where a directory is wanted").unwrap();
    let mut run = bench.command(&["run", "far.toml", "--quick", TWO_NODES]);
    let output = run.env("XDG_CACHE_HOME", &blocked).output().unwrap();
    ends(&output, 1, &[&blocked.to_string_lossy()]);
}

#[test]
fn a_load_takes_no_more_than_was_allowed() {
    let bench = bench();
    let cpu = hopcost_sys::affinity::mask().unwrap().first().unwrap();
    let output = run(&bench, &[TWO_NODES, &format!("--allow-load=cpus:{cpu}")]);
    ends(&output, 3, &["1 usable CPUs cannot be 2 nodes"]);
    let output = run(&bench, &[TWO_NODES, "--allow-load=mem:1M"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let said = stdout(&output);
    assert!(said.contains("of memory") && said.contains("1 MiB"), "{said}");
}

#[test]
fn who_asks_for_json_is_told_each_failure_with_its_code() {
    let bench = bench();
    fs::write(bench.path("wrong.toml"), "question = 3").unwrap();
    for (arguments, exit, code) in [
        (&["run", "no-such"][..], 2, "usage.name"),
        (&["run", "far.toml", "--target", "oracle:"], 2, "usage.name"),
        (&["run", "far.toml", "--no-such"], 2, "usage.option"),
        (&["run", "far.toml", "--set", "units=many"], 2, "usage.value"),
        (&["run", "far.toml", "--target", "postgres:x"], 2, "usage.url"),
        (&["run", "wrong.toml"], 2, "usage.file"),
        (&["run", "far.toml", TWO_NODES, "--resume"], 2, "usage.resume"),
        (&["report", "--store", "absent.db"], 1, "store.failed"),
        (&["run", "absent.toml"], 1, "host.failed"),
    ] {
        let output = bench.hopcost(&[arguments, &["--json"]].concat());
        let failure = &json(&output)["failure"];
        assert_eq!(failure["reason_code"], code, "{arguments:?}: {failure}");
        assert_eq!((output.status.code(), &failure["exit_code"]), (Some(exit), &exit.into()));
        assert!(stderr(&output).contains(failure["reason"].as_str().unwrap()), "{failure}");
    }
    let output = run(&bench, &[TWO_NODES, "--json", "--allow-load=mem:1M"]);
    let result = json(&output);
    assert_eq!((output.status.code(), &result["reason_code"]), (Some(3), &"machine.memory".into()));
}

#[test]
fn wrong_options_are_answered_with_what_is_right() {
    let bench = bench();
    let plan = |arguments: &[&str]| -> Output { run(&bench, arguments) };
    ends(&plan(&["--emulate", "remotens=80"]), 2, &["--emulate", "known: nodes, remote_ns"]);
    ends(&plan(&["--emulate", "nodes=4096"]), 2, &["1 to 64"]);
    ends(&plan(&["--set", "windw=1s"]), 2, &["--set windw=1s", "known: streams"]);
    ends(&plan(&["--target", "oracle:"]), 2, &["there is no target 'oracle'", "sqlite"]);
    ends(&plan(&["--budget", "5"]), 2, &["no unit of time"]);
    ends(&plan(&["--emulate=bandwidth=node1:0.7"]), 2, &["'far' is on a database"]);
    let of_hardware = |option: &str| {
        let arguments = ["plan", "access-cost", option];
        Command::new(env!("CARGO_BIN_EXE_hopcost")).args(arguments).output().unwrap()
    };
    ends(&of_hardware("--scale=5"), 2, &["--scale", "looks at the hardware alone"]);
    ends(&of_hardware("--emulate=remote_ns=80"), 2, &["has no database", "bandwidth=nodeN:SHARE"]);
}
