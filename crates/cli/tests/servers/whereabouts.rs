//! `hopcost where` with two PostgreSQL servers on different CPUs.
use std::collections::BTreeSet;
use std::process::{Command, Output};

use hopcost_core::{CpuId, CpuSet};
use hopcost_sys::affinity;
use hopcost_testkit::postgresql::PostgreSql;
use serde_json::Value;

use crate::bench::{json, wait_until};
use crate::documented::assert_documented;

/// Processes of every server since PostgreSQL 13.
const HOUSE: [&str; 6] = [
    "postmaster",
    "checkpointer",
    "background writer",
    "walwriter",
    "autovacuum launcher",
    "logical replication launcher",
];

fn start(cpu: CpuId) -> PostgreSql {
    affinity::on_cpu(cpu, || PostgreSql::start(&[])).unwrap()
}

fn comes_up(server: &PostgreSql) -> Value {
    let url = format!("postgres:{}", server.url("postgres"));
    let mut found = Value::Null;
    wait_until("all of its house is there", || {
        found = json(&run(&["where", &url, "--json"]));
        let there = roles(&found["servers"][0]);
        HOUSE.iter().all(|role| there.contains(*role))
    });
    found
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hopcost")).args(arguments).output().unwrap()
}

fn roles(server: &Value) -> BTreeSet<String> {
    let processes = server["processes"].as_array().unwrap().iter();
    processes.filter_map(|process| process["role"].as_str().map(str::to_owned)).collect()
}

fn allowed(pid: u64) -> Option<Vec<u32>> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(CpuSet::parse_list(list).unwrap().iter().map(|cpu| cpu.0).collect())
}

fn assert_in_place(server: &Value, cpu: CpuId) {
    let mut seen = 0;
    for process in server["processes"].as_array().unwrap() {
        let Some(allowed) = allowed(process["pid"].as_u64().unwrap()) else { continue };
        assert_eq!(process["cpus"], serde_json::json!(allowed), "{process}");
        assert_eq!(process["cpus"], serde_json::json!([cpu.0]), "{process}");
        assert_eq!(process["last_cpu"], cpu.0, "{process}");
        seen += 1;
    }
    assert!(seen >= HOUSE.len(), "{server:#}");
}

#[test]
fn two_servers_of_one_kind_are_found_each_in_its_place() {
    let cpus = affinity::mask().unwrap();
    let [first, last] = [cpus.first().unwrap(), cpus.last().unwrap()];
    let servers = [start(first), start(last)];
    for (server, cpu) in servers.iter().zip([first, last]) {
        let found = comes_up(server);
        assert_documented(&found);
        let located = &found["servers"][0];
        assert_eq!(located["host"]["is_here"], true, "{:#}", located["host"]);
        assert_eq!(located["pid"], server.pid());
        let data = server.directory().join("data").display().to_string();
        assert_eq!(located["data_directory"], data);
        assert_eq!(located["ports"], serde_json::json!([server.port()]));
        assert!(roles(located).contains("client backend"), "{:?}", roles(located));
        assert!(located["version"].as_str().unwrap().contains(|c: char| c.is_ascii_digit()));
        assert_in_place(located, cpu);
        assert!(located["shared"]["bytes"].as_u64().unwrap() > 100 << 20, "128 MiB of buffers");
    }

    let all = json(&run(&["where", "postgres", "--json"]));
    for (server, cpu) in servers.iter().zip([first, last]) {
        let mut found = all["servers"].as_array().unwrap().iter();
        let located = found.find(|located| located["pid"] == server.pid()).expect("among all");
        let socket = server.socket();
        assert_eq!(located["sockets"], serde_json::json!([socket.display().to_string()]));
        assert_eq!(located["ports"], serde_json::json!([server.port()]));
        assert_in_place(located, cpu);
        let house = roles(located);
        assert!(HOUSE.iter().all(|role| house.contains(*role)), "{house:?}");
    }
    let text = String::from_utf8(run(&["where", "PostgreSQL"]).stdout).unwrap();
    assert!(text.contains("PostgreSQL servers run on this host"), "{text}");

    let located = &comes_up(&servers[1])["servers"][0];
    let is_checkpointer = |process: &&Value| process["role"] == "checkpointer";
    let checkpointer = located["processes"].as_array().unwrap().iter().find(is_checkpointer);
    let pid = checkpointer.unwrap()["pid"].to_string();
    let text = String::from_utf8(run(&["where", &pid]).stdout).unwrap();
    // A long path wraps.
    let begin = format!("(pid {},", servers[1].pid());
    assert!(text.starts_with("PostgreSQL ") && text.contains(&begin), "{text}");
}

#[test]
fn a_process_that_is_no_server_is_shown_alone() {
    let pid = std::process::id();
    let found = json(&run(&["where", &pid.to_string(), "--json"]));
    assert_documented(&found);
    let located = &found["servers"][0];
    assert_eq!(located["processes"].as_array().unwrap().len(), 1);
    assert_eq!(located["pid"], pid);
    assert!(located["version"]["missing"].as_str().unwrap().contains("no database server"));
    assert!(!located["processes"][0]["threads"].as_array().unwrap().is_empty());
}

#[test]
fn nothing_found_is_said_with_its_code() {
    for (target, words) in
        [("4194304", "there is no process 4194304 here"), ("aerospike", "no Aerospike server runs")]
    {
        let output = run(&["where", target]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains(words), "{said}");
    }
    let nowhere = run(&["where", "postgres://u@/d?host=/no/such/directory"]);
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&nowhere.stderr).contains("/no/such/directory"));
}
