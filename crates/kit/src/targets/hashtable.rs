//! **hashtable**: a table in memory under a hash index, in hopcost's own process, that all streams fill.
//!
//! Method: the index is hashbrown's, in 64 parts with a lock each, as its keys are random. All of its memory
//! comes from one arena, so that it lies on the pages and the nodes that the experiment asks for: where it
//! names neither, on the node of whoever fills it. After each window the rows that are there are counted, and a
//! table that is full is given back whole and begun anew.
//!
//! Limits: a stand-in for memory-optimised tables: no transactions, no versions of rows, no log. It only fills.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::{DefaultHashBuilder, HashMap};
use hopcost_core::{
    Answer, CallError, Comparison, Counted, CpuId, CpuSet, Filling, Home, Instance, Known, Loading,
    Locality, Look, Needs, NodeId, Policy, Reason, Request, Row, Seat, Session, Setup, Target,
    TargetError,
};
use hopcost_sys::affinity;
use hopcost_sys::memory::{self, Arena, PlaceError, Placing};

use super::ledger::Ledger;
use super::{in_truth, spread_in_truth};
use crate::datasets::big_table_im;

/// The target.
pub struct HashTable;

/// Parts of the index, each with a lock.
const PARTS: usize = 64;
/// Room for so many times the rows at which a table is emptied: tables double, and a window goes on.
const TIMES_ITS_ROWS: u64 = 8;
/// Room for a window that begins with an empty table, however soon that is to be emptied.
const LEAST_ROWS: u64 = 8 << 20;
/// Above a UUID's version, and below nothing.
const OWN_BITS: u32 = 80;
const FULL: &str = "the room of the table is full: shorten the windows";
const BYTES_PER_ROW: u64 = size_of::<(u128, Columns)>() as u64 + 1;

impl Target for HashTable {
    fn name(&self) -> &'static str {
        "hashtable"
    }

    fn about(&self) -> &'static str {
        "a table under a hash index in our own memory, to be filled: on chosen pages and nodes"
    }

    fn objection(&self, comparison: &Comparison) -> Option<Reason> {
        super::without_workers_and_audit(comparison)
    }

    fn needs(&self, setup: &Setup<'_>) -> Needs {
        Needs { home_bytes: setup.shape.rows * BYTES_PER_ROW * 2, ..Needs::default() }
    }

    fn open(
        &self,
        setup: &Setup<'_>,
        _heard: &mut dyn FnMut(Loading<'_>) -> bool,
    ) -> Result<Box<dyn Instance>, TargetError> {
        let Some(Filling::Each { rows, most }) = setup.workload.filling(setup.shape) else {
            let words = "a hash table is only filled, by 100 rows a call: take workload = \"memory_inserts\"";
            return Err(TargetError::NotHere(words.into()));
        };
        if setup.emulation.is_some_and(|emulation| emulation.remote_ns > 0.0) {
            let words = "distance is planted in hopcost's own SQLite, and cannot be in a hash table: \
                         leave out --target, or remote_ns";
            return Err(TargetError::NotHere(words.into()));
        }
        let homes = match setup.homes.as_slice() {
            [] => &[Home::default()][..],
            homes => homes,
        };
        let table = |home: &Home| Table::begin(setup, *home, most).map(Arc::new);
        let tables =
            homes.iter().map(table).collect::<Result<_, _>>().map_err(|error| match error {
                PlaceError::System { .. } => TargetError::Failed(error.to_string()),
                other => TargetError::NotHere(other.to_string().into()),
            })?;
        Ok(Box::new(Tables { tables, rows_a_call: rows }))
    }
}

/// The columns of a row beside its identifier: its time, its digits, its small numbers.
type Columns = (i64, [u8; 17], [i64; 3]);

type Part = HashMap<u128, Columns, DefaultHashBuilder, Arena>;

/// A table, in the place that a home asks for.
struct Table {
    home: Home,
    request: memory::Request,
    parts: Box<[Mutex<Part>]>,
    /// Where its memory comes from now.
    arena: Mutex<Arena>,
    sessions: AtomicU32,
    ledger: Ledger,
    empty_at: u64,
}

impl Table {
    fn begin(setup: &Setup<'_>, home: Home, empty_at: u64) -> Result<Self, PlaceError> {
        let rows = LEAST_ROWS.max(empty_at * TIMES_ITS_ROWS);
        let node = home.node.map(|node| in_truth(setup, node));
        let anywhere = || setup.ground.nodes_with_memory().next().map(|node| node.id);
        let node = node.or_else(anywhere).unwrap_or(NodeId(0));
        let bytes = (rows * BYTES_PER_ROW) as usize;
        let placing = match (home.policy, home.node) {
            (Some(Policy::Interleave), _) => Placing::Interleave(spread_in_truth(setup, home)),
            (Some(Policy::FirstTouch), _) | (None, None) => Placing::FirstTouch,
            (Some(Policy::Bind | Policy::PerNode) | None, _) => Placing::Bind,
        };
        let request = memory::Request {
            placing,
            ..memory::Request::on(setup.ground, node, bytes, home.pages)
        };
        let arena = Arena::reserve(&request)?;
        let part =
            || Mutex::new(Part::with_hasher_in(DefaultHashBuilder::default(), arena.clone()));
        let parts = std::iter::repeat_with(part).take(PARTS).collect();
        let arena = Mutex::new(arena);
        let (sessions, ledger) = (AtomicU32::default(), Ledger::default());
        Ok(Self { home, request, parts, arena, sessions, ledger, empty_at })
    }

    /// The lock of a row's part: identifiers are random in each of their bits.
    fn part(&self, id: u128) -> MutexGuard<'_, Part> {
        lock(&self.parts[id as usize % PARTS])
    }

    fn rows(&self) -> u64 {
        self.parts.iter().map(|part| lock(part).len() as u64).sum()
    }

    /// Empties it, and gives its memory back.
    fn empty(&self) -> Result<(), PlaceError> {
        let arena = Arena::reserve(&self.request)?;
        for part in &self.parts {
            *lock(part) = Part::with_hasher_in(DefaultHashBuilder::default(), arena.clone());
        }
        *lock(&self.arena) = arena;
        self.ledger.emptied();
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Tables {
    tables: Vec<Arc<Table>>,
    rows_a_call: u64,
}

impl Instance for Tables {
    fn identity(&self) -> String {
        format!("a hash table in hopcost's own memory, hashbrown in {PARTS} parts")
    }

    fn session(&self, seat: Seat) -> Result<Box<dyn Session>, TargetError> {
        let is_asked_for = |table: &&Arc<Table>| seat.home.is_none_or(|home| table.home == home);
        let Some(table) = self.tables.iter().find(is_asked_for) else {
            return Err(TargetError::Failed("there is no table in that place".to_owned()));
        };
        let own = u128::from(table.sessions.fetch_add(1, Ordering::Relaxed)) << OWN_BITS;
        let (table, cpu, counts) = (Arc::clone(table), seat.worker, seat.stream == 0);
        Ok(Box::new(Filler { table, own, rows: self.rows_a_call, cpu, counts }))
    }

    fn prove(&self, _look: Look) -> Known<Vec<Locality>> {
        Known::missing("its memory comes as it is filled: each window proves where it lies")
    }

    fn plans(&self) -> Result<Vec<String>, TargetError> {
        Ok(vec![format!("{} rows, each under the lock of its part", self.rows_a_call)])
    }
}

/// A stream.
struct Filler {
    table: Arc<Table>,
    /// What its rows' identifiers have of their own: the streams of each level ask for the same rows.
    own: u128,
    /// So many in a call.
    rows: u64,
    /// Where its thread belongs, where that is said.
    cpu: Option<CpuId>,
    /// Is it this one that counts the rows of all?
    counts: bool,
}

impl Session for Filler {
    fn execute(&mut self, request: &Request) -> Result<Answer, CallError> {
        self.table.ledger.ask(self.rows);
        let first = request.arguments[0].cast_unsigned();
        for number in first..first + self.rows {
            let (id, columns) = row(number);
            let id = id ^ self.own;
            let mut part = self.table.part(id);
            part.try_reserve(1).map_err(|_| CallError::Failed(FULL.to_owned()))?;
            part.insert(id, columns);
        }
        Ok(Answer::of(Row::new().integer(self.rows.cast_signed())))
    }

    fn counted(&mut self) -> Counted {
        let mut proved = BTreeMap::new();
        if let Some(cpu) = self.cpu {
            let is_there = affinity::current_cpu() == cpu;
            proved.insert("answered_in_place", [u64::from(is_there), 1]);
        }
        if self.counts {
            let (there, arena) = (self.table.rows(), lock(&self.table.arena).clone());
            proved.insert("rows_counted", self.table.ledger.settle(Some(there)));
            proved.insert("pages_in_place", arena.locality().in_place());
            if let Some(pages) = self.table.home.pages {
                proved.insert("pages_as_asked", arena.on_pages(pages));
            }
            // A table that cannot be emptied grows on, until its room is full and a call says so.
            if there >= self.table.empty_at {
                let _ = self.table.empty();
            }
        }
        Counted { proved, at: CpuSet::from_iter([affinity::current_cpu()]), ..Counted::default() }
    }

    /// Rows are counted from window to window, those of the guard among them, when nobody is at work.
    fn begin_counting(&mut self) {}
}

/// A row of the data set.
fn row(number: u64) -> (u128, Columns) {
    let [key, at, digits] = big_table_im::parts(number);
    let mut text = [b'0'; 17];
    let mut left = digits.unsigned_abs();
    for place in text.iter_mut().rev() {
        *place = b'0' + (left % 10) as u8;
        left /= 10;
    }
    (big_table_im::uuid(key), (at, text, big_table_im::small(digits)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_that_of_the_data_set() {
        let [key, at, digits] = big_table_im::parts(7);
        let (id, (time, text, small)) = row(7);
        assert_eq!((id, time), (big_table_im::uuid(key), at));
        assert_eq!(text, digits.to_string().as_bytes());
        assert_eq!(small, big_table_im::small(digits));
    }
}
