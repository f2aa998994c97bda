//! **postgres**: PostgreSQL 13 and later, managed or existing.
//!
//! Method: each session's backend is pinned where the experiment wants the work done. All tables
//! are read into the shared buffers first, and the node of these is proved.
//!
//! Limits: page accesses are not counted, only which pages each backend has touched.

mod address;
mod audit;
mod buffer_view;
mod calls;
mod home;
mod housing;
mod parallel;
mod run;
mod schema;
mod script;
mod statistics;
mod types;
mod warm;
mod wire;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hopcost_core::{
    Capabilities, Code, Counted, Dataset, Known, Locality, Look, Lookups, Metric, PageSize,
    Parallel, ProofMethod, Reading, Reason, Restriction, SessionPlacement, Setting, Setup,
    Statement, Table, TargetError, VariantSettings,
};
use hopcost_sys::memory::Foreign;
use hopcost_sys::{Root, processes};

use super::Wanted;
use super::restrictions::{NO_BATCHES, NO_PAGES, no_planting, one_server};
use super::server::address::{Address, Asked, Environment, is_of_running};
use super::server::audit_log::{AuditLineParser, AuditLogReader};
use super::server::copy::{self, Levels, Opened, ServerCopy, prove_pages};
use super::server::dialect::{Dialect, Profile};
use super::server::loader::Loader;
use super::server::managed;
use super::server::memory::ServerMemory;
use super::server::nodes::Nodes;
use super::server::tables::Tables;
use super::server::target::{Kind, Start};
use super::server::wire::{Wire as _, WireError};
pub use address::read;
use audit::ServerLog;
use buffer_view::BufferView;
use calls::{Call, Ready, name_of, numbered};
use parallel::{Team, Watch};
use run::PostgresDialect;
use script::Client;
use statistics::Teller;
pub use wire::Wire;

const PROFILE: Profile = Profile {
    name: "PostgreSQL",
    scheme: "postgres",
    processes: &["postgres"],
    waits: Some(
        "SELECT coalesce(wait_event_type || ':' || wait_event, 'none') FROM pg_stat_activity \
         WHERE state = 'active' AND pid <> pg_backend_pid() \
         AND backend_type IN ('client backend', 'parallel worker')",
    ),
    patience: None,
};

pub struct Postgres;

impl Kind for Postgres {
    type Dialect = PostgresDialect;
    /// A backend without the shared buffers, and a server.
    const BYTES: [u64; 2] = [8 << 20, 256 << 20];
    const START: Option<Start<PostgresDialect>> = Some(managed::open);

    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn about(&self) -> &'static str {
        "PostgreSQL: postgres:managed is a server of its own, postgres://… one that runs"
    }

    fn read(&self, rest: &str, environment: Environment<'_>) -> Result<Asked, Reason> {
        read(rest, environment)
    }

    fn capabilities(&self, address: &str) -> Capabilities {
        if is_of_running(address) { RUNNING } else { MANAGED }
    }

    fn dialect(
        &self,
        _: Option<&Address>,
        setup: Option<&Setup<'_>>,
    ) -> Result<PostgresDialect, TargetError> {
        let statements = setup.map_or(Vec::new(), |setup| setup.spec().statements);
        let ready = statements.iter().enumerate().map(|(n, statement)| Ready::of(n, statement));
        Ok(PostgresDialect {
            ready: ready.collect::<Result<_, _>>()?,
            nodes: setup.map(|setup| Nodes::of(setup.machine)).unwrap_or_default(),
            is_emulated: setup.is_some_and(|setup| setup.emulation.is_some()),
            dop: AtomicU32::new(0),
        })
    }
}

/// Measures the cost of loading alone.
pub fn fill(
    address: &Address,
    dataset: &dyn Dataset,
    index: usize,
    table: Table,
) -> Result<(), TargetError> {
    let dialect = &Postgres.dialect(None, None)?;
    dialect.make(&mut Wire::connect(address)?, &table)?;
    let loader = Loader { dialect, address, enters: false, dataset };
    loader.fill(&Wanted { index, table }, &mut |_| Ok(()))
}

const MANAGED: Capabilities =
    Capabilities::but(&[NO_PAGES, NO_PLANTING, NO_BATCHES]).offering(&[Setting::HugePages]);
const RUNNING: Capabilities = Capabilities::but(&[
    NO_PAGES,
    NO_PLANTING,
    Restriction::of(
        &[Setting::EmulatedNodes],
        Code::NotPlaceable,
        "the shared buffers of an existing server cannot be placed on emulated nodes. Use it without \
         --emulate, or use postgres:managed",
    ),
    NO_BATCHES,
    one_server!("postgres"),
    Restriction::of(&[Setting::Postmaster], Code::Unsupported, NOT_OURS),
    Restriction::of(&[Setting::Audit], Code::Unsupported, NOT_AUDITED),
]);
const NO_PLANTING: Restriction = no_planting!("PostgreSQL");
const NOT_OURS: &str = "\
    this variant pins the postmaster; on an existing server that would affect all its users. Use \
    postgres:managed, or leave the variant out";
const NOT_AUDITED: &str = "\
    this variant logs every statement; hopcost neither fills nor reads the log of an existing server. Use \
    postgres:managed";
const LEFT_ALONE: &str = "it would touch every page of a server that is not ours";

impl Dialect for PostgresDialect {
    type Wire = Wire;
    type Call = Call;

    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn worker(&self, wire: &mut Wire) -> Result<Option<u32>, WireError> {
        Ok(Some(wire.number()))
    }

    /// A backend that commits synchronously writes the log itself.
    fn log_writers(&self, wire: &mut Wire) -> Result<Vec<u32>, WireError> {
        let sql = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'";
        let pid = wire.value(sql)?.and_then(|pid| pid.parse().ok());
        let commits_later = wire.value("SHOW synchronous_commit")?.as_deref() == Some("off");
        Ok(pid.filter(|_| commits_later).into_iter().collect())
    }

    fn memory(&self, _process: u32, worker: u32) -> Option<Foreign> {
        Foreign::largest_shared(worker).ok().flatten()
    }

    fn enter(&self, wire: &mut Wire) -> Result<(), WireError> {
        wire.query("SET search_path TO hopcost, public").map(drop)
    }

    fn warm(&self, wire: &mut Wire, _: &[Wanted]) -> Result<(), WireError> {
        warm::read_everything(wire)
    }

    fn before_calls(&self, wire: &mut Wire, variant: &VariantSettings) -> Result<(), WireError> {
        let parallel = variant.parallel.map(|parallel| parallel::settings(parallel.dop));
        let audit = variant.session.audit.map(|audit| audit::settings(audit).to_owned());
        parallel.into_iter().chain(audit).try_for_each(|sql| wire.query(&sql).map(drop))
    }

    fn explain(
        &self,
        wire: &mut Wire,
        n: usize,
        statement: &Statement,
        example: &[i64; 4],
    ) -> Result<Vec<String>, WireError> {
        // A script may change data: it is not run.
        if statement.script.is_some() {
            return Ok(vec!["a script".to_owned()]);
        }
        let dop = self.dop.load(Ordering::Relaxed);
        if dop > 0 {
            wire.query(&parallel::settings(dop))?;
        }
        let prepared = format!("explained_{}", name_of(n));
        let [types, _] = wire.prepare(&prepared, &numbered(statement.sql))?;
        let values = types.iter().zip(&example[..statement.arguments]);
        let values: Vec<String> = values.map(|(oid, value)| types::literal(*oid, *value)).collect();
        let list =
            if values.is_empty() { String::new() } else { format!("({})", values.join(", ")) };
        let rows = wire.query(&format!("EXPLAIN (COSTS OFF) EXECUTE {prepared}{list}"));
        wire.query(&format!("DEALLOCATE {prepared}"))?;
        if dop > 0 {
            wire.query(parallel::RESET)?;
        }
        Ok(rows?.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
    }

    /// A reused PID may belong to another user's session.
    fn end(&self, wire: &mut Wire, numbers: &[u32]) -> Result<(), WireError> {
        let pids: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        let end = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid IN ({}) \
             AND application_name = 'hopcost' AND usename = current_user",
            pids.join(", ")
        );
        wire.query(&end).map(drop)
    }
}

pub struct Beside {
    watch: OnceLock<Option<Arc<Watch>>>,
    view: Mutex<Result<BufferView, Reason>>,
    statistics: Teller,
    scale: u32,
}

impl Levels for PostgresDialect {
    type Witness = Witness;
    type AuditLog = AuditLogReader;
    type Beside = Beside;

    fn calls(
        &self,
        copy: &ServerCopy<Self>,
        wire: &mut Wire,
        asked: &copy::Asked<'_>,
    ) -> Result<Vec<Call>, TargetError> {
        let scripts = self.ready.iter().filter_map(Ready::script);
        let client = Client::new(asked.at, copy.beside.scale, scripts)?;
        let client = Rc::new(RefCell::new(client));
        let call = |(n, ready): (usize, &Ready)| match ready {
            Ready::Statement(statement) => calls::prepare(wire, n, statement, asked.filler),
            Ready::Script(compiled) => Ok(Call::Script(compiled, Rc::clone(&client))),
        };
        self.ready.iter().enumerate().map(call).collect()
    }

    fn beside(&self, admin: &mut Wire, opened: &Opened<'_>) -> Result<Beside, TargetError> {
        let left_alone = || Err(Code::NotAsked.because(LEFT_ALONE));
        let view = if opened.is_own { BufferView::of(admin) } else { left_alone() };
        let has_scripts = self.ready.iter().any(|ready| ready.script().is_some());
        Ok(Beside {
            watch: OnceLock::new(),
            view: Mutex::new(view),
            statistics: Teller::of(opened.address, opened.lines),
            scale: if has_scripts { scale(admin)? } else { 1 },
        })
    }

    fn address(
        &self,
        copy: &ServerCopy<Self>,
        variant: &VariantSettings,
        _: SessionPlacement,
    ) -> Result<Option<Address>, TargetError> {
        if let Some(Parallel { dop, postmaster, .. }) = variant.parallel {
            self.dop.fetch_max(dop, Ordering::Relaxed);
            if postmaster.is_some() && copy.own.is_none() {
                return Err(TargetError::NotHere(Code::Unsupported.because(NOT_OURS)));
            }
        }
        Ok(None)
    }

    fn audit_log(&self, copy: &ServerCopy<Self>) -> Result<Option<AuditLogReader>, TargetError> {
        let not_ours = || TargetError::NotHere(Code::Unsupported.because(NOT_AUDITED));
        let (process, _) = copy.own.as_ref().ok_or_else(not_ours)?;
        let scribe: Box<dyn AuditLineParser> = Box::new(ServerLog);
        AuditLogReader::open([(process.log(), scribe)]).map(Some).map_err(super::server::failed)
    }

    fn witness(
        &self,
        copy: &ServerCopy<Self>,
        wire: &Wire,
        variant: &VariantSettings,
        at: SessionPlacement,
    ) -> Result<Witness, TargetError> {
        let pid = wire.number();
        let is_placed = copy.process.is_some()
            && (at.backend_cpu.is_some() || variant.log_writer_cpu().is_some());
        // `None` too for a server on another host, or whose memory hopcost may not read.
        let memory = (is_placed && !self.is_emulated).then(|| self.memory(pid, pid)).flatten();
        let team = self.watch(copy).map(|watch| Team::of(watch, pid, at.node, variant.parallel));
        // When the memory policy varies, each session proves that of its server.
        let ground = copy.ground.as_ref().filter(|_| copy.home.copy.policy.is_some());
        let pages_as_asked = copy.home.copy.huge_pages.map(|asked| {
            let is_huge = run::pages(copy) != PageSize::Base;
            [u64::from(is_huge == asked), 1]
        });
        Ok(Witness { team, memory, ground: ground.cloned(), pages_as_asked })
    }

    fn enter_level(
        &self,
        copy: &ServerCopy<Self>,
        variant: &VariantSettings,
    ) -> Result<(), TargetError> {
        if let (Some(parallel), Some(_)) = (variant.parallel, &copy.own)
            && let Some(watch) = self.watch(copy)
        {
            watch.begin_workers_on(parallel.postmaster);
        }
        Ok(())
    }

    fn prove(&self, copy: &ServerCopy<Self>, look: Look) -> Known<Vec<Locality>> {
        let told = if look == Look::Full { by_its_view(copy) } else { None };
        let not_asked = || {
            Known::missing(Code::NotAsked, "the experiment does not say where the data is to be")
        };
        told.map_or_else(not_asked, |told| Known::Is(vec![told]))
    }

    fn readings(&self, copy: &ServerCopy<Self>) -> Vec<Reading> {
        let watch = copy.beside.watch.get().and_then(Option::as_ref);
        let told = copy.beside.statistics.read().into_iter();
        let told = told.map(|(gauge, value)| Reading { gauge, of: String::new(), value });
        watch.into_iter().flat_map(|watch| watch.readings()).chain(told).collect()
    }

    fn notes(&self, copy: &ServerCopy<Self>) -> Vec<String> {
        let version = copy.admin().major();
        let node = copy.ground.as_ref().and_then(ServerMemory::asked);
        let view = copy.beside.view.lock().unwrap_or_else(PoisonError::into_inner);
        let view = node.and_then(|node| match &*view {
            Ok(view) => view.summary(&mut copy.admin(), node).ok()?,
            Err(reason) => Some(format!("pg_buffercache_numa: missing, because {reason}")),
        });
        let missing = copy.beside.statistics.missing().iter();
        let missing = missing.map(|words| format!("of PostgreSQL {version}, {words}"));
        view.into_iter().chain(missing).collect()
    }
}

impl PostgresDialect {
    /// `None` when the server is on another host.
    fn watch<'a>(&self, copy: &'a ServerCopy<Self>) -> Option<&'a Arc<Watch>> {
        let watch = || {
            copy.process?;
            let pid = copy.admin().number();
            let all = processes::read(&Root::live()).ok()?;
            let postmaster = all.get(pid).map(|process| process.parent)?;
            Some(Arc::new(Watch::over(postmaster, &self.nodes)))
        };
        copy.beside.watch.get_or_init(watch).as_ref()
    }
}

/// `None` when the view is missing or was queried too recently.
fn by_its_view(copy: &ServerCopy<PostgresDialect>) -> Option<Locality> {
    let mut view = copy.beside.view.lock().unwrap_or_else(PoisonError::into_inner);
    let pages = view.as_mut().ok()?.ask(&mut copy.admin()).ok()??;
    copy.ground.as_ref()?.found(ProofMethod::BufferView, pages.by_node.clone(), pages.unknown)
}

pub struct Witness {
    team: Option<Team>,
    memory: Option<Foreign>,
    ground: Option<ServerMemory>,
    /// All of the shared memory, which is one mapping; `None` when no page size was asked for.
    pages_as_asked: Option<[u64; 2]>,
}

const PAGES_PER_LOOK: usize = 1 << 13;

impl copy::Witness<Wire> for Witness {
    // Pages are not reset: they count from the start of the connection.
    fn begin_counting(&mut self) {
        if let Some(team) = &mut self.team {
            team.begin_counting();
        }
    }

    fn answered(&mut self) {
        if let Some(team) = &mut self.team {
            team.answered();
        }
    }

    fn counted(&mut self, wire: &mut Wire, counted: &mut Counted) {
        statistics::hand_in(wire);
        if let Some(team) = &mut self.team {
            team.counted(&mut counted.proved);
        }
        prove_pages(self.ground.as_ref(), counted);
        let as_asked = self.pages_as_asked.map(|share| (Metric::PagesAsAsked, share));
        counted.proved.extend(as_asked);
        let pages = self.memory.as_ref().and_then(|memory| memory.pages(PAGES_PER_LOOK).ok());
        let lookups = |distinct_pages| Lookups { distinct_pages, ..Lookups::default() };
        counted.lookups = pages.map(|pages| lookups(pages.by_node));
    }
}

/// The scale of pgbench's tables, found as pgbench does; 1 without them, or if this user may not
/// read them.
fn scale(wire: &mut Wire) -> Result<u32, WireError> {
    const CAN_READ: &str = "SELECT true FROM pg_class WHERE oid = to_regclass('pgbench_branches')
                               AND has_table_privilege(oid, 'SELECT')";
    if wire.value(CAN_READ)?.is_none() {
        return Ok(1);
    }
    let count = wire.value("SELECT count(*) FROM pgbench_branches")?;
    Ok(count.and_then(|count| count.parse().ok()).unwrap_or(1))
}
