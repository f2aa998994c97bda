//! The process that has DuckDB in it: loads the data where it was put, then answers, a thread for each session.
//!
//! It is hopcost itself, started by hopcost with a word that nobody else would say. How far it is goes to its
//! standard output, what is wrong to its standard error.
#![allow(clippy::print_stdout, clippy::print_stderr)] // nobody but hopcost reads them

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use hopcost_core::{Answer, CpuId, Dataset, Request, Row, Statement};
use hopcost_sys::affinity;
use serde::{Deserialize, Serialize};

use super::super::audit::Written;
use super::super::{Wanted, tables_named};
use super::audit::Audited;
use super::ffi::{Connection, Database, DuckDb, Prepared, Value};
use super::protocol::{self, AUDIT, BETWEEN_PLANS, CALL, COUNT, ERROR, PLANS, POOL, THREAD};
use super::schema::{self, Rows};
use hopcost_data::datasets::DATASETS;

/// The word.
pub const WORD: &str = "serve-duckdb";
/// What it says when all is loaded, and its version follows.
pub const READY: &str = "ready ";
/// What it says while it loads: the share of it that is done, and what it is at.
pub const LOADING: &str = "loading ";

/// What it is to serve.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    /// The library's file; the usual one, if none is named.
    pub library: Option<PathBuf>,
    pub dataset: Option<String>,
    pub rows: u64,
    /// Those of the data set's that are asked for.
    pub tables: Vec<String>,
    pub statements: Vec<Asked>,
    /// Rows that a call appends to a table of its session's, where it does.
    pub load: Option<u64>,
    /// Where it answers.
    pub socket: PathBuf,
}

impl Order {
    /// Where sessions have files of their own.
    fn files(&self) -> PathBuf {
        self.socket.parent().map_or_else(std::env::temp_dir, Path::to_owned)
    }
}

/// A statement that calls name by its number.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Asked {
    pub name: String,
    pub sql: String,
    pub arguments: usize,
    /// Arguments for a look at how it is carried out.
    pub example: [i64; 4],
}

impl Asked {
    /// A statement, and arguments for it.
    pub fn of(statement: &Statement, example: [i64; 4]) -> Self {
        let Statement { name, sql, arguments, .. } = *statement;
        Self { name: name.to_owned(), sql: sql.to_owned(), arguments, example }
    }
}

/// Serves, where hopcost was started for that.
pub fn serve_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next()? != WORD {
        return None;
    }
    let order = arguments.next().and_then(|text| serde_json::from_str(&text).ok())?;
    Some(match serve(&order) {
        Ok(()) => ExitCode::SUCCESS,
        Err(words) => {
            eprintln!("{words}");
            ExitCode::FAILURE
        }
    })
}

fn serve(order: &Order) -> Result<(), String> {
    let library = DuckDb::load(order.library.as_deref())?;
    // Who asks works: a query's place is its session's.
    let database = library.open(&[("threads", "1".to_owned())])?;
    let work = Arc::new(Work::of(&database, order)?);
    let listener = listen(&order.socket)?;
    println!("{READY}{}", library.version);
    for stream in listener.incoming().flatten() {
        let connection = database.connect()?;
        let work = Arc::clone(&work);
        let files = order.files();
        // It ends with its connection.
        thread::spawn(move || Server { connection, work, stream, files, audited: None }.answer());
    }
    Ok(())
}

fn listen(socket: &Path) -> Result<UnixListener, String> {
    UnixListener::bind(socket).map_err(|error| format!("{}: {error}", socket.display()))
}

/// What sessions are there for.
enum Work {
    /// Statements on data that is there.
    Ask(Vec<Asked>),
    /// Rows that each call appends to a table of the session's, so many.
    Load(Rows, u64),
}

impl Work {
    /// Brings the data, where there is some.
    fn of(database: &Database, order: &Order) -> Result<Self, String> {
        let asked = || Self::Ask(order.statements.clone());
        let Some(name) = &order.dataset else { return Ok(asked()) };
        let dataset = DATASETS.iter().find(|dataset| dataset.name() == name);
        let dataset = *dataset.ok_or_else(|| format!("there is no data set {name}"))?;
        let mut wanted = wanted(dataset, order);
        if let Some(rows) = order.load {
            let table = wanted.pop().ok_or("what is filled is one table")?;
            return Ok(Self::Load(Rows::of(dataset, table, rows), rows));
        }
        load(database, dataset, &wanted)?;
        Ok(asked())
    }

    fn statements(&self) -> &[Asked] {
        match self {
            Self::Ask(statements) => statements,
            Self::Load(..) => &[],
        }
    }
}

/// The tables that are asked for.
fn wanted(dataset: &dyn Dataset, order: &Order) -> Vec<Wanted> {
    tables_named(dataset, order.rows, |name| order.tables.iter().any(|asked| asked == name))
}

fn load(database: &Database, dataset: &dyn Dataset, wanted: &[Wanted]) -> Result<(), String> {
    let connection = database.connect()?;
    let all: u64 = wanted.iter().map(|wanted| wanted.table.rows).sum();
    let mut before = 0;
    for wanted in wanted {
        let name = wanted.table.name;
        schema::fill(&connection, dataset, wanted, &mut |done| {
            let share = (before + done) as f64 / all.max(1) as f64;
            println!("{LOADING}{share} {name}");
        })
        .map_err(|words| format!("loading {name}: {words}"))?;
        before += wanted.table.rows;
    }
    Ok(())
}

/// Serves one session.
struct Server {
    connection: Connection,
    work: Arc<Work>,
    stream: UnixStream,
    /// Where it has files of its own.
    files: PathBuf,
    audited: Option<Audited>,
}

impl Server {
    fn answer(mut self) {
        let mut out = Vec::new();
        let table = format!("job_{}", affinity::thread_id());
        let mut prepared = match self.begin(&table) {
            Ok(prepared) => prepared,
            Err(words) => {
                protocol::put(&mut out, ERROR, words.as_bytes());
                // Who has gone hears nothing.
                let _ = self.stream.write_all(&out);
                return;
            }
        };
        protocol::put(&mut out, THREAD, &affinity::thread_id().to_le_bytes());
        while self.stream.write_all(&out).is_ok() {
            out.clear();
            let Ok((tag, content)) = next(&mut self.stream) else { break };
            let done = match (tag, &*self.work) {
                (CALL, Work::Ask(_)) => {
                    let answered = called(&mut prepared, &content);
                    if let Some(audited) = &mut self.audited {
                        audited.called(&self.connection);
                    }
                    answered.map(|answer| protocol::put_answer(&mut out, answer))
                }
                (CALL, Work::Load(rows, count)) => {
                    let all = Answer::of(Row::new().integer(count.cast_signed()));
                    let appended = rows.append(&self.connection, &table);
                    appended.map(|()| protocol::put_answer(&mut out, all)).map_err(String::from)
                }
                (COUNT, Work::Load(rows, _)) => self
                    .counted(rows, &table)
                    .map(|there| protocol::put(&mut out, COUNT, &there.to_le_bytes())),
                (POOL, _) => self.begin_pool(&protocol::numbers_in(&content)).map(|threads| {
                    protocol::put(&mut out, POOL, &protocol::numbers(threads));
                }),
                (AUDIT, _) => self
                    .written(&content)
                    .map(|written| protocol::put(&mut out, AUDIT, &protocol::written(written))),
                (PLANS, _) => {
                    self.plans().map(|plans| protocol::put(&mut out, PLANS, plans.as_bytes()))
                }
                _ => break,
            };
            if let Err(words) = done {
                protocol::put(&mut out, ERROR, words.as_bytes());
            }
        }
        if let Work::Load(..) = &*self.work {
            // It goes with the process, if not now.
            let _ = self.connection.query(&format!("DROP TABLE \"{table}\""));
        }
    }

    /// Has so many threads work on a query as the first number says, those beside this one begun on the
    /// CPUs that follow: their numbers.
    fn begin_pool(&self, asked: &[u32]) -> Result<Vec<u32>, String> {
        let Some((count, cpus)) = asked.split_first() else { return Err("no pool".to_owned()) };
        let words = |error: &dyn std::fmt::Display| format!("the pool: {error}");
        let own = affinity::mask().map_err(|error| words(&error))?;
        // Versions that know no such setting pin nobody.
        let _ = self.connection.query("SET pin_threads = 'off'");
        self.set_threads(1)?;
        let before = threads();
        let begun_on = cpus.iter().map(|cpu| CpuId(*cpu)).collect();
        affinity::pin(&begun_on).map_err(|error| words(&error))?;
        let set = self.set_threads(*count);
        affinity::pin(&own).map_err(|error| words(&error))?;
        set.map(|()| threads().difference(&before).copied().collect())
    }

    /// Threads come and go with the first query afterwards.
    fn set_threads(&self, count: u32) -> Result<(), String> {
        self.connection.query(&format!("SET threads = {count}"))?;
        self.connection.query("SELECT count(*) FROM range(10)")?;
        Ok(())
    }

    /// What it needs before the first call.
    fn begin(&self, table: &str) -> Result<Vec<Prepared>, String> {
        if let Work::Load(rows, _) = &*self.work {
            self.connection.query(&rows.create(table))?;
        }
        self.work.statements().iter().map(|asked| self.prepare(asked)).collect()
    }

    /// What was written down of its statements, which begins where that is asked for.
    fn written(&mut self, asked: &[u8]) -> Result<Written, String> {
        if let Some(audit) = protocol::audit(asked) {
            let texts = self.work.statements().iter().map(|asked| asked.sql.clone()).collect();
            let name = affinity::thread_id().to_string();
            self.audited =
                Some(Audited::new(audit, &self.connection, (&self.files, &name), texts)?);
        }
        Ok(self.audited.as_mut().map(Audited::written).unwrap_or_default())
    }

    /// The rows that a table holds; it is made anew.
    fn counted(&self, rows: &Rows, table: &str) -> Result<u64, String> {
        let mut there = 0;
        self.connection.query(&format!("SELECT count(*) FROM \"{table}\""))?.each(|row| {
            if let Some(Value::Integer(count)) = row.first() {
                there = count.cast_unsigned();
            }
            Ok(())
        })?;
        self.connection.query(&rows.create(table))?;
        Ok(there)
    }

    fn prepare(&self, asked: &Asked) -> Result<Prepared, String> {
        let Asked { name, sql, arguments, .. } = asked;
        let refused = |why: &dyn std::fmt::Display| {
            format!("DuckDB does not take the statement '{name}': {why}")
        };
        let prepared = self.connection.prepare(sql).map_err(|words| refused(&words))?;
        if prepared.arguments() != *arguments {
            let takes = prepared.arguments();
            return Err(refused(&format_args!("it takes {takes} arguments, and not {arguments}")));
        }
        Ok(prepared)
    }

    /// How each statement is carried out with its first arguments.
    fn plans(&self) -> Result<String, String> {
        let plan = |asked: &Asked| {
            let sql = self.prepare(asked)?.example(&asked.sql, &asked.example);
            let mut lines = vec![asked.name.clone()];
            self.connection.query(&format!("EXPLAIN (FORMAT json) {sql}"))?.each(|row| {
                if let Some(Value::Text(text)) = row.last() {
                    let nodes: Vec<PlanNode> =
                        serde_json::from_str(text).map_err(|error| format!("a plan: {error}"))?;
                    for node in &nodes {
                        node.tell(1, &mut lines);
                    }
                }
                Ok(())
            })?;
            Ok(lines.join("\n"))
        };
        if let Work::Load(_, rows) = &*self.work {
            return Ok(format!("bulk_load\n  {rows} rows by an appender, in one transaction"));
        }
        let plans: Result<Vec<String>, String> = self.work.statements().iter().map(plan).collect();
        Ok(plans?.join(&BETWEEN_PLANS.to_string()))
    }
}

/// A part of a plan, as DuckDB tells it.
#[derive(Deserialize)]
struct PlanNode {
    name: String,
    #[serde(default)]
    children: Vec<Self>,
    #[serde(default)]
    extra_info: serde_json::Map<String, serde_json::Value>,
}

impl PlanNode {
    /// Each part in a line, those that feed it below.
    fn tell(&self, depth: usize, lines: &mut Vec<String>) {
        let mut line = format!("{:indent$}{}", "", self.name.trim(), indent = 2 * depth);
        // How many rows are expected is a guess, and changes from one time to another.
        let told = self.extra_info.iter().filter(|(key, _)| !key.starts_with("Estimated"));
        for (key, value) in told {
            let words = match value {
                serde_json::Value::String(text) => text.replace('\n', ", "),
                other => other.to_string(),
            };
            let _ = write!(line, ", {key} {words}");
        }
        lines.push(line);
        for child in &self.children {
            child.tell(depth + 1, lines);
        }
    }
}

fn called(prepared: &mut [Prepared], content: &[u8]) -> Result<Answer, String> {
    let Request { statement, arguments } = protocol::call(content).ok_or("no call")?;
    let asked = prepared.get_mut(statement).ok_or("there is no such statement")?;
    let arguments = &arguments[..asked.arguments().min(4)];
    let mut rows = asked.execute(arguments)?;
    if let Some(changed) = rows.changed() {
        return Ok(Answer::of(Row::new().integer(changed.cast_signed())));
    }
    let mut answer = Answer::default();
    rows.each(|values| {
        let row = values.iter().fold(Row::new(), |row, value| match value {
            Value::Null => row.null(),
            Value::Integer(value) => row.integer(*value),
            Value::Text(text) => row.text(text),
        });
        answer.add(row);
        Ok(())
    })?;
    Ok(answer)
}

/// This process's threads.
fn threads() -> BTreeSet<u32> {
    let entries = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// What comes next, and its tag.
fn next(stream: &mut UnixStream) -> io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 5];
    stream.read_exact(&mut head)?;
    let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
    let mut content = vec![0; length];
    stream.read_exact(&mut content)?;
    Ok((head[0], content))
}
