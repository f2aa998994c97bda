//! `hopcost where` on a host with two PostgreSQL servers of our own, on different CPUs.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

use std::collections::BTreeSet;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use hopcost_core::{CpuId, CpuSet};
use hopcost_sys::child::{self, Place, Stop};
use hopcost_sys::{affinity, clock, is_root};
use serde_json::Value;

const JSON_DOC: &str = include_str!("../../../docs/JSON.md");
/// The least that every server of PostgreSQL 13 and later has.
const HOUSE: [&str; 6] = [
    "postmaster",
    "checkpointer",
    "background writer",
    "walwriter",
    "autovacuum launcher",
    "logical replication launcher",
];

/// A server of our own; it ends with this value.
struct PostgreSql {
    server: Child,
    dir: tempfile::TempDir,
    port: u16,
}

impl PostgreSql {
    /// It has to be installed: `cargo xtask test` sees to that, or says what to install.
    fn start(cpu: CpuId, port: u16) -> Self {
        const NEEDED: &str = "this test needs PostgreSQL: apt-get install postgresql";
        // PostgreSQL refuses to run as root.
        let user = is_root().then(|| user_named("postgres").expect(NEEDED));
        let programs = programs().expect(NEEDED);
        let dir = tempfile::tempdir().unwrap();
        if let Some((user, group)) = user {
            chown(dir.path(), Some(user), Some(group)).unwrap();
        }
        let command = |program: &str| {
            let mut command = Command::new(programs.join(program));
            command.arg("-D").arg(dir.path().join("data")).current_dir(dir.path());
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            if let Some((user, group)) = user {
                command.uid(user).gid(group);
            }
            command
        };
        let made = command("initdb").args(["-A", "trust", "-N", "-U", "tester"]).status().unwrap();
        assert!(made.success());
        let mut server = command("postgres");
        server.args(["-c", "listen_addresses=", "-p", &port.to_string(), "-k"]).arg(dir.path());
        let place = Place { cpus: Some(CpuSet::from_iter([cpu])), memory: None };
        let server = child::start(&mut server, &place, Stop::Soon).unwrap();
        Self { server, dir, port }
    }

    fn pid(&self) -> u32 {
        self.server.id()
    }

    fn url(&self) -> String {
        let (dir, port) = (self.dir.path().display(), self.port);
        format!("postgres://tester@/postgres?host={dir}&port={port}")
    }

    /// What `hopcost where` says of it by its address, once it answers and all of its house is there.
    fn comes_up(&self) -> Value {
        let start = clock::now();
        loop {
            let output = run(&["where", &self.url(), "--json"]);
            if output.status.success() {
                let found = json(&output);
                let there = roles(&found["servers"][0]);
                if HOUSE.iter().all(|role| there.contains(*role)) {
                    return found;
                }
            }
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(start.elapsed() < Duration::from_secs(30), "{said}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for PostgreSql {
    fn drop(&mut self) {
        let _ = child::stop(&self.server, Stop::AtOnce);
        let _ = self.server.wait();
    }
}

/// The directory with the newest `initdb` and `postgres`, where distributions put them.
fn programs() -> Option<PathBuf> {
    let versions = Path::new("/usr/lib/postgresql").read_dir().into_iter().flatten().flatten();
    let mut dirs: Vec<PathBuf> = versions.map(|entry| entry.path().join("bin")).collect();
    dirs.sort();
    dirs.insert(0, "/usr/bin".into());
    dirs.retain(|dir| ["initdb", "postgres"].iter().all(|name| dir.join(name).exists()));
    dirs.pop()
}

fn user_named(name: &str) -> Option<(u32, u32)> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let mut numbers = line.split(':').skip(1).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hopcost")).args(arguments).output().unwrap()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn roles(server: &Value) -> BTreeSet<String> {
    let processes = server["processes"].as_array().unwrap().iter();
    processes.filter_map(|process| process["role"].as_str().map(str::to_owned)).collect()
}

/// What the kernel says of a process's CPUs, as JSON has it; none where it has ended.
fn allowed(pid: u64) -> Option<Vec<u32>> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(CpuSet::parse_list(list).unwrap().iter().map(|cpu| cpu.0).collect())
}

/// Each of a server's processes stands where the kernel says, which is where it was put.
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

fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                found.insert(key.clone());
                if !key.ends_with("by_node") {
                    keys(value, found);
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

fn assert_documented(document: &Value) {
    let mut found = BTreeSet::new();
    keys(document, &mut found);
    let is_documented = |key: &String| {
        JSON_DOC.contains(&format!("`{key}`")) || JSON_DOC.contains(&format!("\"{key}\""))
    };
    let missing: Vec<_> = found.iter().filter(|key| !is_documented(key)).collect();
    assert!(missing.is_empty(), "docs/JSON.md does not know {missing:?}");
}

#[test]
fn two_servers_of_one_kind_are_found_each_in_its_place() {
    let cpus = affinity::mask().unwrap();
    let [first, last] = [cpus.first().unwrap(), cpus.last().unwrap()];
    let servers = [PostgreSql::start(first, 5432), PostgreSql::start(last, 5433)];
    for (server, cpu) in servers.iter().zip([first, last]) {
        let found = server.comes_up();
        assert_documented(&found);
        let located = &found["servers"][0];
        assert_eq!(located["host"]["is_here"], true, "{:#}", located["host"]);
        assert_eq!(located["pid"], server.pid());
        let data = server.dir.path().join("data").display().to_string();
        assert_eq!(located["data_directory"], data);
        assert_eq!(located["ports"], serde_json::json!([server.port]));
        assert!(roles(located).contains("client backend"), "{:?}", roles(located));
        assert!(located["version"].as_str().unwrap().contains(|c: char| c.is_ascii_digit()));
        assert_in_place(located, cpu);
        assert!(located["shared"]["bytes"].as_u64().unwrap() > 100 << 20, "128 MiB of buffers");
    }

    let all = json(&run(&["where", "postgres", "--json"]));
    for (server, cpu) in servers.iter().zip([first, last]) {
        // Others may run here.
        let mut found = all["servers"].as_array().unwrap().iter();
        let located = found.find(|located| located["pid"] == server.pid()).expect("among all");
        let socket = server.dir.path().join(format!(".s.PGSQL.{}", server.port));
        assert_eq!(located["sockets"], serde_json::json!([socket.display().to_string()]));
        assert_eq!(located["ports"], serde_json::json!([server.port]));
        assert_in_place(located, cpu);
        let house = roles(located);
        assert!(HOUSE.iter().all(|role| house.contains(*role)), "{house:?}");
    }
    let text = String::from_utf8(run(&["where", "PostgreSQL"]).stdout).unwrap();
    assert!(text.contains("PostgreSQL servers run on this host"), "{text}");

    // Any of its processes leads to the server.
    let located = &servers[1].comes_up()["servers"][0];
    let is_checkpointer = |process: &&Value| process["role"] == "checkpointer";
    let checkpointer = located["processes"].as_array().unwrap().iter().find(is_checkpointer);
    let pid = checkpointer.unwrap()["pid"].to_string();
    let text = String::from_utf8(run(&["where", &pid]).stdout).unwrap();
    let begin = format!("(pid {}, ", servers[1].pid());
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
    // A test has a thread beside the first.
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
