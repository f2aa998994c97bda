//! The runner: the one place with control flow. It knows the contracts of `hopcost_core`, and no
//! probe by name.

mod event;
mod probing;

pub use event::{Event, Listener, Silent};
pub use probing::{Timing, run_probe};
