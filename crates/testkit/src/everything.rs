//! A workload that reads every row of every table and compares it with the data set.

use hopcost_core::{
    Answer, Dataset, Kind, Reason, Request, Requests, Row, RowSink, Session, Shape, Statement,
    Stream, Table, Workload, WorkloadInfo, WorkloadSpec,
};

pub struct Everything(Vec<Table>);

impl Workload for Everything {
    fn info(&self) -> &WorkloadInfo {
        let tables = self.0.iter().map(|table| table.name).collect::<Vec<_>>().leak();
        Box::leak(Box::new(WorkloadInfo {
            name: "everything",
            about: "all rows of all tables",
            tables,
        }))
    }

    fn spec(&self, _: Shape) -> WorkloadSpec {
        let statement = |table: &Table| {
            let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
            let sql = format!("SELECT {} FROM {}", columns.join(", "), table.name).leak();
            Statement::of(table.name, sql, 0)
        };
        WorkloadSpec::of(self.0.iter().map(statement).collect())
    }

    fn requests(&self, _: Shape, _: Stream) -> Box<dyn Requests> {
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

struct Made {
    table: Table,
    row: Row,
    at: usize,
}

impl Made {
    fn add(&mut self, add: impl FnOnce(Row) -> Row) {
        self.row = add(self.row);
        self.at += 1;
    }
}

impl RowSink for Made {
    fn integer(&mut self, value: i64) {
        self.add(|row| row.integer(value));
    }

    fn text(&mut self, value: &str) {
        match self.table.columns[self.at].kind {
            Kind::Padded(width) => {
                let padded = format!("{value:<width$}", width = usize::from(width));
                self.add(|row| row.text(&padded));
            }
            _ => self.add(|row| row.text(value)),
        }
    }

    fn timestamp_us(&mut self, value: i64) {
        self.add(|row| row.integer(value));
    }

    fn null(&mut self) {
        self.add(Row::null);
    }
}

fn all_rows(dataset: &dyn Dataset, index: usize, table: &Table) -> Answer {
    let mut answer = Answer::default();
    for number in 0..table.rows {
        let mut made = Made { table: table.clone(), row: Row::new(), at: 0 };
        dataset.row(index, number, &mut made);
        answer.add(made.row);
    }
    answer
}

/// Data sets to check in full, with their scale.
pub const SMALL: [(&str, u64); 2] = [("tran_stats", 1000), ("archive_view", 50)];
pub const LARGE: [(&str, u64); 1] = [("tpcc", 1)];
pub const ALL: [(&str, u64); 3] = [SMALL[0], SMALL[1], LARGE[0]];

impl Everything {
    /// Also returns the expected answer for each table.
    pub fn of(dataset: &dyn Dataset, rows: u64) -> (Self, Vec<Answer>) {
        let tables = dataset.tables(rows);
        let made = |(index, table)| all_rows(dataset, dataset.source(index, rows), table);
        let made = tables.iter().enumerate().map(made).collect();
        (Self(tables), made)
    }

    pub fn assert_is(&self, made: &[Answer], target: &str, session: &mut dyn Session) {
        for (statement, (table, made)) in self.0.iter().zip(made).enumerate() {
            let request = Request { statement, arguments: [0; 4] };
            let answer = session.execute(&request).unwrap();
            assert_eq!(answer.rows, table.rows, "{target}: {}", table.name);
            assert_eq!(answer, *made, "{target}: {}", table.name);
        }
    }
}
