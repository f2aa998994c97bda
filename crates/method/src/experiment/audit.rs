//! What a level says is written down of each statement.

use hopcost_core::Audit;

use super::{Flaw, LevelTable, named};

/// The tiers, as they are written.
const TIERS: [(&str, Audit); 3] =
    [("off", Audit::Off), ("statements", Audit::Statements), ("trace", Audit::Trace)];

/// The tier of a level, where it names one.
pub(super) fn of(table: &LevelTable) -> Result<Option<Audit>, Flaw> {
    named("audit", table.audit.as_ref(), &TIERS)
}
