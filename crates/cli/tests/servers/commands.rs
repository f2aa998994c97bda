//! The binary with bad input, missing directories, closed pipes and documented keys.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::documented::assert_documented;
use serde_json::Value;

const MACHINES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines");

fn hopcost(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hopcost"));
    command.args(arguments);
    command
}

fn run(arguments: &[&str]) -> Output {
    hopcost(arguments).output().unwrap()
}

#[track_caller]
fn refuses(arguments: &[&str], code: i32, words: &[&str]) {
    let output = run(arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    let printed = String::from_utf8_lossy(&output.stdout);
    // With `--json` the failure is printed as JSON.
    let is_told = arguments.contains(&"--json") && printed.contains("\"failure\"");
    assert!(printed.is_empty() || is_told, "{arguments:?} printed a result");
    for word in words {
        assert!(said.contains(word), "{arguments:?} does not say '{word}': {said}");
    }
    assert!(!said.contains("panicked"), "{said}");
}

#[test]
fn wrong_use_is_named_and_ends_with_2() {
    refuses(&["probe", "latencies"], 2, &["latencies", "possible values", "latency, bandwidth"]);
    refuses(&["probe", "--nodes", "99"], 2, &["no node 99", "this machine has 0"]);
    refuses(&["probe", "--nodes", "zero"], 2, &["zero"]);
    refuses(&["probe", "--cpus", "9999"], 2, &["CPU 9999 cannot be used"]);
    refuses(&["probe", "--cpus", ""], 2, &["--cpus"]);
    refuses(&["probe", "--size", "12"], 2, &["1M is the least"]);
    refuses(&["probe", "--size", "7Q"], 2, &["'Q' is no unit"]);
    refuses(&["probe", "--stride", "100"], 2, &["a multiple of 64"]);
    refuses(&["probe", "--quick", "--full"], 2, &["cannot be used with"]);
    refuses(&["machine", "--json", "--svg", "x.svg"], 2, &["cannot be used with"]);
    refuses(&["run", "placebo", "--allow-load=cpu:1"], 2, &["no 'cpu'; known: cpus, mem"]);
    refuses(&["run", "placebo", "--allow-load=cpus:9999"], 2, &["CPU 9999 cannot be used"]);
    refuses(
        &["plan", "placebo", "--allow-machine-changes"],
        2,
        &["nothing to change; leave it out"],
    );
    refuses(&["plan", "access-cost", "--allow-machine-changes"], 2, &["the hardware alone"]);
    refuses(&["where"], 2, &["TARGET"]);
    refuses(&["where", "postgrez"], 2, &["no kind of server", "PostgreSQL, MariaDB"]);
    refuses(&["where", "postgres:managed"], 2, &["postgres://user@host:port/database"]);
    refuses(&["measure"], 2, &["measure"]);
}

#[test]
fn places_that_cannot_be_read_or_written_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("notes.txt");
    fs::write(&file, "not a recording").unwrap();
    let [dir, file] = [dir.path(), &file].map(|path| path.to_str().unwrap());
    refuses(&["machine", "--sysfs", "no/such/tree"], 1, &["--sysfs", "no/such/tree"]);
    refuses(&["machine", "--sysfs", file], 1, &["notes.txt"]);
    refuses(&["machine", "--sysfs", dir], 1, &["neither sys/ nor proc/"]);
    refuses(&["machine", "--record", dir], 1, &["not empty"]);
    // Not even root can write there.
    refuses(&["machine", "--svg", "/proc/x.svg"], 1, &["--svg /proc/x.svg"]);
    refuses(&["machine", "--record", "/proc/x"], 1, &["/proc/x"]);
    refuses(&["machine", "--record", "/proc/x.tree"], 1, &["/proc/x.tree"]);
}

#[test]
fn a_log_that_cannot_be_written_is_a_missing_figure() {
    let output = run(&["probe", "log", "--quick", "--budget", "1s", "--log-dir", "/proc"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "flushing to memory needs no directory");
    assert!(said.contains("no log file can be written in /proc"), "{said}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = hopcost(&["machine", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn colours_stay_on_a_terminal() {
    let output = run(&["machine"]);
    assert!(!output.stdout.contains(&0x1b));
}

#[test]
fn a_recorded_machine_reads_the_same_wherever_it_lies() {
    let dir = tempfile::tempdir().unwrap();
    let read = |arguments: &[&str]| -> Value {
        let output = run(arguments);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let [below, file] = ["below", "machine.tree"].map(|name| dir.path().join(name));
    let [below, file] = [&below, &file].map(|path| path.to_str().unwrap());
    assert!(run(&["machine", "--record", below]).status.success());
    assert!(run(&["machine", "--record", file]).status.success());
    let mut live = read(&["machine", "--json"]);
    for place in [below, file] {
        let mut recorded = read(&["machine", "--json", "--sysfs", place]);
        for machine in [&mut live, &mut recorded] {
            // Memory in use varies between two reads; limits differ by process.
            machine["limits"]["memory_used_bytes"].take();
            for node in machine["nodes"].as_array_mut().unwrap() {
                node["free_bytes"].take();
                node["available_bytes"].take();
            }
        }
        assert_eq!(recorded, live, "{place}");
    }
}

#[test]
fn a_plan_touches_nothing_and_says_what_it_would_do() {
    let output = run(&["plan", "access-cost", "--json"]);
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_documented(&plan);
    assert_eq!(plan["steps"][0]["probe"], "latency");
    assert!(plan["steps"][0]["cells"].as_u64().unwrap() > 0);
    let list = String::from_utf8(run(&["list"]).stdout).unwrap();
    assert!(list.starts_with("Runs here (") && list.contains("access-cost"), "{list}");
    let (experiments, more) = list.rsplit_once("\nTargets, probes").unwrap();
    assert!(more.ends_with("hopcost list --all\n"), "{list}");
    let all = String::from_utf8(run(&["list", "--all"]).stdout).unwrap();
    assert!(all.starts_with(experiments), "{all}");
    for word in ["latency", "tran_stats", "policy.per-node"] {
        assert!(all.contains(word) && !list.contains(word), "{all}");
    }
    let printed: Value = serde_json::from_slice(&run(&["list", "--all", "--json"]).stdout).unwrap();
    assert_documented(&printed);
    assert_eq!(printed["engines"][0]["target"], "sqlite");
}

#[test]
fn alone_it_shows_the_machine_and_what_to_do_next() {
    let output = run(&[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let heads: Vec<&str> = text.lines().filter_map(|line| line.split("  ").next()).collect();
    assert_eq!(heads, ["Machine", "Doctor", "Next"], "{text}");
    assert!(text.ends_with("hopcost survey\n") || text.ends_with("hopcost doctor\n"), "{text}");
}

#[test]
fn what_would_be_said_to_sql_server_is_listed_without_one() {
    let url = "sqlserver://sa:secret@nowhere.invalid/";
    let output = run(&["plan", "--target", url, "--sql"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains("secret"));
    for words in [
        "-- remote-memory on sqlserver://sa@nowhere.invalid",
        "OPTION (RECOMPILE, MAXDOP 1);",
        "WITH NATIVE_COMPILATION",
        "-- for 2012 to 2019; experimental: never tried on a server",
        "ALTER SERVER CONFIGURATION SET PROCESS AFFINITY CPU = AUTO;",
        "CREATE SERVER AUDIT {name} TO FILE",
        "sys.sp_trace_create",
        "-- log-distance on sqlserver://sa@nowhere.invalid",
        "-- not applicable: the variant 'postmaster' places parallel workers",
    ] {
        assert!(text.contains(words), "{words}");
    }
    let output = run(&["plan", "server-score", "--target", url, "--sql", "--json"]);
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let statements = printed[0]["statements"].as_array().unwrap();
    let named = |name: &str| statements.iter().find(|statement| statement["name"] == name).unwrap();
    assert!(named("stock_level")["sql"].as_str().unwrap().contains("@p3"));
    assert!(named("waits")["tried"].is_null());
    refuses(&["plan", "server-score", "--sql"], 2, &["for --target sqlserver://"]);
    refuses(&["plan", "--target", url], 2, &["required", "<EXPERIMENT>"]);
}

#[test]
fn experiments_that_are_wrong_are_answered_with_their_place() {
    refuses(&["plan", "acess-cost"], 2, &["no experiment 'acess-cost'", "access-cost"]);
    refuses(&["run", "no/such.toml"], 1, &["no/such.toml"]);
    let invalid = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/invalid");
    let misspelt = format!("{invalid}/probe-misspelt.toml");
    refuses(&["plan", &misspelt], 2, &["probe-misspelt.toml:5:11", "did you mean 'latency'?"]);
}

/// With HOPCOST_WRITE_DOCS=1 the page is written anew.
#[test]
fn help_is_as_it_was_agreed() {
    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/commands.md");
    let help = |arguments: &[&str]| String::from_utf8(run(arguments).stdout).unwrap();
    let all = help(&["--help"]);
    let (_, commands) = all.split_once("Commands:\n").unwrap();
    let commands = commands.lines().map_while(|line| line.strip_prefix("  ")?.split(' ').next());
    let mut page = format!(
        "# Commands and options\n\nWhat `hopcost --help` and `hopcost COMMAND --help` print.\n\n\
         ```\n{all}```\n"
    );
    for command in commands.filter(|command| !["", "help"].contains(command)) {
        let text = help(&[command, "--help"]);
        write!(page, "\n## hopcost {command}\n\n```\n{text}```\n").unwrap();
    }
    if std::env::var_os("HOPCOST_WRITE_DOCS").is_some() {
        fs::write(PAGE, &page).unwrap();
    }
    let written = fs::read_to_string(PAGE).unwrap();
    assert!(written == page, "run this test with HOPCOST_WRITE_DOCS=1, and commit {PAGE}");
}

#[test]
fn every_key_of_a_machine_is_documented() {
    let mut machines = 0;
    for entry in Path::new(MACHINES).read_dir().unwrap() {
        let path = entry.unwrap().path();
        let output = run(&["machine", "--json", "--sysfs", path.to_str().unwrap()]);
        let machine: Value = serde_json::from_slice(&output.stdout).unwrap();
        for key in ["nodes", "cpus", "caches", "distances", "limits", "virtualization", "version"] {
            assert!(machine.get(key).is_some(), "{} has no {key}", path.display());
        }
        assert_documented(&machine);
        machines += 1;
    }
    assert!(machines >= 10);
}

#[test]
fn every_key_of_the_doctor_is_documented() {
    let output = run(&["doctor", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_documented(&report);
    let warned = |finding: &Value| finding["severity"] == "warning";
    let warns = report["findings"].as_array().unwrap().iter().any(warned);
    assert_eq!(output.status.code(), Some(i32::from(warns)));
}
