//! What the server's threads wait for, in its own words, and at which of its mutexes they met.
//!
//! Limits: a thread's state is what it last said of itself: MariaDB and MySQL say of most work only which part of a
//! statement it is. The waits at InnoDB's mutexes and latches are those that ended in sleep, of which there are few.

use hopcost_core::{Reading, gauge};

use super::super::remote::address::Address;
use super::super::remote::lines::Lines;
use super::super::remote::waits::Waits;
use super::wire::{Wire, WireError};

const AT_WORK: &str = "\
    SELECT coalesce(nullif(STATE, ''), 'none') FROM information_schema.PROCESSLIST \
    WHERE COMMAND IN ('Query', 'Execute') AND ID <> CONNECTION_ID()";

/// Begins to look.
pub fn watch(address: &Address, lines: &Lines) -> Result<Waits, WireError> {
    let mut wire = Wire::connect(address)?;
    // Whoever has to wait for this one at the end is not to wait for ever.
    wire.limit(Some(address.patience))?;
    lines.add(wire.line(), wire.number);
    Ok(Waits::watch(move || {
        Some(wire.query(AT_WORK).ok()?.into_iter().flatten().flatten().collect())
    }))
}

/// How often threads have slept at each mutex.
pub fn at_mutexes(wire: &mut Wire) -> Vec<Reading> {
    let rows = wire.query("SHOW ENGINE INNODB MUTEX").unwrap_or_default();
    let reading = |row: Vec<Option<String>>| {
        let [_, name, status] = <[Option<String>; 3]>::try_from(row).ok()?;
        let value = status?.strip_prefix("waits=")?.parse().ok()?;
        Some(Reading { gauge: gauge::MUTEX_WAITS, of: name?, value })
    };
    rows.into_iter().filter_map(reading).collect()
}
