//! What is told while data is loaded.

use hopcost_core::{Loading, TargetError};

pub type Heard<'a> = dyn FnMut(Loading<'_>) -> bool + 'a;

/// Tells how far it is; an error where the user has enough.
pub fn say(heard: &mut Heard<'_>, what: &str, done: f64) -> Result<(), TargetError> {
    if heard(Loading { what, done }) { Ok(()) } else { Err(TargetError::Interrupted) }
}
