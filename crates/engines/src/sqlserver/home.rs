//! Existing SQL Servers: hopcost's tables are in a database `hopcost`. Server settings that a run
//! changes are stored there first, and restored before it is dropped.

use std::sync::atomic::Ordering;

use hopcost_core::{Code, Filling, Setup, TargetError};

use super::super::server::address::Address;
use super::super::server::attached::{Home, Left, Mark};
use super::super::server::copy::ServerCopy;
use super::super::server::wire::{Wire as _, WireError};
use super::super::server::{DATABASE, FOREIGN};
use super::super::{Wanted, wanted};
use super::affinity::{self, Affinity};
use super::audit;
use super::dialect::{SqlServerDialect, end_stragglers};
use super::scripts::year_of;
use super::wire::Wire;

/// `EngineEdition` of Azure's SQL Database, Synapse, serverless pools and Fabric.
const SINGLE_DATABASES: [&str; 4] = ["5", "6", "11", "12"];
/// `EngineEdition` of Azure Managed Instance.
const MANAGED_INSTANCE: &str = "8";

const ONE_DATABASE: &str = "this is Azure SQL Database, or one like it: a connection cannot go from one database to \
    another there, as hopcost does for one of its own, and no CPUs are anybody's to choose; go to a Managed Instance or a server";
const NO_CPUS: &str = "this is Azure SQL Managed Instance: its CPUs cannot be chosen, and nothing of \
    the server was changed";
const KEPT_IS_NOT_BOUND: &str = "the data was there already, and the server is bound only for data that comes and goes \
    with the run: let 'hopcost restore' or DROP DATABASE hopcost remove it first";

impl Home for SqlServerDialect {
    const KIND: &'static str = "database";
    const FOREIGN: &'static str = FOREIGN;

    fn fit(&self, wire: &mut Wire, _: &Setup<'_>) -> Result<(), TargetError> {
        if year_of(wire.version()).is_none() {
            let words = format!("SQL Server {} is older than 2012", wire.version());
            return Err(TargetError::NotHere(Code::WrongVersion.because(words)));
        }
        let row = wire.say("identity")?.into_iter().next().unwrap_or_default();
        let mut values = row.into_iter().map(Option::unwrap_or_default);
        let [edition, engine, host] = [(); 3].map(|()| values.next().unwrap_or_default());
        if SINGLE_DATABASES.contains(&engine.as_str()) {
            return Err(TargetError::NotHere(Code::WrongServer.because(ONE_DATABASE)));
        }
        if engine == MANAGED_INSTANCE {
            self.has_no_cpus.store(true, Ordering::Relaxed);
            self.note(NO_CPUS);
        }
        let _ = self.edition.set((edition, host));
        Ok(())
    }

    fn lock(&self, wire: &mut Wire) -> Result<(), TargetError> {
        let got = wire.value_of("be_alone")?;
        if got.and_then(|got| got.parse::<i32>().ok()).is_some_and(|got| got >= 0) {
            return Ok(());
        }
        let words = "another hopcost is at work on this server: wait until it is through; where it is gone, KILL ends \
                     its session (sys.dm_exec_sessions has it under the program's name, hopcost)";
        Err(TargetError::NotHere(Code::ServerInUse.because(words)))
    }

    fn mark(&self, wire: &mut Wire) -> Result<Mark, WireError> {
        mark(wire)
    }

    /// In a load each session creates its own table.
    fn brought(&self, setup: &Setup<'_>) -> Vec<Wanted> {
        match setup.spec().effect.filling() {
            Some(Filling::Bulk(_)) => Vec::new(),
            _ => wanted(setup),
        }
    }

    fn take_over(&self, wire: &mut Wire) -> Result<(), WireError> {
        put_back(wire)?.notes.iter().for_each(|words| self.note(words));
        if self.allows_changes {
            self.note(KEPT_IS_NOT_BOUND);
        }
        Ok(())
    }

    fn make_home(&self, wire: &mut Wire, setup: &Setup<'_>) -> Result<(), TargetError> {
        put_back_and_drop(wire)?.notes.iter().for_each(|words| self.note(words));
        wire.value_of("create_database")?;
        // Created at once, to mark the database; rows are added when the data is complete.
        wire.value_of("create_mark")?;
        // Not supported by compatible servers.
        let _ = wire.value_of("recovery");
        let may_change = self.allows_changes && !self.has_no_cpus.load(Ordering::Relaxed);
        self.may_change.store(may_change, Ordering::Relaxed);
        // Pages are allocated on the node of the worker that loads them.
        let home = setup.homes.first().and_then(|home| setup.machine.node(home.node?));
        if let Some(home) = home.filter(|_| self.binds()) {
            Affinity::new(Wire::connect(&self.ours(&self.address))?).bind(&home.cpus)?;
        }
        Ok(())
    }

    fn write_contents(&self, _: &mut Wire, contents: &[String]) -> Result<(), WireError> {
        let mut ours = Wire::connect(&self.ours(&self.address))?;
        contents.iter().try_for_each(|content| {
            let insert = format!("INSERT INTO made_by_hopcost VALUES ('{content}')");
            ours.query(&insert).map(drop)
        })
    }

    fn ours(&self, address: &Address) -> Address {
        Address { database: DATABASE.to_owned(), ..address.clone() }
    }

    /// The connection with the lock uses the user's database, so that hopcost's can be dropped.
    fn admin(&self, locked: Wire, to: &Address) -> Result<(Wire, Option<Wire>), WireError> {
        Ok((Wire::connect(to)?, Some(locked)))
    }

    fn identity(&self, copy: &ServerCopy<Self>) -> String {
        let (edition, host) = self.edition.get().cloned().unwrap_or_default();
        let on = if host.is_empty() { String::new() } else { format!(" on {host}") };
        format!("SQL Server {} ({edition}), attached{on}, experimental", copy.admin().version())
    }

    fn leave(&self, wire: &mut Wire, keep: bool) -> Result<Left, WireError> {
        if !keep {
            return put_back_and_drop(wire);
        }
        if !matches!(mark(wire)?, Mark::Ours(_)) {
            return Ok(Left::default());
        }
        let left = put_back(wire)?;
        let _ = wire.value_of("drop_jobs");
        Ok(left)
    }
}

fn mark(wire: &mut Wire) -> Result<Mark, WireError> {
    if wire.value_of("database_is_there")?.as_deref() == Some("0") {
        return Ok(Mark::None);
    }
    if wire.value_of("mark_is_there")?.as_deref() == Some("0") {
        return Ok(Mark::Foreign);
    }
    Ok(Mark::Ours(wire.say("mark")?.into_iter().flatten().flatten().collect()))
}

fn put_back(wire: &mut Wire) -> Result<Left, WireError> {
    let bound = affinity::put_back(wire)?;
    let bound = bound.map(|cpus| format!("bound the server to CPU {cpus} again"));
    let files = audit::put_back(wire)?;
    let ended = files.as_ref().map(|_| "ended what it wrote down of statements".to_owned());
    let done = bound.into_iter().chain(ended).collect();
    Ok(Left { done, notes: files.into_iter().filter(|words| !words.is_empty()).collect() })
}

fn put_back_and_drop(wire: &mut Wire) -> Result<Left, WireError> {
    if !matches!(mark(wire)?, Mark::Ours(_)) {
        return Ok(Left::default());
    }
    let left = put_back(wire)?;
    // They would hold locks on our tables.
    end_stragglers(wire, |_| true)?;
    let _ = wire.value_of("be_single_user");
    wire.value_of("drop_database")?;
    Ok(left)
}
