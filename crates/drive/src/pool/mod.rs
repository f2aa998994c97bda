//! The driver: client requests on pinned threads.
//!
//! Method: a worker pool is the set of threads of one placement, pinned for life, with their own sessions.
//! A switch parks one pool and releases another: a re-pinned thread would leave its memory on the
//! old node. No async runtime, which could move tasks between threads.

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
