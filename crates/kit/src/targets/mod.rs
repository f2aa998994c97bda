//! The databases under test.
//!
//! A new one is a file or folder here and a line in [`TARGETS`].

mod commitlog;
mod echo;
mod null;
pub mod sqlite;
mod wal;

use hopcost_core::{Comparison, CpuId, Reason, Seat, Target, TargetError};

/// All targets; the first is taken where none is named.
pub const TARGETS: &[&dyn Target] =
    &[&sqlite::Sqlite, &wal::Wal, &commitlog::CommitLogTarget, &echo::Echo, &null::Null];

/// Why a target that is all log writer cannot express a comparison, if it cannot.
fn without_log_writer(comparison: &Comparison) -> Option<Reason> {
    let level = comparison.levels.iter().find(|level| level.log_writer.is_none())?;
    let name = &level.name;
    Some(format!("the level '{name}' places no log writer, and this target is nothing else").into())
}

/// Where the log writer of a session belongs.
fn log_writer_of(seat: Seat) -> Result<CpuId, TargetError> {
    let nowhere = || TargetError::NotHere("the experiment places no log writer".into());
    seat.log_writer.ok_or_else(nowhere)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_can_stand_before_a_colon() {
        for (n, target) in TARGETS.iter().enumerate() {
            assert!(target.name().bytes().all(|letter| letter.is_ascii_lowercase()));
            assert!(!target.about().is_empty());
            assert!(TARGETS[..n].iter().all(|other| other.name() != target.name()));
        }
    }
}
