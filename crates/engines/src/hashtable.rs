//! **hashtable**: an in-memory table under a hash index in hopcost's memory, filled by all clients.
//!
//! Method: hashbrown in 64 parts with a lock each. All rows are in one memory region, placed,
//! faulted in and verified before the first call. A full part is cleared by the next insert, and
//! its rows stay counted. So a window has inserts alone, and touches no new page.
//!
//! Limits: a stand-in for memory-optimized tables: inserts only, no transactions, no log.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::{DefaultHashBuilder, HashMap};
use hopcost_core::{
    Answer, CallError, Capabilities, Code, Counted, CpuSet, DataPlacement, Filling, Instance,
    Known, Loading, Locality, Look, Metric, Needs, Request, Restriction, Row, Session,
    SessionPlacement, Setting, Setup, Target, TargetError, VariantSettings,
};
use hopcost_sys::affinity;
use hopcost_sys::memory::Arena;

use super::ledger::Ledger;
use super::restrictions::{NO_AUDIT, NO_CLIENT, NO_LOG, NO_PARALLEL};
use hopcost_data::datasets::big_table_im;

pub struct HashTable;

const ONLY_FILLED: &str =
    "a hash table only takes inserts, 100 rows per call. Use workload = \"memory_inserts\"";
const PARTS: usize = 64;
/// From this bit on, an identifier's bits are above a UUID's version field.
const OWN_BITS: u32 = 80;

const CAPABILITIES: Capabilities = Capabilities::but(&[
    Restriction::of(
        &[Setting::PerNode],
        Code::Unsupported,
        "{level} keeps one copy per node; a hash table is one table for all",
    ),
    NO_LOG,
    NO_CLIENT,
    NO_PARALLEL,
    NO_AUDIT,
    Restriction::of(
        &[Setting::Statements, Setting::Scripts, Setting::Inserts, Setting::Loads],
        Code::WorkloadUnsupported,
        ONLY_FILLED,
    ),
    Restriction::of(
        &[Setting::EmulatedDistance],
        Code::NotEmulated,
        "hopcost can inject delays only into its own SQLite, not into a hash table. Use it without --target, or \
         without remote_ns",
    ),
]);

impl Target for HashTable {
    fn name(&self) -> &'static str {
        "hashtable"
    }

    fn about(&self) -> &'static str {
        "a table under a hash index in our own memory, to be filled: on chosen pages and nodes"
    }

    fn capabilities(&self, _address: &str) -> Capabilities {
        CAPABILITIES
    }

    fn needs(&self, setup: &Setup<'_>) -> Needs {
        let home_bytes = room_bytes(rows_of_part(setup.shape.rows)) as u64;
        Needs { home_bytes, ..Needs::default() }
    }

    fn open(
        &self,
        setup: &Setup<'_>,
        _heard: &mut dyn FnMut(Loading<'_>) -> bool,
    ) -> Result<Box<dyn Instance>, TargetError> {
        setup.accepted_by(self)?;
        let Some(Filling::Rows { a_call: rows, most }) = setup.spec().effect.filling() else {
            return Err(TargetError::NotHere(Code::WorkloadUnsupported.because(ONLY_FILLED)));
        };
        let homes = super::homes_of(setup);
        let table = |home: &DataPlacement| Table::place(setup, *home, most).map(Arc::new);
        let tables = homes.iter().map(table).collect::<Result<_, _>>()?;
        Ok(Box::new(Tables { tables, rows_a_call: rows }))
    }
}

type Columns = (i64, [u8; 17], [i64; 3]);

/// Aligned to two cache lines, so that parts do not share one.
#[repr(align(128))]
struct Part(Mutex<Rows>);

struct Rows {
    index: HashMap<u128, Columns, DefaultHashBuilder, Arena>,
    most: usize,
    /// Rows dropped by clearing so far.
    emptied: u64,
}

fn rows_of_part(rows: u64) -> usize {
    rows.div_ceil(PARTS as u64) as usize
}

/// Bytes of all parts: hashbrown allocates a power of two of slots, fills seven eighths of them,
/// and adds one control byte a slot.
fn room_bytes(rows_of_part: usize) -> usize {
    const BESIDE: usize = 128;
    let places = (rows_of_part * 8 / 7 + 1).next_power_of_two().max(16);
    PARTS * (places * (size_of::<(u128, Columns)>() + 1) + BESIDE)
}

impl Rows {
    fn insert(&mut self, id: u128, columns: Columns) {
        if self.index.len() == self.most {
            self.emptied += self.index.len() as u64;
            self.index.clear();
        }
        self.index.insert(id, columns);
    }
}

struct Table {
    home: DataPlacement,
    parts: Box<[Part]>,
    arena: Arena,
    sessions: AtomicU32,
    ledger: Ledger,
}

impl Table {
    fn place(setup: &Setup<'_>, home: DataPlacement, rows: u64) -> Result<Self, TargetError> {
        let most = rows_of_part(rows);
        let arena = Arena::place(&super::memory_of(setup, home, room_bytes(most))?)?;
        let part = || {
            let mut index = HashMap::with_hasher_in(DefaultHashBuilder::default(), arena.clone());
            index.try_reserve(most).map_err(|_| {
                TargetError::Failed(
                    "the table has no room for its rows (a fault of hopcost)".into(),
                )
            })?;
            Ok(Part(Mutex::new(Rows { index, most, emptied: 0 })))
        };
        let parts = std::iter::repeat_with(part).take(PARTS).collect::<Result<_, TargetError>>()?;
        let (sessions, ledger) = (AtomicU32::default(), Ledger::default());
        Ok(Self { home, parts, arena, sessions, ledger })
    }

    /// Identifiers are random in every bit, so any bits choose the part.
    fn part(&self, id: u128) -> MutexGuard<'_, Rows> {
        self.parts[id as usize % PARTS].0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn counted(&self) -> Counted {
        let Self { arena, ledger, home, .. } = self;
        let mut proved = BTreeMap::from([
            (Metric::RowsCounted, ledger.settle(Some(self.rows()))),
            (Metric::PagesInPlace, arena.locality().in_place()),
        ]);
        proved.extend(home.copy.pages.map(|pages| (Metric::PagesAsAsked, arena.on_pages(pages))));
        Counted { proved, ..Counted::default() }
    }

    fn rows(&self) -> u64 {
        let of_part = |part: u128| {
            let rows = self.part(part);
            rows.emptied + rows.index.len() as u64
        };
        (0..PARTS as u128).map(of_part).sum()
    }
}

struct Tables {
    tables: Vec<Arc<Table>>,
    rows_a_call: u64,
}

impl Instance for Tables {
    fn identity(&self) -> String {
        format!("a hash table in hopcost's own memory, hashbrown in {PARTS} parts")
    }

    fn session(
        &self,
        _variant: &VariantSettings,
        at: SessionPlacement,
    ) -> Result<Box<dyn Session>, TargetError> {
        let is_asked_for = |table: &&Arc<Table>| at.data.is_none_or(|home| table.home == home);
        let Some(table) = self.tables.iter().find(is_asked_for) else {
            return Err(TargetError::Failed("there is no table in that place".to_owned()));
        };
        let own = u128::from(table.sessions.fetch_add(1, Ordering::Relaxed)) << OWN_BITS;
        let (table, rows) = (Arc::clone(table), self.rows_a_call);
        Ok(Box::new(Filler { table, own, rows }))
    }

    /// Counts between windows, when no client is at work. Rows of guard times are included.
    fn leave_variant(&self, variant: &VariantSettings) -> Counted {
        let homes = variant.copies();
        let is_used = |table: &&Arc<Table>| homes.is_empty() || homes.contains(&table.home);
        Counted::sum(self.tables.iter().filter(is_used).map(|table| table.counted()))
    }

    fn prove(&self, _look: Look) -> Known<Vec<Locality>> {
        Known::Is(self.tables.iter().map(|table| table.arena.locality()).collect())
    }

    fn plans(&self) -> Result<Vec<String>, TargetError> {
        Ok(vec![format!("{} rows, each under the lock of its part", self.rows_a_call)])
    }
}

struct Filler {
    table: Arc<Table>,
    /// Makes identifiers unique: clients of different variants insert the same rows.
    own: u128,
    rows: u64,
}

impl Session for Filler {
    fn execute(&mut self, request: &Request) -> Result<Answer, CallError> {
        self.table.ledger.ask(self.rows);
        let first = request.arguments[3].cast_unsigned();
        for number in first..first + self.rows {
            let (id, columns) = row(number);
            let id = id ^ self.own;
            self.table.part(id).insert(id, columns);
        }
        Ok(Answer::of(Row::new().integer(self.rows.cast_signed())))
    }

    fn counted(&mut self) -> Counted {
        Counted { at: CpuSet::from_iter([affinity::current_cpu()]), ..Counted::default() }
    }
}

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
