//! Tables in SQL Server's SQL.
//!
//! Text is ordered by bytes (`Latin1_General_BIN2`). A table that starts empty and is not logged is
//! memory-optimized with a hash index, from 2014 on.

use hopcost_core::{Column, Kind, Table};

const COLLATION: &str = " COLLATE Latin1_General_BIN2";
const BUCKETS: u32 = 524_288;

pub fn is_in_memory(table: &Table) -> bool {
    !table.logged && table.rows == 0
}

pub fn create(table: &Table, name: &str) -> String {
    let mut parts: Vec<String> = columns(table).collect();
    if !table.key.is_empty() {
        parts.push(format!("PRIMARY KEY CLUSTERED ({})", names(table, table.key)));
    }
    format!("CREATE TABLE [{name}] ({})", parts.join(", "))
}

pub fn create_in_memory(table: &Table) -> [String; 2] {
    let (name, key) = (table.name, table.indexes.first().copied().unwrap_or(&[0]));
    let columns = joined(columns(table));
    let arguments = table.columns.iter().map(|column| format!("@{} {}", column.name, kind(column)));
    let values = table.columns.iter().map(|column| format!("@{}", column.name));
    [
        format!(
            "CREATE TABLE [{name}] ({columns}, PRIMARY KEY NONCLUSTERED HASH ({}) WITH (BUCKET_COUNT = {BUCKETS})) \
             WITH (MEMORY_OPTIMIZED = ON, DURABILITY = SCHEMA_ONLY)",
            names(table, key)
        ),
        format!(
            "CREATE PROCEDURE insert_row {} WITH NATIVE_COMPILATION, SCHEMABINDING, EXECUTE AS OWNER AS BEGIN ATOMIC WITH (TRANSACTION \
             ISOLATION LEVEL = SNAPSHOT, LANGUAGE = N'us_english') INSERT INTO dbo.[{name}] VALUES ({}) END",
            joined(arguments),
            joined(values)
        ),
    ]
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

fn columns(table: &Table) -> impl Iterator<Item = String> {
    table.columns.iter().enumerate().map(|(n, column)| {
        let is_of_text = matches!(column.kind, Kind::Text(_) | Kind::Padded(_));
        let collation = if is_of_text { COLLATION } else { "" };
        let in_key = table.key.contains(&n) || (is_in_memory(table) && n == 0);
        let missing = if in_key { "NOT NULL" } else { "NULL" };
        format!("[{}] {}{collation} {missing}", column.name, kind(column))
    })
}

fn kind(column: &Column) -> String {
    match column.kind {
        Kind::Integer(0..=2) => "smallint".to_owned(),
        Kind::Integer(3..=4) => "int".to_owned(),
        Kind::Integer(_) => "bigint".to_owned(),
        Kind::Text(most) => format!("varchar({most})"),
        Kind::Padded(width) => format!("char({width})"),
        Kind::Timestamp => "datetime2(6)".to_owned(),
        Kind::Uuid => "uniqueidentifier".to_owned(),
    }
}

fn names(table: &Table, columns: &[usize]) -> String {
    joined(columns.iter().map(|at| format!("[{}]", table.columns[*at].name)))
}

pub fn indexes(table: &Table) -> Vec<String> {
    let index = |(n, columns): (usize, &&[usize])| {
        let (name, columns) = (table.name, names(table, columns));
        format!("CREATE INDEX [{name}_{n}] ON [{name}] ({columns})")
    };
    table.indexes.iter().enumerate().map(index).collect()
}

pub fn load_into(table: &Table, name: &str) -> String {
    let columns = table.columns.iter().map(|column| format!("[{}] {}", column.name, kind(column)));
    format!("INSERT BULK [{name}] ({})", joined(columns))
}

#[cfg(test)]
mod tests {
    use super::super::super::server::dataset_named;
    use super::*;

    #[test]
    fn a_table_has_the_index_and_the_order_that_belong_to_it() {
        let table = |name: &str| dataset_named(name).unwrap().tables(10)[0].clone();
        let rows = table("tran_stats");
        assert!(!is_in_memory(&rows));
        let in_memory = table("big_table_im");
        assert!(is_in_memory(&in_memory));
        let [made, procedure] = create_in_memory(&in_memory);
        for (sql, words) in [
            (create(&rows, "t"), "[tran_begin] datetime2(6) NOT NULL"),
            (create(&rows, "t"), "varchar(100) COLLATE Latin1_General_BIN2 NULL"),
            (create(&rows, "t"), "PRIMARY KEY CLUSTERED ([tran_begin]))"),
            (made.clone(), "HASH ("),
            (made, "BUCKET_COUNT = 524288"),
            (procedure, "NATIVE_COMPILATION"),
        ] {
            assert!(sql.contains(words), "{sql}");
        }
    }
}
