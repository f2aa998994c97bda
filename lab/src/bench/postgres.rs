//! What drives PostgreSQL, beside its own pgbench; what loads it, beside psql.
//!
//! Method: one server, whose processes stay on one CPU; both tools go through the same script on the same
//! CPU in turn, the server's own or another. What a request costs the client is the CPU time of the whole
//! process over the requests that it made.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use hopcost_core::CpuId;
use hopcost_data::datasets::DATASETS;
use hopcost_engines::{Asked, postgres};
use hopcost_sys::{affinity, clock};

use super::table::{Goal, Table};
use super::timed::{Cost, driven, in_release, timed};
use xtask::cargo::build_hopcost;

use hopcost_testkit::postgresql::PostgreSql;

const SECONDS: u32 = 3;
/// Rows of pgbench's main table, in 100,000.
const SCALE: &str = "10";
const LOADED_ROWS: u64 = 5_000_000;
const LOADING_ROUNDS: usize = 4;

/// TPC-C's Order Status, by number, and Stock Level, as a script that both tools take.
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

/// What both are asked to do.
#[derive(Clone, Copy)]
enum Script<'a> {
    Builtin(&'a str),
    File(&'a Path),
}

pub fn run(rounds: usize) -> Result<u8> {
    if let Some(code) = in_release("postgres", rounds)? {
        return Ok(code);
    }
    let hopcost = build_hopcost()?;
    let cpus: Vec<CpuId> = affinity::mask()?.iter().collect();
    let (Some(&home), Some(&away)) = (cpus.first(), cpus.last()) else { bail!("no CPU") };
    ensure!(home != away, "two CPUs are needed: one for the server, and another");
    // What a server starts stays where it began.
    let options = ["-c", "shared_buffers=512MB", "-c", "max_connections=300"];
    let server = affinity::on_cpu(home, || PostgreSql::start(&options))?;
    let bench = Bench { hopcost: &hopcost, server: &server };
    let mut table = Table::begin();
    bench.prepare()?;
    let dir = tempfile::tempdir()?;
    let tpcc = dir.path().join("tpcc.sql");
    std::fs::write(&tpcc, TPCC)?;
    let select = Script::Builtin("select-only");
    for (what, script, clients, at, cpu, rate) in [
        ("select, same CPU", select, 1, home, Goal::Below(0.80), Goal::Above(1.05)),
        ("select, same CPU", select, 8, home, Goal::Below(0.80), Goal::Reported),
        ("select, same CPU", select, 200, home, Goal::Below(0.80), Goal::Reported),
        ("select, other CPU", select, 1, away, Goal::Below(0.95), Goal::Above(0.95)),
        ("select, other CPU", select, 8, away, Goal::Below(0.95), Goal::Reported),
        ("select, other CPU", select, 200, away, Goal::Below(0.95), Goal::Reported),
        (
            "tpcb-like, same CPU",
            Script::Builtin("tpcb-like"),
            1,
            home,
            Goal::Below(0.85),
            Goal::Reported,
        ),
        (
            "tpcc read-only, same CPU",
            Script::File(&tpcc),
            1,
            home,
            Goal::Below(0.85),
            Goal::Reported,
        ),
    ] {
        let each = (0..rounds).map(|round| bench.round(script, clients, at, round % 2 == 0));
        let each = each.collect::<Result<Vec<_>>>()?;
        let of = |figure: fn(&Cost) -> f64| -> Vec<(f64, f64)> {
            each.iter().map(|[ours, theirs]| (figure(ours), figure(theirs))).collect()
        };
        let clients = format!("{what}, {clients} clients");
        table.row(&format!("{clients}: CPU per request, µs"), &of(|cost| cost.cpu_us), cpu);
        table.row(&format!("{clients}: requests per ms"), &of(|cost| cost.per_s / 1000.0), rate);
    }
    bench.loading(&mut table)?;
    Ok(table.end())
}

struct Bench<'a> {
    hopcost: &'a Path,
    server: &'a PostgreSql,
}

impl Bench<'_> {
    /// Both tools' tables, warm.
    fn prepare(&self) -> Result<()> {
        let mut made = self.pgbench(&["-i", "-q", "-s", SCALE]);
        ensure!(made.status()?.success(), "pgbench -i failed");
        self.server.ask("CREATE EXTENSION pg_prewarm");
        self.server.ask("VACUUM FREEZE ANALYZE");
        let mut load = Command::new(self.hopcost);
        load.args(["load", &self.url(), "tpcc", "--scale", "1"]).stdout(Stdio::null());
        ensure!(load.status()?.success(), "hopcost load failed");
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

    /// Hopcost and pgbench, one after the other.
    fn round(
        &self,
        script: Script<'_>,
        clients: u32,
        at: CpuId,
        ours_first: bool,
    ) -> Result<[Cost; 2]> {
        let mut costs = [None, None];
        for turn in [usize::from(!ours_first), usize::from(ours_first)] {
            let cost = if turn == 0 {
                self.ours(script, clients, at)?
            } else {
                self.theirs(script, clients, at)?
            };
            costs[turn] = Some(cost);
        }
        let [Some(ours), Some(theirs)] = costs else { bail!("a turn is missing") };
        Ok([ours, theirs])
    }

    fn ours(&self, script: Script<'_>, clients: u32, at: CpuId) -> Result<Cost> {
        let mut command = Command::new(self.hopcost);
        command.args(["drive", &self.url()]);
        match script {
            Script::Builtin(name) => command.args(["--builtin", name]),
            Script::File(path) => command.arg("--file").arg(path),
        };
        driven(&mut command, clients, at, SECONDS)
    }

    fn theirs(&self, script: Script<'_>, clients: u32, at: CpuId) -> Result<Cost> {
        let (seconds, clients) = (SECONDS.to_string(), clients.to_string());
        let mut arguments = vec!["-n", "-M", "prepared", "-j", "1", "-c", &clients, "-T", &seconds];
        let path;
        match script {
            Script::Builtin(name) => arguments.extend(["-b", name]),
            Script::File(file) => {
                path = file.display().to_string();
                arguments.extend(["-f", &path]);
            }
        }
        let (out, cpu_s) = timed(&self.pgbench(&arguments), at)?;
        let after = |words: &str| -> Result<f64> {
            let rest = out.split(words).nth(1).with_context(|| format!("no '{words}' in {out}"))?;
            let word = rest.split_whitespace().next().context("nothing follows")?;
            Ok(word.parse()?)
        };
        let calls = after("actually processed: ")?;
        Ok(Cost { cpu_us: cpu_s * 1e6 / calls, per_s: after("tps = ")? })
    }

    /// Rows made and handed over, beside rows that psql has ready in a file.
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
                // The first is for the file.
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
