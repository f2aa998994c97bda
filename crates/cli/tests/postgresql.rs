//! `hopcost` on a PostgreSQL server, as a user meets it: killed runs, killed servers, pgbench's scripts.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

mod on_postgresql;

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use hopcost_sys::ring::Ring;
use on_postgresql::Bench;
use on_postgresql::at_work::{alone, text};

#[test]
fn a_killed_run_leaves_a_schema_that_restore_drops_and_nothing_else() {
    let _alone = alone();
    let bench = Bench::new(&[]);
    bench.server.ask("CREATE TABLE theirs AS SELECT generate_series(1, 100) AS n");
    let before = bench.server.dump();
    let mut run = bench.long_run().spawn().unwrap();
    bench.wait_for_blocks(1);
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(bench.has_schema(), "it was killed in the middle");
    let output = bench.hopcost(&["restore"]).output().unwrap();
    assert!(text(&output).contains("dropped the schema hopcost"), "{}", text(&output));
    assert!(!bench.has_schema());
    assert_eq!(bench.server.dump(), before);
}

#[test]
fn what_is_loaded_stays_until_it_is_no_longer_wanted() {
    let bench = Bench::new(&[]);
    let load = |url: &str| {
        let output =
            bench.hopcost(&["load", url, "archive_view", "--scale", "100"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        text(&output)
    };
    assert!(load(&bench.url()).contains("rows of archive_view after"));
    assert_eq!(bench.server.ask("SELECT count(*) FROM hopcost.txn_current"), "100");
    assert!(load("sqlite:").contains("rows of archive_view after"));
    // The next one has no use for it, and leaves nothing.
    let drive = ["drive", &bench.url(), "--workload", "single_row_commit", "--duration", "0.1s"];
    let output = bench.hopcost(&drive).output().unwrap();
    assert!(text(&output).contains("calls a second of single_row_commit"), "{}", text(&output));
    assert!(!bench.has_schema());
}

/// The statements that reached the server as `P0_0`, `P0_1`, …, as its log has them.
fn executed(log: &str) -> BTreeSet<String> {
    let after = |line: &str| -> Option<String> {
        let (_, rest) = line.split_once("LOG:  execute P")?;
        Some(rest.split_once(": ")?.1.to_owned())
    };
    log.lines().filter_map(after).collect()
}

#[test]
fn pgbenchs_own_scripts_send_what_pgbench_sends() {
    let bench = Bench::new(&["-c", "log_statement=all"]);
    assert!(bench.server.client("pgbench", &["-i", "-q"]).status().unwrap().success());
    for name in ["tpcb-like", "simple-update", "select-only"] {
        let script = bench.dir.path().join(format!("{name}.sql"));
        let shown = bench
            .server
            .command("pgbench", &[&format!("--show-script={name}")])
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        fs::write(&script, &shown.stderr).unwrap();
        let begun = bench.server.log().len();
        let path = script.display().to_string();
        let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(bench.dir.path(), all).unwrap();
        let theirs = ["-n", "-M", "prepared", "-t", "3", "-f", &path];
        assert!(bench.server.client("pgbench", &theirs).status().unwrap().success());
        let between = bench.server.log().len();
        let output = bench
            .hopcost(&["drive", &bench.url(), "--duration", "0.2s", "--clients", "3", "--json"])
            .args(["--threads", "1", "--file", &path])
            .output()
            .unwrap();
        assert!(text(&output).contains("\"errors\": 0"), "{}", text(&output));
        assert!(!text(&output).contains("io_uring"), "{}", text(&output));
        let log = bench.server.log();
        let (theirs, ours) = (executed(&log[begun..between]), executed(&log[between..]));
        assert!(!theirs.is_empty(), "{name}: {}", &log[begun..between]);
        assert_eq!(ours, theirs, "{name}");
    }
    for clients in ["3", MANY] {
        what_sleeps_holds_nobody_up_and_what_is_defined_is_sent(&bench, clients);
    }
    // Every transaction was whole.
    let sums = "SELECT (SELECT sum(abalance) FROM pgbench_accounts) = \
                (SELECT sum(delta) FROM pgbench_history)";
    assert_eq!(bench.server.ask(sums), "t");
}

/// Clients on one thread, whose script sleeps between two statements that the server's log shows.
fn what_sleeps_holds_nobody_up_and_what_is_defined_is_sent(bench: &Bench, clients: &str) {
    let script = bench.dir.path().join("sleeps.sql");
    let lines = "SELECT :low::integer + :scale AS before;\n\\sleep :pause ms\nSELECT 'after' || :word;\n\\sleep 1 us\n";
    fs::write(&script, lines).unwrap();
    let path = script.display().to_string();
    let variables = ["-D", "low=41", "-D", "scale=7", "-D", "pause=50", "-D", "word=a=b"];
    let begun = bench.server.log().len();
    let theirs = ["-n", "-M", "prepared", "-t", "3", "-c", clients, "-j", "1", "-f", &path];
    assert!(
        bench
            .server
            .client("pgbench", &[&theirs[..], &variables].concat())
            .status()
            .unwrap()
            .success()
    );
    let between = bench.server.log().len();
    let ours =
        ["drive", &bench.url(), "--duration", "0.5s", "--clients", clients, "--threads", "1"];
    let mut drive = bench.hopcost(&ours);
    let output = drive.args(["--json", "--file", &path]).args(variables).output().unwrap();
    assert!(text(&output).contains("\"errors\": 0"), "{}", text(&output));
    let log = bench.server.log();
    let (theirs, ours) = (&log[begun..between], &log[between..]);
    assert_eq!(executed(ours), executed(theirs));
    assert_eq!(parameters(ours), parameters(theirs));
    assert_eq!(parameters(ours).len(), 2, "{ours}");
    for log in [theirs, ours] {
        let order: String = log
            .lines()
            .filter(|line| line.contains("LOG:  execute P"))
            .map(|line| if line.contains("AS before") { 'b' } else { 'a' })
            .collect();
        // Three begin before the first has slept.
        assert!(order.contains("bbb"), "{order}");
    }
}

/// So many connections of a thread leave it to io_uring to send and receive.
const MANY: &str = "40";
/// An answer and a question that are longer than what is sent and received at once, a question in several
/// parts, and one that fails where an answer was not whole.
const LONG_AND_SHORT: &str = "\
SELECT repeat('x', 9000) AS word, 41 AS number \\gset
SELECT 1 / (length(:word::text) / 9000), :number::integer;
\\startpipeline
BEGIN;
SELECT 1 / (:number::integer / 41);
INSERT INTO seen VALUES (:client_id);
COMMIT;
\\endpipeline
SELECT generate_series(1, 1000);
";

#[test]
fn many_connections_of_a_thread_are_answered_as_a_few_are() {
    let bench = Bench::new(&[]);
    bench.server.ask("CREATE TABLE seen (client integer)");
    let drive = |script: &str, clients: &str, more: &[&str]| {
        fs::write(bench.dir.path().join("script.sql"), script).unwrap();
        let mut drive = bench.hopcost(&["drive", &bench.url(), "--json", "--threads", "1"]);
        drive.args(["--duration", "0.5s", "--clients", clients, "--file", "script.sql"]);
        let output = drive.args(more).output().unwrap();
        let driven: serde_json::Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output)));
        let notes = driven["notes"].to_string();
        assert_eq!(notes.contains("io_uring"), clients == MANY && has_rings(), "{notes}");
        driven
    };
    let seen = "SELECT count(*) || ' of ' || count(DISTINCT client) FROM seen";
    for clients in ["3", MANY] {
        for more in [&[][..], &["--rate", "200"], &["--think", "10ms"]] {
            bench.server.ask("TRUNCATE seen");
            let driven = drive(LONG_AND_SHORT, clients, more);
            assert_eq!(driven["errors"], 0, "{driven}");
            let calls =
                driven["calls"].as_u64().unwrap() + driven["warm_up_calls"].as_u64().unwrap();
            assert_eq!(bench.server.ask(seen), format!("{calls} of {clients}"), "{driven}");
        }
        // One that fails in a transaction ends it, and the next call begins anew.
        let failing = "BEGIN;\nINSERT INTO seen VALUES (:client_id);\nSELECT 1 / :nothing::integer;\nCOMMIT;\n";
        bench.server.ask("TRUNCATE seen");
        let driven = drive(failing, clients, &["-D", "nothing=0"]);
        let errors = driven["errors"].as_u64().unwrap();
        assert!(errors > 0 && driven["first_error"].to_string().contains("zero"), "{driven}");
        assert_eq!(errors, driven["calls"].as_u64().unwrap());
        assert_eq!(bench.server.ask(seen), "0 of 0");
    }
}

/// Has this machine's kernel io_uring, and may we use it?
fn has_rings() -> bool {
    let (one, _other) = UnixStream::pair().unwrap();
    Ring::of([one.as_fd()]).is_ok()
}

/// What was sent for variables, as the server's log has it.
fn parameters(log: &str) -> BTreeSet<String> {
    let of = |line: &str| Some(line.split_once("DETAIL:  parameters: ")?.1.to_owned());
    log.lines().filter_map(of).collect()
}

/// Sets of CPUs stand for nodes: what the kernel does with a process that may run on some of them is the same.
#[test]
fn where_parallel_workers_ran_is_in_the_figures_the_text_and_the_page() {
    let dir = tempfile::tempdir().unwrap();
    // PostgreSQL's user has to reach it.
    fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let hopcost = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hopcost"));
        command.current_dir(dir.path()).args(arguments).env("NO_COLOR", "1");
        command.env("XDG_STATE_HOME", dir.path().join("state"));
        command.output().unwrap()
    };
    let cache = dir.path().display().to_string();
    let on = ["--target", "postgres:managed", "--emulate", "nodes=2", "--cache-dir", &cache];
    let brief = ["--scale", "100000", "--quick", "--budget", "1s", "--set", "window=0.1s"];
    let output = hopcost(&[&["run", "parallel-affinity", "--json"][..], &on, &brief].concat());
    let result: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output)));
    let found = |claim: &str| {
        let all = result["proof"].as_array().unwrap();
        all.iter().find(|proved| proved["claim"] == claim).unwrap()["found"].as_f64().unwrap()
    };
    for level in ["postmaster", "elsewhere"] {
        let share = found(&format!("parallel_workers_in_place at {level}"));
        assert!(share >= 1.0, "the kernel leaves them no other place: {level} {share}");
        assert!(found(&format!("parallel_workers_ran at {level}")) >= 0.5);
    }
    let report = text(&hopcost(&["report"]));
    hopcost(&["report", "--html", "page.html"]);
    let report = report.split_whitespace().collect::<Vec<_>>().join(" ");
    let page = fs::read_to_string(dir.path().join("page.html")).unwrap();
    for told in [
        "postmaster at 1 stream: with the session on node 0, 100 % on node 0, 0 % on node 1",
        "elsewhere at 1 stream: with the session on node 0, 0 % on node 0, 100 % on node 1",
        "leader at 1 stream: with the session on node 0, ",
    ] {
        assert!(report.contains(told) && page.contains(told), "{told}: {report}");
    }
    assert!(!report.contains("alone at 1 stream: with"), "{report}");
}
