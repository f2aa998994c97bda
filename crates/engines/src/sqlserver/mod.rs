//! **sqlserver**: existing SQL Servers, 2012 and later, on Windows or Linux.
//!
//! Method: hopcost speaks TDS and bulk loads its data into a database of its own. Work is placed by
//! ports that the administrator has mapped to nodes, or by the server's CPU affinity.
//!
//! Limits: *experimental*. Protocol, tables and workloads were tested on Babelfish, a compatible
//! server; features that only SQL Server has were never run.

mod address;
mod affinity;
#[cfg(test)]
mod answers;
mod audit;
mod calls;
mod dialect;
mod home;
mod journal;
mod layout;
mod levels;
mod loads;
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

use hopcost_core::{
    Capabilities, Code, Reason, Restriction, Setting, Setup, Spoken, TargetError, When,
};

use super::restrictions::{
    NO_BATCHES, NO_PAGES, NO_SCRIPTS, OF_ITS_OWN, UNAUDITED_LOADS, no_planting,
};
use super::server::address::{Address, Asked, Environment};
use super::server::dialect::Profile;
use super::server::process::is_near;
use super::server::target::Kind;
use dialect::{PROFILE, SqlServerDialect};
use levels::{IS_NOT_BOUND, MAY_NOT_AUDIT};
pub use wire::Wire;

pub struct SqlServer;

impl Kind for SqlServer {
    type Dialect = SqlServerDialect;
    /// Memory of a server's worker.
    const BYTES: [u64; 2] = [4 << 20, 0];

    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn about(&self) -> &'static str {
        "SQL Server, experimental: sqlserver://… connects to an existing one; never verified on SQL Server itself"
    }

    fn read(&self, rest: &str, environment: Environment<'_>) -> Result<Asked, Reason> {
        address::read(rest, environment)
    }

    fn capabilities(&self, address: &str) -> Capabilities {
        let is_near = address_of(address).is_ok_and(|address| is_near(&address));
        if is_near { ON_THIS_HOST } else { ELSEWHERE }
    }

    fn spoken(&self, setup: &Setup<'_>) -> Vec<Spoken> {
        preview::spoken(setup)
    }

    fn dialect(
        &self,
        running: Option<&Address>,
        setup: Option<&Setup<'_>>,
    ) -> Result<SqlServerDialect, TargetError> {
        let address = running.ok_or_else(|| TargetError::NotHere(no_address()))?;
        Ok(SqlServerDialect::of(address, setup))
    }
}

pub fn address_of(given: &str) -> Result<Address, Reason> {
    match address::read(given, &|name| std::env::var(name).ok())? {
        Asked::Running(address) => Ok(*address),
        Asked::Managed(_) => Err(no_address()),
    }
}

fn no_address() -> Reason {
    Code::BadUrl.because("it names no server that runs")
}

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
            Restriction { when: $log_writer, code: Code::NotPlaceable, words: IS_NOT_BOUND },
            NO_CHANGES,
            UNAUDITED_LOADS,
        ])
    };
}

/// A server on this host can be bound to CPUs.
const ON_THIS_HOST: Capabilities = running!(When::Unpermitted(Setting::LogWriter));
const ELSEWHERE: Capabilities = running!(When::AnyOf(&[Setting::LogWriter]));

const NO_PLACED_WORKERS: Restriction = Restriction::of(
    &[Setting::Postmaster, Setting::ParallelWorkers],
    Code::Unsupported,
    "{level} places parallel workers; SQL Server's own schedulers place them, and only MAXDOP can be set",
);
const NO_NODES: Restriction = Restriction::of(
    &[Setting::EmulatedNodes],
    Code::NotEmulated,
    "the memory of an existing server cannot be placed on emulated nodes. Use it without --emulate",
);
const ONE_SERVER: Restriction = Restriction::of(
    OF_ITS_OWN,
    Code::Unsupported,
    "an existing server has one memory policy already; this experiment compares several",
);
const NO_CHANGES: Restriction = Restriction {
    when: When::Unpermitted(Setting::Audit),
    code: Code::RightsMissing,
    words: MAY_NOT_AUDIT,
};
