//! What a level says is written down of each statement.

use hopcost_core::Audit;

use super::{Flaw, LevelTable, expect_one_of};

/// The tiers, as they are written.
const TIERS: [(&str, Audit); 3] =
    [("off", Audit::Off), ("statements", Audit::Statements), ("trace", Audit::Trace)];

/// The tier of a level, where it names one.
pub(super) fn of(table: &LevelTable) -> Result<Option<Audit>, Flaw> {
    let Some(text) = &table.audit else { return Ok(None) };
    expect_one_of("audit", text, &TIERS.map(|(name, _)| name))?;
    Ok(TIERS.into_iter().find(|(name, _)| name == text.get_ref()).map(|(_, audit)| audit))
}
