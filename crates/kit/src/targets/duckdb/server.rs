//! The process that has DuckDB in it: loads the data where it was put, then answers, a thread for each session.
//!
//! It is hopcost itself, started by hopcost with a word that nobody else would say. How far it is goes to its
//! standard output, what is wrong to its standard error.
#![allow(clippy::print_stdout, clippy::print_stderr)] // nobody but hopcost reads them

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use hopcost_core::{Answer, Request, Row, Statement, Table};
use hopcost_sys::affinity;
use serde::{Deserialize, Serialize};

use super::super::Wanted;
use super::ffi::{Connection, Database, DuckDb, Prepared, Value};
use super::protocol::{self, BETWEEN_PLANS, CALL, ERROR, PLANS, THREAD};
use super::schema;
use crate::datasets::DATASETS;

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
    /// Where it answers.
    pub socket: PathBuf,
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
    load(&database, order)?;
    let statements: Arc<[Asked]> = order.statements.clone().into();
    let listener = listen(&order.socket)?;
    println!("{READY}{}", library.version);
    for stream in listener.incoming().flatten() {
        let connection = database.connect()?;
        let statements = Arc::clone(&statements);
        // It ends with its connection.
        thread::spawn(move || Server { connection, statements, stream }.answer());
    }
    Ok(())
}

fn listen(socket: &Path) -> Result<UnixListener, String> {
    UnixListener::bind(socket).map_err(|error| format!("{}: {error}", socket.display()))
}

fn load(database: &Database, order: &Order) -> Result<(), String> {
    let Some(name) = &order.dataset else { return Ok(()) };
    let dataset = DATASETS.iter().find(|dataset| dataset.name() == name);
    let dataset = *dataset.ok_or_else(|| format!("there is no data set {name}"))?;
    let connection = database.connect()?;
    let tables = dataset.tables(order.rows).into_iter().enumerate();
    let is_asked_for = |table: &Table| order.tables.iter().any(|name| name == table.name);
    let wanted: Vec<Wanted> = tables
        .filter(|(_, table)| is_asked_for(table))
        .map(|(index, table)| Wanted { index, table })
        .collect();
    let all: u64 = wanted.iter().map(|wanted| wanted.table.rows).sum();
    let mut before = 0;
    for wanted in &wanted {
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
    statements: Arc<[Asked]>,
    stream: UnixStream,
}

impl Server {
    fn answer(mut self) {
        let prepared: Result<Vec<Prepared>, String> =
            self.statements.iter().map(|asked| self.prepare(asked)).collect();
        let mut out = Vec::new();
        let mut prepared = match prepared {
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
            let Ok((tag, content)) = next(&mut self.stream) else { return };
            match tag {
                CALL => match called(&mut prepared, &content) {
                    Ok(answer) => protocol::put_answer(&mut out, answer),
                    Err(words) => protocol::put(&mut out, ERROR, words.as_bytes()),
                },
                PLANS => match self.plans() {
                    Ok(plans) => protocol::put(&mut out, PLANS, plans.as_bytes()),
                    Err(words) => protocol::put(&mut out, ERROR, words.as_bytes()),
                },
                _ => return,
            }
        }
    }

    fn prepare(&self, asked: &Asked) -> Result<Prepared, String> {
        let Asked { name, sql, arguments, .. } = asked;
        let refused = |why: &str| format!("DuckDB does not take the statement '{name}': {why}");
        let prepared = self.connection.prepare(sql).map_err(|words| refused(&words))?;
        if prepared.arguments() != *arguments {
            let takes = prepared.arguments();
            return Err(refused(&format!("it takes {takes} arguments, and not {arguments}")));
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
        let plans: Result<Vec<String>, String> = self.statements.iter().map(plan).collect();
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

/// What comes next, and its tag.
fn next(stream: &mut UnixStream) -> io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 5];
    stream.read_exact(&mut head)?;
    let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
    let mut content = vec![0; length];
    stream.read_exact(&mut content)?;
    Ok((head[0], content))
}
