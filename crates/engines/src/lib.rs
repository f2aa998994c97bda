//! The databases under test.
//!
//! A new one is a file or folder here and a line in [`TARGETS`].

mod audit;
mod commitlog;
mod duckdb;
mod echo;
mod hashtable;
mod hosted;
mod interface;
mod ledger;
pub mod mysql;
mod null;
pub mod postgres;
mod restrictions;
mod server;
pub mod sqlite;
pub mod sqlserver;
mod wal;

use std::process::ExitCode;

use hopcost_core::{
    Capabilities, Code, Console, CpuId, DataPlacement, Dataset, Emulation, Loading, Machine,
    Metric, NodeId, NodeSet, Policy, Reason, Setup, Table, Target, TargetError, VariantSettings,
};
use hopcost_sys::memory::{Placing, Request};
use hosted::Hosted;
pub use server::address::{Address, Asked};
use server::target::{self, Server};

/// All targets; the first is taken where none is named.
pub const TARGETS: &[&dyn Target] = &[
    &sqlite::Sqlite,
    &Server(postgres::Postgres),
    &Server(mysql::Flavour::MariaDb),
    &Server(mysql::Flavour::MySql),
    &sqlserver::SqlServer,
    &Hosted(&duckdb::DuckDb),
    &wal::Wal,
    &commitlog::CommitLogTarget,
    &hashtable::HashTable,
    &echo::Echo,
    &null::Null,
];

/// Those that are loaded in a process of their own.
const LIBRARIES: &[&dyn hosted::Library] = &[&duckdb::DuckDb];

/// Serves a library, if hopcost was started for that by itself: the first call of a program that asks one.
pub fn hosted_process() -> Option<ExitCode> {
    hosted::serve_if_asked(LIBRARIES)
}

/// What all targets can do: by URL, one of each form of it.
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

/// Connects to a server that runs, to ask it about itself.
pub fn console(address: &Address) -> Result<Box<dyn Console>, TargetError> {
    match address.scheme {
        "postgres" => target::console::<postgres::Wire>(address),
        "sqlserver" => target::console::<sqlserver::Wire>(address),
        _ => target::console::<mysql::Wire>(address),
    }
}

/// What is told while data is loaded.
type Heard<'a> = dyn FnMut(Loading<'_>) -> bool + 'a;

/// Tells how far it is; an error where the user has enough.
fn say(heard: &mut Heard<'_>, what: &str, done: f64) -> Result<(), TargetError> {
    if heard(Loading { what, done }) { Ok(()) } else { Err(TargetError::Interrupted) }
}

/// A table to load.
struct Wanted {
    /// What the data set calls it where it makes rows.
    index: usize,
    /// What it is.
    table: Table,
}

/// The tables that a workload reads, in the data set's order.
fn wanted(setup: &Setup<'_>) -> Vec<Wanted> {
    let Some(dataset) = setup.dataset else { return Vec::new() };
    tables_named(dataset, setup.shape.rows, |name| setup.workload.info().tables.contains(&name))
}

fn tables_named(
    dataset: &dyn Dataset,
    scale: u64,
    is_wanted: impl Fn(&str) -> bool,
) -> Vec<Wanted> {
    let numbered = dataset.tables(scale).into_iter().enumerate();
    let kept = numbered.filter(|(_, table)| is_wanted(table.name));
    kept.map(|(index, table)| Wanted { index: dataset.source(index, scale), table }).collect()
}

/// ` on node 1`, ` on all nodes in turn`, ` on base pages`; nothing of a home that may be anywhere.
fn words_of(home: DataPlacement) -> String {
    let place = match (home.node, home.copy.policy) {
        (_, Some(Policy::Interleave)) => " on all nodes in turn".to_owned(),
        (Some(node), _) => format!(" on node {node}"),
        (None, _) => String::new(),
    };
    match home.copy.pages {
        Some(pages) => format!("{place} on {pages}"),
        None => place,
    }
}

/// The node that a node is in truth: an emulated one is a set of CPUs of a real one.
fn in_truth(setup: &Setup<'_>, node: NodeId) -> NodeId {
    setup.emulation.map_or(node, |_| setup.ground.node_under(setup.machine, node))
}

/// The nodes that a home's data is dealt out to; none where it is on one.
fn spread_of(setup: &Setup<'_>, home: DataPlacement) -> Vec<NodeId> {
    if home.copy.policy != Some(Policy::Interleave) {
        return Vec::new();
    }
    setup.machine.nodes_with_memory().map(|node| node.id).collect()
}

/// The same as nodes of the machine: emulated ones are sets of CPUs, and memory is where it is.
fn spread_in_truth(setup: &Setup<'_>, home: DataPlacement) -> NodeSet {
    spread_of(setup, home).into_iter().map(|node| in_truth(setup, node)).collect()
}

/// The memory of a home. Emulated ones share that of the nodes that there are: their policies are in the
/// books alone.
fn memory_of(setup: &Setup<'_>, home: DataPlacement, bytes: usize) -> Result<Request, TargetError> {
    let request = Request::on(setup.ground, place_of(setup, home)?, bytes, home.copy.pages);
    let placing = match home.copy.policy {
        _ if setup.emulation.is_some() => Placing::Bind,
        Some(Policy::FirstTouch) => Placing::FirstTouch,
        Some(Policy::Interleave) => {
            Placing::Interleave(spread_of(setup, home).into_iter().collect())
        }
        Some(Policy::Bind | Policy::PerNode) | None => Placing::Bind,
    };
    Ok(Request { placing, ..request })
}

/// Where a home's memory is taken: of an emulated one where its CPUs are, of one that may be anywhere on
/// the first node.
fn place_of(setup: &Setup<'_>, home: DataPlacement) -> Result<NodeId, TargetError> {
    if let (Some(node), None) = (home.node, setup.emulation) {
        return Ok(node);
    }
    let has_memory = |machine: &Machine, node: NodeId| {
        machine.nodes_with_memory().any(|other| other.usable && other.id == node)
    };
    let cpu = home.node.and_then(|node| setup.machine.node(node)?.cpus.first());
    let own = cpu.and_then(|cpu| setup.ground.cpu(cpu)?.node.get().copied());
    let own = own.filter(|node| has_memory(setup.ground, *node));
    let any = || setup.ground.nodes_with_memory().find(|node| node.usable).map(|node| node.id);
    own.or_else(any).ok_or_else(|| {
        let words = format!("no node has memory for the data that is to be{}", words_of(home));
        TargetError::NotHere(Code::TooFewNodes.because(words))
    })
}

/// Where data is to be; one place that is anywhere, where the experiment does not say.
fn homes_of(setup: &Setup<'_>) -> Vec<DataPlacement> {
    if setup.homes.is_empty() { vec![DataPlacement::default()] } else { setup.homes.clone() }
}

/// About how many bytes a setup's data takes where a table takes so many.
fn data_bytes(setup: &Setup<'_>, of_table: impl Fn(&dyn Dataset, &Wanted) -> u64) -> u64 {
    let Some(dataset) = setup.dataset else { return 0 };
    wanted(setup).iter().map(|wanted| of_table(dataset, wanted)).sum()
}

/// Rows from all over a table that stand for all of it.
const SAMPLES: u64 = 64;

/// Their numbers.
fn samples(table: &Table) -> impl Iterator<Item = u64> + use<> {
    let count = SAMPLES.min(table.rows);
    let step = table.rows / count.max(1);
    (0..count).map(move |n| n * step)
}

/// Why a database that keeps all memory in one place tells nothing of emulated nodes, of which a claim speaks.
fn untold_of_nodes(metric: Metric, emulation: Option<&Emulation>, memory: &str) -> Option<Reason> {
    (metric.is_of_nodes() && emulation.is_some()).then(|| {
        Code::Unverifiable.because(format!(
            "on emulated nodes {memory} stay in one place, so that nothing it looks up can be told to be near \
             or far: run it on a machine that has the nodes, or take --target sqlite, whose pages can be \
             emulated"
        ))
    })
}

/// What a setup's data is: `tran_stats, 2,000,000 rows`.
fn data_words(setup: &Setup<'_>) -> String {
    let rows = setup.shape.rows;
    match setup.dataset {
        Some(dataset) if wanted(setup).iter().any(|wanted| wanted.table.rows > 0) => {
            format!("{}, {} {}", dataset.name(), with_commas(rows), dataset.unit(rows))
        }
        _ => "no data".to_owned(),
    }
}

/// `2,000,000`.
fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Where the log writer of a session belongs.
fn log_writer_of(variant: &VariantSettings) -> Result<CpuId, TargetError> {
    let nowhere =
        || TargetError::NotHere(Code::Unsupported.because("the experiment places no log writer"));
    variant.log_writer_cpu().ok_or_else(nowhere)
}

// Engines of the tests: how much a new one takes.
#[cfg(test)]
mod stub;
#[cfg(test)]
mod toy;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([7, 1000, 2_000_000].map(with_commas), ["7", "1,000", "2,000,000"]);
    }

    #[test]
    fn names_are_unique_and_can_stand_before_a_colon() {
        for (n, target) in TARGETS.iter().enumerate() {
            assert!(target.name().bytes().all(|letter| letter.is_ascii_lowercase()));
            assert!(!target.about().is_empty());
            assert!(TARGETS[..n].iter().all(|other| other.name() != target.name()));
        }
    }
}
