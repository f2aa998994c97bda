//! Progress reports while data is loaded.

use hopcost_core::{Loading, TargetError};

pub type Heard<'a> = dyn FnMut(Loading<'_>) -> bool + 'a;

/// Reports progress; an error if the user interrupts.
pub fn say(heard: &mut Heard<'_>, what: &str, done: f64) -> Result<(), TargetError> {
    if heard(Loading { what, done }) { Ok(()) } else { Err(TargetError::Interrupted) }
}
