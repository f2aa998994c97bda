//! Types and contracts shared by hopcost's crates.
//!
//! RULE: no I/O, no clock, no dependency beyond serde and thiserror. A type that needs more belongs
//! to the crate that does the work.

#[cfg(not(target_os = "linux"))]
compile_error!("hopcost runs on Linux");

mod against;
mod answer;
mod between;
mod block;
mod capability;
mod code;
mod console;
mod dataset;
mod distances;
mod emulation;
mod estimate;
mod experiment;
mod finding;
pub mod gauge;
mod histogram;
mod ids;
mod known;
mod ladder;
mod machine;
mod metric;
mod observer;
mod probe;
mod proof;
mod published;
mod result;
mod scaling;
mod target;
mod variant;
mod verdict;
mod whereabouts;
mod workload;

pub use against::Against;
pub use answer::{Answer, Row};
pub use between::{
    Between, CellPair, EffectPair, Lacking, Likeness, ScorePair, Side, SideRun, Trait,
};
pub use block::{Binding, BlockRecord, Phase, Trial, Window};
pub use capability::{Capabilities, Demand, Restriction, Setting, Support, When};
pub use code::{Class, Code};
pub use console::{Console, Rows};
pub use dataset::{Column, Dataset, Kind, RowSink, Table, hyphenated};
pub use distances::{DistanceClass, Distances, HmatTable, Rung, RungExample};
pub use emulation::{Bimodal, Company, Emulation, LessBandwidth, Planted, Seeming};
pub use estimate::{Estimate, Occasion, Spread, Unit};
pub use experiment::{
    AdviceRule, Beyond, Claim, Comparison, Experiment, Level, Load, Open, Response, Scale, Spot,
    Subject, Unless, Words,
};
pub use finding::{Finding, Severity};
pub use gauge::{Gauge, Nature};
pub use histogram::Histogram;
pub use ids::{CpuId, CpuSet, Id, IdSet, NodeId, NodeSet, ParseSetError};
pub use known::{Known, Reason, as_missing};
pub use machine::{
    Avoided, Cache, CacheKind, Cpu, Device, DeviceKind, HugePool, Limit, Limits, Machine,
    MemoryCache, Node, Rating, Socket, Virtualization,
};
pub use metric::{Checks, Metric};
pub use observer::{Observation, Observer, Reading, Scope, Watching};
pub use probe::{
    Cell, CellResult, Disturbance, Effort, Outcome, Place, Probe, ProbeError, ProbeReport,
    Recorder, Rig, Site, Warning,
};
pub use proof::{Locality, PageSize, Proof, ProofMethod};
pub use published::{Figure, Published};
pub use result::{
    Arm, CostSoFar, Details, ExperimentResult, Headline, KindsOfStarts, NOISY, PointCost,
    PointSpread, Proved, ProvedBy, Scaling, StartsFound, Tier, Witness,
};
pub use scaling::{Contention, ScalingLaw};
pub use target::{
    CallError, Counted, Instance, Loading, Look, Lookups, Mail, Needs, Remote, Session, Setup,
    Spoken, Target, TargetError,
};
pub use variant::{
    Audit, CopyChoice, DataPlacement, Parallel, Policy, SessionChoice, SessionPlacement,
    VariantSettings,
};
pub use verdict::Verdict;
pub use whereabouts::{BytesByNode, Host, Located, SharedBytes, Standing, Threads, Whereabouts};
pub use workload::{
    Effect, Filling, Request, Requests, Shape, Statement, Stream, Workload, WorkloadInfo,
    WorkloadSpec,
};
