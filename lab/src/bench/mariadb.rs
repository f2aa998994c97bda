//! What drives MariaDB, beside sysbench.
//!
//! Method: one server, whose threads stay on one CPU; both tools ask for rows by their key, prepared, on the same
//! CPU in turn, the server's own or another. What a request costs the client is the CPU time of the whole process
//! over the requests that it made, connecting included, which a longer round makes small.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use hopcost_core::CpuId;
use hopcost_sys::affinity;

use super::table::{Goal, Table};
use super::timed::{Cost, driven, in_release, timed};
use xtask::cargo::build_hopcost;
use xtask::command;

use hopcost_testkit::mariadb::MariaDb;

const SECONDS: u32 = 4;

/// What hopcost's `point_select` asks, in sysbench's words.
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
    let cpus: Vec<CpuId> = affinity::mask()?.iter().collect();
    let (Some(&home), Some(&away)) = (cpus.first(), cpus.last()) else { bail!("no CPU") };
    ensure!(home != away, "two CPUs are needed: one for the server, and another");
    let options = ["--max-connections=300", "--innodb-buffer-pool-size=512M", "--skip-log-bin"];
    // What a server starts stays where it began.
    let server = affinity::on_cpu(home, || MariaDb::start(&options))?;
    let dir = tempfile::tempdir()?;
    let script = dir.path().join("point_select.lua");
    std::fs::write(&script, POINT_SELECT)?;
    let bench = Bench { hopcost: &hopcost, server: &server, script: &script };
    let mut table = Table::begin();
    bench.prepare()?;
    for (what, clients, at, cpu, rate) in [
        ("select, same CPU", 1, home, Goal::Below(0.80), Goal::Above(1.0)),
        ("select, same CPU", 8, home, Goal::Below(0.80), Goal::Reported),
        ("select, same CPU", 200, home, Goal::Below(0.80), Goal::Reported),
        ("select, other CPU", 1, away, Goal::Reported, Goal::Reported),
        ("select, other CPU", 8, away, Goal::Reported, Goal::Reported),
        ("select, other CPU", 200, away, Goal::Reported, Goal::Reported),
    ] {
        let what = format!("{what}, {clients} clients");
        if !command::exists("sysbench") {
            table.missing(&what, "sysbench");
            continue;
        }
        let each = (0..rounds).map(|round| bench.round(clients, at, round % 2 == 0));
        let each = each.collect::<Result<Vec<_>>>()?;
        let of = |figure: fn(&Cost) -> f64| -> Vec<(f64, f64)> {
            each.iter().map(|[ours, theirs]| (figure(ours), figure(theirs))).collect()
        };
        table.row(&format!("{what}: CPU per request, µs"), &of(|cost| cost.cpu_us), cpu);
        table.row(&format!("{what}: requests per ms"), &of(|cost| cost.per_s / 1000.0), rate);
    }
    Ok(table.end())
}

struct Bench<'a> {
    hopcost: &'a Path,
    server: &'a MariaDb,
    script: &'a Path,
}

impl Bench<'_> {
    /// The table that both ask: hopcost leaves it there.
    fn prepare(&self) -> Result<()> {
        let mut load = Command::new(self.hopcost);
        load.args(["load", &self.url(), "tpcc", "--scale", "1"]).stdout(Stdio::null());
        ensure!(load.status()?.success(), "hopcost load failed");
        Ok(())
    }

    fn url(&self) -> String {
        format!("mariadb:{}", self.server.url(""))
    }

    /// Hopcost and sysbench, one after the other.
    fn round(&self, clients: u32, at: CpuId, ours_first: bool) -> Result<[Cost; 2]> {
        if ours_first {
            let ours = self.ours(clients, at)?;
            return Ok([ours, self.theirs(clients, at)?]);
        }
        let theirs = self.theirs(clients, at)?;
        Ok([self.ours(clients, at)?, theirs])
    }

    fn ours(&self, clients: u32, at: CpuId) -> Result<Cost> {
        let mut command = Command::new(self.hopcost);
        command.args(["drive", &self.url(), "--workload", "point_select", "--scale", "1"]);
        driven(&mut command, clients, at, SECONDS)
    }

    fn theirs(&self, clients: u32, at: CpuId) -> Result<Cost> {
        let mut command = Command::new("sysbench");
        command.args(["--db-driver=mysql", "--mysql-user=root", "--mysql-db=hopcost"]);
        command.arg(format!("--mysql-socket={}", self.server.socket().display()));
        command.arg(format!("--threads={clients}")).arg(format!("--time={SECONDS}"));
        command.arg(self.script).arg("run");
        let (out, cpu_s) = timed(&command, at)?;
        let after = |words: &str| -> Result<f64> {
            let rest = out.split(words).nth(1).with_context(|| format!("no '{words}' in {out}"))?;
            let word = rest.split_whitespace().next().context("nothing follows")?;
            Ok(word.trim_end_matches('s').parse()?)
        };
        let calls = after("total number of events:")?;
        Ok(Cost { cpu_us: cpu_s * 1e6 / calls, per_s: calls / after("total time:")? })
    }
}
