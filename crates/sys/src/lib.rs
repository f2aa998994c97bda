//! Linux for hopcost: the machine, its threads and pages, and time.
//!
//! RULE: the only crate with `unsafe` for the operating system and the probes' kernels, and the
//! only one that reads a clock. Every `unsafe` block says why it is sound.
#![allow(unsafe_code)]

pub mod affinity;
pub mod clock;
pub mod counters;
pub mod files;
pub mod hotplug;
pub mod journal;
pub mod kernels;
pub mod liveness;
pub mod memory;
mod own_files;
pub mod process;
pub mod promises;
pub mod quiet;
pub mod readiness;
pub mod ring;
mod root;
pub mod samples;
pub mod text;
pub mod topology;
pub mod traits;

pub use files::is_root;
pub use process::{activity, child, processes, sockets, standing, strain, titles};
pub use root::{Root, RootError, Tree};
