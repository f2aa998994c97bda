//! The databases under test.
//!
//! A new target is a file or folder here and a line in [`TARGETS`].

mod audit;
mod commitlog;
mod duckdb;
mod echo;
mod hashtable;
mod homes;
mod hosted;
mod interface;
mod ledger;
mod loading;
pub mod mysql;
mod null;
pub mod postgres;
mod restrictions;
mod server;
pub mod sqlite;
pub mod sqlserver;
mod wal;
mod wanted;

use std::process::ExitCode;

use hopcost_core::{Capabilities, Console, Target, TargetError};
use hosted::Hosted;
pub use server::address::{Address, Asked};
use server::target::{self, Server};

pub(crate) use homes::{
    homes_of, in_truth, log_writer_of, memory_of, spread_in_truth, spread_of, untold_of_nodes,
    words_of,
};
pub(crate) use loading::{Heard, say};
pub(crate) use wanted::{
    SAMPLES, Wanted, data_bytes, data_words, samples, tables_named, wanted, with_commas,
};

/// All targets; the first is the default.
pub const TARGETS: &[&dyn Target] = &[
    &sqlite::Sqlite,
    &Server(postgres::Postgres),
    &Server(mysql::Flavour::MariaDb),
    &Server(mysql::Flavour::MySql),
    &Server(sqlserver::SqlServer),
    &Hosted(&duckdb::DuckDb),
    &wal::Wal,
    &commitlog::CommitLogTarget,
    &hashtable::HashTable,
    &echo::Echo,
    &null::Null,
];

const LIBRARIES: &[&dyn hosted::Library] = &[&duckdb::DuckDb];

/// Hosts a library if hopcost started this process for that. A program must call it first.
pub fn hosted_process() -> Option<ExitCode> {
    hosted::serve_if_asked(LIBRARIES)
}

pub fn capabilities() -> impl Iterator<Item = (String, Capabilities)> {
    let of_target = |target: &'static dyn Target| {
        let url = move |form: &str| match form {
            "" => target.name().to_owned(),
            form => format!("{}:{form}", target.name()),
        };
        target.forms().iter().map(move |form| (url(form), target.capabilities(form)))
    };
    TARGETS.iter().copied().flat_map(of_target)
}

pub fn console(address: &Address) -> Result<Box<dyn Console>, TargetError> {
    match address.scheme {
        "postgres" => target::console::<postgres::Wire>(address),
        "sqlserver" => target::console::<sqlserver::Wire>(address),
        _ => target::console::<mysql::Wire>(address),
    }
}

// Example engines, which show how much a new one takes.
#[cfg(test)]
mod stub;
#[cfg(test)]
mod toy;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_can_stand_before_a_colon() {
        for (n, target) in TARGETS.iter().enumerate() {
            assert!(target.name().bytes().all(|letter| letter.is_ascii_lowercase()));
            assert!(!target.about().is_empty());
            assert!(TARGETS[..n].iter().all(|other| other.name() != target.name()));
        }
    }
}
