//! **mysql** and **mariadb**: MySQL 8 and later, MariaDB 10.6 and later: a server of our own in a chosen place, or
//! one that runs.
//!
//! Method: `mysql://…` and `mariadb://…` go to a server that runs (`attached`). `mysql:managed` and `mariadb:managed` start one server for each home of the data, with data that
//! was loaded once and kept (`load`), warmed so that everything is in its buffer pool, and prove where
//! that lies. A session is a connection of its own (`session`, `wire`) whose thread in the server is pinned
//! where the experiment wants the work done. MySQL's log has threads of its own, which are placed, too;
//! in MariaDB who commits writes it.
//!
//! Limits: what a query looks up is not counted page by page: all pages of the buffer pool are taken for
//! looked at, and where these lie is known.

mod address;
mod attached;
mod audit;
mod calendar;
mod filling;
mod instance;
mod load;
mod managed;
mod packet;
mod password;
mod programs;
mod schema;
mod session;
mod threads;
mod types;
mod waits;
mod wire;

use hopcost_core::{
    Capabilities, Code, Emulation, Instance, Loading, Metric, Needs, Reason, Restriction, Setting,
    Setup, Target, TargetError,
};

use super::remote::address::is_of_running;
pub use super::remote::address::{Address, Asked};
use super::restrictions::{NO_BATCHES, NO_PAGES, NO_PARALLEL, NO_SCRIPTS, no_planting, one_server};
pub use address::read;
pub use programs::Flavour;
pub use wire::{Wire, WireError};

/// What a server can do that runs.
macro_rules! running {
    ($name:literal) => {
        Capabilities(&[
            NO_PARALLEL,
            NO_PAGES,
            NO_PLANTING,
            NO_SCRIPTS,
            NO_BATCHES,
            NO_NODES,
            one_server!($name),
            NO_TRAIL,
        ])
    };
}

/// The target, one for each of the two.
pub struct MySql(pub Flavour);

/// What a thread of the server's takes.
const THREAD_BYTES: u64 = 4 << 20;
/// What a server takes beside its data.
const SERVER_BYTES: u64 = 512 << 20;

impl Target for MySql {
    fn name(&self) -> &'static str {
        self.0.scheme()
    }

    fn about(&self) -> &'static str {
        match self.0 {
            Flavour::MySql => {
                "MySQL: mysql:managed is a server of its own, its log's threads in place; mysql://… one that runs"
            }
            Flavour::MariaDb => {
                "MariaDB: mariadb:managed is a server of its own, mariadb://… one that runs"
            }
        }
    }

    fn is_in_process(&self) -> bool {
        false
    }

    fn address(&self, given: &str) -> Result<String, Reason> {
        self.asked(given).map(|asked| asked.to_string())
    }

    fn forms(&self) -> &'static [&'static str] {
        &["managed", "//user@host/"]
    }

    fn capabilities(&self, address: &str) -> Capabilities {
        match self.0 {
            Flavour::MariaDb if is_of_running(address) => RUNNING_MARIADB,
            Flavour::MySql if is_of_running(address) => RUNNING_MYSQL,
            Flavour::MariaDb | Flavour::MySql => {
                Capabilities(&[NO_PARALLEL, NO_PAGES, NO_PLANTING, NO_SCRIPTS, NO_BATCHES])
            }
        }
    }

    fn untold(&self, metric: Metric, emulation: Option<&Emulation>) -> Option<Reason> {
        super::untold_of_nodes(metric, emulation, &format!("all pages of {}'s", self.0.name()))
    }

    fn clear(&self, address: &str) -> Result<String, Reason> {
        match self.asked(address)? {
            Asked::Running(address) => attached::clear(&address),
            Asked::Managed(_) => Ok("nothing".to_owned()),
        }
    }

    fn needs(&self, setup: &Setup<'_>) -> Needs {
        let bytes = data_bytes(setup);
        let copies = setup.homes.len().max(1) as u64;
        Needs {
            home_bytes: bytes + bytes / 4 + SERVER_BYTES,
            stream_bytes: setup.spec().scratch_bytes + THREAD_BYTES,
            disk_bytes: (bytes + SERVER_BYTES) * (copies + 1),
        }
    }

    fn open(
        &self,
        setup: &Setup<'_>,
        heard: &mut dyn FnMut(Loading<'_>) -> bool,
    ) -> Result<Box<dyn Instance>, TargetError> {
        let asked =
            self.asked(setup.address).map_err(|reason| TargetError::Failed(reason.to_string()))?;
        setup.accepted_by(self)?;
        match asked {
            Asked::Managed(managed) => managed::open(self.0, &managed, setup, heard),
            Asked::Running(address) => attached::open(self.0, *address, setup, heard),
        }
    }
}

impl MySql {
    fn asked(&self, given: &str) -> Result<Asked, Reason> {
        read(self.0.scheme(), given, &|name| std::env::var(name).ok())
    }
}

const RUNNING_MARIADB: Capabilities = running!("mariadb");
const RUNNING_MYSQL: Capabilities = running!("mysql");
const NO_PLANTING: Restriction = no_planting!("a server");
const NO_NODES: Restriction = Restriction::of(
    &[Setting::EmulatedNodes],
    Code::NotPlaceable,
    "the buffer pool of a server that runs cannot be on emulated nodes: leave out --emulate, or take mysql:managed or \
     mariadb:managed",
);
const NO_TRAIL: Restriction =
    Restriction::of(&[Setting::Audit], Code::Unsupported, instance::NOT_AUDITED);
/// The database that is ours in a server.
const DATABASE: &str = "hopcost";

/// About how many bytes the data takes in a server.
fn data_bytes(setup: &Setup<'_>) -> u64 {
    super::data_bytes(setup, |dataset, wanted| schema::bytes(dataset, wanted.index, &wanted.table))
}
