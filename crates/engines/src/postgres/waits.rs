//! What the server's processes wait for, in its own words.

use super::super::remote::address::Address;
use super::super::remote::lines::Lines;
use super::super::remote::waits::Waits;
use super::wire::{Wire, WireError};

const AT_WORK: &str = "\
    SELECT coalesce(wait_event_type || ':' || wait_event, 'none') FROM pg_stat_activity \
    WHERE state = 'active' AND pid <> pg_backend_pid() \
    AND backend_type IN ('client backend', 'parallel worker')";

/// Begins to look.
pub fn watch(address: &Address, lines: &Lines) -> Result<Waits, WireError> {
    let mut wire = Wire::connect(address)?;
    // Whoever has to wait for this one at the end is not to wait for ever.
    wire.limit(Some(address.patience))?;
    lines.add(wire.line(), wire.pid);
    Ok(Waits::watch(move || {
        Some(wire.query(AT_WORK).ok()?.into_iter().flatten().flatten().collect())
    }))
}
