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
mod attached;
mod audit;
mod filling;
mod instance;
mod journal;
mod layout;
mod load;
mod login;
mod packet;
mod schema;
mod scripts;
mod session;
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
    Capabilities, Code, Emulation, Instance, Loading, Metric, Needs, Reason, Restriction, Setting,
    Setup, Spoken, Target, TargetError, When,
};

pub use super::server::address::Address;
use super::restrictions::{
    NO_BATCHES, NO_PAGES, NO_SCRIPTS, OF_ITS_OWN, UNAUDITED_LOADS, no_planting,
};
use super::wanted;
use address::Own;
pub use wire::{Wire, WireError};

/// What it can do, but for the log writer.
macro_rules! running {
    ($log_writer:expr) => {
        Capabilities(&[
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

/// The database that is ours in a server.
const DATABASE: &str = "hopcost";
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
        attached::clear(&asked(address)?.0)
    }

    fn needs(&self, setup: &Setup<'_>) -> Needs {
        Needs {
            home_bytes: super::data_bytes(setup, |dataset, wanted| {
                schema::bytes(dataset, wanted.index, &wanted.table)
            }),
            stream_bytes: setup.spec().scratch_bytes + WORKER_BYTES,
            // It is another host's, for all we know.
            disk_bytes: 0,
        }
    }

    fn spoken(&self, setup: &Setup<'_>) -> Vec<Spoken> {
        let of_scripts = scripts::SCRIPTS.iter().map(|script| Spoken {
            name: script.name.to_owned(),
            about: script.about().to_owned(),
            versions: script.versions(),
            tried: script.spoken_to().map(str::to_owned),
            sql: script.sql().to_owned(),
        });
        let tables = wanted(setup).into_iter().map(|wanted| of_table(&wanted.table));
        let said = |statement| of_workload(setup, statement);
        // What fills tables says it in the tables' own words.
        let fills = setup.spec().effect.filling().is_some();
        let statements = setup.spec().statements;
        let statements: Vec<Spoken> = statements.iter().filter(|_| !fills).map(said).collect();
        tables.chain(statements).chain(of_scripts).collect()
    }

    fn open(
        &self,
        setup: &Setup<'_>,
        heard: &mut dyn FnMut(Loading<'_>) -> bool,
    ) -> Result<Box<dyn Instance>, TargetError> {
        let (address, own) =
            asked(setup.address).map_err(|reason| TargetError::Failed(reason.to_string()))?;
        setup.accepted_by(self)?;
        attached::open(address, own, setup, heard)
    }
}

/// A server on this host can be bound to CPUs.
const ON_THIS_HOST: Capabilities = running!(Restriction {
    when: When::Unpermitted(Setting::LogWriter),
    code: Code::NotPlaceable,
    words: instance::IS_NOT_BOUND,
});
const ELSEWHERE: Capabilities =
    running!(Restriction::of(&[Setting::LogWriter], Code::NotPlaceable, instance::IS_NOT_BOUND));

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
    words: instance::MAY_NOT_AUDIT,
};

const TRIED: &str = "Babelfish 4.3";

/// The statements that make a table.
fn of_table(table: &hopcost_core::Table) -> Spoken {
    let in_memory = schema::is_in_memory(table);
    let statements = if in_memory {
        let call = filling::INSERT_ROW.to_owned();
        vec![schema::create_in_memory(table), schema::create_procedure(table), call]
    } else {
        let load = schema::load_into(table, table.name);
        [schema::create(table, table.name), load]
            .into_iter()
            .chain(schema::indexes(table))
            .collect()
    };
    Spoken {
        name: table.name.to_owned(),
        about: "a table, and how its rows come into it".to_owned(),
        versions: if in_memory { "2014 and later" } else { "2012 and later" }.to_owned(),
        tried: (!in_memory).then(|| TRIED.to_owned()),
        sql: statements.join(";\n"),
    }
}

/// What is asked.
fn of_workload(setup: &Setup<'_>, statement: &hopcost_core::Statement) -> Spoken {
    let spoken = session::Spoken::of(statement, setup.dataset, 1);
    let arguments = match spoken.declared.as_str() {
        "" => "asked without arguments".to_owned(),
        declared => format!("asked with {declared}"),
    };
    Spoken {
        name: statement.name.to_owned(),
        about: format!("{arguments}, prepared"),
        versions: "2012 and later".to_owned(),
        tried: Some(TRIED.to_owned()),
        sql: spoken.sql,
    }
}

/// Where a server is, from the part of a URL after the name.
pub fn address_of(given: &str) -> Result<Address, Reason> {
    asked(given).map(|(address, _)| address)
}

/// The part of a URL after the name: where the server is, and what is its own.
fn asked(given: &str) -> Result<(Address, Own), Reason> {
    address::read(given, &|name| std::env::var(name).ok())
}
