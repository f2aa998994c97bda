//! hopcost as a library.
//!
//! RULE: functions return values and report progress as events. They print nothing, never exit, and
//! read no environment variables: callers pass in what is needed.

mod anew;
mod application;
pub mod catalogue;
mod compare;
mod control;
mod data;
mod dirs;
mod drive;
mod failure;
mod figures;
#[cfg(test)]
mod goldens;
mod hosted;
mod list;
mod load;
pub mod locate;
mod machine;
mod on_database;
mod permission;
mod plan;
mod prepared;
mod probe;
mod probe_result;
#[cfg(test)]
mod refusals;
mod report;
mod request;
mod restore;
mod run;
mod scripts;
mod shared;
mod site;
mod statements;
mod survey;

pub use application::App;
pub use compare::compare;
pub use control::{Control, Event};
pub use dirs::Dirs;
pub use drive::{DriveRequest, DriveResult, Latency};
pub use failure::{Ending, Failure, InContext, Outcome};
pub use hopcost_drive::Event as Progress;
pub use hopcost_engines::capabilities;
pub use hopcost_store::Store;
pub use hopcost_sys::journal::Restored;
pub use hosted::hosted_process;
pub use list::{Applicability, ListedExperiment, Listing, Named};
pub use load::{LoadRequest, LoadResult};
pub use machine::{examine, machine, record, recorded};
pub use permission::{Guard, Leave};
pub use plan::{Planned, PlannedComparison, PlannedProbes};
pub use prepared::Prepared;
pub use probe::ProbeRequest;
pub use probe_result::{NotRun, ProbeResult, ProbesResult};
pub use report::{Reported, report, stored_runs};
pub use request::{DataRequest, Request, Scripts};
pub use restore::PutBack;
pub use run::{Ran, RunOptions};
pub use statements::Statements;
pub use survey::{Scene, SurveyRequest, Surveyed};
