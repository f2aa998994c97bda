//! A server that runs, with its own work and its own tables: what is ours lives in a place of ours.
//!
//! Method: that place, a database or a schema named `hopcost`, has a mark by which we know it; one of that name without
//! it is somebody else's, and is not touched. A lock of the server's keeps a second hopcost out. At the end all of it is
//! dropped, unless it is to be kept or was there before; a killed run's is dropped by `hopcost restore`, or taken over
//! by the next run. A server that others follow is refused unless the user says otherwise.
//!
//! Limits: where its memory lies is proved and cannot be chosen. Its processes and threads are placed only if they are
//! on this host and ours to place.

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

/// What says that a place is ours.
pub const OURS: &str = "made by hopcost, dropped at the end of its run";
/// Nobody waits longer for an answer that takes no work.
const SHORTLY: Duration = Duration::from_mins(1);
/// Who is about to leave does not wait long to be let in again.
const TO_LEAVE: Duration = Duration::from_secs(10);

/// What there is of our name.
pub enum Mark {
    None,
    Foreign,
    /// Ours, with all rows of these tables in it.
    Ours(Vec<String>),
}

/// What was put back of a server.
#[derive(Default)]
pub struct Left {
    /// What was done beside.
    pub done: Vec<String>,
    /// What could not be.
    pub notes: Vec<String>,
}

/// How hopcost moves into a server that is not its own, and out again.
pub trait Home: Levels + Tables {
    /// What the place is: `database`, `schema`.
    const KIND: &'static str;
    /// Why one of its name is not touched.
    const FOREIGN: &'static str;
    /// Has it its mark from its first moment? Else one without may be a killed run's.
    const IS_MARKED_AT_ONCE: bool = false;

    /// Can we work there, and may we?
    fn fit(&self, _wire: &mut Self::Wire, _setup: &Setup<'_>) -> Result<(), TargetError> {
        Ok(())
    }

    /// Keeps a second hopcost out.
    fn lock(&self, wire: &mut Self::Wire) -> Result<(), TargetError>;

    /// Bytes of log that the server has written so far, if it tells.
    fn log_bytes(&self, _wire: &mut Self::Wire) -> Result<Option<u64>, WireError> {
        Ok(None)
    }

    fn mark(&self, wire: &mut Self::Wire) -> Result<Mark, WireError>;

    /// Which of the tables that are wanted have to be brought.
    fn brought(&self, setup: &Setup<'_>) -> Vec<Wanted> {
        wanted(setup)
    }

    /// Does the server take rows from those who ask it?
    fn takes_rows(&self, _wire: &mut Self::Wire) -> Result<(), TargetError> {
        Ok(())
    }

    /// Takes over what is there. What a killed run has left changed is put back.
    fn take_over(&self, _wire: &mut Self::Wire) -> Result<(), WireError> {
        Ok(())
    }

    /// Makes the place anew, with its mark.
    fn make_home(&self, wire: &mut Self::Wire, setup: &Setup<'_>) -> Result<(), TargetError>;

    /// Writes down that all rows of these tables are there.
    fn write_contents(&self, wire: &mut Self::Wire, contents: &[String]) -> Result<(), WireError> {
        contents.iter().try_for_each(|content| {
            let insert = format!("INSERT INTO made_by_hopcost VALUES ('{content}')");
            wire.query(&insert).map(drop)
        })
    }

    /// Where our tables are found.
    fn ours(&self, address: &Address) -> Address {
        address.clone()
    }

    /// The connection that looks after the server, and the one that holds the lock, if that is another.
    fn admin(
        &self,
        locked: Self::Wire,
        _to: &Address,
    ) -> Result<(Self::Wire, Option<Self::Wire>), WireError> {
        Ok((locked, None))
    }

    /// What is to be known of the server: where it is, and how large its memory is.
    fn identity(&self, copy: &ServerCopy<Self>) -> String {
        format!("{} {}, attached", self.profile().name, copy.admin().version())
    }

    /// Ends what the server still does for a hopcost that is gone: it would hold on to our tables to its end.
    fn end_stragglers(&self, _wire: &mut Self::Wire) -> Result<(), WireError> {
        Ok(())
    }

    /// Puts back what was changed of the server, and drops what is ours unless it is to be kept.
    fn leave(&self, wire: &mut Self::Wire, keep: bool) -> Result<Left, WireError>;
}

/// Goes to the server, and brings the data.
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
    // Calls that need no data of ours find the user's own.
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

/// Has somebody left the very same data, perhaps beside other?
fn is_there<D: Home>(
    dialect: &D,
    wire: &mut D::Wire,
    setup: &Setup<'_>,
) -> Result<bool, TargetError> {
    match dialect.mark(wire)? {
        Mark::Foreign => Err(TargetError::NotHere(Code::NotOurs.because(D::FOREIGN))),
        Mark::None => Ok(false),
        Mark::Ours(there) => {
            // Of a load nothing is kept: each session makes its own tables.
            let contents = contents_of(dialect, setup);
            Ok(!contents.is_empty() && contents.iter().all(|content| there.contains(content)))
        }
    }
}

/// Of each table that is brought: its name, and a digest of its data.
fn contents_of<D: Home>(dialect: &D, setup: &Setup<'_>) -> Vec<String> {
    let content =
        |wanted: &Wanted| format!("{} {:016x}", wanted.table.name, digest_of::<D>(setup, wanted));
    dialect.brought(setup).iter().map(content).collect()
}

/// Brings the data. What it leaves if it fails is for [`clear`].
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

/// Drops what a run has left that was killed, or could not drop it.
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
    // What another run has taken over is not taken from it.
    dialect.lock(&mut wire).map_err(|error| error.code().because(error.to_string()))?;
    dialect.end_stragglers(&mut wire).map_err(words)?;
    let Left { done, notes } = dialect.leave(&mut wire, false).map_err(words)?;
    let done: String = done.iter().map(|done| format!("{done}, and ")).collect();
    let notes: String = notes.iter().map(|note| format!("; {note}")).collect();
    Ok(format!("{done}dropped the {} hopcost{notes}", D::KIND))
}

/// Another connection.
fn again<D: Home>(address: &Address) -> Result<D::Wire, WireError> {
    let patience = address.patience.min(TO_LEAVE);
    D::Wire::connect(&Address { patience, ..address.clone() })
}

struct Guest<D: Home> {
    dialect: Arc<D>,
    /// Where it is, and the user's own database.
    address: Address,
    /// The connection that holds the lock, if it is not the one that looks after the server.
    lock: Option<Mutex<D::Wire>>,
    /// Bytes of log written before we came.
    begun: Option<u64>,
    keep: bool,
}

impl<D: Home> Guest<D> {
    fn leave_over(&self, wire: &mut D::Wire) -> Result<(Left, Option<u64>), WireError> {
        wire.limit(Some(SHORTLY))?;
        let left = self.dialect.leave(wire, self.keep)?;
        Ok((left, self.dialect.log_bytes(wire)?))
    }

    /// The connection may be gone, and the server need not be.
    fn leave_anew(&self) -> Result<(Left, Option<u64>), TargetError> {
        let mut wire = again::<D>(&self.address)?;
        self.dialect.lock(&mut wire)?;
        Ok(self.leave_over(&mut wire)?)
    }
}

impl<D: Home> Stay<D> for Guest<D> {
    fn leave(mut self: Box<Self>, copies: Vec<ServerCopy<D>>) -> Result<Vec<String>, TargetError> {
        let left = if let Some(lock) = self.lock.take() {
            // Its sessions would hold on to what is ours.
            drop(copies);
            self.leave_over(&mut lock.into_inner().unwrap_or_else(PoisonError::into_inner))
        } else {
            let left = self.leave_over(&mut copies[0].admin());
            if left.is_err() {
                // One of its connections may hold the lock.
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
