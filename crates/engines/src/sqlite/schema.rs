//! The content of a data file: its tables in SQLite's SQL, and its size.
//!
//! A key of one whole number becomes `INTEGER PRIMARY KEY`, any other key `WITHOUT ROWID`: either
//! way the table is the clustered index. An index leaves out trailing key columns, which SQLite
//! adds itself. There are no statistics (`ANALYZE`), so plans follow from the schema alone.

use hopcost_core::{Dataset, Kind, Setup, Table};

use super::super::{Wanted, with_commas};
use super::cache::Sum;
use super::ffi::Packed;
use super::image::PAGE_BYTES;
use super::rows::Batch;

/// Increase it when files are made differently from the same data.
const FORMAT: u32 = 1;
const SAMPLES: u64 = 64;

impl Wanted {
    pub fn create(&self) -> String {
        let Table { name, columns, key, .. } = &self.table;
        let clustered = self.clustered_number();
        let columns = columns.iter().enumerate().map(|(n, column)| {
            let kind = match column.kind {
                Kind::Integer(_) | Kind::Timestamp if clustered == Some(n) => "INTEGER PRIMARY KEY",
                Kind::Integer(_) | Kind::Timestamp => "INTEGER",
                Kind::Text(_) | Kind::Padded(_) | Kind::Uuid => "TEXT",
            };
            format!("\"{}\" {kind}", column.name)
        });
        let mut parts: Vec<String> = columns.collect();
        let mut end = "";
        if clustered.is_none() && !key.is_empty() {
            parts.push(format!("PRIMARY KEY ({})", self.names(key)));
            end = " WITHOUT ROWID";
        }
        format!("CREATE TABLE \"{name}\" ({}){end}", parts.join(", "))
    }

    pub fn create_indexes(&self) -> Vec<String> {
        let name = self.table.name;
        let indexes = self.table.indexes.iter().enumerate();
        let create = |(n, index): (usize, &&[usize])| {
            let columns = self.names(without_implied(index, self.table.key));
            format!("CREATE INDEX \"{name}_{}\" ON \"{name}\" ({columns})", n + 1)
        };
        indexes.map(create).collect()
    }

    pub fn insert(&self, rows: usize) -> String {
        let row = format!("({})", vec!["?"; self.table.columns.len()].join(","));
        format!("INSERT INTO \"{}\" VALUES {}", self.table.name, vec![row; rows].join(","))
    }

    /// The key column if it is one whole number.
    fn clustered_number(&self) -> Option<usize> {
        let &[column] = self.table.key else { return None };
        let kind = self.table.columns.get(column)?.kind;
        matches!(kind, Kind::Integer(_) | Kind::Timestamp).then_some(column)
    }

    fn names(&self, columns: &[usize]) -> String {
        let names = columns.iter().map(|at| format!("\"{}\"", self.table.columns[*at].name));
        names.collect::<Vec<_>>().join(", ")
    }

    fn samples(&self, dataset: &dyn Dataset) -> impl Iterator<Item = Batch> {
        let rows = self.table.rows;
        let numbers = (0..SAMPLES.min(rows)).map(move |n| {
            (u128::from(n) * u128::from(rows) / u128::from(SAMPLES.min(rows))) as u64
        });
        numbers.map(move |row| Batch::of(dataset, self.index, &self.table, [row, row + 1]))
    }

    /// Estimated bytes with its indexes, from sampled rows as SQLite stores them.
    fn bytes(&self, dataset: &dyn Dataset) -> u64 {
        let columns = self.table.columns.len();
        let clustered = self.clustered_number();
        let mut b_trees = vec![0.0; 1 + self.table.indexes.len()];
        let mut samples = 0;
        for sample in self.samples(dataset) {
            samples += 1;
            let values: Vec<Packed<'_>> = sample.values().take(columns).collect();
            let stored = |at: usize| values.get(at).map_or(0, |value| stored_bytes(*value));
            let row = (0..columns).filter(|at| clustered != Some(*at)).map(stored).sum::<usize>();
            // The row id takes up to nine bytes beside the record.
            b_trees[0] += (row + usize::from(clustered.is_some()) * 9) as f64;
            for (index, b_tree) in self.table.indexes.iter().zip(&mut b_trees[1..]) {
                let key = self.table.key.iter().filter(|at| !index.contains(at));
                *b_tree += index.iter().chain(key).map(|at| stored(*at)).sum::<usize>() as f64;
            }
        }
        let bytes_of = |sum: f64| {
            // Cell header and slot; 12 bytes of page header and slack.
            let cell = sum / f64::from(samples.max(1)) + 6.0;
            let on_a_page = ((f64::from(PAGE_BYTES) - 12.0) / cell).floor().max(1.0);
            (self.table.rows as f64 / on_a_page).ceil() * f64::from(PAGE_BYTES) * INTERIOR
        };
        let has_row_numbers = clustered.is_some() || self.table.key.is_empty();
        let main = bytes_of(b_trees[0]) * if has_row_numbers { 1.0 } else { APPENDED };
        (main + b_trees[1..].iter().copied().map(bytes_of).sum::<f64>()) as u64
    }
}

/// Interior pages, and the space that sequential loading leaves free.
const INTERIOR: f64 = 1.01;
/// The extra space of a `WITHOUT ROWID` table: pages of a sorted index are packed tightly, and
/// those of appended rows are not.
const APPENDED: f64 = 1.06;

fn stored_bytes(value: Packed<'_>) -> usize {
    match value {
        Packed::Null | Packed::Integer(0 | 1) => 1,
        Packed::Integer(value) => match 65 - value.unsigned_abs().leading_zeros() {
            0..=8 => 2,
            9..=16 => 3,
            17..=24 => 4,
            25..=32 => 5,
            33..=48 => 7,
            _ => 9,
        },
        Packed::Text(text) => text.len() + if text.len() < 58 { 1 } else { 2 },
    }
}

/// The columns of an index that must be named: SQLite appends the missing key columns in key order.
fn without_implied<'a>(index: &'a [usize], key: &[usize]) -> &'a [usize] {
    let is_enough = |kept: &[usize]| {
        let added = key.iter().filter(|column| !kept.contains(column));
        kept.iter().chain(added).eq(index)
    };
    let shorter = (1..index.len()).map(|length| &index[..length]).find(|kept| is_enough(kept));
    shorter.unwrap_or(index)
}

pub struct Content {
    pub file_name: String,
    pub words: String,
    pub digest: u64,
    pub bytes: u64,
}

impl Content {
    pub fn of(setup: &Setup<'_>, wanted: &[Wanted]) -> Self {
        let mut sum = Sum::default();
        let mut bytes = u64::from(PAGE_BYTES);
        for table in wanted {
            sum.add(table.create().as_bytes());
            table.create_indexes().iter().for_each(|index| sum.add(index.as_bytes()));
            if let Some(dataset) = setup.dataset {
                table.samples(dataset).for_each(|row| sum.add(row.bytes()));
                bytes += table.bytes(dataset);
            }
        }
        let names: Vec<&str> = wanted.iter().map(|wanted| wanted.table.name).collect();
        let (dataset, scale, unit) = match setup.dataset {
            Some(dataset) if !wanted.is_empty() => {
                (dataset.name(), setup.shape.rows, dataset.unit(setup.shape.rows))
            }
            _ => ("empty", 0, "rows"),
        };
        let file_name = format!("{dataset}-{}-{scale}-v{FORMAT}.sqlite", names.join("+"));
        let words = format!("{dataset}, {} {unit}", with_commas(scale));
        Self { file_name, words, digest: sum.finish(), bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopcost_data::datasets::DATASETS;

    #[test]
    fn tables_become_clustered_and_indexes_minimal() {
        let tables = DATASETS[0].tables(10).into_iter().enumerate();
        let wanted: Vec<Wanted> = tables.map(|(index, table)| Wanted { index, table }).collect();
        let create = wanted[0].create();
        assert!(create.contains("\"tran_begin\" INTEGER PRIMARY KEY"), "{create}");
        assert!(!create.contains("WITHOUT ROWID"), "{create}");
        let create = wanted[1].create();
        assert!(create.ends_with("\"users_id\", \"cpus_id\")) WITHOUT ROWID"), "{create}");
        let index = &wanted[1].create_indexes()[0];
        assert!(
            index.ends_with(
                "(\"server_config\", \"thread_name\", \"tran_type\", \
             \"tran_status\", \"users\", \"cpus\")"
            ),
            "{index}"
        );
    }

    #[test]
    fn only_what_sqlite_adds_itself_is_left_out_of_an_index() {
        for (index, key, kept) in [
            (&[3, 0, 1][..], &[0, 1][..], &[3][..]),
            (&[3, 1, 0], &[0, 1], &[3, 1]),
            (&[1, 3, 0], &[0, 1], &[1, 3]),
            (&[3, 0], &[0, 1], &[3, 0]),
            (&[3], &[0], &[3]),
            (&[0, 1], &[0, 1], &[0]),
        ] {
            assert_eq!(without_implied(index, key), kept, "{index:?} {key:?}");
        }
    }
}
