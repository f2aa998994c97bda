//! The databases under test.
//!
//! A new one is a file or folder here and a line in [`TARGETS`].

mod null;
pub mod sqlite;

use hopcost_core::Target;

/// All targets; the first is taken where none is named.
pub const TARGETS: &[&dyn Target] = &[&sqlite::Sqlite, &null::Null];

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
