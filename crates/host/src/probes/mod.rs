//! The hardware probes.
//!
//! A new one is a file here and a line in [`PROBES`]. Where a probe needs an exact inner loop, that
//! stands in `hopcost_sys::kernels`.

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

/// All probes, in the order in which they are run.
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
