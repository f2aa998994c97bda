//! Workloads that fill: each client has a database of its own in memory.
//!
//! Method: SQLite allows one writer at a time, so clients of one database would wait for its lock.
//! Here each client has a table, whose memory its thread touches first; clients share the machine
//! and the allocator. Rows are counted after each window.
//!
//! Limits: no latch and no page is shared, unlike in engines for many writers. An identifier
//! argument is stored as the number it derives from. Where the memory is, is not verified.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use hopcost_core::{
    Answer, CallError, Code, Counted, CpuSet, Filling, Instance, Known, Locality, Look, Metric,
    Request, Row, Session, SessionPlacement, Setup, Statement, TargetError, VariantSettings,
};
use hopcost_sys::affinity;

use super::super::ledger::Ledger;
use super::super::wanted;
use super::ffi::{self, Connection, Inserter, SqliteError, Value};
use super::rows::Batch;

const ROWS_AT_ONCE: u64 = 100;

pub fn open(setup: &Setup<'_>, filling: Filling) -> Result<Box<dyn Instance>, TargetError> {
    let (Some(dataset), [table]) = (setup.dataset, &wanted(setup)[..]) else {
        return Err(TargetError::Failed("what is filled is one table".to_owned()));
    };
    let statements = setup.spec().statements;
    let mut schema = vec![table.create()];
    let (rows, insert, empty_at) = match filling {
        Filling::Rows { most, .. } => {
            schema.extend(table.create_indexes());
            let insert = statements[0].sql.to_owned();
            (Batch::default(), insert, most / u64::from(setup.sessions.max(1)))
        }
        Filling::Bulk(rows) => {
            let batch = Batch::of(dataset, table.index, &table.table, [0, rows]);
            (batch, table.insert(ROWS_AT_ONCE as usize), 0)
        }
    };
    let name = table.table.name;
    Ok(Box::new(Databases {
        identity: format!(
            "SQLite {}, a database in memory for each stream, {name}",
            ffi::version()
        ),
        schema,
        count: format!("SELECT count(*) FROM \"{name}\""),
        empty: format!("DELETE FROM \"{name}\""),
        insert,
        rows: Arc::new(rows),
        filling,
        empty_at,
        statements,
    }))
}

struct Databases {
    identity: String,
    schema: Vec<String>,
    count: String,
    empty: String,
    insert: String,
    /// The rows of a load; empty for single rows.
    rows: Arc<Batch>,
    filling: Filling,
    /// A table with this many rows is emptied after a window.
    empty_at: u64,
    statements: Vec<Statement>,
}

impl Instance for Databases {
    fn identity(&self) -> String {
        self.identity.clone()
    }

    fn session(
        &self,
        _variant: &VariantSettings,
        _at: SessionPlacement,
    ) -> Result<Box<dyn Session>, TargetError> {
        let failed = |error: SqliteError| TargetError::Failed(format!("a database: {error}"));
        Ok(Box::new(Filler::open(self).map_err(failed)?))
    }

    fn prove(&self, _look: Look) -> Known<Vec<Locality>> {
        Known::missing(
            Code::NotApplicable,
            "each stream's database is in memory that its own thread touched first",
        )
    }

    fn plans(&self) -> Result<Vec<String>, TargetError> {
        let by = match self.filling {
            Filling::Rows { .. } => "one row, by one statement".to_owned(),
            Filling::Bulk(rows) => {
                format!("{rows} rows in one transaction, {ROWS_AT_ONCE} in a statement")
            }
        };
        Ok(self.statements.iter().map(|statement| format!("{}\n  {by}", statement.name)).collect())
    }
}

struct Filler {
    connection: Connection,
    how: How,
    count: ffi::Statement,
    empty: String,
    empty_at: u64,
    rows_a_call: u64,
    ledger: Ledger,
}

enum How {
    Row { insert: ffi::Statement, arguments: usize },
    Load { insert: Inserter, rows: Arc<Batch> },
}

impl Filler {
    fn open(of: &Databases) -> Result<Self, SqliteError> {
        let connection = Connection::create(Path::new(":memory:"))?;
        for statement in &of.schema {
            connection.run(statement)?;
        }
        let insert = connection.prepare(&of.insert)?;
        let how = match of.filling {
            Filling::Rows { .. } => How::Row { insert, arguments: of.statements[0].arguments },
            Filling::Bulk(_) => {
                How::Load { insert: Inserter::new(insert), rows: Arc::clone(&of.rows) }
            }
        };
        let count = connection.prepare(&of.count)?;
        let (empty, empty_at) = (of.empty.clone(), of.empty_at);
        let rows_a_call = of.filling.rows_a_call();
        let ledger = Ledger::default();
        Ok(Self { connection, how, count, empty, empty_at, rows_a_call, ledger })
    }

    fn fill(&mut self, arguments: &[i64]) -> Result<(), SqliteError> {
        match &mut self.how {
            How::Row { insert, arguments: taken } => {
                for (n, argument) in arguments[..*taken].iter().enumerate() {
                    insert.bind(n, *argument)?;
                }
                let stepped = insert.step().map(|_| ());
                insert.reset();
                stepped
            }
            How::Load { insert, rows } => {
                self.connection.run("BEGIN")?;
                let mut values = rows.values();
                for _ in 0..self.rows_a_call / ROWS_AT_ONCE {
                    insert.insert(&mut values)?;
                }
                self.connection.run("COMMIT")
            }
        }
    }

    fn rows(&mut self) -> Result<u64, SqliteError> {
        self.count.step()?;
        let there = match self.count.value(0) {
            Value::Integer(there) => there.unsigned_abs(),
            _ => 0,
        };
        self.count.reset();
        Ok(there)
    }
}

impl Session for Filler {
    fn execute(&mut self, request: &Request) -> Result<Answer, CallError> {
        self.ledger.ask(self.rows_a_call);
        self.fill(&request.arguments).map_err(|error| CallError::Failed(error.to_string()))?;
        Ok(Answer::of(Row::new().integer(self.rows_a_call.cast_signed())))
    }

    fn counted(&mut self) -> Counted {
        let there = self.rows().ok();
        let empty = || self.connection.run(&self.empty).is_ok();
        let proved = self.ledger.settle_and_empty(there, self.empty_at, empty);
        Counted {
            proved: BTreeMap::from([(Metric::RowsCounted, proved)]),
            at: CpuSet::from_iter([affinity::current_cpu()]),
            ..Counted::default()
        }
    }
}
