//! The nouns and the contracts of hopcost.
//!
//! Everything that more than one crate must agree on stands here: what a machine is, how far apart
//! two places on it are, what a measurement returns, and how absence is said.
//!
//! RULE: no I/O, no clock, no dependency beyond serde and thiserror. If a type needs more than
//! that, it belongs to the crate that does the work.
#![warn(missing_docs)]

mod dataset;
mod distance;
mod estimate;
mod experiment;
mod finding;
mod ids;
mod known;
mod machine;
mod probe;
mod proof;
mod published;
mod result;
mod verdict;

pub use dataset::{Column, Dataset, Kind, RowSink, Table};
pub use distance::{DistanceClass, Distances, HmatTable, Rung, RungExample};
pub use estimate::{Estimate, Spread, Unit};
pub use experiment::{Claim, Comparison, Experiment, Level, Response, Scale, Spot, Subject};
pub use finding::{Finding, Severity};
pub use ids::{CpuId, CpuSet, Id, IdSet, NodeId, NodeSet, ParseSetError};
pub use known::{Known, Reason};
pub use machine::{
    Cache, CacheKind, Cpu, Device, DeviceKind, HugePool, Limit, Limits, Machine, MemoryCache, Node,
    Rating, Socket, Virtualization,
};
pub use probe::{
    Cell, CellResult, Disturbance, Effort, Outcome, Place, Probe, ProbeError, ProbeReport,
    Recorder, Rig, Site, Warning,
};
pub use proof::{Locality, PageSize, Proof, ProofMethod};
pub use published::{Figure, Published};
pub use result::{ExperimentResult, Headline, Proved};
pub use verdict::Verdict;
