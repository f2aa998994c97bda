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
    Code, Comparison, Emulation, Instance, Level, Loading, Metric, Needs, Reason, Setup, Spoken,
    Target, TargetError,
};

pub use super::remote::address::Address;
use super::wanted;
use address::Own;
pub use wire::{Wire, WireError};

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

    fn objection(&self, comparison: &Comparison) -> Option<Reason> {
        super::without_pages(comparison).or_else(|| without_workers_in_place(comparison))
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
        super::without_planting(setup, "a server")?;
        super::without_scripts(setup)?;
        setup.spec().effect.filling().map_or(Ok(()), super::without_procedures)?;
        if setup.emulation.is_some() {
            let words =
                "the memory of a server that runs cannot be on emulated nodes: leave out --emulate";
            return Err(TargetError::NotHere(Code::NotEmulated.because(words)));
        }
        attached::open(address, own, setup, heard)
    }
}

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

fn without_workers_in_place(comparison: &Comparison) -> Option<Reason> {
    let is_placed = |level: &&Level| level.postmaster.is_some() || level.parallel_workers.is_some();
    let level = comparison.levels.iter().find(is_placed)?;
    let name = &level.name;
    let why = "SQL Server's are its schedulers' to choose; MAXDOP alone is ours";
    Some(
        Code::Unsupported.because(format!("the level '{name}' places parallel workers, and {why}")),
    )
}
