//! The MariaDB driver beside sysbench.
//!
//! Method: one server on one CPU. Both tools read rows by key with prepared statements, in turn on
//! the same CPU, the server's own or another. The client's cost per request is its process's CPU
//! time over the number of requests.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use hopcost_sys::affinity;
use hopcost_testkit::mariadb::MariaDb;
use xtask::cargo::build_hopcost;
use xtask::command;

use super::table::{Goal, Table};
use super::timed::{Case, Cost, compare, driven, in_release, load, number_after, timed, two_cpus};

const SECONDS: u32 = 4;

const POINT_SELECT: &str = r#"
function thread_init()
  connection = sysbench.sql.driver():connect()
  statement = connection:prepare("SELECT i_id, i_price FROM item WHERE i_id = ?")
  key = statement:bind_create(sysbench.sql.type.INT)
  statement:bind_param(key)
end

function event()
  key:set(sysbench.rand.uniform(1, 100000))
  statement:execute()
end

function thread_done()
  statement:close()
  connection:disconnect()
end
"#;

pub fn run(rounds: usize) -> Result<u8> {
    if let Some(code) = in_release("mariadb", rounds)? {
        return Ok(code);
    }
    let hopcost = build_hopcost()?;
    let [home, away] = two_cpus()?;
    let options = ["--max-connections=300", "--innodb-buffer-pool-size=512M", "--skip-log-bin"];
    // Child threads inherit the CPU.
    let server = affinity::on_cpu(home, || MariaDb::start(&options))?;
    let dir = tempfile::tempdir()?;
    let script = dir.path().join("point_select.lua");
    std::fs::write(&script, POINT_SELECT)?;
    let url = format!("mariadb:{}", server.url(""));
    let mut table = Table::begin();
    load(&hopcost, &url)?;
    let ours = |case| {
        let mut command = Command::new(&hopcost);
        command.args(["drive", &url, "--workload", "point_select", "--scale", "1"]);
        driven(&mut command, case, SECONDS)
    };
    let theirs = |case| sysbench(&server, &script, case);
    let (less, any) = (Goal::Below(0.80), Goal::Reported);
    for (what, clients, at, cpu, rate) in [
        ("select, same CPU", 1, home, less, Goal::Above(1.0)),
        ("select, same CPU", 8, home, less, any),
        ("select, same CPU", 200, home, less, any),
        ("select, other CPU", 1, away, any, any),
        ("select, other CPU", 8, away, any, any),
        ("select, other CPU", 200, away, any, any),
    ] {
        if command::exists("sysbench") {
            let case = Case { clients, at, cpu, rate };
            compare(&mut table, what, case, rounds, [&ours, &theirs])?;
        } else {
            table.missing(&format!("{what}, {clients} clients"), "sysbench");
        }
    }
    Ok(table.end())
}

fn sysbench(server: &MariaDb, script: &Path, Case { clients, at, .. }: Case) -> Result<Cost> {
    let mut command = Command::new("sysbench");
    command.args(["--db-driver=mysql", "--mysql-user=root", "--mysql-db=hopcost"]);
    command.arg(format!("--mysql-socket={}", server.socket().display()));
    command.arg(format!("--threads={clients}")).arg(format!("--time={SECONDS}"));
    let (out, cpu_s) = timed(command.arg(script).arg("run"), at)?;
    let calls = number_after(&out, "total number of events:")?;
    let seconds = number_after(&out, "total time:")?;
    Ok(Cost { cpu_us: cpu_s * 1e6 / calls, per_s: calls / seconds })
}
