//! Test support: rows of data sets as values, and names of shipped files.

use hopcost_core::{Dataset, RowSink};
use rusqlite::types::Value;

#[derive(Default)]
struct Written(Vec<Value>);

impl RowSink for Written {
    fn integer(&mut self, value: i64) {
        self.0.push(value.into());
    }
    fn text(&mut self, value: &str) {
        self.0.push(value.to_owned().into());
    }
    fn timestamp_us(&mut self, value: i64) {
        self.0.push(value.into());
    }
    fn null(&mut self) {
        self.0.push(Value::Null);
    }
}

pub fn values(dataset: &dyn Dataset, table: usize, number: u64) -> Vec<Value> {
    let mut written = Written::default();
    dataset.row(table, number, &mut written);
    written.0
}

pub fn texts(dataset: &dyn Dataset, table: usize, number: u64) -> Vec<String> {
    let text = |value| match value {
        Value::Integer(number) => number.to_string(),
        Value::Text(text) => text,
        other => panic!("{other:?}"),
    };
    values(dataset, table, number).into_iter().map(text).collect()
}

pub fn number_of(value: &Value) -> i64 {
    match value {
        Value::Integer(number) => *number,
        other => panic!("{other:?}"),
    }
}

/// The files of a folder of the project, without endings.
pub fn names_in(folder: &str) -> Vec<String> {
    let dir = format!("{}/../../{folder}", env!("CARGO_MANIFEST_DIR"));
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned()
    };
    let mut names: Vec<String> = std::fs::read_dir(dir).unwrap().map(name).collect();
    names.sort();
    names
}
