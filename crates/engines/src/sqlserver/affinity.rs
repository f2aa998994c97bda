//! A server's CPU affinity, changed before windows and restored at the end.
//!
//! Method: the original is stored in the server before the first change (`journal`). The affinity
//! is server-wide: variants whose workers are on different nodes take turns.
//!
//! Limits: experimental, never run on SQL Server itself. The server has to be on this host.

use std::sync::{Mutex, PoisonError};

use hopcost_core::CpuSet;

use super::super::server::wire::{Wire as _, WireError};
use super::journal;
use super::wire::Wire;

pub struct Affinity {
    wire: Mutex<Wire>,
    now: Mutex<Option<CpuSet>>,
}

/// The journal's line: this word, then the CPUs or `AUTO`.
const WORD: &str = "affinity";
const AUTO: &str = "AUTO";

impl Affinity {
    pub fn new(wire: Wire) -> Self {
        Self { wire: Mutex::new(wire), now: Mutex::default() }
    }

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

/// Restores the original affinity, if it was changed, and returns it.
pub fn put_back(wire: &mut Wire) -> Result<Option<String>, WireError> {
    let Some(was) = journal::read(wire, WORD)? else { return Ok(None) };
    set(wire, &was)?;
    journal::forget(wire, WORD)?;
    Ok(Some(was))
}
