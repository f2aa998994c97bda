//! Rows for SQLite: generated in parallel, packed into batches, consumed in order.
//!
//! Method: thread k of n packs batches k, k + n, k + 2n, … and sends each through a short queue of
//! its own; the consumer reads the queues in turn. A batch is one buffer: a value is a length of
//! two bytes and its bytes, without an allocation.

use std::num::NonZeroUsize;
use std::sync::mpsc::sync_channel;
use std::thread;

use hopcost_core::{Column, Dataset, Kind, RowSink, Table};

use super::ffi::Packed;

/// Rows of one batch: some 200 KB, which stay in a second-level cache.
pub const ROWS: u64 = 1024;
const QUEUE: usize = 4;
/// More generators than this outrun any insert.
const MOST_GENERATORS: usize = 4;
/// In place of a text's length: a whole number follows.
const INTEGER: u16 = u16::MAX;
/// In place of a text's length: a NULL.
const NULL: u16 = INTEGER - 1;

#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
}

impl Batch {
    pub fn of(dataset: &dyn Dataset, index: usize, table: &Table, rows: [u64; 2]) -> Self {
        let mut packer = Packer { bytes: Vec::new(), columns: table.columns, at: 0 };
        for number in rows[0]..rows[1] {
            // All rows of a table are about as long as its first.
            if number == rows[0] + 1 {
                let more = packer.bytes.len() * (rows[1] - rows[0]) as usize;
                packer.bytes.reserve(more + more / 8);
            }
            packer.at = 0;
            dataset.row(index, number, &mut packer);
        }
        Self { bytes: packer.bytes }
    }

    pub fn values(&self) -> Values<'_> {
        Values { rest: &self.bytes }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

struct Packer {
    bytes: Vec<u8>,
    columns: &'static [Column],
    at: usize,
}

impl RowSink for Packer {
    fn integer(&mut self, value: i64) {
        let mut packed = [0; 10];
        packed[..2].copy_from_slice(&INTEGER.to_le_bytes());
        packed[2..].copy_from_slice(&value.to_le_bytes());
        self.bytes.extend_from_slice(&packed);
        self.at += 1;
    }

    fn text(&mut self, value: &str) {
        let width = match self.columns.get(self.at).map(|column| column.kind) {
            Some(Kind::Padded(width)) => usize::from(width),
            _ => 0,
        };
        let blanks = width.saturating_sub(if width == 0 { 0 } else { value.chars().count() });
        let length = value.len() + blanks;
        assert!(length < usize::from(NULL), "a text of {length} bytes does not fit a column");
        self.bytes.extend_from_slice(&(length as u16).to_le_bytes());
        self.bytes.extend_from_slice(value.as_bytes());
        self.bytes.resize(self.bytes.len() + blanks, b' ');
        self.at += 1;
    }

    fn timestamp_us(&mut self, value: i64) {
        self.integer(value);
    }

    fn null(&mut self) {
        self.bytes.extend_from_slice(&NULL.to_le_bytes());
        self.at += 1;
    }
}

pub struct Values<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Values<'a> {
    type Item = Packed<'a>;

    #[inline]
    fn next(&mut self) -> Option<Packed<'a>> {
        let (head, rest) = self.rest.split_first_chunk()?;
        let length = u16::from_le_bytes(*head);
        if length == INTEGER {
            let (number, rest) = rest.split_first_chunk()?;
            self.rest = rest;
            return Some(Packed::Integer(i64::from_le_bytes(*number)));
        }
        if length == NULL {
            self.rest = rest;
            return Some(Packed::Null);
        }
        let (text, rest) = rest.split_at_checked(length.into())?;
        self.rest = rest;
        Some(Packed::Text(text))
    }
}

/// Passes a table's rows to `take` in order, with the count so far; stops at an error.
pub fn generate<E>(
    dataset: &dyn Dataset,
    index: usize,
    table: &Table,
    mut take: impl FnMut(Batch, u64) -> Result<(), E>,
) -> Result<(), E> {
    let batches = table.rows.div_ceil(ROWS);
    let cpus = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    // One CPU is for the consumer.
    let generators = cpus.saturating_sub(1).clamp(1, MOST_GENERATORS);
    thread::scope(|scope| {
        let start = |first: usize| {
            let (sender, queue) = sync_channel(QUEUE);
            scope.spawn(move || {
                for batch in (first as u64..batches).step_by(generators) {
                    let rows = [batch * ROWS, table.rows.min((batch + 1) * ROWS)];
                    if sender.send((Batch::of(dataset, index, table, rows), rows[1])).is_err() {
                        return;
                    }
                }
            });
            queue
        };
        let queues: Vec<_> = (0..generators).map(start).collect();
        for batch in 0..batches {
            // A generator that ended early has panicked, which the scope propagates.
            let Ok((batch, done)) = queues[batch as usize % generators].recv() else { break };
            take(batch, done)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopcost_data::datasets::DATASETS;

    #[test]
    fn rows_come_in_order_whole_and_padded() {
        let dataset = DATASETS[0];
        let table = &dataset.tables(5000)[0];
        let mut numbers = Vec::new();
        let count = |batch: Batch, done| {
            let values: Vec<Packed<'_>> = batch.values().collect();
            for row in values.chunks(table.columns.len()) {
                let Packed::Integer(number) = row[4] else { panic!("{row:?}") };
                numbers.push(number);
                assert!(matches!(row[10], Packed::Text(text) if text.len() == 100));
            }
            assert_eq!(numbers.len() as u64, done);
            Ok::<(), ()>(())
        };
        generate(dataset, 0, table, count).unwrap();
        assert!(numbers.iter().copied().eq(1..=5000));
    }

    #[test]
    fn who_takes_them_can_end_it() {
        let dataset = DATASETS[0];
        let table = &dataset.tables(1_000_000)[0];
        assert_eq!(generate(dataset, 0, table, |_, done| Err(done)), Err(ROWS));
    }
}
