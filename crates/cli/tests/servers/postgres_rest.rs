//! Slower PostgreSQL tests: pgbench scripts, waiting clients, parallel queries.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::at_work::text;
use crate::on_postgresql::Bench;
use crate::postgresql::{Driven, MANY, executed, pgbenchs, sends_what_pgbench_sends};

#[test]
fn pgbenchs_scripts_that_write_or_sleep_send_what_pgbench_sends() {
    let bench = pgbenchs();
    for name in ["tpcb-like", "simple-update"] {
        sends_what_pgbench_sends(&bench, name);
    }
    for clients in ["3", MANY] {
        what_sleeps_holds_nobody_up_and_what_is_defined_is_sent(&bench, clients);
    }
    let sums = "SELECT (SELECT sum(abalance) FROM pgbench_accounts) = \
                (SELECT sum(delta) FROM pgbench_history)";
    assert_eq!(bench.server.ask(sums), "t");
}

/// Several clients on one thread, with a script that sleeps between two statements in the server's
/// log.
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
        // Three clients begin before the first has slept.
        assert!(order.contains("bbb"), "{order}");
    }
}

fn parameters(log: &str) -> BTreeSet<String> {
    let of = |line: &str| Some(line.split_once("DETAIL:  parameters: ")?.1.to_owned());
    log.lines().filter_map(of).collect()
}

#[test]
fn a_few_connections_and_those_that_wait_are_answered_as_all_are() {
    let driven = Driven::new();
    for clients in ["3", MANY] {
        for more in [&[][..], &["--rate", "200"], &["--think", "10ms"]] {
            if (clients, more.len()) != (MANY, 0) {
                driven.answers(clients, more);
            }
        }
    }
    driven.fails("3");
}

/// CPU sets replace nodes: the kernel treats a process bound to either alike.
#[test]
fn where_parallel_workers_ran_is_in_the_figures_the_text_and_the_page() {
    let bench = crate::bench::Bench::with(&[]);
    let on = ["--target", "postgres:managed", "--emulate", "nodes=2"];
    let brief = ["--scale", "100000", "--quick", "--budget", "1s", "--set", "window=0.1s"];
    let output =
        bench.hopcost(&[&["run", "parallel-affinity", "--json"][..], &on, &brief].concat());
    let result: Value =
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
    let report = text(&bench.hopcost(&["report"]));
    bench.hopcost(&["report", "--html", "page.html"]);
    let report = report.split_whitespace().collect::<Vec<_>>().join(" ");
    let page = fs::read_to_string(bench.path("page.html")).unwrap();
    for told in [
        "postmaster at 1 client: with the session on node 0, 100% on node 0, 0% on node 1",
        "elsewhere at 1 client: with the session on node 0, 0% on node 0, 100% on node 1",
        "leader at 1 client: with the session on node 0, ",
    ] {
        assert!(report.contains(told) && page.contains(told), "{told}: {report}");
    }
    assert!(!report.contains("alone at 1 client: with"), "{report}");
}
