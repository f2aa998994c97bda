//! The driver: streams of requests on threads that stand where they were put.
//!
//! Method: a crew is one set of threads for one placement, pinned for life, each with its own
//! sessions; several streams share a thread if there are more of them than CPUs. A switch parks one
//! crew and releases another: a thread that is re-pinned instead would leave its memory behind on the
//! old node. Blocking calls on plain threads; no runtime that could move them.

mod batch_io;
mod client_batch;
mod crew;
mod injected_delay;
mod pacer;
mod patience;
mod post;
mod tally;
mod worker;

pub use crew::{Crew, Muster};
pub use patience::Patience;
pub use post::{Ask, Work};
pub use tally::{RawCall, Tally};
