//! The runner: the one place with control flow. It knows the contracts of `hopcost_core`, and nothing
//! of the kit by name: what names an experiment file may use is told to it.

pub mod against;
pub mod between;
pub mod bounds;
pub mod comparing;
pub mod driver;
pub mod driving;
pub mod emulation;
mod event;
pub mod fail_if;
mod file;
pub mod format;
pub mod guardian;
pub mod hardware;
pub mod judging;
pub mod pilot;
pub mod plan;
mod probing;
pub mod schedule;
pub mod settings;
pub mod survey;
pub mod variant;

pub use event::{Event, Listener, Silent};
pub use file::{FileError, Vocabulary, read as read_experiment};
pub use probing::{Timing, run_probe};
