//! Slices of tran_stats: equal ranges of its clustered key, which a client visits in turn.
//!
//! A query over a large table takes minutes, so a window would hold no complete call. Each client
//! starts in its own part of the table, at a seeded position, so that clients do not visit the same
//! pages in step. A partial slice at the end is left out, because a shorter call would distort the
//! response times.

use std::ops::Range;

use fastrand::Rng;
use hopcost_core::{Shape, Stream};

use crate::datasets::tran_stats::{FIRST_BEGIN_US, US_BETWEEN_ROWS};

#[derive(Clone, Copy, Debug)]
pub struct Slices {
    each: u64,
    pub count: u64,
}

impl Slices {
    /// One slice over all rows if the shape is not sliced or has fewer.
    pub fn new(shape: Shape, rows: u64) -> Self {
        let all = shape.rows.max(1);
        let each = if shape.sliced { rows.min(all) } else { all };
        Self { each, count: all / each }
    }

    pub fn walk(self, stream: Stream, rng: &mut Rng) -> Walk {
        let part = |n: u32| u64::from(n) * self.count / u64::from(stream.of.max(1));
        let from = part(stream.number);
        // With more clients than slices, parts are empty and clients share slices.
        let to = part(stream.number + 1).max(from + 1);
        Walk { slices: self, next: rng.u64(from..to) % self.count }
    }
}

#[derive(Debug)]
pub struct Walk {
    slices: Slices,
    next: u64,
}

impl Walk {
    pub fn step(&mut self) -> Range<u64> {
        let start = self.next * self.slices.each;
        self.next = (self.next + 1) % self.slices.count;
        start..start + self.slices.each
    }
}

/// The row numbers, from 0, that begin at `from_us` or later and before `to_us`.
pub fn rows_between(from_us: i64, to_us: i64, rows: u64) -> Range<u64> {
    let first_not_before = |us: i64| {
        let after_us = us.saturating_sub(FIRST_BEGIN_US).max(0).cast_unsigned();
        after_us.div_ceil(US_BETWEEN_ROWS.cast_unsigned()).min(rows)
    };
    let from = first_not_before(from_us);
    from..first_not_before(to_us).max(from)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::datasets::tran_stats::begin_us;
    use crate::workloads::requests::dice;

    fn walk(shape: Shape, rows: u64, number: u32, of: u32) -> Walk {
        let stream = Stream { number, of, seed: 7 };
        Slices::new(shape, rows).walk(stream, &mut dice(stream))
    }

    #[test]
    fn the_last_shorter_slice_counts_only_where_it_is_the_only_one() {
        let cut = |rows, sliced| {
            let shape = Shape { rows, sliced };
            (Slices::new(shape, 2500).count, walk(shape, 2500, 0, 1).step().end)
        };
        assert_eq!(cut(5000, true).0, 2);
        assert_eq!(cut(7499, true).0, 2);
        assert_eq!(cut(2499, true), (1, 2499));
        assert_eq!(cut(7500, false), (1, 7500));
        assert_eq!(cut(0, true).0, 1);
    }

    #[test]
    fn a_stream_visits_every_slice_once_a_round() {
        let shape = Shape { rows: 100, sliced: true };
        let mut walk = walk(shape, 10, 1, 3);
        for _ in 0..3 {
            let starts: BTreeSet<u64> = (0..10).map(|_| walk.step().start).collect();
            assert_eq!(starts, (0..10).map(|n| n * 10).collect());
        }
    }

    #[test]
    fn streams_start_apart_and_soon_have_seen_everything_together() {
        let shape = Shape { rows: 64_000, sliced: true };
        let mut walks: Vec<Walk> = (0..16).map(|n| walk(shape, 1000, n, 16)).collect();
        let starts: BTreeSet<u64> = walks.iter_mut().map(|walk| walk.step().start).collect();
        assert_eq!(starts.len(), 16);
        let more = walks.iter_mut().flat_map(|walk| (0..7).map(|_| walk.step().start));
        let seen: BTreeSet<u64> = more.collect::<Vec<_>>().into_iter().chain(starts).collect();
        assert_eq!(seen.len(), 64);
        // No two are in step: the distances between neighbors differ.
        let apart = (0..15).map(|n| {
            let start = |n| walk(shape, 1000, n, 16).step().start;
            start(n + 1) - start(n)
        });
        assert!(apart.collect::<BTreeSet<u64>>().len() > 1);
    }

    #[test]
    fn more_streams_than_slices_share_them() {
        let shape = Shape { rows: 30, sliced: true };
        for number in 0..100 {
            assert!(walk(shape, 10, number, 100).step().end <= 30);
        }
    }

    #[test]
    fn a_range_of_time_is_a_range_of_rows() {
        assert_eq!(rows_between(begin_us(3), begin_us(9), 100), 3..9);
        assert_eq!(rows_between(begin_us(3) + 1, begin_us(9) + 1, 100), 4..10);
        assert_eq!(rows_between(0, i64::MAX, 100), 0..100);
        assert_eq!(rows_between(begin_us(9), begin_us(3), 100), 9..9);
    }
}
