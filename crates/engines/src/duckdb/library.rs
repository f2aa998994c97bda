//! DuckDB as a hosted library.

use std::fmt::Write as _;
use std::path::Path;

use hopcost_core::{Audit, Capabilities, Code, Column, Kind, Restriction, Setting, Table};

use super::super::hosted::{self, Library, LibraryInfo, LibraryResult};
use super::super::restrictions::{NO_LOG, NO_PAGES, NO_SCRIPTS, UNAUDITED_LOADS, no_planting};
use super::super::server::in_quotes;
use super::ffi::{Appender, Connection, Database, Value};

pub struct DuckDb;

const INFO: LibraryInfo = LibraryInfo {
    name: "DuckDB",
    scheme: "duckdb",
    about: "DuckDB, the columnar engine: the user's own libduckdb, in a process for each place",
    file: "libduckdb.so",
    missing: "libduckdb.so was not found: install Debian's libduckdb or DuckDB's own, or name its file, as \
        --duckdb-lib FILE",
    capabilities: Capabilities::but(&[
        NO_LOG,
        NO_PAGES,
        no_planting!("DuckDB"),
        NO_SCRIPTS,
        Restriction::of(
            &[Setting::Inserts, Setting::BatchInserts],
            Code::WorkloadUnsupported,
            "a columnar engine is not made for inserting single rows. Use --target postgres:managed",
        ),
        UNAUDITED_LOADS,
    ]),
    session_bytes: 16 << 20,
    process_bytes: 256 << 20,
    loads: "by an appender, in one transaction",
};

impl Library for DuckDb {
    fn info(&self) -> &'static LibraryInfo {
        &INFO
    }

    fn open(&self, file: &Path) -> LibraryResult<Box<dyn hosted::Database>> {
        Ok(Box::new(Database::open(file)?))
    }
}

impl hosted::Database for Database {
    fn version(&self) -> &str {
        &self.version
    }

    fn connect(&self) -> LibraryResult<Box<dyn hosted::Connection>> {
        Ok(Box::new(self.connect()?))
    }
}

impl hosted::Connection for Connection {
    fn create(&self, table: &Table, name: &str) -> LibraryResult<()> {
        let columns: Vec<String> = table.columns.iter().map(column).collect();
        // No indexes: a scan does not use them, and each costs memory.
        let sql = format!("CREATE OR REPLACE TABLE \"{name}\" ({})", columns.join(", "));
        self.query(&sql).map(drop)
    }

    fn append(&self, table: &Table, name: &str) -> LibraryResult<Box<dyn hosted::Appender + '_>> {
        Ok(Box::new(Appender::to(self, table.columns, name)?))
    }

    fn number(&self, sql: &str) -> LibraryResult<Option<i64>> {
        let mut number = None;
        self.query(sql)?.each(|row| {
            if let [Value::Integer(value), ..] = row {
                number = Some(*value);
            }
        })?;
        Ok(number)
    }

    fn prepare(&self, sql: &str) -> LibraryResult<Box<dyn hosted::Prepared + '_>> {
        Ok(Box::new(self.compile(sql)?))
    }

    fn explain(&self, sql: &str, arguments: &[i64; 4]) -> LibraryResult<Vec<String>> {
        let sql = self.compile(sql)?.with_literals(sql, arguments);
        let mut json = String::new();
        self.query(&format!("EXPLAIN (FORMAT json) {sql}"))?.each(|row| {
            if let Some(Value::Text(text)) = row.last() {
                json.push_str(text);
            }
        })?;
        let parts: Vec<serde_json::Value> =
            serde_json::from_str(&json).map_err(|error| format!("a plan: {error}"))?;
        let mut lines = Vec::new();
        for part in &parts {
            tell(part, 1, &mut lines);
        }
        Ok(lines)
    }

    /// DuckDB writes each query to that file before running it, and waits for the disk.
    fn audit(&self, audit: Audit, file: &Path) -> LibraryResult<()> {
        if audit == Audit::Trace {
            self.query("SET enable_profiling = 'no_output'")?;
            self.query("SET profiling_mode = 'detailed'")?;
            // Versions without this setting profile everything.
            let _ = self.query("SET profiling_coverage = 'ALL'");
        }
        let file = in_quotes(&file.display().to_string());
        self.query(&format!("SET log_query_path = '{file}'")).map(drop)
    }

    fn details(&self) -> Option<String> {
        self.profile()
    }

    fn set_threads(&self, count: u32) -> LibraryResult<()> {
        // Versions without this setting never pin threads.
        let _ = self.query("SET pin_threads = 'off'");
        self.query(&format!("SET threads = {count}"))?;
        // The thread count changes with the next query.
        self.query("SELECT count(*) FROM range(10)").map(drop)
    }
}

fn column(column: &Column) -> String {
    let kind = match column.kind {
        Kind::Integer(0..=2) => "SMALLINT",
        Kind::Integer(3..=4) => "INTEGER",
        Kind::Integer(_) => "BIGINT",
        Kind::Text(_) | Kind::Padded(_) | Kind::Uuid => "VARCHAR",
        Kind::Timestamp => "TIMESTAMP",
    };
    format!("\"{}\" {kind}", column.name)
}

fn tell(part: &serde_json::Value, depth: usize, lines: &mut Vec<String>) {
    let name = part["name"].as_str().unwrap_or_default().trim();
    let mut line = format!("{:indent$}{name}", "", indent = 2 * depth);
    // Row estimates change from run to run.
    let told = part["extra_info"].as_object().into_iter().flatten();
    for (key, value) in told.filter(|(key, _)| !key.starts_with("Estimated")) {
        let words =
            value.as_str().map_or_else(|| value.to_string(), |text| text.replace('\n', ", "));
        let _ = write!(line, ", {key} {words}");
    }
    lines.push(line);
    for child in part["children"].as_array().into_iter().flatten() {
        tell(child, depth + 1, lines);
    }
}
