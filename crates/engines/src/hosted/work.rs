//! What sessions run: statements on loaded data, or loads.

use hopcost_core::{Answer, Dataset, Row, RowSink, Table};

use super::super::server::dataset_named;
use super::super::{Wanted, tables_named};
use super::library::{Connection, Database, LibraryError, LibraryResult};
use super::protocol::{Asked, Order};

const BATCH_ROWS: u64 = 50_000;

pub struct Work {
    pub statements: Vec<Asked>,
    /// What each call appends; `None` if calls are statements.
    pub load: Option<Load>,
}

impl Work {
    pub fn of(
        database: &dyn Database,
        order: Order,
        tell: &mut dyn FnMut(f64, &str),
    ) -> LibraryResult<Self> {
        let Order { dataset, rows, tables, statements, load, .. } = order;
        let Some(name) = dataset else { return Ok(Self { statements, load: None }) };
        let dataset = dataset_named(&name).ok_or_else(|| format!("there is no data set {name}"))?;
        let mut wanted = tables_named(dataset, rows, |name| tables.iter().any(|one| one == name));
        if let Some(rows) = load {
            let Wanted { index, table } = wanted.pop().ok_or("what is filled is one table")?;
            let load = Load { rows, table, values: Values::of(dataset, index, 0..rows) };
            return Ok(Self { statements: Vec::new(), load: Some(load) });
        }
        let connection = database.connect()?;
        let all: u64 = wanted.iter().map(|wanted| wanted.table.rows).sum();
        let mut before = 0;
        for Wanted { index, table } in &wanted {
            let mut bring = || {
                connection.create(table, table.name)?;
                let mut appender = connection.append(table, table.name)?;
                for row in 0..table.rows {
                    dataset.row(*index, row, &mut *appender);
                    appender.end_row()?;
                    if row.is_multiple_of(BATCH_ROWS) {
                        tell((before + row) as f64 / all as f64, table.name);
                    }
                }
                appender.end()
            };
            let wrong = |words: LibraryError| format!("loading {}: {words}", table.name);
            bring().map_err(wrong)?;
            before += table.rows;
        }
        Ok(Self { statements, load: None })
    }
}

pub struct Load {
    rows: u64,
    pub table: Table,
    values: Values,
}

#[derive(Default)]
pub struct Values(Vec<Value>);

enum Value {
    Integer(i64),
    Text(String),
    Timestamp(i64),
    Null,
}

impl Load {
    /// Appends all rows to a table in one transaction.
    pub fn append(&self, connection: &dyn Connection, name: &str) -> LibraryResult<Answer> {
        let mut appender = connection.append(&self.table, name)?;
        for row in self.values.0.chunks(self.table.columns.len()) {
            for value in row {
                match value {
                    Value::Integer(value) => appender.integer(*value),
                    Value::Text(value) => appender.text(value),
                    Value::Timestamp(value) => appender.timestamp_us(*value),
                    Value::Null => appender.null(),
                }
            }
            appender.end_row()?;
        }
        appender.end()?;
        Ok(Answer::of(Row::new().integer(self.rows.cast_signed())))
    }
}

impl Values {
    pub fn of(dataset: &dyn Dataset, table: usize, rows: impl Iterator<Item = u64>) -> Self {
        let mut values = Self::default();
        rows.for_each(|row| dataset.row(table, row, &mut values));
        values
    }

    /// About how many bytes they take uncompressed in memory: a text has 16 bytes, and more
    /// elsewhere if it is longer than 12 bytes.
    pub fn bytes(&self) -> u64 {
        let bytes = |value: &Value| match value {
            Value::Text(text) if text.len() > 12 => 16 + text.len() as u64,
            Value::Text(_) => 16,
            Value::Integer(_) | Value::Timestamp(_) | Value::Null => 8,
        };
        self.0.iter().map(bytes).sum()
    }
}

impl RowSink for Values {
    fn integer(&mut self, value: i64) {
        self.0.push(Value::Integer(value));
    }

    fn text(&mut self, value: &str) {
        self.0.push(Value::Text(value.to_owned()));
    }

    fn timestamp_us(&mut self, value: i64) {
        self.0.push(Value::Timestamp(value));
    }

    fn null(&mut self) {
        self.0.push(Value::Null);
    }
}
