//! A server with a copy of the data, and what variants need of it ([`Levels`]).

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hopcost_core::{
    Code, Counted, DataPlacement, Dataset, Known, Locality, Look, Reading, SessionPlacement, Setup,
    Statement, TargetError, VariantSettings,
};

use super::super::ledger::Ledger;
use super::super::wanted;
use super::address::Address;
use super::audit_log::AuditLog;
use super::dialect::Dialect;
use super::filling::Filler;
use super::memory::ServerMemory;
use super::open_connections::{ABORT_TIMEOUT, OpenConnections, with_short_timeout};
use super::process::{Process, is_here};
use super::run_directory::RunDirectory;
use super::waits::Waits;
use super::wire::{Wire, WireError};

pub struct Asked<'a> {
    pub statements: &'a [Statement],
    pub dataset: Option<&'static dyn Dataset>,
    pub variant: &'a VariantSettings,
    pub at: SessionPlacement,
    pub filler: Option<&'a Filler>,
}

pub trait Witness<W> {
    fn begin_counting(&mut self) {}

    fn called(&mut self) {}

    fn answered(&mut self) {}

    fn counted(&mut self, _wire: &mut W, _counted: &mut Counted) {}
}

impl<W> Witness<W> for () {}

pub struct Opened<'a> {
    pub address: &'a Address,
    pub lines: &'a OpenConnections,
    pub is_own: bool,
}

/// How a kind of server applies a variant, what it reports, and what its sessions prove.
pub trait Levels: Dialect {
    type Witness: Witness<Self::Wire>;
    type Beside: Send + Sync;
    type AuditLog: AuditLog;

    fn beside(
        &self,
        admin: &mut Self::Wire,
        opened: &Opened<'_>,
    ) -> Result<Self::Beside, TargetError>;

    /// All calls of a connection, in the order of the statements.
    fn calls(
        &self,
        copy: &ServerCopy<Self>,
        wire: &mut Self::Wire,
        asked: &Asked<'_>,
    ) -> Result<Vec<Self::Call>, TargetError>;

    /// `None` for the server's own address. An error if this server cannot apply the variant.
    fn address(
        &self,
        _copy: &ServerCopy<Self>,
        _variant: &VariantSettings,
        _at: SessionPlacement,
    ) -> Result<Option<Address>, TargetError> {
        Ok(None)
    }

    /// Starts the audit log; `None` if the witness counts instead.
    fn audit_log(&self, _copy: &ServerCopy<Self>) -> Result<Option<Self::AuditLog>, TargetError> {
        Ok(None)
    }

    fn after_calls(
        &self,
        _copy: &ServerCopy<Self>,
        _wire: &mut Self::Wire,
        _variant: &VariantSettings,
    ) -> Result<(), WireError> {
        Ok(())
    }

    fn witness(
        &self,
        copy: &ServerCopy<Self>,
        wire: &Self::Wire,
        variant: &VariantSettings,
        at: SessionPlacement,
    ) -> Result<Self::Witness, TargetError>;

    /// Called before a window, after the log writers are pinned.
    fn enter_level(
        &self,
        _copy: &ServerCopy<Self>,
        _variant: &VariantSettings,
    ) -> Result<(), TargetError> {
        Ok(())
    }

    /// Called after a window, before the sessions are asked for their counts.
    fn leave_level(&self, _copy: &ServerCopy<Self>, _variant: &VariantSettings) -> Counted {
        Counted::default()
    }

    fn prove(&self, _copy: &ServerCopy<Self>, _look: Look) -> Known<Vec<Locality>> {
        Known::missing(Code::NotAsked, "the experiment does not say where the data is to be")
    }

    fn readings(&self, _copy: &ServerCopy<Self>) -> Vec<Reading> {
        Vec::new()
    }

    fn notes(&self, _copy: &ServerCopy<Self>) -> Vec<String> {
        Vec::new()
    }
}

pub fn prove_pages(ground: Option<&ServerMemory>, counted: &mut Counted) {
    if let Some(ground) = ground {
        counted.proved.insert(hopcost_core::Metric::PagesInPlace, ground.in_place());
    }
}

/// Fields are ordered so that what depends on the server is dropped first.
pub struct ServerCopy<D: Levels> {
    pub dialect: Arc<D>,
    pub beside: D::Beside,
    /// Sampling starts at the first use. `None` if the server cannot report waits.
    waits: OnceLock<Option<Waits>>,
    audit_log: Mutex<Option<Arc<D::AuditLog>>>,
    /// The admin connection. Its backend has touched all data that is measured.
    admin: Mutex<D::Wire>,
    pub lines: OpenConnections,
    pub ground: Option<ServerMemory>,
    pub address: Address,
    /// Must sessions call [`Dialect::enter`] to find hopcost's tables?
    pub enters: bool,
    pub home: DataPlacement,
    /// Kernel ids; empty if backends write the log.
    pub log_writers: Vec<u32>,
    /// Rows of the table that all connections fill.
    pub filled: Arc<Ledger>,
    /// The process, if it is on this host and hopcost may place it.
    pub process: Option<u32>,
    /// The process and its directory, if hopcost started it.
    pub own: Option<(Process, RunDirectory)>,
}

pub struct Reached<D: Dialect> {
    pub address: Address,
    pub admin: D::Wire,
    pub enters: bool,
    pub own: Option<(Process, RunDirectory)>,
}

impl<D: Levels> ServerCopy<D> {
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

    pub fn value(&self, sql: &str) -> Option<String> {
        self.admin().value(sql).ok().flatten()
    }

    pub fn audit_log(&self) -> Result<Option<Arc<D::AuditLog>>, TargetError> {
        let mut audit_log = self.audit_log.lock().unwrap_or_else(PoisonError::into_inner);
        if audit_log.is_none() {
            *audit_log = self.dialect.audit_log(self)?.map(Arc::new);
        }
        Ok(audit_log.clone())
    }

    pub fn begun_audit_log(&self) -> Option<Arc<D::AuditLog>> {
        self.audit_log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Samples of what its backends wait for; `None` if the server does not report them.
    pub fn waits(&self) -> Option<&Waits> {
        // A server that refuses connections is reported by others.
        let watch = || self.watch_waits(self.dialect.profile().waits?).ok();
        self.waits.get_or_init(watch).as_ref()
    }

    fn watch_waits(&self, sql: &'static str) -> Result<Waits, WireError> {
        let mut wire = self.connect()?;
        // Dropping `Waits` joins its thread, which must not block forever.
        wire.limit(Some(self.address.patience))?;
        Ok(Waits::watch(move || {
            Some(wire.query(sql).ok()?.into_iter().flatten().flatten().collect())
        }))
    }

    pub fn connect(&self) -> Result<D::Wire, WireError> {
        let wire = D::Wire::connect(&self.address)?;
        self.lines.add(wire.channel().line(), wire.number());
        Ok(wire)
    }

    /// Closes all connections here and on the server, which would notice only when it answers.
    pub fn hang_up(&self) {
        let numbers = self.lines.hang_up();
        let Ok(mut wire) = D::Wire::connect(&with_short_timeout(&self.address)) else { return };
        let _ =
            wire.limit(Some(ABORT_TIMEOUT)).and_then(|()| self.dialect.end(&mut wire, &numbers));
    }
}
