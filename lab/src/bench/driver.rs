//! The database driver's own cost: page images beside plain SQLite, loading beside its shell.
//!
//! Both sides of a ratio alternate within a round, on one CPU; only the loader may use all CPUs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use hopcost_core::{
    Answer, Dataset, Instance, Reason, Request, Requests, Row, Setup, Shape, Statement, Stream,
    Target, VariantSettings, Workload, WorkloadInfo, WorkloadSpec,
};
use hopcost_data::datasets::DATASETS;
use hopcost_drive::comparison::harness_ns_per_call;
use hopcost_engines::sqlite::{self, Batch, Sqlite};
use hopcost_method::plan::Placement;
use hopcost_stats::spread;
use hopcost_sys::{affinity, clock};
use hopcost_testkit::named::{self, target, workload};
use rusqlite::{Connection, OpenFlags};
use xtask::command;

use super::table::{Goal, Table};
use super::timed::in_release;

const QUERIED_ROWS: u64 = 2_000_000;
const LOADED_ROWS: u64 = 1_000_000;
/// A slice is about 20 ms, so that other work on the machine spoils few.
const SLICE_ROWS: u64 = 20_000;
const SLICES: usize = 20;
const SCANS_TO_A_SLICE: usize = 4;
const ALLOWED_NS_PER_CALL: f64 = 100.0;
const WANTED_ROWS_PER_S: f64 = 2e6;

pub fn run(rounds: usize) -> Result<u8> {
    if let Some(code) = in_release("driver", rounds)? {
        return Ok(code);
    }
    sqlite::prepare();
    let dir = tempfile::tempdir_in(xtask::target())?;
    let mut table = Table::begin();
    null_calls(&mut table, rounds)?;
    counters(&mut table, dir.path(), rounds)?;
    generator(&mut table, rounds)?;
    loading(&mut table, dir.path(), rounds)?;
    Ok(table.end())
}

/// The driver's own cost: the calls do nothing.
fn null_calls(table: &mut Table, rounds: usize) -> Result<()> {
    let null = target("null");
    let workload = workload("null_call");
    let setup = Setup { dataset: None, homes: Vec::new(), ..setup(workload, 1, Path::new("")) };
    let shape = setup.shape;
    let instance = null.open(&setup, &mut |_| true)?;
    let cpu = affinity::mask()?.last().context("no CPU to stand on")?;
    let place = Placement { settings: VariantSettings::on_cpus(vec![cpu]), ..Placement::default() };
    let round = || -> Result<(f64, f64)> {
        let ns = harness_ns_per_call(instance.as_ref(), workload, shape, &place)?;
        Ok((ns, ALLOWED_NS_PER_CALL))
    };
    let figures = (0..rounds).map(|_| round()).collect::<Result<Vec<_>>>()?;
    table.row("the driver's own part of a call, and as allowed, ns", &figures, Goal::Below(1.0));
    Ok(())
}

const SLICE: &str = "SELECT server_config_id, thread_name_id, tran_type_id, tran_status_id, \
     users_id, cpus_id, count(*) FROM tran_stats t JOIN dimension d ON \
     t.server_config = d.server_config AND t.thread_name = d.thread_name AND \
     t.tran_type = d.tran_type AND t.tran_status = d.tran_status AND t.users = d.users AND \
     t.cpus = d.cpus WHERE tran_begin BETWEEN ? AND ? GROUP BY 1, 2, 3, 4, 5, 6";
const SCAN: &str = "SELECT count(*), sum(length(filler)) FROM tran_stats \
     WHERE tran_begin BETWEEN ? AND ?";

struct Slices {
    info: WorkloadInfo,
}

impl Slices {
    const fn of(tables: &'static [&'static str]) -> Self {
        let about = "slices of a reporting query and of a scan";
        Self { info: WorkloadInfo { name: "slices", about, tables } }
    }
}

impl Workload for Slices {
    fn info(&self) -> &WorkloadInfo {
        &self.info
    }

    fn spec(&self, _: Shape) -> WorkloadSpec {
        let all = [("slice", SLICE), ("scan", SCAN)].map(|(name, sql)| Statement::of(name, sql, 2));
        let is_asked = self.info.tables.len() == 2;
        WorkloadSpec::of(if is_asked { all.to_vec() } else { Vec::new() })
    }

    fn requests(&self, _shape: Shape, _stream: Stream) -> Box<dyn Requests> {
        Box::new(First)
    }

    fn check(&self, _: Shape, _: &Request, _: &Answer) -> Result<(), Reason> {
        Ok(())
    }
}

struct First;

impl Requests for First {
    fn next(&mut self) -> Request {
        Request { statement: 0, arguments: [0; 4] }
    }
}

fn setup<'a>(workload: &'a dyn Workload, rows: u64, dir: &Path) -> Setup<'a> {
    Setup { sessions: 2, ..named::setup(DATASETS[0], workload, rows, "", dir) }
}

/// Plain SQLite maps the same file. Each round opens both anew, because their memory's addresses
/// change the result by over a percent.
fn counters(table: &mut Table, dir: &Path, rounds: usize) -> Result<()> {
    let workload = Slices::of(&["tran_stats", "dimension"]);
    let setup = setup(&workload, QUERIED_ROWS, dir);
    let file = sqlite::file(&setup, &mut |_| true)?;
    let cpu = affinity::mask()?.last().context("no CPU to stand on")?;
    let mut figures = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        let instance = Sqlite.open(&setup, &mut |_| true)?;
        let round = affinity::on_cpu(cpu, || compare(instance.as_ref(), &file))??;
        for (figures, pair) in figures.iter_mut().zip(round) {
            figures.push(pair);
        }
    }
    for (what, figures) in ["slices of a reporting query", "slices of a scan"].iter().zip(&figures)
    {
        table.row(&format!("page image and plain SQLite: {what}, 1/s"), figures, Goal::Above(0.98));
    }
    Ok(())
}

type Rounds = Vec<(f64, f64)>;

fn compare(instance: &dyn Instance, file: &Path) -> Result<Rounds> {
    let seat = VariantSettings::default();
    let mut session = instance.first_session(&seat)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let uri = format!("file:{}?immutable=1", file.display());
    let plain = Connection::open_with_flags(uri, flags)?;
    plain.execute_batch("PRAGMA mmap_size = 2000000000; PRAGMA temp_store = MEMORY")?;
    // A scan touches each page of the file beforehand.
    plain_answer(&mut plain.prepare(SCAN)?, range_us(0, QUERIED_ROWS))?;
    let mut medians = Vec::new();
    let queries = [(SLICE, SLICES), (SCAN, SLICES * SCANS_TO_A_SLICE)];
    for (statement, (sql, slices)) in queries.into_iter().enumerate() {
        let mut prepared = plain.prepare(sql)?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for slice in 0..slices {
            let [a, b] = range_us(slice as u64 * SLICE_ROWS % QUERIED_ROWS, SLICE_ROWS);
            let request = Request { statement, arguments: [a, b, 0, 0] };
            let mut ask = || clock::time(|| session.execute(&request));
            let mut ask_plain = || clock::time(|| plain_answer(&mut prepared, [a, b]));
            let ((answer, took), (expected, they_took)) = if slice % 2 == 0 {
                (ask(), ask_plain())
            } else {
                let theirs = ask_plain();
                (ask(), theirs)
            };
            ensure!(answer? == expected?, "the answers differ");
            ours.push(1.0 / took.as_secs_f64());
            theirs.push(1.0 / they_took.as_secs_f64());
        }
        let median = |rates: &[f64]| spread(rates).map(|spread| spread.median);
        medians.push(median(&ours).zip(median(&theirs)).context("no slices")?);
    }
    Ok(medians)
}

fn range_us(first: u64, rows: u64) -> [i64; 2] {
    const FIRST_US: i64 = 1_306_886_400_000_000;
    [first, first + rows - 1].map(|row| FIRST_US + 200 * row.cast_signed())
}

fn plain_answer(prepared: &mut rusqlite::Statement<'_>, range: [i64; 2]) -> Result<Answer> {
    let columns = prepared.column_count();
    let mut rows = prepared.query(range)?;
    let mut answer = Answer::default();
    while let Some(row) = rows.next()? {
        let mut digest = Row::new();
        for column in 0..columns {
            digest = digest.integer(row.get_ref(column)?.as_i64()?);
        }
        answer.add(digest);
    }
    Ok(answer)
}

fn generator(table: &mut Table, rounds: usize) -> Result<()> {
    const BATCH: u64 = 1024;
    const BATCHES: u64 = 500;
    let dataset: &dyn Dataset = DATASETS[0];
    let kept = dataset.tables(LOADED_ROWS);
    let cpu = affinity::mask()?.last().context("no CPU to stand on")?;
    let round = || {
        let batches = (0..BATCHES).map(|n| [n * BATCH, (n + 1) * BATCH]);
        let pack = || -> usize {
            let packed = batches.map(|rows| Batch::of(dataset, 0, &kept[0], rows));
            packed.map(|batch| batch.bytes().len()).sum()
        };
        let (bytes, took) = clock::time(pack);
        let rate = if bytes > 0 { (BATCH * BATCHES) as f64 / took.as_secs_f64() } else { 0.0 };
        (rate / 1e6, WANTED_ROWS_PER_S / 1e6)
    };
    let figures: Rounds =
        affinity::on_cpu(cpu, || (0..rounds).map(|_| round()).collect::<Rounds>())?;
    let what = "tran_stats generated on one core, and as wanted, M rows/s";
    table.row(what, &figures, Goal::Above(1.0));
    Ok(())
}

fn loading(table: &mut Table, dir: &Path, rounds: usize) -> Result<()> {
    let what = format!("loading {LOADED_ROWS} rows of tran_stats, M rows/s");
    if !command::exists("sqlite3") {
        table.missing(&what, "sqlite3");
        return Ok(());
    }
    let workload = Slices::of(&["tran_stats"]);
    let ours = dir.join("ours");
    let setup = setup(&workload, LOADED_ROWS, &ours);
    let built = sqlite::file(&setup, &mut |_| true)?;
    let shell = Shell::with_sources(dir, &built)?;
    let mut figures = Vec::new();
    for _ in 0..rounds {
        let load = || -> Result<Duration> {
            std::fs::remove_dir_all(&ours)?;
            let (file, took) = clock::time(|| sqlite::file(&setup, &mut |_| true));
            file?;
            Ok(took)
        };
        // The better of the shell's two ways, so the better of two of ours as well.
        let (import, ours, insert, again) =
            (shell.import()?, load()?, shell.insert_from_table()?, load()?);
        let (took, theirs) = (ours.min(again), import.min(insert));
        let rate = |took: Duration| LOADED_ROWS as f64 / took.as_secs_f64() / 1e6;
        figures.push((rate(took), rate(theirs)));
    }
    table.row(&what, &figures, Goal::Above(0.9));
    Ok(())
}

struct Shell {
    text: PathBuf,
    heap: PathBuf,
    loaded: PathBuf,
    schema: String,
}

impl Shell {
    fn with_sources(dir: &Path, built: &Path) -> Result<Self> {
        let at = |name: &str| dir.join(name);
        let plain = Connection::open(built)?;
        let schema = plain.query_row("SELECT sql FROM sqlite_schema", [], |row| row.get(0))?;
        let shell =
            Self { text: at("rows.csv"), heap: at("heap.db"), loaded: at("loaded.db"), schema };
        let built = built.display();
        shell.run(
            &shell.heap,
            &format!(
                "ATTACH '{built}' AS built;\nCREATE TABLE heap AS SELECT * FROM built.tran_stats;\n\
                 .mode csv\n.once {}\nSELECT * FROM heap;\n",
                shell.text.display()
            ),
        )?;
        Ok(shell)
    }

    fn import(&self) -> Result<Duration> {
        let text = self.text.display();
        self.load(&format!(".mode csv\n.import {text} tran_stats\n"))
    }

    fn insert_from_table(&self) -> Result<Duration> {
        let heap = self.heap.display();
        self.load(&format!(
            "ATTACH '{heap}' AS source;\nINSERT INTO tran_stats SELECT * FROM source.heap;\n"
        ))
    }

    fn load(&self, how: &str) -> Result<Duration> {
        let _ = std::fs::remove_file(&self.loaded);
        let settings = "PRAGMA page_size = 8192;\nPRAGMA journal_mode = OFF;\n\
             PRAGMA synchronous = OFF;\nPRAGMA locking_mode = EXCLUSIVE;\n\
             PRAGMA temp_store = MEMORY;\nPRAGMA cache_size = -262144;\n";
        let script = format!("{settings}{};\n{how}", self.schema);
        let (done, took) = clock::time(|| self.run(&self.loaded, &script));
        done?;
        let count = "SELECT count(*) FROM tran_stats";
        let rows: i64 = Connection::open(&self.loaded)?.query_row(count, [], |row| row.get(0))?;
        ensure!(rows == LOADED_ROWS.cast_signed(), "the shell loaded {rows} rows");
        Ok(took)
    }

    fn run(&self, database: &Path, script: &str) -> Result<()> {
        let path = self.loaded.with_extension("sql");
        std::fs::write(&path, script)?;
        let mut shell = Command::new("sqlite3");
        shell.args(["-batch", "-bail"]).arg(database);
        shell.stdin(std::fs::File::open(&path)?).stdout(Stdio::null());
        command::run(&mut shell)
    }
}
