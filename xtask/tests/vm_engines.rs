//! MariaDB and DuckDB on an emulated machine with two memory nodes: their data on one, the threads that work for
//! their sessions near and far.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use xtask::libduckdb;
use xtask::test::build_hopcost;
use xtask::vm::{self, Kernel, Load};

/// A query of one table: the guest is slow.
const EXPERIMENT: &str = r#"
question = "What does 100 % remote memory cost a cached query?"

[subject]
target = "sqlite"
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
  "pages_in_place >= 98% when memory = local",
  "pages_in_place >= 98% when memory = remote",
]
"#;

/// Where nobody names its file.
const USUAL_LIBRARY: &str = "/usr/local/lib/libduckdb.so";

/// What is not bound stays where it was touched only where the kernel does not balance memory.
const READY: &str = "\
    echo 0 > /proc/sys/kernel/numa_balancing
    mkdir -p /cache/hopcost && tar -C /cache/hopcost -xf /data.tar && tar -C / -xf /share.tar
    rm /data.tar /share.tar
    chmod 755 /cache /cache/hopcost && chown -R nobody /cache/hopcost/mariadb
    export XDG_CACHE_HOME=/cache
";

fn tar(archive: &Path, from: &Path, what: &[&str]) {
    let mut tar = Command::new("tar");
    tar.arg("-C").arg(from).arg("-cf").arg(archive).args(what);
    assert!(tar.status().unwrap().success());
}

/// Loads MariaDB's data here, where that is quick.
fn loaded(dir: &Path) {
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(dir, all).unwrap();
    let mut drive = Command::new(build_hopcost().unwrap());
    drive.args(["drive", "mariadb:managed", "--workload", "reporting_p2", "--scale", "60000"]);
    drive.args(["--duration", "0.1s", "--cache-dir"]).arg(dir);
    let output = drive.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    tar(&dir.join("data.tar"), dir, &["mariadb"]);
    // Messages and character sets, without which it does not start.
    tar(
        &dir.join("share.tar"),
        Path::new("/"),
        &["usr/share/mysql/english", "usr/share/mysql/charsets"],
    );
}

fn placed_both_arms(result: &Value) {
    assert_eq!(result["details"]["bindings"].as_array().unwrap().len(), 2, "{result:#}");
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
    assert_eq!(proof.len(), 6, "{proof:?}");
    assert!(proof.iter().all(|proved| proved["found"].as_f64() >= Some(0.98)), "{proof:?}");
}

#[test]
fn mariadb_and_duckdb_are_placed_on_n2() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    loaded(dir);
    std::fs::write(dir.join("both-arms.toml"), EXPERIMENT).unwrap();
    let (mut vm, _turn) = vm::guest("n2", Kernel::V6_1, Load::One).unwrap();
    for file in ["data.tar", "share.tar", "both-arms.toml"] {
        vm = vm.with(&dir.join(file), &format!("/{file}"));
    }
    for program in ["/usr/sbin/mariadbd", "/usr/bin/cp"] {
        vm = vm.with(Path::new(program), program);
    }
    let vm = vm.with(&libduckdb::ensure().unwrap(), USUAL_LIBRARY).mib_per_node(1400).seconds(900);
    let targets = [("mariadb", "mariadb:managed"), ("duckdb", "duckdb:")];
    let runs = targets.map(|(name, target)| {
        format!(
            "hopcost run /both-arms.toml --target {target} --quick --set window=0.6s --set guard=50ms \
             --budget 1s --json --store /out/{name}.db > /out/{name} 2> /out/{name}.said\n\
             echo $? > /out/{name}.code\n"
        )
    });
    let outcome = vm.run(&format!("{READY}{}", runs.concat())).unwrap();
    for (name, _) in targets {
        let [code, said, printed] = ["code", "said", ""]
            .map(|end| outcome.read(format!("{name}.{end}").trim_end_matches('.')));
        assert_eq!(code.unwrap().trim(), "0", "{name}: {said:?} {printed:?}");
        placed_both_arms(&serde_json::from_str(&printed.unwrap()).unwrap());
    }
}
