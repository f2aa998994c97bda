//! Processes of this host: what they are, where they run, what they use, and how to start one.

pub mod activity;
pub mod child;
pub mod processes;
pub mod sockets;
pub mod standing;
mod stat;
pub mod strain;
pub mod titles;

pub(crate) use stat::ms_of_ticks;
pub use stat::{last_cpu_of, start_time};
