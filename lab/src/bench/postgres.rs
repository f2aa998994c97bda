//! The PostgreSQL driver beside pgbench, the loader beside psql.
//!
//! Method: one server on one CPU. Both tools run the same script, in turn on the same CPU, the
//! server's own or another. The client's cost per request is its process's CPU time over the number
//! of requests.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use hopcost_data::datasets::DATASETS;
use hopcost_engines::{Asked, postgres};
use hopcost_sys::{affinity, clock};
use hopcost_testkit::postgresql::PostgreSql;
use xtask::cargo::build_hopcost;

use super::table::{Goal, Table};
use super::timed::{Case, Cost, compare, driven, in_release, load, number_after, timed, two_cpus};

const SECONDS: u32 = 3;
/// Rows of pgbench's main table, in 100,000.
const SCALE: &str = "10";
const LOADED_ROWS: u64 = 5_000_000;
const LOADING_ROUNDS: usize = 4;

/// TPC-C's Order Status, by number, and Stock Level, as a script for both tools.
const TPCC: &str = "\\set d random(1, 10)
\\set c random(1, 3000)
\\set t random(10, 20)
SELECT o.o_id, o.o_entry_d, o.o_carrier_id, l.ol_i_id, l.ol_supply_w_id, l.ol_quantity, l.ol_amount \
FROM hopcost.orders AS o, hopcost.order_line AS l WHERE o.o_w_id = 1 AND o.o_d_id = :d \
AND o.o_c_id = :c AND l.ol_w_id = 1 AND l.ol_d_id = o.o_d_id AND l.ol_o_id = o.o_id;
SELECT count(DISTINCT s.s_i_id) FROM hopcost.district AS d, hopcost.order_line AS l, \
hopcost.stock AS s WHERE d.d_w_id = 1 AND d.d_id = :d AND l.ol_w_id = 1 AND l.ol_d_id = d.d_id \
AND l.ol_o_id >= d.d_next_o_id - 20 AND l.ol_o_id < d.d_next_o_id AND s.s_w_id = 1 \
AND s.s_i_id = l.ol_i_id AND s.s_quantity < :t;
";

#[derive(Clone, Copy)]
enum Script<'a> {
    Builtin(&'a str),
    File(&'a str),
}

pub fn run(rounds: usize) -> Result<u8> {
    if let Some(code) = in_release("postgres", rounds)? {
        return Ok(code);
    }
    let hopcost = build_hopcost()?;
    let [home, away] = two_cpus()?;
    // Child processes inherit the CPU.
    let options = ["-c", "shared_buffers=512MB", "-c", "max_connections=300"];
    let server = affinity::on_cpu(home, || PostgreSql::start(&options))?;
    let bench = Bench { hopcost: &hopcost, server: &server };
    let mut table = Table::begin();
    bench.prepare()?;
    let dir = tempfile::tempdir()?;
    let tpcc = dir.path().join("tpcc.sql");
    std::fs::write(&tpcc, TPCC)?;
    let tpcc = tpcc.display().to_string();
    let (select, writes) = (Script::Builtin("select-only"), Script::Builtin("tpcb-like"));
    let (less, little_less, any) = (Goal::Below(0.80), Goal::Below(0.95), Goal::Reported);
    for (what, script, clients, at, cpu, rate) in [
        ("select, same CPU", select, 1, home, less, Goal::Above(1.05)),
        ("select, same CPU", select, 8, home, less, any),
        ("select, same CPU", select, 200, home, less, any),
        ("select, other CPU", select, 1, away, little_less, Goal::Above(0.95)),
        ("select, other CPU", select, 8, away, little_less, any),
        ("select, other CPU", select, 200, away, little_less, any),
        ("tpcb-like, same CPU", writes, 1, home, Goal::Below(0.85), any),
        ("tpcc read-only, same CPU", Script::File(&tpcc), 1, home, Goal::Below(0.85), any),
    ] {
        let case = Case { clients, at, cpu, rate };
        let ours = |case| bench.ours(script, case);
        let theirs = |case| bench.theirs(script, case);
        compare(&mut table, what, case, rounds, [&ours, &theirs])?;
    }
    bench.loading(&mut table)?;
    Ok(table.end())
}

struct Bench<'a> {
    hopcost: &'a Path,
    server: &'a PostgreSql,
}

impl Bench<'_> {
    fn prepare(&self) -> Result<()> {
        let mut made = self.pgbench(&["-i", "-q", "-s", SCALE]);
        ensure!(made.status()?.success(), "pgbench -i failed");
        self.server.ask("CREATE EXTENSION pg_prewarm");
        self.server.ask("VACUUM FREEZE ANALYZE");
        load(self.hopcost, &self.url())?;
        self.server.ask(
            "SELECT sum(pg_prewarm(oid)) FROM pg_class WHERE relkind IN ('r', 'i') AND \
             relnamespace IN ('public'::regnamespace, 'hopcost'::regnamespace)",
        );
        Ok(())
    }

    fn url(&self) -> String {
        format!("postgres:{}", self.server.url("postgres"))
    }

    fn pgbench(&self, arguments: &[&str]) -> Command {
        let mut command = self.server.client("pgbench", &[]);
        command.args(arguments);
        command
    }

    fn ours(&self, script: Script<'_>, case: Case) -> Result<Cost> {
        let mut command = Command::new(self.hopcost);
        command.args(["drive", &self.url()]).args(match script {
            Script::Builtin(name) => ["--builtin", name],
            Script::File(path) => ["--file", path],
        });
        driven(&mut command, case, SECONDS)
    }

    fn theirs(&self, script: Script<'_>, Case { clients, at, .. }: Case) -> Result<Cost> {
        let (seconds, clients) = (SECONDS.to_string(), clients.to_string());
        let script = match script {
            Script::Builtin(name) => ["-b", name],
            Script::File(path) => ["-f", path],
        };
        let how = ["-n", "-M", "prepared", "-j", "1", "-c", &clients, "-T", &seconds];
        let (out, cpu_s) = timed(self.pgbench(&how).args(script), at)?;
        let calls = number_after(&out, "actually processed: ")?;
        Ok(Cost { cpu_us: cpu_s * 1e6 / calls, per_s: number_after(&out, "tps = ")? })
    }

    fn loading(&self, table: &mut Table) -> Result<()> {
        let dataset =
            *DATASETS.iter().find(|d| d.name() == "tran_stats").context("no tran_stats")?;
        let read = postgres::read(&self.server.url("postgres"), &|_| None);
        let Ok(Asked::Running(address)) = read else { bail!("the server's address is odd") };
        let tables = dataset.tables(LOADED_ROWS);
        let main = tables.first().context("no table")?;
        let dir = self.server.directory();
        let file = dir.join("rows");
        let mut rounds = Vec::new();
        for round in 0..=LOADING_ROUNDS {
            self.server.ask("DROP TABLE IF EXISTS tran_stats");
            let (filled, ours) = clock::time(|| postgres::fill(&address, dataset, 0, main.clone()));
            filled?;
            if round == 0 {
                self.server
                    .ask(&format!("COPY tran_stats TO '{}' (FORMAT binary)", file.display()));
                continue;
            }
            self.server.ask("CREATE UNLOGGED TABLE theirs (LIKE tran_stats)");
            let copy = format!("\\copy theirs FROM '{}' (FORMAT binary)", file.display());
            let (_, theirs) = clock::time(|| self.server.ask(&copy));
            let equal = "SELECT (SELECT count(*) FROM theirs) = (SELECT count(*) FROM tran_stats)";
            ensure!(self.server.ask(equal) == "t", "not all rows came");
            self.server.ask("DROP TABLE theirs");
            let per_s = |time: std::time::Duration| LOADED_ROWS as f64 / 1e6 / time.as_secs_f64();
            rounds.push((per_s(ours), per_s(theirs)));
        }
        let what = format!("loading {LOADED_ROWS} rows of tran_stats, M rows/s");
        table.row(&what, &rounds, Goal::Above(0.95));
        Ok(())
    }
}
