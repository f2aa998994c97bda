//! **sqlserver**: SQL Server 2012 and later, one that runs, on Windows or Linux.
//!
//! Method: `sqlserver://user@host/…` speaks TDS itself (`wire`, `tokens`, `types`), brings its data by bulk
//! insert into a database of its own (`attached`, `load`), and calls prepared statements (`session`). What is said
//! beside has a file for each statement, with the versions that it is for (`sql`, `scripts`). Work is placed by
//! ports that the administrator has mapped to nodes, or by binding the whole server to CPUs (`affinity`).
//!
//! Limits: *experimental*. No SQL Server could be installed where hopcost is made: the protocol, the tables and
//! the workloads were tried on Babelfish, which speaks as SQL Server does; what only SQL Server has was not.

mod address;
mod affinity;
mod audit;
mod calls;
mod counters;
mod home;
mod journal;
mod layout;
mod levels;
mod login;
mod packet;
mod preview;
mod schema;
mod scripts;
#[cfg(test)]
mod standin;
#[cfg(test)]
mod tests;
mod tokens;
#[cfg(test)]
mod traces;
mod types;
mod wire;
mod writers;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use hopcost_core::{
    Capabilities, Code, CpuSet, Dataset, Emulation, Filling, Instance, Loading, Machine, Metric,
    Needs, NodeId, Reason, Restriction, Setting, Setup, Spoken, Statement, Target, TargetError,
    When,
};

use super::restrictions::{
    NO_BATCHES, NO_PAGES, NO_SCRIPTS, OF_ITS_OWN, UNAUDITED_LOADS, no_planting,
};
use super::server::address::Address;
use super::server::attached;
use super::server::copy::ServerCopy;
use super::server::dialect::{Asked, Dialect, Profile};
use super::server::tables::data_bytes;
use super::server::wire::{Wire as _, WireError};
use super::wanted;
use address::Own;
use calls::Call;
pub use wire::Wire;

/// What it can do, but for the log writer.
macro_rules! running {
    ($log_writer:expr) => {
        Capabilities::but(&[
            NO_PAGES,
            NO_PLACED_WORKERS,
            no_planting!("a server"),
            NO_SCRIPTS,
            NO_BATCHES,
            NO_NODES,
            ONE_SERVER,
            $log_writer,
            NO_CHANGES,
            UNAUDITED_LOADS,
        ])
    };
}

/// The target.
pub struct SqlServer;

/// What a worker of the server's takes.
const WORKER_BYTES: u64 = 4 << 20;

impl Target for SqlServer {
    fn name(&self) -> &'static str {
        "sqlserver"
    }

    fn about(&self) -> &'static str {
        "SQL Server, experimental: sqlserver://… goes to one that runs; never tried on SQL Server itself"
    }

    fn is_in_process(&self) -> bool {
        false
    }

    fn address(&self, given: &str) -> Result<String, Reason> {
        asked(given).map(|(address, own)| {
            // As it was asked for: who puts things back reads it again.
            own.options().into_iter().fold(address.to_string(), |url, option| {
                let between = if url.contains('?') { '&' } else { '?' };
                format!("{url}{between}{option}")
            })
        })
    }

    fn forms(&self) -> &'static [&'static str] {
        &["//user@localhost/", "//user@host/"]
    }

    fn capabilities(&self, address: &str) -> Capabilities {
        let is_local = address_of(address).is_ok_and(|address| wire::is_local(&address));
        if is_local { ON_THIS_HOST } else { ELSEWHERE }
    }

    fn untold(&self, metric: Metric, emulation: Option<&Emulation>) -> Option<Reason> {
        super::untold_of_nodes(metric, emulation, "all pages of SQL Server's")
    }

    fn clear(&self, address: &str) -> Result<String, Reason> {
        let (address, own) = asked(address)?;
        attached::clear(&SqlServerDialect::of(&address, own, None), &address)
    }

    fn needs(&self, setup: &Setup<'_>) -> Needs {
        Needs {
            home_bytes: data_bytes::<SqlServerDialect>(setup),
            stream_bytes: setup.spec().scratch_bytes + WORKER_BYTES,
            // It is another host's, for all we know.
            disk_bytes: 0,
        }
    }

    fn spoken(&self, setup: &Setup<'_>) -> Vec<Spoken> {
        preview::spoken(setup)
    }

    fn open(
        &self,
        setup: &Setup<'_>,
        heard: &mut dyn FnMut(Loading<'_>) -> bool,
    ) -> Result<Box<dyn Instance>, TargetError> {
        let (address, own) =
            asked(setup.address).map_err(|reason| TargetError::Failed(reason.to_string()))?;
        setup.accepted_by(self)?;
        let dialect = SqlServerDialect::of(&address, own, Some(setup));
        attached::open(dialect, address, setup, heard)
    }
}

/// A server on this host can be bound to CPUs.
const ON_THIS_HOST: Capabilities = running!(Restriction {
    when: When::Unpermitted(Setting::LogWriter),
    code: Code::NotPlaceable,
    words: levels::IS_NOT_BOUND,
});
const ELSEWHERE: Capabilities =
    running!(Restriction::of(&[Setting::LogWriter], Code::NotPlaceable, levels::IS_NOT_BOUND));

const NO_PLACED_WORKERS: Restriction = Restriction::of(
    &[Setting::Postmaster, Setting::ParallelWorkers],
    Code::Unsupported,
    "{level} places parallel workers, and SQL Server's are its schedulers' to choose; MAXDOP alone is ours",
);
const NO_NODES: Restriction = Restriction::of(
    &[Setting::EmulatedNodes],
    Code::NotEmulated,
    "the memory of a server that runs cannot be on emulated nodes: leave out --emulate",
);
const ONE_SERVER: Restriction = Restriction::of(
    OF_ITS_OWN,
    Code::Unsupported,
    "a server that runs is one, and has its memory policy already: this asks for others",
);
const NO_CHANGES: Restriction = Restriction {
    when: When::Unpermitted(Setting::Audit),
    code: Code::RightsMissing,
    words: levels::MAY_NOT_AUDIT,
};

/// Where a server is, from the part of a URL after the name.
pub fn address_of(given: &str) -> Result<Address, Reason> {
    asked(given).map(|(address, _)| address)
}

/// The part of a URL after the name: where the server is, and what is its own.
fn asked(given: &str) -> Result<(Address, Own), Reason> {
    address::read(given, &|name| std::env::var(name).ok())
}

/// Who asks between windows is in nobody's way.
const AT_ONCE: Duration = Duration::from_secs(2);

const PROFILE: Profile = Profile {
    name: "SQL Server",
    scheme: "sqlserver",
    processes: &[],
    waits: None,
    patience: Some(AT_ONCE),
};

/// What a run says to a server, and what of.
pub struct SqlServerDialect {
    address: Address,
    own: Own,
    /// As the experiment sees it; none for who clears up.
    machine: Option<Machine>,
    /// The CPUs of each node, if the server is on this host.
    nodes: BTreeMap<NodeId, CpuSet>,
    dataset: Option<&'static dyn Dataset>,
    /// Is what is filled a table in memory, or a load's?
    fills_memory: bool,
    loads: bool,
    allows_changes: bool,
    /// Are its CPUs nobody's to choose?
    has_no_cpus: AtomicBool,
    /// May it be changed, as somebody will put back what was?
    may_change: AtomicBool,
    /// Its edition, and its host.
    edition: OnceLock<(String, String)>,
    /// What is to be known of it.
    noted: Mutex<Vec<String>>,
}

impl SqlServerDialect {
    /// For a run, or for whoever clears up after one.
    fn of(address: &Address, own: Own, setup: Option<&Setup<'_>>) -> Self {
        let machine = setup.map(|setup| setup.machine.clone());
        let nodes = machine.iter().flat_map(|machine| &machine.nodes);
        let nodes = nodes.filter(|_| wire::is_local(address));
        let dataset = setup.and_then(|setup| setup.dataset).map(Dataset::name);
        let filling = setup.and_then(|setup| setup.spec().effect.filling());
        let table = setup.and_then(|setup| wanted(setup).into_iter().next());
        let is_in_memory = table.is_some_and(|wanted| schema::is_in_memory(&wanted.table));
        Self {
            address: address.clone(),
            own,
            nodes: nodes.map(|node| (node.id, node.cpus.clone())).collect(),
            machine,
            dataset: dataset.and_then(super::server::dataset_named),
            fills_memory: filling.is_some() && is_in_memory,
            loads: matches!(filling, Some(Filling::Bulk(_))),
            allows_changes: setup.is_some_and(|setup| setup.allow_server_changes),
            has_no_cpus: AtomicBool::new(false),
            may_change: AtomicBool::new(false),
            edition: OnceLock::new(),
            noted: Mutex::default(),
        }
    }

    fn may_change(&self) -> bool {
        self.may_change.load(Ordering::Relaxed)
    }

    /// Is it bound to the CPUs that levels ask for?
    fn binds(&self) -> bool {
        self.may_change() && wire::is_local(&self.address)
    }
}

impl Dialect for SqlServerDialect {
    type Wire = Wire;
    type Call = Call;

    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    /// It tells on which CPU it works, and not which thread does.
    fn worker(&self, _: &mut Wire) -> Result<Option<u32>, WireError> {
        Ok(None)
    }

    fn calls(
        &self,
        _: &ServerCopy<Self>,
        wire: &mut Wire,
        asked: &Asked<'_>,
    ) -> Result<Vec<Call>, TargetError> {
        asked.statements.iter().map(|statement| calls::of(wire, statement, asked)).collect()
    }

    fn explain(
        &self,
        wire: &mut Wire,
        _: usize,
        statement: &Statement,
        _: &[i64; 4],
    ) -> Result<Vec<String>, WireError> {
        let spoken = calls::RenderedStatement::of(statement, self.dataset, 1);
        let declared = if spoken.declared.is_empty() {
            String::new()
        } else {
            format!("DECLARE {}; ", spoken.declared)
        };
        let (Ok(on), Ok(off)) = (wire.script("plan_on"), wire.script("plan_off")) else {
            return Ok(Vec::new());
        };
        wire.query(on)?;
        let plan = wire.query(&format!("{declared}{}", spoken.sql));
        wire.query(off)?;
        // What only speaks as SQL Server does may have carried it out instead.
        let plans = plan?.into_iter().flatten().flatten().filter(|line| line.starts_with('<'));
        let plans: Vec<String> = plans.collect();
        let none = || vec!["  the server shows no plan as XML".to_owned()];
        Ok(if plans.is_empty() { none() } else { plans })
    }

    fn end(&self, wire: &mut Wire, numbers: &[u32]) -> Result<(), WireError> {
        kill(wire, |number| numbers.contains(&number))
    }
}

/// Ends what the server still does for a hopcost, of these connections.
fn kill(wire: &mut Wire, is_meant: impl Fn(u32) -> bool) -> Result<(), WireError> {
    let there = wire.query(wire.script("end_stragglers")?)?.into_iter().flatten().flatten();
    let numbers: Vec<u32> = there.filter_map(|number| number.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| is_meant(*number)) {
        // It may have ended meanwhile.
        let _ = wire.query(&format!("KILL {number}"));
    }
    Ok(())
}
