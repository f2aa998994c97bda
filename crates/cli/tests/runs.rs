//! `hopcost run` on a real database, as a user meets it: verdicts, kills, resumption, faults.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

mod bench;
mod settled;

use std::fs;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use bench::{Bench, json, stderr};
use rusqlite::Connection;
use settled::settled;

/// What has to be proved of it.
const PROVE: &str = "\
prove = [\"local_lookups >= 98% when memory = near\", \"remote_lookups >= 98% when memory = far\"]
";

impl Bench {
    fn new() -> Self {
        Self::with(&[("far.toml", &format!("{}{PROVE}", bench::FAR))])
    }

    fn far(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&["run", "far.toml", "--quick"]);
        command.args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        settled(&self.path("hopcost.db"), || self.far(arguments).output().unwrap())
    }

    /// A run that is let go, and lasts some seconds.
    fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.far(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// The latest run as a page.
    fn page(&self) -> String {
        let output = self.command(&["report", "--html", "page.html"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        fs::read_to_string(self.path("page.html")).unwrap()
    }

    fn store(&self) -> Connection {
        Connection::open(self.path("hopcost.db")).unwrap()
    }

    /// The records of all finished blocks.
    fn blocks(&self) -> Vec<String> {
        let store = self.store();
        let integrity: String =
            store.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(integrity, "ok");
        let mut statement =
            store.prepare("SELECT number, record FROM block ORDER BY number").unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let blocks: Vec<(i64, String)> = rows.collect::<Result<_, _>>().unwrap();
        for (place, (number, _)) in blocks.iter().enumerate() {
            assert_eq!(*number, i64::try_from(place).unwrap(), "a block is missing");
        }
        blocks.into_iter().map(|(_, record)| record).collect()
    }
}

const FAR: &str = "--emulate=nodes=2,remote_ns=8000";
/// Ten blocks for each of the two bindings, in windows as short as a debug build can fill.
const SHORT: [&str; 5] =
    [FAR, "--set=units=8", "--set=window=40ms", "--set=guard=10ms", "--set=half_width=0.01%"];

#[test]
fn planted_distance_is_found_proved_and_stamped() {
    let bench = Bench::new();
    let output = bench.run(&[&SHORT[..], &["--json", "--raw-calls"]].concat());
    let result = json(&output);
    assert_eq!(result["verdict"], "COST", "{}", result["reason"]);
    assert_eq!(result["emulated"], true);
    let planted = result["planted"].as_f64().unwrap();
    let point = result["estimate"]["point"].as_f64().unwrap();
    assert!(
        planted > 0.02 && (planted - point).abs() < 0.5 * planted,
        "{planted} found as {point}"
    );
    assert!(result["proof"].as_array().unwrap().iter().all(|proved| proved["found"] == 1.0));
    for arm in result["details"]["arms"].as_array().unwrap() {
        let side = usize::from(arm["level"] == "near");
        assert_eq!(arm["acquisitions"][side], 0, "{arm}");
        assert_eq!(arm["errors"], 0);
    }
    // The same from the store, to the last digit, without measuring.
    let report = bench.command(&["report", "--json"]).output().unwrap();
    assert_eq!(json(&report), result);
    let text = bench.command(&["report"]).output().unwrap();
    assert!(String::from_utf8_lossy(&text.stdout).starts_with("EMULATED COST"));
    let html = bench.page();
    for words in ["EMULATED", "near (baseline)", "Look-ups by node", "--raw-calls", "✓ holds"] {
        assert!(html.contains(words), "{words}");
    }
    assert!(html.matches("<figure>").count() >= 8 && !html.contains("class=\"why\""));
    let store = bench.store();
    let count = |sql: &str| -> i64 { store.query_row(sql, [], |row| row.get(0)).unwrap() };
    let counted = count("SELECT sum(calls) FROM block_window");
    assert!(counted > 100 && count("SELECT count(*) FROM call") == counted, "{counted} calls");
    assert_eq!(count("SELECT count(*) FROM call WHERE done_ns <= sent_ns OR sent_ns < due_ns"), 0);
    assert!(count("SELECT count(*) FROM observation WHERE metric = 'cpu_user_ms'") > 0);
}

/// On two emulated nodes: whatever the verdict, each policy's placement is proved, and each instance's.
#[test]
fn policies_and_instances_prove_where_everything_was() {
    for (name, text, claims) in [
        ("policies", include_str!("../../../experiments/memory-policy.toml"), 6),
        ("instances", include_str!("../../../experiments/instances.toml"), 5),
    ] {
        let bench = Bench::new();
        let file = format!("{name}.toml");
        fs::write(bench.path(&file), text.replace("reporting_p1", "reporting_p2")).unwrap();
        let output = bench
            .command(&["run", &file, "--json", "--quick", "--scale=20000", "--set=units=8"])
            .args(["--set=streams=2", "--set=window=20ms", "--set=guard=5ms"])
            .args(["--emulate=nodes=2,remote_ns=300", "--cache-dir", "cache"])
            .env("XDG_STATE_HOME", bench.path("state"))
            .output()
            .unwrap();
        let result = json(&output);
        let proof = result["proof"].as_array().unwrap();
        assert_eq!(proof.len(), claims, "{proof:?}");
        assert!(proof.iter().all(|proved| proved["found"].as_f64() >= Some(0.98)), "{proof:?}");
        assert_eq!(result["emulated"], true);
    }
}

#[test]
fn one_node_ends_with_a_named_reason_and_what_to_do() {
    let bench = Bench::new();
    let output = bench.run(&["--json"]);
    let result = json(&output);
    if result["verdict"] != "NOT_APPLICABLE" {
        // A machine with two nodes measures it instead.
        return;
    }
    assert_eq!(output.status.code(), Some(3));
    let reason = result["reason"].as_str().unwrap();
    assert!(reason.contains("nothing here is remote") && reason.contains("--emulate"), "{reason}");
}

/// Killed at ten random moments: the store is whole, every finished block is there, and the run goes
/// on from the last one to its end.
#[test]
fn a_killed_run_goes_on_from_its_last_block() {
    let mut moments = fastrand::Rng::with_seed(20);
    let reference = Bench::new();
    let output = reference.run(&SHORT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let whole = reference.blocks().len();
    let mut killed_in_the_middle = 0;
    for _ in 0..10 {
        let bench = Bench::new();
        let mut run = bench.start(&SHORT);
        sleep(Duration::from_millis(moments.u64(300..5_000)));
        run.kill().unwrap();
        run.wait().unwrap();
        if !bench.path("hopcost.db").exists() {
            continue;
        }
        let kept = bench.blocks();
        let finished: Option<String> =
            bench.store().query_row("SELECT max(verdict) FROM run", [], |row| row.get(0)).unwrap();
        if finished.is_some() {
            continue;
        }
        killed_in_the_middle += usize::from(!kept.is_empty());
        let output = bench.run(&[&SHORT[..], &["--resume", "--json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let blocks = bench.blocks();
        assert_eq!(blocks[..kept.len()], kept, "what was measured stays as it was");
        assert!(blocks.len() >= whole.min(kept.len() + 1));
        let runs: i64 =
            bench.store().query_row("SELECT count(*) FROM run", [], |row| row.get(0)).unwrap();
        assert_eq!(runs, 1);
        // On a busy machine the verdict may be none; it is one of a run that came to its end.
        assert!(json(&output)["verdict"].is_string());
    }
    assert!(killed_in_the_middle >= 3, "only {killed_in_the_middle} kills met a run with blocks");
    let restore = Command::new(env!("CARGO_BIN_EXE_hopcost")).arg("restore").output().unwrap();
    assert_eq!(restore.status.code(), Some(0), "{}", stderr(&restore));
}

#[test]
fn an_interrupted_run_says_how_to_go_on() {
    let bench = Bench::new();
    // The data first, so that the signal meets the measuring.
    bench.run(&SHORT);
    fs::remove_file(bench.path("hopcost.db")).unwrap();
    let run = bench
        .far(&[FAR, "--set=units=400", "--set=window=40ms", "--set=guard=10ms"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    sleep(Duration::from_secs(2));
    let pid = run.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(stderr(&output).contains("--resume"), "{}", stderr(&output));
    assert!(!bench.blocks().is_empty());
    let html = bench.page();
    assert!(html.contains(">INTERRUPTED<") && html.contains("before there was a verdict"));
}

#[test]
fn nothing_to_resume_is_wrong_use() {
    let bench = Bench::new();
    let output = bench.run(&[&SHORT[..], &["--resume"]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no unfinished run"), "{}", stderr(&output));
}

#[test]
fn a_truncated_data_set_is_noticed_and_made_anew() {
    let bench = Bench::new();
    assert_eq!(bench.run(&SHORT).status.code(), Some(0));
    let cached = fs::read_dir(bench.path("cache/hopcost")).unwrap().map(|entry| entry.unwrap());
    let file =
        cached.map(|entry| entry.path()).find(|p| p.extension().unwrap() == "sqlite").unwrap();
    let length = fs::metadata(&file).unwrap().len();
    fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(length / 2).unwrap();
    let output = bench.run(&SHORT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(fs::metadata(&file).unwrap().len(), length);
}

#[track_caller]
fn fails(output: &Output, code: i32, words: &[&str]) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for word in words {
        assert!(said.contains(word), "'{word}' is not in: {said}");
    }
}

#[test]
fn stores_that_cannot_be_used_are_told_apart() {
    let bench = Bench::new();
    fs::write(bench.path("notes.txt"), "x".repeat(5000)).unwrap();
    fails(&bench.run(&["--store", "notes.txt"]), 1, &["notes.txt", "damaged"]);
    Connection::open(bench.path("other.db")).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    fails(&bench.run(&["--store", "other.db"]), 1, &["other.db", "no store of hopcost"]);
    bench.run(&["--store", "newer.db"]);
    let newer = Connection::open(bench.path("newer.db")).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    fails(&bench.run(&["--store", "newer.db"]), 1, &["newer.db", "version 99", "update hopcost"]);
    bench.run(&["--store", "locked.db"]);
    let locked = Connection::open(bench.path("locked.db")).unwrap();
    locked.execute_batch("BEGIN EXCLUSIVE").unwrap();
    fails(&bench.run(&["--store", "locked.db"]), 1, &["locked.db", "another process"]);
    fails(&bench.run(&["--store", "no/such/dir/x.db"]), 1, &["no/such/dir/x.db"]);
}

/// What was finished before the store could no longer be written stays.
#[test]
fn a_store_that_cannot_grow_loses_nothing_that_was_finished() {
    let bench = Bench::new();
    assert_eq!(bench.run(&SHORT).status.code(), Some(0));
    let before = bench.blocks().len();
    let size = fs::metadata(bench.path("hopcost.db")).unwrap().len();
    // A limit on the size of files stops it where a full disk would.
    let limit = (size + 40_000) / 512;
    let hopcost = env!("CARGO_BIN_EXE_hopcost");
    let script = format!(
        "trap '' XFSZ; ulimit -f {limit}; exec {hopcost} run far.toml --quick {}",
        SHORT.join(" ")
    );
    let output = Command::new("sh")
        .args(["-c", &script])
        .current_dir(bench.path("."))
        .env("XDG_CACHE_HOME", bench.path("cache"))
        .output()
        .unwrap();
    fails(&output, 1, &["hopcost.db", "could not be written", "is kept"]);
    let store = bench.store();
    let kept: i64 = store
        .query_row("SELECT count(*) FROM block WHERE run_id = 1", [], |row| row.get(0))
        .unwrap();
    assert_eq!(usize::try_from(kept).unwrap(), before);
    let integrity: String =
        store.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(integrity, "ok");
}

#[test]
fn memory_and_places_that_are_not_there_are_named_before_anything_runs() {
    let bench = Bench::new();
    let output = bench.run(&[FAR, "--scale", "100000000000"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("of memory") && said.contains("--scale"), "{said}");
    let blocked = bench.path("cache");
    fs::write(&blocked, "a file where a directory is wanted").unwrap();
    let output = bench.run(&SHORT);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains(&*blocked.to_string_lossy()), "{}", stderr(&output));
}

#[test]
fn a_load_takes_no_more_than_was_allowed() {
    let bench = Bench::new();
    let cpu = hopcost_sys::affinity::mask().unwrap().first().unwrap();
    let output = bench.run(&[FAR, &format!("--allow-load=cpus:{cpu}")]);
    fails(&output, 3, &["1 usable CPUs cannot be 2 nodes"]);
    let output = bench.run(&[FAR, "--allow-load=mem:1M"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("of memory") && said.contains("1 MiB"), "{said}");
}

#[test]
fn wrong_options_are_answered_with_what_is_right() {
    let bench = Bench::new();
    let plan = |arguments: &[&str]| -> Output { bench.run(arguments) };
    fails(&plan(&["--emulate", "remotens=80"]), 2, &["--emulate", "known: nodes, remote_ns"]);
    fails(&plan(&["--emulate", "nodes=4096"]), 2, &["1 to 64"]);
    fails(&plan(&["--set", "windw=1s"]), 2, &["--set windw=1s", "known: streams"]);
    fails(&plan(&["--target", "oracle:"]), 2, &["there is no target 'oracle'", "sqlite"]);
    fails(&plan(&["--budget", "5"]), 2, &["no unit of time"]);
    let of_hardware = |option: &str| {
        let arguments = ["plan", "access-cost", option];
        Command::new(env!("CARGO_BIN_EXE_hopcost")).args(arguments).output().unwrap()
    };
    fails(&of_hardware("--scale=5"), 2, &["--scale", "looks at the hardware alone"]);
    fails(&of_hardware("--emulate=remote_ns=80"), 2, &["has no database", "bandwidth=nodeN:SHARE"]);
}
