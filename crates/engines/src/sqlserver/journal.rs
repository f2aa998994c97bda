//! The settings journal: original values of changed settings, stored in the server for the next
//! run.

use super::super::server::in_quotes;
use super::super::server::wire::{Wire as _, WireError};
use super::wire::Wire;

pub fn read(wire: &mut Wire, word: &str) -> Result<Option<String>, WireError> {
    let lines = wire.say("mark")?.into_iter().flatten().flatten();
    let mut was =
        lines.filter_map(|line| line.strip_prefix(word)?.strip_prefix(' ').map(str::to_owned));
    Ok(was.next())
}

/// Keeps an earlier entry.
pub fn write(wire: &mut Wire, word: &str, was: &str) -> Result<(), WireError> {
    if read(wire, word)?.is_some() {
        return Ok(());
    }
    let was = in_quotes(was);
    wire.query(&format!("INSERT INTO hopcost.dbo.made_by_hopcost VALUES ('{word} {was}')"))?;
    Ok(())
}

pub fn forget(wire: &mut Wire, word: &str) -> Result<(), WireError> {
    wire.query(&format!("DELETE FROM hopcost.dbo.made_by_hopcost WHERE content LIKE '{word}%'"))?;
    Ok(())
}
