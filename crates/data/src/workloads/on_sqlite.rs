//! Test support: a small in-memory SQLite database with a data set that answers requests.

use hopcost_core::{Answer, Dataset, Kind, Request, Row, Shape, Statement, Table, Workload};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::datasets::tran_stats::{TranStats, occurring};
use crate::written::{texts, values};

pub struct Database(Connection);

impl Database {
    pub fn with(transactions: u64) -> Self {
        Self::of(&TranStats, transactions, &["tran_stats", "dimension"])
    }

    pub fn of(dataset: &dyn Dataset, scale: u64, names: &[&str]) -> Self {
        let database = Self::empty();
        for (position, table) in dataset.tables(scale).iter().enumerate() {
            if names.contains(&table.name) {
                database.create(table);
                database.fill(dataset, table, dataset.source(position, scale), 0..table.rows);
            }
        }
        database
    }

    fn empty() -> Self {
        Self(Connection::open_in_memory().unwrap())
    }

    #[track_caller]
    pub fn assert_right(&self, workload: &dyn Workload, shape: Shape, request: &Request) {
        workload.check(shape, request, &self.ask(workload, shape, request)).unwrap();
    }

    fn ask(&self, workload: &dyn Workload, shape: Shape, request: &Request) -> Answer {
        let Statement { sql, arguments, .. } = workload.spec(shape).statements[request.statement];
        let mut statement = self.0.prepare(sql).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query(params_from_iter(&request.arguments[..arguments])).unwrap();
        let mut answer = Answer::default();
        while let Some(row) = rows.next().unwrap() {
            let values: Vec<Value> = (0..columns).map(|column| row.get(column).unwrap()).collect();
            answer.add(digest(&values));
        }
        answer
    }

    pub fn plan(&self, workload: &dyn Workload, shape: Shape) -> Vec<String> {
        self.plan_of(&workload.spec(shape).statements[0])
    }

    pub fn plan_of(&self, statement: &Statement) -> Vec<String> {
        let Statement { sql, arguments, .. } = statement;
        let mut statement = self.0.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let arguments = params_from_iter(vec![0; *arguments]);
        let steps = statement.query_map(arguments, |row| row.get("detail")).unwrap();
        steps.map(Result::unwrap).collect()
    }

    fn create(&self, table: &Table) {
        let columns = |positions: &[usize]| {
            let names: Vec<&str> = positions.iter().map(|at| table.columns[*at].name).collect();
            names.join(", ")
        };
        let declared = table.columns.iter().map(|column| match column.kind {
            Kind::Integer(_) | Kind::Timestamp => format!("{} INTEGER", column.name),
            Kind::Text(_) | Kind::Padded(_) | Kind::Uuid => format!("{} TEXT", column.name),
        });
        let (name, declared) = (table.name, declared.collect::<Vec<_>>().join(", "));
        let key = columns(table.key);
        let main = format!("CREATE TABLE {name} ({declared}, PRIMARY KEY ({key})) WITHOUT ROWID");
        let indexes = table.indexes.iter().enumerate();
        let indexes = indexes
            .map(|(n, index)| format!("CREATE INDEX {name}_{n} ON {name} ({})", columns(index)));
        let sql = std::iter::once(main).chain(indexes).collect::<Vec<_>>().join(";");
        self.0.execute_batch(&sql).unwrap();
    }

    fn fill(
        &self,
        dataset: &dyn Dataset,
        table: &Table,
        position: usize,
        numbers: impl Iterator<Item = u64>,
    ) {
        let marks = vec!["?"; table.columns.len()].join(", ");
        let sql = format!("INSERT INTO {} VALUES ({marks})", table.name);
        let mut insert = self.0.prepare(&sql).unwrap();
        self.0.execute_batch("BEGIN").unwrap();
        for number in numbers {
            insert.execute(params_from_iter(values(dataset, position, number))).unwrap();
        }
        self.0.execute_batch("COMMIT").unwrap();
    }
}

pub fn digest(values: &[Value]) -> Row {
    values.iter().fold(Row::new(), |row, value| match value {
        Value::Null => row.null(),
        Value::Integer(number) => row.integer(*number),
        Value::Text(text) => row.text(text),
        other => panic!("{other:?}"),
    })
}

pub fn transaction(number: u64) -> Vec<String> {
    texts(&TranStats, 0, number)
}

/// The rows of dimension that transactions refer to, column by column.
pub fn dimension() -> impl Iterator<Item = Vec<String>> {
    occurring().map(|number| texts(&TranStats, 1, number))
}
