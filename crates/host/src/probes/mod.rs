//! The hardware probes: one file each, registered in [`PROBES`].
//!
//! An inner loop that must be exact is in `hopcost_sys::kernels`.

mod bandwidth;
mod cores;
mod decommit;
mod ground;
mod latency;
mod loaded;
mod log;
mod pace;
mod pages;
mod smt;
mod switch;

use hopcost_core::Probe;

/// In the order in which they run.
pub const PROBES: &[&dyn Probe] = &[
    &latency::Latency,
    &bandwidth::Bandwidth,
    &cores::Cores,
    &switch::Switch,
    &log::Log,
    &decommit::Decommit,
    &pages::Pages,
    &smt::Smt,
    &loaded::Loaded,
];
