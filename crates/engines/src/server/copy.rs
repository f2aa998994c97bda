//! A server with all the data, and who looks after it.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hopcost_core::{DataPlacement, Setup, TargetError};

use super::super::ledger::Ledger;
use super::super::wanted;
use super::address::Address;
use super::dialect::{Dialect, Levels, Opened};
use super::memory::ServerMemory;
use super::open_connections::{ABORT_TIMEOUT, OpenConnections, with_short_timeout};
use super::process::{Process, is_here};
use super::run_directory::RunDirectory;
use super::waits::Waits;
use super::wire::{Wire, WireError};

/// A server. What depends on it stands before it, so that it ends first.
pub struct ServerCopy<D: Levels> {
    pub dialect: Arc<D>,
    /// What servers of this kind alone have.
    pub beside: D::Beside,
    /// What those at work in it wait for, from when that is first asked.
    waits: OnceLock<Option<Waits>>,
    /// What it has written down of statements, from when a session is first to be audited.
    audit_log: Mutex<Option<Arc<D::AuditLog>>>,
    /// The connection that looks after it. It has read all that is measured.
    admin: Mutex<D::Wire>,
    /// All connections to it.
    pub lines: OpenConnections,
    pub ground: Option<ServerMemory>,
    pub address: Address,
    /// Have tables to be looked for in a place of ours?
    pub enters: bool,
    /// Where its memory is to be.
    pub home: DataPlacement,
    /// Who writes its log; nobody if who commits does.
    pub log_writers: Vec<u32>,
    /// The rows of the table that all of its connections fill.
    pub filled: Arc<Ledger>,
    /// Its process, if it is on this host and ours to place.
    pub process: Option<u32>,
    /// The same of one that hopcost has started, and where it lives.
    pub own: Option<(Process, RunDirectory)>,
}

/// A server that answers.
pub struct Reached<D: Dialect> {
    pub address: Address,
    pub admin: D::Wire,
    pub enters: bool,
    pub own: Option<(Process, RunDirectory)>,
}

impl<D: Levels> ServerCopy<D> {
    /// Warms it, and finds out what is to be known of it.
    pub fn of(
        dialect: &Arc<D>,
        reached: Reached<D>,
        home: DataPlacement,
        setup: &Setup<'_>,
    ) -> Result<Self, TargetError> {
        let Reached { address, mut admin, enters, own } = reached;
        if enters {
            dialect.enter(&mut admin)?;
        }
        if enters || own.is_some() {
            dialect.warm(&mut admin, &wanted(setup))?;
        }
        let worker = dialect.worker(&mut admin)?;
        let names = dialect.profile().processes;
        let process = match &own {
            Some((process, _)) => Some(process.pid()),
            None => worker.and_then(|worker| is_here(&address, worker, names)),
        };
        let memory = process.zip(worker).and_then(|(pid, worker)| dialect.memory(pid, worker));
        let mut ground = memory.map(|memory| ServerMemory::anywhere(memory, home.node));
        if own.is_some() {
            ground = ground.map(|ground| ground.at(setup, home));
        }
        let lines = OpenConnections::default();
        lines.add(admin.channel().line(), admin.number());
        let is_own = own.is_some();
        let opened = Opened { address: &address, lines: &lines, is_own };
        let beside = dialect.beside(&mut admin, &opened)?;
        let log_writers = dialect.log_writers(&mut admin)?;
        admin.limit(dialect.profile().patience)?;
        Ok(Self {
            dialect: Arc::clone(dialect),
            beside,
            waits: OnceLock::new(),
            audit_log: Mutex::default(),
            admin: Mutex::new(admin),
            lines,
            ground,
            address,
            enters,
            home,
            log_writers,
            filled: Arc::default(),
            process,
            own,
        })
    }

    pub fn admin(&self) -> MutexGuard<'_, D::Wire> {
        self.admin.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A value that it tells of itself.
    pub fn value(&self, sql: &str) -> Option<String> {
        self.admin().value(sql).ok().flatten()
    }

    /// What it writes down, from now on; none if its witness knows.
    pub fn audit_log(&self) -> Result<Option<Arc<D::AuditLog>>, TargetError> {
        let mut audit_log = self.audit_log.lock().unwrap_or_else(PoisonError::into_inner);
        if audit_log.is_none() {
            *audit_log = self.dialect.audit_log(self)?.map(Arc::new);
        }
        Ok(audit_log.clone())
    }

    /// The same, if that was asked for.
    pub fn begun_audit_log(&self) -> Option<Arc<D::AuditLog>> {
        self.audit_log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Who looks at what those at work in it wait for, if it tells.
    pub fn waits(&self) -> Option<&Waits> {
        // A server that lets nobody in any more is told of by those who ask it for more.
        let watch = || self.watch_waits(self.dialect.profile().waits?).ok();
        self.waits.get_or_init(watch).as_ref()
    }

    fn watch_waits(&self, sql: &'static str) -> Result<Waits, WireError> {
        let mut wire = self.connect()?;
        // Whoever has to wait for this one at the end is not to wait for ever.
        wire.limit(Some(self.address.patience))?;
        Ok(Waits::watch(move || {
            Some(wire.query(sql).ok()?.into_iter().flatten().flatten().collect())
        }))
    }

    /// Another connection, that is known to whoever hangs up.
    pub fn connect(&self) -> Result<D::Wire, WireError> {
        let wire = D::Wire::connect(&self.address)?;
        self.lines.add(wire.channel().line(), wire.number());
        Ok(wire)
    }

    /// Ends all connections, on our side and on the server's, which would only notice when it has an answer.
    pub fn hang_up(&self) {
        let numbers = self.lines.hang_up();
        let Ok(mut wire) = D::Wire::connect(&with_short_timeout(&self.address)) else { return };
        let _ =
            wire.limit(Some(ABORT_TIMEOUT)).and_then(|()| self.dialect.end(&mut wire, &numbers));
    }
}
