//! A server with all the data, who looks after it, and what levels ask of it ([`Levels`]).

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

/// What the calls of a connection are about.
pub struct Asked<'a> {
    pub statements: &'a [Statement],
    pub dataset: Option<&'static dyn Dataset>,
    pub variant: &'a VariantSettings,
    pub at: SessionPlacement,
    /// What it fills, if it does.
    pub filler: Option<&'a Filler>,
}

/// What a session of this kind proves beside what all do.
pub trait Witness<W> {
    /// Counts from here on.
    fn begin_counting(&mut self) {}

    /// A call was sent.
    fn called(&mut self) {}

    /// It was answered.
    fn answered(&mut self) {}

    /// What was seen since then, into what the session counted.
    fn counted(&mut self, _wire: &mut W, _counted: &mut Counted) {}
}

/// Nothing more is known of a session.
impl<W> Witness<W> for () {}

/// What is known of a server when its dialect may look at it.
pub struct Opened<'a> {
    pub address: &'a Address,
    pub lines: &'a OpenConnections,
    /// Was it started by hopcost?
    pub is_own: bool,
}

/// What a level asks of a server, what the server tells of it, and what its sessions prove.
pub trait Levels: Dialect {
    type Witness: Witness<Self::Wire>;
    /// What it has beside each copy of the data.
    type Beside: Send + Sync;
    /// How what it writes down of statements is known.
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

    /// Where a session connects to, if not where all do. An error if this server cannot do what the level asks for.
    fn address(
        &self,
        _copy: &ServerCopy<Self>,
        _variant: &VariantSettings,
        _at: SessionPlacement,
    ) -> Result<Option<Address>, TargetError> {
        Ok(None)
    }

    /// What it writes down of statements, from now on; none if its witness knows.
    fn audit_log(&self, _copy: &ServerCopy<Self>) -> Result<Option<Self::AuditLog>, TargetError> {
        Ok(None)
    }

    /// What a session says once its statements are compiled.
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

    /// Before a window, once the log writers are in their place.
    fn enter_level(
        &self,
        _copy: &ServerCopy<Self>,
        _variant: &VariantSettings,
    ) -> Result<(), TargetError> {
        Ok(())
    }

    /// After a window, before anybody is asked what was counted.
    fn leave_level(&self, _copy: &ServerCopy<Self>, _variant: &VariantSettings) -> Counted {
        Counted::default()
    }

    /// Where the server itself says that its memory is.
    fn prove(&self, _copy: &ServerCopy<Self>, _look: Look) -> Known<Vec<Locality>> {
        Known::missing(Code::NotAsked, "the experiment does not say where the data is to be")
    }

    /// What it counts.
    fn readings(&self, _copy: &ServerCopy<Self>) -> Vec<Reading> {
        Vec::new()
    }

    /// What a reader of the result should know of it.
    fn notes(&self, _copy: &ServerCopy<Self>) -> Vec<String> {
        Vec::new()
    }
}

/// What a session proves of pages in their place, of a server whose memory is known.
pub fn prove_pages(ground: Option<&ServerMemory>, counted: &mut Counted) {
    if let Some(ground) = ground {
        counted.proved.insert(hopcost_core::Metric::PagesInPlace, ground.in_place());
    }
}

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
