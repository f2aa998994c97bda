//! An existing server, with its own work and tables: all that hopcost makes is in one place.
//!
//! Method: that place is a database or schema named `hopcost` with a mark in it; without the mark
//! it is not touched. A lock of the server keeps a second hopcost out. At the end the place is
//! dropped, unless it is to be kept or was there before. `hopcost restore` drops what a killed run
//! left, or the next run takes it over. A server with replicas is refused unless the user allows
//! it.
//!
//! Limits: its memory cannot be placed, only read back. Its backends are placed only if they are on
//! this host and hopcost may place them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hopcost_core::{Code, Instance, Reason, Setup, TargetError};

use super::super::{Heard, Wanted, say, wanted, with_commas};
use super::address::Address;
use super::cluster::{Cluster, Stay};
use super::copy::{Levels, Reached, ServerCopy};
use super::loader::Loader;
use super::tables::{Tables, digest_of};
use super::wire::{Wire, WireError};

/// The text of the mark.
pub const OURS: &str = "made by hopcost, dropped at the end of its run";
/// Time limit for answers that take no work.
const SHORTLY: Duration = Duration::from_mins(1);
/// Time limit for connecting again at the end.
const TO_LEAVE: Duration = Duration::from_secs(10);

pub enum Mark {
    None,
    Foreign,
    /// hopcost's own, with all rows of these tables.
    Ours(Vec<String>),
}

#[derive(Default)]
pub struct Left {
    pub done: Vec<String>,
    pub notes: Vec<String>,
}

/// How hopcost enters an existing server and leaves it.
pub trait Home: Levels + Tables {
    /// What the place is: `database`, `schema`.
    const KIND: &'static str;
    const FOREIGN: &'static str;
    /// Is the place created together with its mark? If not, an unmarked one may be hopcost's.
    const IS_MARKED_AT_ONCE: bool = false;

    fn fit(&self, _wire: &mut Self::Wire, _setup: &Setup<'_>) -> Result<(), TargetError> {
        Ok(())
    }

    fn lock(&self, wire: &mut Self::Wire) -> Result<(), TargetError>;

    /// Bytes of log that the server has written so far; `None` if it does not report them.
    fn log_bytes(&self, _wire: &mut Self::Wire) -> Result<Option<u64>, WireError> {
        Ok(None)
    }

    fn mark(&self, wire: &mut Self::Wire) -> Result<Mark, WireError>;

    fn brought(&self, setup: &Setup<'_>) -> Vec<Wanted> {
        wanted(setup)
    }

    /// Fails if the server does not accept bulk loads.
    fn takes_rows(&self, _wire: &mut Self::Wire) -> Result<(), TargetError> {
        Ok(())
    }

    /// Takes over what a run has left, and restores what a killed run changed.
    fn take_over(&self, _wire: &mut Self::Wire) -> Result<(), WireError> {
        Ok(())
    }

    fn make_home(&self, wire: &mut Self::Wire, setup: &Setup<'_>) -> Result<(), TargetError>;

    fn write_contents(&self, wire: &mut Self::Wire, contents: &[String]) -> Result<(), WireError> {
        contents.iter().try_for_each(|content| {
            let insert = format!("INSERT INTO made_by_hopcost VALUES ('{content}')");
            wire.query(&insert).map(drop)
        })
    }

    fn ours(&self, address: &Address) -> Address {
        address.clone()
    }

    /// The admin connection, and the one that holds the lock if that is another.
    fn admin(
        &self,
        locked: Self::Wire,
        _to: &Address,
    ) -> Result<(Self::Wire, Option<Self::Wire>), WireError> {
        Ok((locked, None))
    }

    fn identity(&self, copy: &ServerCopy<Self>) -> String {
        format!("{} {}, attached", self.profile().name, copy.admin().version())
    }

    /// Ends what the server still runs for a hopcost that is gone, which may hold locks.
    fn end_stragglers(&self, _wire: &mut Self::Wire) -> Result<(), WireError> {
        Ok(())
    }

    /// Restores what was changed in the server, and drops hopcost's place unless it is to be kept.
    fn leave(&self, wire: &mut Self::Wire, keep: bool) -> Result<Left, WireError>;
}

pub fn open<D: Home>(
    dialect: D,
    address: Address,
    setup: &Setup<'_>,
    heard: &mut Heard<'_>,
) -> Result<Box<dyn Instance>, TargetError> {
    let dialect = Arc::new(dialect);
    let home = setup.homes.first().copied().unwrap_or_default();
    let mut wire = D::Wire::connect(&address)?;
    wire.limit(Some(SHORTLY))?;
    dialect.fit(&mut wire, setup)?;
    dialect.lock(&mut wire)?;
    let begun = dialect.log_bytes(&mut wire)?;
    // Workloads without data run in the user's own database.
    let needs_data = !wanted(setup).is_empty();
    let to = if needs_data { dialect.ours(&address) } else { address.clone() };
    let is_there = !needs_data || is_there(&*dialect, &mut wire, setup)?;
    if !is_there {
        bring(&*dialect, &to, &mut wire, setup, heard)?;
    } else if needs_data {
        dialect.take_over(&mut wire)?;
    }
    wire.limit(None)?;
    let (admin, lock) = dialect.admin(wire, &to)?;
    let reached = Reached { address: to, admin, enters: needs_data, own: None };
    let copy = ServerCopy::of(&dialect, reached, home, setup)?;
    let identity = format!("{}; {}", dialect.identity(&copy), super::super::data_words(setup));
    let keep = setup.keep_data || is_there;
    let lock = lock.map(Mutex::new);
    let stay = Guest { dialect: Arc::clone(&dialect), address, lock, begun, keep };
    Ok(Box::new(Cluster::new(setup, dialect, vec![copy], identity).leaving(Box::new(stay))))
}

/// Is exactly this data there, perhaps among other?
fn is_there<D: Home>(
    dialect: &D,
    wire: &mut D::Wire,
    setup: &Setup<'_>,
) -> Result<bool, TargetError> {
    match dialect.mark(wire)? {
        Mark::Foreign => Err(TargetError::NotHere(Code::NotOurs.because(D::FOREIGN))),
        Mark::None => Ok(false),
        Mark::Ours(there) => {
            // A load keeps nothing: each session creates its own tables.
            let contents = contents_of(dialect, setup);
            Ok(!contents.is_empty() && contents.iter().all(|content| there.contains(content)))
        }
    }
}

fn contents_of<D: Home>(dialect: &D, setup: &Setup<'_>) -> Vec<String> {
    let content =
        |wanted: &Wanted| format!("{} {:016x}", wanted.table.name, digest_of::<D>(setup, wanted));
    dialect.brought(setup).iter().map(content).collect()
}

/// Loads the data. What a failure leaves is dropped by [`clear`].
fn bring<D: Home>(
    dialect: &D,
    to: &Address,
    wire: &mut D::Wire,
    setup: &Setup<'_>,
    heard: &mut Heard<'_>,
) -> Result<(), TargetError> {
    dialect.takes_rows(wire)?;
    dialect.takes_rows(wire)?;
    (setup.promise)().map_err(TargetError::Failed)?;
    say(heard, &format!("making the {} hopcost", D::KIND), 0.0)?;
    dialect.make_home(wire, setup)?;
    if let Some(dataset) = setup.dataset {
        let loader = Loader { dialect, address: to, enters: true, dataset };
        loader.load(&dialect.brought(setup), heard)?;
    }
    Ok(dialect.write_contents(wire, &contents_of(dialect, setup))?)
}

/// Drops what a killed run left, or one that could not drop it.
pub fn clear<D: Home>(dialect: &D, address: &Address) -> Result<String, Reason> {
    let words = |error: WireError| Code::EngineFailed.because(error.to_string());
    let mut wire = again::<D>(address).map_err(words)?;
    wire.limit(Some(SHORTLY)).map_err(words)?;
    match dialect.mark(&mut wire).map_err(words)? {
        Mark::Ours(_) => {}
        Mark::Foreign if !D::IS_MARKED_AT_ONCE => return Err(Code::NotOurs.because(D::FOREIGN)),
        Mark::None | Mark::Foreign => {
            return Ok(format!("there is no {} of hopcost's any more", D::KIND));
        }
    }
    dialect.lock(&mut wire).map_err(|error| error.code().because(error.to_string()))?;
    dialect.end_stragglers(&mut wire).map_err(words)?;
    let Left { done, notes } = dialect.leave(&mut wire, false).map_err(words)?;
    let done: String = done.iter().map(|done| format!("{done}, and ")).collect();
    let notes: String = notes.iter().map(|note| format!("; {note}")).collect();
    Ok(format!("{done}dropped the {} hopcost{notes}", D::KIND))
}

fn again<D: Home>(address: &Address) -> Result<D::Wire, WireError> {
    let patience = address.patience.min(TO_LEAVE);
    D::Wire::connect(&Address { patience, ..address.clone() })
}

struct Guest<D: Home> {
    dialect: Arc<D>,
    address: Address,
    /// The connection that holds the lock, if it is not the admin connection.
    lock: Option<Mutex<D::Wire>>,
    begun: Option<u64>,
    keep: bool,
}

impl<D: Home> Guest<D> {
    fn leave_over(&self, wire: &mut D::Wire) -> Result<(Left, Option<u64>), WireError> {
        wire.limit(Some(SHORTLY))?;
        let left = self.dialect.leave(wire, self.keep)?;
        Ok((left, self.dialect.log_bytes(wire)?))
    }

    /// Connects again: the connection may be lost while the server is up.
    fn leave_anew(&self) -> Result<(Left, Option<u64>), TargetError> {
        let mut wire = again::<D>(&self.address)?;
        self.dialect.lock(&mut wire)?;
        Ok(self.leave_over(&mut wire)?)
    }
}

impl<D: Home> Stay<D> for Guest<D> {
    fn leave(mut self: Box<Self>, copies: Vec<ServerCopy<D>>) -> Result<Vec<String>, TargetError> {
        let left = if let Some(lock) = self.lock.take() {
            // Their sessions would keep locks on what is to be dropped.
            drop(copies);
            self.leave_over(&mut lock.into_inner().unwrap_or_else(PoisonError::into_inner))
        } else {
            let left = self.leave_over(&mut copies[0].admin());
            if left.is_err() {
                // One of these connections may hold the lock.
                copies[0].hang_up();
            }
            left
        };
        match left.or_else(|_| self.leave_anew()) {
            Ok((left, end)) => {
                let kib = |(begun, end): (u64, u64)| with_commas(end.saturating_sub(begun) >> 10);
                let log = self.begun.zip(end).map(kib);
                let log = log.map(|kib| {
                    format!("the server wrote {kib} KiB of log in all while hopcost was there")
                });
                Ok(log.into_iter().chain(left.notes).collect())
            }
            Err(error) if self.keep && self.begun.is_some() => {
                Ok(vec![format!("how much log the server wrote is not known: {error}")])
            }
            Err(error) => Err(error),
        }
    }
}
