//! What a run knows of its SQL Server.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use hopcost_core::{CpuSet, Dataset, Filling, Machine, NodeId, Setup, Statement};

use super::super::server::address::Address;
use super::super::server::dataset_named;
use super::super::server::dialect::{Dialect, Profile};
use super::super::server::process::is_near;
use super::super::server::wire::{Wire as _, WireError};
use super::super::wanted;
use super::calls::{Call, RenderedStatement};
use super::schema::is_in_memory;
use super::wire::Wire;

/// Timeout of queries between windows.
pub const AT_ONCE: Duration = Duration::from_secs(2);

pub const PROFILE: Profile = Profile {
    name: "SQL Server",
    scheme: "sqlserver",
    processes: &[],
    waits: None,
    patience: Some(AT_ONCE),
};

pub struct SqlServerDialect {
    pub address: Address,
    /// As the experiment sees it; `None` when only clearing up.
    pub machine: Option<Machine>,
    /// Empty when the server is on another host.
    pub nodes: BTreeMap<NodeId, CpuSet>,
    dataset: Option<&'static dyn Dataset>,
    pub fills_memory: bool,
    pub loads: bool,
    pub allows_changes: bool,
    /// A managed instance, whose CPUs cannot be chosen.
    pub has_no_cpus: AtomicBool,
    /// Only if this run created the database, and so will restore the server.
    pub may_change: AtomicBool,
    /// Edition and host.
    pub edition: OnceLock<(String, String)>,
    noted: Mutex<Vec<String>>,
}

impl SqlServerDialect {
    pub fn of(address: &Address, setup: Option<&Setup<'_>>) -> Self {
        let machine = setup.map(|setup| setup.machine.clone());
        let nodes = machine.iter().flat_map(|machine| &machine.nodes);
        let nodes = nodes.filter(|_| is_near(address));
        let dataset = setup.and_then(|setup| setup.dataset).map(Dataset::name);
        let filling = setup.and_then(|setup| setup.spec().effect.filling());
        let table = setup.and_then(|setup| wanted(setup).into_iter().next());
        let is_in_memory = table.is_some_and(|wanted| is_in_memory(&wanted.table));
        Self {
            address: address.clone(),
            nodes: nodes.map(|node| (node.id, node.cpus.clone())).collect(),
            machine,
            dataset: dataset.and_then(dataset_named),
            fills_memory: filling.is_some() && is_in_memory,
            loads: matches!(filling, Some(Filling::Bulk(_))),
            allows_changes: setup.is_some_and(|setup| setup.allow_server_changes),
            has_no_cpus: AtomicBool::new(false),
            may_change: AtomicBool::new(false),
            edition: OnceLock::new(),
            noted: Mutex::default(),
        }
    }

    pub fn may_change(&self) -> bool {
        self.may_change.load(Ordering::Relaxed)
    }

    pub fn binds(&self) -> bool {
        self.may_change() && is_near(&self.address)
    }

    pub fn note(&self, words: &str) {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).push(words.to_owned());
    }

    pub fn noted(&self) -> Vec<String> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Dialect for SqlServerDialect {
    type Wire = Wire;
    type Call = Call;

    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    /// SQL Server reports the worker's CPU but not its thread.
    fn worker(&self, _: &mut Wire) -> Result<Option<u32>, WireError> {
        Ok(None)
    }

    fn explain(
        &self,
        wire: &mut Wire,
        _: usize,
        statement: &Statement,
        _: &[i64; 4],
    ) -> Result<Vec<String>, WireError> {
        let RenderedStatement { sql, declared, .. } =
            RenderedStatement::of(statement, self.dataset, 1);
        let declared = match declared.as_str() {
            "" => String::new(),
            declared => format!("DECLARE {declared}; "),
        };
        let (Ok(on), Ok(off)) = (wire.script("plan_on"), wire.script("plan_off")) else {
            return Ok(Vec::new());
        };
        wire.query(on)?;
        let plan = wire.query(&format!("{declared}{sql}"));
        wire.query(off)?;
        // A compatible server may have run the statement instead of explaining it.
        let plans = plan?.into_iter().flatten().flatten().filter(|line| line.starts_with('<'));
        let plans: Vec<String> = plans.collect();
        let none = || vec!["  the server shows no plan as XML".to_owned()];
        Ok(if plans.is_empty() { none() } else { plans })
    }

    fn end(&self, wire: &mut Wire, numbers: &[u32]) -> Result<(), WireError> {
        end_stragglers(wire, |number| numbers.contains(&number))
    }
}

pub fn end_stragglers(wire: &mut Wire, is_meant: impl Fn(u32) -> bool) -> Result<(), WireError> {
    let there = wire.say("end_stragglers")?.into_iter().flatten().flatten();
    for number in there.filter_map(|number| number.parse().ok()).filter(|number| is_meant(*number))
    {
        let _ = wire.query(&format!("KILL {number}"));
    }
    Ok(())
}
