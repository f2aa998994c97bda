//! **postgres**: PostgreSQL, 13 and later: a server of our own in a chosen place, or one that runs.
//!
//! Method: `postgres:managed` starts one server for each home of the data (`server`), with data that was
//! loaded once and kept (`load`), warmed so that everything is in its shared buffers, and proves where
//! these lie. `postgres://…` goes to a server that runs (`attached`). Either way a session is a connection
//! of its own (`session`, `wire`) whose process is pinned where the experiment wants the work done.
//!
//! Limits: what a query looks up is not counted page by page; which pages of the shared buffers each
//! connection has looked at, and on which node they are, is.

mod address;
mod attached;
mod audit;
mod buffer_view;
mod filling;
mod instance;
mod lines;
mod load;
mod managed;
mod parallel;
mod programs;
mod schema;
mod script;
mod server;
mod session;
mod statistics;
mod types;
mod waits;
mod wire;

use hopcost_core::{
    Capabilities, Code, Dataset, Emulation, Instance, Loading, Metric, Needs, Reason, Restriction,
    Setting, Setup, Table, Target, TargetError,
};

use super::Wanted;
use super::remote::address::is_of_running;
pub use super::remote::address::{Address, Asked};
use super::restrictions::{NO_BATCHES, NO_PAGES, no_planting, one_server};
pub use address::read;
pub use wire::{Wire, WireError};

/// The target.
pub struct Postgres;

/// A process of the server's, without its share of the shared buffers.
const BACKEND_BYTES: u64 = 8 << 20;
/// What a server takes beside its data.
const SERVER_BYTES: u64 = 256 << 20;

impl Target for Postgres {
    fn name(&self) -> &'static str {
        "postgres"
    }

    fn about(&self) -> &'static str {
        "PostgreSQL: postgres:managed is a server of its own, postgres://… one that runs"
    }

    fn is_in_process(&self) -> bool {
        false
    }

    fn address(&self, given: &str) -> Result<String, Reason> {
        asked(given).map(|asked| asked.to_string())
    }

    fn forms(&self) -> &'static [&'static str] {
        &["managed", "//user@host/"]
    }

    fn capabilities(&self, address: &str) -> Capabilities {
        if is_of_running(address) { RUNNING } else { MANAGED }
    }

    fn untold(&self, metric: Metric, emulation: Option<&Emulation>) -> Option<Reason> {
        super::untold_of_nodes(metric, emulation, "all pages of PostgreSQL's")
    }

    fn clear(&self, address: &str) -> Result<String, Reason> {
        match asked(address)? {
            Asked::Running(address) => attached::clear(&address),
            Asked::Managed(_) => Ok("nothing".to_owned()),
        }
    }

    fn needs(&self, setup: &Setup<'_>) -> Needs {
        let bytes = data_bytes(setup);
        let copies = setup.homes.len().max(1) as u64;
        Needs {
            // Of the shared buffers what is free is touched, too, where the server tells where they are.
            home_bytes: bytes + bytes / 4 + SERVER_BYTES,
            stream_bytes: setup.spec().scratch_bytes + BACKEND_BYTES,
            disk_bytes: (bytes + SERVER_BYTES) * (copies + 1),
        }
    }

    fn open(
        &self,
        setup: &Setup<'_>,
        heard: &mut dyn FnMut(Loading<'_>) -> bool,
    ) -> Result<Box<dyn Instance>, TargetError> {
        let asked =
            asked(setup.address).map_err(|reason| TargetError::Failed(reason.to_string()))?;
        setup.accepted_by(self)?;
        match asked {
            Asked::Managed(managed) => managed::open(&managed, setup, heard),
            Asked::Running(address) => attached::open(*address, setup, heard),
        }
    }
}

/// Makes a table of a data set in a server that runs, and fills it: what loading costs alone.
pub fn fill(
    address: &Address,
    dataset: &dyn Dataset,
    index: usize,
    table: Table,
) -> Result<(), TargetError> {
    let mut wire = Wire::connect(address).map_err(super::remote::failed)?;
    wire.query(&schema::create(&table)).map_err(super::remote::failed)?;
    let loader = load::Loader { address, greeting: "", dataset };
    loader.fill(&Wanted { index, table }, &mut |_| Ok(()))
}

const MANAGED: Capabilities = Capabilities(&[NO_PAGES, NO_PLANTING, NO_BATCHES]);

const RUNNING: Capabilities = Capabilities(&[
    NO_PAGES,
    NO_PLANTING,
    Restriction::of(
        &[Setting::EmulatedNodes],
        Code::NotPlaceable,
        "the shared buffers of a server that runs cannot be on emulated nodes: leave out --emulate, or take \
         postgres:managed",
    ),
    NO_BATCHES,
    one_server!("postgres"),
    Restriction::of(&[Setting::Postmaster], Code::Unsupported, instance::NOT_OURS),
    Restriction::of(&[Setting::Audit], Code::Unsupported, instance::NOT_AUDITED),
]);

const NO_PLANTING: Restriction = no_planting!("PostgreSQL");

fn asked(given: &str) -> Result<Asked, Reason> {
    read(given, &|name| std::env::var(name).ok())
}

/// About how many bytes the data takes in a server.
fn data_bytes(setup: &Setup<'_>) -> u64 {
    super::data_bytes(setup, |dataset, wanted| schema::bytes(dataset, wanted.index, &wanted.table))
}
