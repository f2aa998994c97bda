//! **duckdb**: DuckDB, a columnar engine that lives inside a process: here in one of its own for each home of the
//! data.
//!
//! Method: libduckdb is found and loaded when it is needed (`ffi`), so that the user's own version is
//! measured. For each home a process of hopcost's is started in that place (`server`), loads the data there,
//! and answers over a Unix socket, with a thread for each session that is pinned where the experiment wants the
//! work done. Where the data lies is read back by the kernel. A load is an appender's, into a table of the
//! session's own.
//!
//! Limits: each query is worked on by the thread that asks it, unless an experiment is about parallel workers
//! (`pool`); no log of changes. What a query looks up is not counted: all memory of the process is taken for looked
//! at.

mod audit;
mod ffi;
mod instance;
mod pool;
mod protocol;
mod schema;
mod server;

use std::path::PathBuf;
use std::process::ExitCode;

use hopcost_core::{
    Capabilities, Code, Emulation, Instance, Loading, Metric, Needs, Reason, Restriction, Setting,
    Setup, Target, TargetError,
};

use super::restrictions::{NO_LOG, NO_PAGES, NO_SCRIPTS, UNAUDITED_LOADS, no_planting};

/// The target.
pub struct DuckDb;

/// What a session takes beside what its query does.
const SESSION_BYTES: u64 = 16 << 20;
/// What a process takes beside its data.
const PROCESS_BYTES: u64 = 256 << 20;

/// Serves, where hopcost was started for that by itself.
pub fn serve_if_asked() -> Option<ExitCode> {
    server::serve_if_asked()
}

const CAPABILITIES: Capabilities = Capabilities::but(&[
    NO_LOG,
    NO_PAGES,
    no_planting!("DuckDB"),
    NO_SCRIPTS,
    Restriction::of(
        &[Setting::Inserts, Setting::BatchInserts],
        Code::WorkloadUnsupported,
        "a columnar engine is not made for rows that come one by one: take postgres:managed",
    ),
    UNAUDITED_LOADS,
]);

impl Target for DuckDb {
    fn name(&self) -> &'static str {
        "duckdb"
    }

    fn about(&self) -> &'static str {
        "DuckDB, the columnar engine: the user's own libduckdb, in a process for each place"
    }

    fn is_in_process(&self) -> bool {
        false
    }

    fn address(&self, given: &str) -> Result<String, Reason> {
        library_in(given).map(|_| given.to_owned()).map_err(|words| Code::BadUrl.because(words))
    }

    fn capabilities(&self, _address: &str) -> Capabilities {
        CAPABILITIES
    }

    fn untold(&self, metric: Metric, emulation: Option<&Emulation>) -> Option<Reason> {
        super::untold_of_nodes(metric, emulation, "all pages of DuckDB's")
    }

    fn needs(&self, setup: &Setup<'_>) -> Needs {
        let bytes = super::data_bytes(setup, schema::bytes);
        Needs {
            home_bytes: bytes + bytes / 8 + PROCESS_BYTES,
            stream_bytes: setup.spec().scratch_bytes + SESSION_BYTES,
            disk_bytes: 0,
        }
    }

    fn open(
        &self,
        setup: &Setup<'_>,
        heard: &mut dyn FnMut(Loading<'_>) -> bool,
    ) -> Result<Box<dyn Instance>, TargetError> {
        setup.accepted_by(self)?;
        let library = library_in(setup.address).map_err(TargetError::Failed)?;
        instance::open(library.as_deref(), setup, heard)
    }
}

/// `lib=FILE`, or nothing.
fn library_in(address: &str) -> Result<Option<PathBuf>, String> {
    match address.split_once('=') {
        None if address.is_empty() => Ok(None),
        Some(("lib", file)) if !file.is_empty() => Ok(Some(file.into())),
        _ => Err(format!("'{address}' says nothing to DuckDB: write duckdb: or duckdb:lib=FILE")),
    }
}
