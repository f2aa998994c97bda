//! Servers that are up: sessions, proof, plans, and what they count themselves.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hopcost_core::{
    Code, Counted, CpuSet, DataPlacement, Instance, Known, Locality, Look, Metric, PageSize,
    Parallel, ProofMethod, Reading, Reason, Session, SessionPlacement, Setup, Statement,
    TargetError, VariantSettings,
};
use hopcost_sys::memory::Foreign;
use hopcost_sys::{Root, affinity, processes};

use super::super::ledger::Ledger;
use super::super::remote::address::Address;
use super::super::remote::first_arguments;
use super::super::remote::ground::Ground;
use super::super::remote::lines::Lines;
use super::super::remote::nodes::Nodes;
use super::super::remote::process::is_here;
use super::super::remote::quarters::Quarters;
use super::super::remote::trail::{Scribe, Trail};
use super::super::remote::waits::Waits;
use super::super::remote::{SERVED, failed};
use super::audit::ServerLog;
use super::buffer_view::BufferView;
use super::filling::Fillings;
use super::lines;
use super::parallel::{self, Watch};
use super::server::Server;
use super::session::{Connection, LogWriter, Opening, Ready, name_of, numbered};
use super::statistics::{self, Teller};
use super::waits;
use super::wire::{Wire, WireError};

/// A server with all the data. What depends on the server stands before it, so that it ends first.
pub struct Copy {
    /// Watched from when somebody first asks.
    waits: OnceLock<Option<Waits>>,
    /// Looks after parallel workers from the first session on.
    watch: OnceLock<Option<Arc<Watch>>>,
    /// What it has written down of statements, from when a session is first to be audited.
    trail: OnceLock<Option<Arc<Trail>>>,
    /// The connection that warmed it, and so has touched all that is measured.
    warden: Mutex<Wire>,
    /// All connections to it.
    lines: Lines,
    ground: Option<Ground>,
    /// What it tells of its memory itself, or why it is not asked.
    view: Mutex<Result<BufferView, Reason>>,
    statistics: Teller,
    /// How it is reached.
    pub address: Address,
    /// What each connection says first.
    pub greeting: &'static str,
    /// Where its memory is to be.
    home: DataPlacement,
    log_writer: Option<u32>,
    /// The rows of the table that all of its connections fill.
    filled: Arc<Ledger>,
    /// Are its processes on this host, and ours to place?
    is_placed: bool,
    own: Option<(Server, Quarters)>,
}

pub const NOT_OURS: &str = "\
    this level pins the postmaster, and that of a server that runs would stay where it was put for all of its \
    users: take postgres:managed, or leave the level out";

pub const NOT_AUDITED: &str = "\
    this level has each statement written down, and the log of a server that runs is not ours to fill or to \
    read: take postgres:managed";

const LOG_WRITER: &str = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'";

impl Copy {
    /// A server of our own, started for data in a home.
    pub fn own(
        server: Server,
        quarters: Quarters,
        home: DataPlacement,
        setup: &Setup<'_>,
    ) -> Result<Self, TargetError> {
        let mut warden = Wire::connect(&server.address).map_err(failed)?;
        warm(&mut warden).map_err(failed)?;
        let view = Mutex::new(BufferView::of(&mut warden));
        let copy = Self::of(server.address.clone(), warden, "", home)?;
        let ground = copy.ground.map(|ground| ground.at(setup, home));
        Ok(Self { ground, view, own: Some((server, quarters)), ..copy })
    }

    /// A server that runs. Where there is data of ours, it is warmed.
    pub fn of(
        address: Address,
        mut warden: Wire,
        greeting: &'static str,
        home: DataPlacement,
    ) -> Result<Self, TargetError> {
        if !greeting.is_empty() {
            warden.query(greeting).map_err(failed)?;
            warm(&mut warden).map_err(failed)?;
        }
        let is_placed = is_here(&address, warden.pid, &["postgres"]).is_some();
        let memory =
            is_placed.then(|| Foreign::largest_shared(warden.pid).ok().flatten()).flatten();
        let ground = memory.map(|memory| Ground::anywhere(memory, home.node));
        let log_writer = warden.value(LOG_WRITER).map_err(failed)?;
        let lines = Lines::default();
        lines.add(warden.line(), warden.pid);
        let statistics = Teller::of(&address, &lines);
        Ok(Self {
            waits: OnceLock::new(),
            watch: OnceLock::new(),
            trail: OnceLock::new(),
            warden: Mutex::new(warden),
            lines,
            ground,
            view: Mutex::new(Err(Code::NotAsked.because(LEFT_ALONE))),
            statistics,
            address,
            greeting,
            home,
            log_writer: log_writer.and_then(|pid| pid.parse().ok()),
            filled: Arc::default(),
            is_placed,
            own: None,
        })
    }

    fn waits(&self) -> Option<&Waits> {
        // A server that lets nobody in any more is told of by those who ask it for more.
        let watch = || waits::watch(&self.address, &self.lines).ok();
        self.waits.get_or_init(watch).as_ref()
    }

    /// Who looks after its parallel workers, where they are on this host.
    fn watch(&self, nodes: &Nodes) -> Option<&Arc<Watch>> {
        let watch = || {
            let pid = self.warden().pid;
            let all = processes::read(&Root::live()).ok()?;
            let postmaster = all.get(pid).map(|process| process.parent)?;
            Some(Arc::new(Watch::over(postmaster, nodes)))
        };
        self.watch.get_or_init(|| if self.is_placed { watch() } else { None }).as_ref()
    }

    /// What it writes down, where that is ours to read.
    fn trail(&self) -> Result<&Arc<Trail>, TargetError> {
        let scribe = || Box::new(ServerLog) as Box<dyn Scribe>;
        let open = || Trail::open([(self.own.as_ref()?.0.log(), scribe())]).ok().map(Arc::new);
        self.trail
            .get_or_init(open)
            .as_ref()
            .ok_or_else(|| TargetError::NotHere(Code::Unsupported.because(NOT_AUDITED)))
    }

    /// The server's version, in its own words.
    pub fn version(&self) -> String {
        self.warden().version.clone()
    }

    /// What its memory is made of.
    pub fn pages(&self) -> PageSize {
        self.ground.as_ref().map_or(PageSize::Base, Ground::page_size)
    }

    /// The connection that looks after it.
    pub fn warden(&self) -> MutexGuard<'_, Wire> {
        self.warden.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same as the server tells it, where it can and was not asked just now.
    fn by_its_view(&self) -> Option<Locality> {
        let mut view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        let pages = view.as_mut().ok()?.ask(&mut self.warden()).ok()??;
        self.ground.as_ref()?.found(ProofMethod::BufferView, pages.by_node.clone(), pages.unknown)
    }

    /// What its views said of its memory, or why they were not asked.
    fn note(&self) -> Option<String> {
        let node = self.ground.as_ref()?.asked()?;
        match &*self.view.lock().unwrap_or_else(PoisonError::into_inner) {
            Ok(view) => view.summary(&mut self.warden(), node).ok()?,
            Err(reason) => Some(format!("pg_buffercache_numa: missing, because {reason}")),
        }
    }
}

/// Why the views of a server that is not ours are left alone.
const LEFT_ALONE: &str = "it would touch every page of a server that is not ours";

/// Reads everything that our search path shows into the shared buffers.
fn warm(wire: &mut Wire) -> Result<(), WireError> {
    let relations = wire.query(RELATIONS)?;
    let has_prewarm = wire.value(HAS_PREWARM)?.is_some();
    // From version 18 on, processes of the server's own may have read for us: then what they brought is
    // touched once more, since the proof is by the pages that this connection has touched.
    let io_method = "SELECT setting FROM pg_settings WHERE name = 'io_method'";
    let is_read_by_others = wire.value(io_method)?.is_some_and(|method| method == "worker");
    for name in relations.into_iter().filter_map(|row| row.into_iter().next().flatten()) {
        let (name, is_index) =
            name.strip_prefix("i:").map_or((name.as_str(), false), |n| (n, true));
        let name = name.trim_start_matches("r:");
        if has_prewarm {
            wire.query(&format!("SELECT pg_prewarm('{name}'::regclass)"))?;
        }
        // Without the extension the table is read, once; its indexes come with their first use.
        if !is_index && (is_read_by_others || !has_prewarm) {
            wire.query(&format!("{BY_ITSELF} SELECT count(*) FROM {name}; COMMIT"))?;
        }
    }
    Ok(())
}

/// Our tables and indexes, as SQL names them.
const RELATIONS: &str = "\
    SELECT relkind::text || ':' || quote_ident(nspname) || '.' || quote_ident(relname) \
    FROM pg_class AS c, pg_namespace AS n WHERE n.oid = c.relnamespace \
    AND nspname = current_schema() AND relkind IN ('r', 'i')";

/// Has the next question answered from the table, by this connection's process alone.
const BY_ITSELF: &str = "BEGIN; SET LOCAL max_parallel_workers_per_gather = 0; \
                         SET LOCAL enable_indexonlyscan = off;";

const HAS_PREWARM: &str = "SELECT 1 FROM pg_extension WHERE extname = 'pg_prewarm'";

/// The servers of an experiment.
pub struct Cluster {
    copies: Vec<Copy>,
    statements: Vec<Ready>,
    /// Arguments with which each statement is explained.
    arguments: Vec<[i64; 4]>,
    identity: String,
    fillings: Option<Fillings>,
    /// What scripts find in their variable `scale`.
    scale: u32,
    /// Does a call end before the log is written?
    commits_later: bool,
    workers: Mutex<BTreeSet<u32>>,
    nodes: Nodes,
    /// Are nodes sets of CPUs, whose pages are all in one place?
    is_emulated: bool,
    /// Processes that work on a query, at most; 0 where the experiment does not say it.
    dop: AtomicU32,
    /// Have connections been sent and received for, many at once?
    are_served: Arc<AtomicBool>,
}

impl Cluster {
    /// Of these servers.
    pub fn new(
        setup: &Setup<'_>,
        copies: Vec<Copy>,
        identity: String,
    ) -> Result<Self, TargetError> {
        let statements = setup.spec().statements;
        let numbered = statements.iter().enumerate();
        let has_scripts = statements.iter().any(|statement| statement.script.is_some());
        let scale = if has_scripts { scale(&mut copies[0].warden()).map_err(failed)? } else { 1 };
        let commit = copies[0].warden().value("SHOW synchronous_commit").map_err(failed)?;
        Ok(Self {
            copies,
            statements: numbered.map(|(n, ready)| Ready::of(n, ready)).collect::<Result<_, _>>()?,
            arguments: first_arguments(setup),
            identity,
            fillings: Fillings::of(setup),
            scale,
            commits_later: commit.as_deref() == Some("off"),
            workers: Mutex::default(),
            nodes: Nodes::of(setup.machine),
            is_emulated: setup.emulation.is_some(),
            dop: AtomicU32::new(0),
            are_served: Arc::default(),
        })
    }

    /// The first of its servers.
    pub fn first(&self) -> &Copy {
        &self.copies[0]
    }

    /// The server that a seat asks for; the first where it leaves it open.
    fn copy_for(&self, at: SessionPlacement) -> Result<&Copy, TargetError> {
        let is_meant = |copy: &&Copy| at.data.is_none_or(|home| copy.home == home);
        let nowhere = || TargetError::Failed("there is no server for that place".to_owned());
        self.copies.iter().find(is_meant).ok_or_else(nowhere)
    }

    /// The servers of a variant; all, where it leaves that open, and the only one.
    fn copies_of(&self, variant: &VariantSettings) -> impl Iterator<Item = &Copy> {
        let homes = variant.copies();
        let is_any = homes.is_empty() || self.copies.len() == 1;
        self.copies.iter().filter(move |copy| is_any || homes.contains(&copy.home))
    }

    /// What a reader of the result should know of what these servers told, and did not.
    pub fn notes(&self) -> Vec<String> {
        let version = self.first().warden().major();
        let missing = self.first().statistics.missing().iter();
        let missing = missing.map(|words| format!("of PostgreSQL {version}, {words}"));
        let mut notes: Vec<String> = self.copies.iter().filter_map(Copy::note).collect();
        // Servers of one version have the same things missing.
        notes.dedup();
        notes.extend(missing);
        if self.are_served.load(Ordering::Relaxed) {
            notes.push(SERVED.to_owned());
        }
        notes
    }

    fn explain(&self, wire: &mut Wire, n: usize) -> Result<String, WireError> {
        let Statement { name, sql, arguments, .. } = match self.statements[n] {
            Ready::Statement(statement) => statement,
            // What it sends is the user's own, and may change data: it is not tried out.
            Ready::Script(compiled) => {
                return Ok(format!("{}\na script", compiled.script.name()));
            }
        };
        if sql.starts_with("COPY") {
            return Ok(format!(
                "{name}\n  rows packed beforehand, into a table of the connection's own"
            ));
        }
        let prepared = format!("explained_{}", name_of(n));
        let [types, _] = wire.prepare(&prepared, &numbered(sql))?;
        let values: Vec<String> = types
            .iter()
            .zip(&self.arguments[n][..arguments])
            .map(|(oid, value)| super::types::literal(*oid, *value))
            .collect();
        let list =
            if values.is_empty() { String::new() } else { format!("({})", values.join(", ")) };
        let rows = wire.query(&format!("EXPLAIN (COSTS OFF) EXECUTE {prepared}{list}"));
        wire.query(&format!("DEALLOCATE {prepared}"))?;
        let lines = rows?.into_iter().filter_map(|row| row.into_iter().next().flatten());
        Ok([name.to_owned()].into_iter().chain(lines).collect::<Vec<_>>().join("\n"))
    }
}

impl Instance for Cluster {
    fn identity(&self) -> String {
        self.identity.clone()
    }

    fn session(
        &self,
        variant: &VariantSettings,
        at: SessionPlacement,
    ) -> Result<Box<dyn Session>, TargetError> {
        let copy = self.copy_for(at)?;
        if let Some(Parallel { dop, postmaster, .. }) = variant.parallel {
            self.dop.fetch_max(dop, Ordering::Relaxed);
            if postmaster.is_some() && copy.own.is_none() {
                return Err(TargetError::NotHere(Code::Unsupported.because(NOT_OURS)));
            }
        }
        let audited = variant
            .session
            .audit
            .map(|audit| copy.trail().map(|trail| (audit, trail)))
            .transpose()?;
        // Who commits at once writes the log itself: its place is the log writer's.
        let (cpu, log_writer) = match (variant.log_writer_cpu(), copy.log_writer) {
            (Some(log_writer), Some(pid)) if self.commits_later => {
                (at.backend_cpu, Some(LogWriter { pid, cpu: log_writer }))
            }
            (Some(log_writer), _) => {
                (Some(log_writer), Some(LogWriter { pid: 0, cpu: log_writer }))
            }
            (None, _) => (at.backend_cpu, None),
        };
        let session = Connection::open(&Opening {
            address: &copy.address,
            lines: &copy.lines,
            greeting: copy.greeting,
            statements: &self.statements,
            variant,
            at,
            scale: self.scale,
            cpu: cpu.filter(|_| copy.is_placed),
            log_writer: log_writer.filter(|_| copy.is_placed),
            watch: copy.watch(&self.nodes),
            audited,
            tells_pages: !self.is_emulated,
            // Where a policy is what varies, each connection proves that of its server.
            ground: copy.ground.as_ref().filter(|_| copy.home.copy.policy.is_some()),
            filling: self.fillings.as_ref().map(|fillings| (fillings, &copy.filled)),
            is_served: &self.are_served,
        })?;
        if copy.is_placed {
            self.workers.lock().unwrap_or_else(PoisonError::into_inner).insert(session.pid());
        }
        Ok(Box::new(session))
    }

    fn enter_variant(&self, variant: &VariantSettings) -> Result<(), TargetError> {
        for copy in self.copies_of(variant) {
            // A log writer of its own serves all arms in turn: where it cannot be moved, the proof will tell.
            let log_writer = copy.log_writer.filter(|_| copy.is_placed && self.commits_later);
            if let (Some(pid), Some(cpu)) = (log_writer, variant.log_writer_cpu()) {
                place(pid, &CpuSet::from_iter([cpu]));
            }
            if let (Some(parallel), Some(_)) = (variant.parallel, &copy.own)
                && let Some(watch) = copy.watch(&self.nodes)
            {
                watch.begin_workers_on(parallel.postmaster);
            }
        }
        Ok(())
    }

    fn leave_variant(&self, variant: &VariantSettings) -> Counted {
        let Some(fillings) = &self.fillings else { return Counted::default() };
        let counted = |copy: &Copy| {
            let rows = fillings.counted(&mut copy.warden(), &copy.filled);
            let proved = rows.map(|rows| (Metric::RowsCounted, rows)).into_iter().collect();
            Counted { proved, ..Counted::default() }
        };
        Counted::sum(self.copies_of(variant).map(counted))
    }

    fn prove(&self, look: Look) -> Known<Vec<Locality>> {
        let grounds = self.copies.iter().filter_map(|copy| copy.ground.as_ref());
        let mut homes: Vec<Locality> = grounds.filter_map(|ground| ground.locality(look)).collect();
        if look == Look::Full {
            homes.extend(self.copies.iter().filter_map(Copy::by_its_view));
        }
        if homes.is_empty() {
            return Known::missing(
                Code::NotAsked,
                "the experiment does not say where the data is to be",
            );
        }
        Known::Is(homes)
    }

    fn plans(&self) -> Result<Vec<String>, TargetError> {
        let mut warden = self.copies[0].warden();
        let dop = self.dop.load(Ordering::Relaxed);
        if dop > 0 {
            warden.query(&parallel::settings(dop)).map_err(failed)?;
        }
        let explained = |n| self.explain(&mut warden, n).map_err(failed);
        let plans = (0..self.statements.len()).map(explained).collect();
        if dop > 0 {
            warden.query(parallel::RESET).map_err(failed)?;
        }
        plans
    }

    fn workers(&self) -> Vec<u32> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }

    fn readings(&self) -> Vec<Reading> {
        let mut readings = Waits::readings(self.copies.iter().filter_map(Copy::waits));
        let watches = self.copies.iter().filter_map(|copy| copy.watch.get()?.as_ref());
        readings.extend(watches.flat_map(|watch| watch.readings()));
        let told = self.copies.iter().flat_map(|copy| copy.statistics.read());
        readings.extend(statistics::sum(told));
        readings
    }

    fn hang_up(&self) {
        for copy in &self.copies {
            lines::hang_up(&copy.lines, &copy.address);
        }
    }

    fn close(self: Box<Self>) -> Result<Vec<String>, TargetError> {
        Ok(self.notes())
    }
}

/// The scale of pgbench's own tables, as it finds it out itself; 1 where there are none.
fn scale(wire: &mut Wire) -> Result<u32, WireError> {
    if wire.value("SELECT to_regclass('pgbench_branches')")?.is_none() {
        return Ok(1);
    }
    let count = wire.value("SELECT count(*) FROM pgbench_branches")?;
    Ok(count.and_then(|count| count.parse().ok()).unwrap_or(1))
}

/// Puts a process in its place, where it is not there yet.
pub fn place(pid: u32, cpus: &CpuSet) -> bool {
    affinity::mask_of(pid).is_ok_and(|mask| mask == *cpus) || affinity::pin_other(pid, cpus).is_ok()
}
