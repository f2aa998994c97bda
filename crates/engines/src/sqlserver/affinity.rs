//! To which CPUs a server is bound: changed before windows, where the user allows it, and put back at the end.
//!
//! Method: what it was bound to is written down in the server before the first change (`journal`). The binding is
//! the whole server's: levels whose workers are on different nodes take turns.
//!
//! Limits: experimental, as nothing of it could be tried on SQL Server itself. CPUs are numbered as on this host, so
//! that the server has to be on it.

use std::sync::{Mutex, PoisonError};

use hopcost_core::CpuSet;

use super::super::server::wire::{Wire as _, WireError};
use super::journal;
use super::wire::Wire;

/// A server's binding, while we change it over a connection of its own.
pub struct Affinity {
    wire: Mutex<Wire>,
    /// What was last asked for.
    now: Mutex<Option<CpuSet>>,
}

/// What our table has of it: this word, then the CPUs, or `AUTO`.
const WORD: &str = "affinity";
const AUTO: &str = "AUTO";

impl Affinity {
    pub fn new(wire: Wire) -> Self {
        Self { wire: Mutex::new(wire), now: Mutex::default() }
    }

    /// Binds the server to these CPUs, unless it is.
    pub fn bind(&self, cpus: &CpuSet) -> Result<(), WireError> {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if now.as_ref() == Some(cpus) {
            return Ok(());
        }
        let mut wire = self.wire.lock().unwrap_or_else(PoisonError::into_inner);
        if now.is_none() {
            write_down(&mut wire)?;
        }
        let list: Vec<String> = cpus.iter().map(|cpu| cpu.to_string()).collect();
        set(&mut wire, &list.join(","))?;
        *now = Some(cpus.clone());
        Ok(())
    }
}

/// Writes down to what the server is bound.
fn write_down(wire: &mut Wire) -> Result<(), WireError> {
    let rows = wire.say("affinity")?;
    let is_auto =
        rows.iter().any(|row| row.first().is_some_and(|kind| kind.as_deref() == Some(AUTO)));
    let cpus = rows.into_iter().filter_map(|row| row.into_iter().nth(1).flatten());
    let was = if is_auto { AUTO.to_owned() } else { cpus.collect::<Vec<_>>().join(",") };
    journal::write(wire, WORD, &was)
}

fn set(wire: &mut Wire, cpus: &str) -> Result<(), WireError> {
    if cpus == AUTO {
        return wire.say("set_affinity_auto").map(drop);
    }
    wire.query(&wire.script("set_affinity")?.replace("{cpus}", cpus)).map(drop)
}

/// Binds the server as it was, if it was changed: to what.
pub fn put_back(wire: &mut Wire) -> Result<Option<String>, WireError> {
    let Some(was) = journal::read(wire, WORD)? else { return Ok(None) };
    set(wire, &was)?;
    journal::forget(wire, WORD)?;
    Ok(Some(was))
}
