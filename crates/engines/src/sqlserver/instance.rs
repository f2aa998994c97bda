//! A server that is up: sessions, proof, plans, and what it counts itself.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hopcost_core::{
    Audit, Code, Counted, CpuSet, Dataset, Gauge, Instance, Known, Locality, Look, Machine, Metric,
    NodeId, Reading, Session, SessionPlacement, Setup, Statement, TargetError, VariantSettings,
    gauge,
};

use super::super::ledger::Ledger;
use super::super::server::address::Address;
use super::super::server::lines::{FAREWELL, Lines, in_a_hurry};
use super::super::server::{SERVED, failed};
use super::super::restrictions::UNAUDITED_LOADS;
use super::address::Own;
use super::affinity::Affinity;
use super::audit::Auditing;
use super::filling::Fillings;
use super::layout::{self, Watch};
use super::scripts;
use super::session::{Connection, Opening, Spoken};
use super::wire::{Rows, Wire, WireError, is_local};
use super::writers::{self, Post};

/// A server with all the data.
pub struct Server {
    /// The connection that looks after it.
    warden: Mutex<Wire>,
    lines: Lines,
    address: Address,
    own: Own,
    affinity: Option<Arc<Affinity>>,
    may_audit: bool,
    /// Who has statements written down, from when a session is first to be audited.
    auditing: Mutex<Option<Arc<Auditing>>>,
    /// Who tells what was looked up from a node.
    watches: Mutex<BTreeMap<NodeId, Watch>>,
    statements: Vec<Statement>,
    dataset: Option<&'static dyn Dataset>,
    machine: Machine,
    /// The CPUs of each node, where the server is on this host.
    nodes: BTreeMap<NodeId, CpuSet>,
    fillings: Option<Fillings>,
    filled: Arc<Ledger>,
    identity: String,
    /// What it tells of itself, and what it does not let us know.
    told: Vec<String>,
    /// Where the data is to be, where that is one node.
    home: Option<NodeId>,
    are_served: Arc<AtomicBool>,
}

/// Ends all connections, on our side and on the server's, which would only notice when it has an answer.
fn hang_up(lines: &Lines, address: &Address) {
    let ours = lines.hang_up();
    let Ok(mut wire) = Wire::connect(&in_a_hurry(address)) else { return };
    if wire.limit(Some(FAREWELL)).is_err() {
        return;
    }
    let Ok(sql) = scripts::sql("end_stragglers", &wire.version) else { return };
    let there = wire.query(sql).unwrap_or_default().into_iter().flatten().flatten();
    let numbers = there.filter_map(|number| number.parse().ok());
    for number in numbers.filter(|number| ours.contains(number)) {
        // It may have ended meanwhile.
        let _ = wire.query(&format!("KILL {number}"));
    }
}

/// Who asks between windows is in nobody's way.
const AT_ONCE: Duration = Duration::from_secs(2);
/// A look at each of them takes longer.
const FOR_ALL_BUFFERS: Duration = Duration::from_mins(1);
/// And so does reading what was written down.
const FOR_ALL_FILES: Duration = Duration::from_mins(1);

pub const MAY_NOT_AUDIT: &str = "\
    to have statements written down the server is changed, which takes --allow-server-changes and data that comes and \
    goes with the run";

pub const IS_NOT_BOUND: &str = "\
    the log writers stay where the server has them, so that it is bound to where the inserter belongs: that takes \
    --allow-server-changes, a server on this host, and data that comes and goes with the run";

impl Server {
    /// Makes it ready for sessions.
    pub fn new(
        setup: &Setup<'_>,
        address: Address,
        own: Own,
        mut warden: Wire,
        (affinity, may_audit): (Option<Affinity>, bool),
        identity: String,
    ) -> Result<Self, TargetError> {
        let fillings = Fillings::of(setup, warden.collation());
        let mut told = layout::told(&mut warden);
        told.extend(untold(&mut warden));
        warden.limit(Some(AT_ONCE)).map_err(failed)?;
        let is_here = is_local(&address);
        let nodes = setup.machine.nodes.iter().filter(|_| is_here);
        let dataset = setup.dataset.map(Dataset::name);
        let dataset = dataset.and_then(|name| {
            hopcost_data::datasets::DATASETS.iter().copied().find(|dataset| dataset.name() == name)
        });
        let lines = Lines::default();
        lines.add(warden.line(), warden.number);
        Ok(Self {
            warden: Mutex::new(warden),
            lines,
            address,
            own,
            affinity: affinity.map(Arc::new),
            may_audit,
            auditing: Mutex::default(),
            watches: Mutex::default(),
            statements: setup.spec().statements,
            dataset,
            machine: setup.machine.clone(),
            nodes: nodes.map(|node| (node.id, node.cpus.clone())).collect(),
            fillings,
            filled: Arc::default(),
            identity,
            told,
            home: setup.homes.first().and_then(|home| home.node),
            are_served: Arc::default(),
        })
    }

    pub fn warden(&self) -> MutexGuard<'_, Wire> {
        self.warden.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Is what is filled in no buffer?
    fn is_in_memory(&self) -> bool {
        self.fillings.as_ref().is_some_and(Fillings::is_in_memory)
    }

    /// Something more that is to be known of it.
    pub fn note(&mut self, words: &str) {
        self.told.push(words.to_owned());
    }

    /// The port that leads to a session's node, and not to one of its CPUs.
    fn port_of(&self, variant: &VariantSettings, at: SessionPlacement) -> Option<u16> {
        let port = at.node.and_then(|node| self.own.ports.get(&node.0)).copied();
        port.filter(|_| variant.log_writer.is_none() || at.backend_cpu.is_none())
    }

    /// Where the whole server belongs for a variant, if that is known.
    fn cpus_of(
        &self,
        variant: &VariantSettings,
        at: SessionPlacement,
    ) -> Result<Option<CpuSet>, TargetError> {
        if let Some(post) = self.post(variant, at)? {
            return Ok(Some(CpuSet::from_iter([post.cpu])));
        }
        let nodes = variant.at.iter().chain(&variant.nodes);
        let cpus: CpuSet =
            nodes.filter_map(|node| self.nodes.get(node)).flat_map(CpuSet::iter).collect();
        Ok(Some(cpus).filter(|cpus| !cpus.is_empty()))
    }

    /// From here on the look-ups of a node's workers count. The server counts for all sessions at once.
    fn watch(&self, node: NodeId) -> Result<(), TargetError> {
        let mut watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        let watch = match watches.entry(node) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let wire = Wire::connect(&self.address).map_err(failed)?;
                wire.limit(Some(AT_ONCE)).map_err(failed)?;
                self.lines.add(wire.line(), wire.number);
                new.insert(Watch::new(wire, node, self.home))
            }
        };
        watch.begin();
        Ok(())
    }

    /// Where a session works whose distance from the log writers is asked for.
    fn post(
        &self,
        variant: &VariantSettings,
        at: SessionPlacement,
    ) -> Result<Option<Post>, TargetError> {
        let (Some(worker), Some(log_writer)) = (at.backend_cpu, variant.log_writer_cpu()) else {
            return Ok(None);
        };
        if self.affinity.is_none() {
            return Err(TargetError::NotHere(Code::NotPlaceable.because(IS_NOT_BOUND)));
        }
        let writers = writers::cpus(&mut self.warden()).map_err(failed)?;
        let post = Post::of([worker, log_writer], &self.machine, &writers);
        post.map(Some).map_err(TargetError::NotHere)
    }

    /// Who has statements written down.
    fn auditing(&self) -> Result<Arc<Auditing>, TargetError> {
        let mut auditing = self.auditing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(auditing) = &*auditing {
            return Ok(Arc::clone(auditing));
        }
        if !self.may_audit {
            return Err(TargetError::NotHere(Code::RightsMissing.because(MAY_NOT_AUDIT)));
        }
        if self.fillings.as_ref().is_some_and(Fillings::is_load) {
            return Err(TargetError::NotHere(Code::Unsupported.because(UNAUDITED_LOADS.words)));
        }
        let wire = Wire::connect(&self.address).map_err(failed)?;
        wire.limit(Some(FOR_ALL_FILES)).map_err(failed)?;
        self.lines.add(wire.line(), wire.number);
        let made = Arc::new(Auditing::new(wire, self.own.tracer).map_err(failed)?);
        *auditing = Some(Arc::clone(&made));
        Ok(made)
    }

    /// What is to be known of it beside its figures.
    pub fn notes(&self) -> Vec<String> {
        let is_served = self.are_served.load(Ordering::Relaxed);
        let auditing = self.auditing.lock().unwrap_or_else(PoisonError::into_inner);
        let trouble = auditing.as_ref().and_then(|auditing| auditing.trouble());
        let served = is_served.then(|| SERVED.to_owned());
        served.into_iter().chain(trouble).chain(self.told.clone()).collect()
    }

    fn explain(&self, warden: &mut Wire, statement: &Statement) -> Result<String, WireError> {
        if self.fillings.is_some() {
            return Ok(format!("{}\n  rows of its own making", statement.name));
        }
        let spoken = Spoken::of(statement, self.dataset, 1);
        let declared = if spoken.declared.is_empty() {
            String::new()
        } else {
            format!("DECLARE {}; ", spoken.declared)
        };
        let [on, off] = ["plan_on", "plan_off"].map(|name| scripts::sql(name, &warden.version));
        let (Ok(on), Ok(off)) = (on, off) else { return Ok(statement.name.to_owned()) };
        warden.query(on)?;
        let plan = warden.query(&format!("{declared}{}", spoken.sql));
        warden.query(off)?;
        // What only speaks as SQL Server does may have carried it out instead.
        let plans = plan?.into_iter().flatten().flatten().filter(|line| line.starts_with('<'));
        let plans: Vec<String> = plans.collect();
        let plan = if plans.is_empty() { NO_PLAN.to_owned() } else { plans.join("\n") };
        Ok(format!("{}\n{plan}", statement.name))
    }
}

const NO_PLAN: &str = "  the server shows no plan as XML";

/// What the server does not let us know: its own counts, where the login may not look or they are not there.
fn untold(warden: &mut Wire) -> Vec<String> {
    if !layout::may_look(warden) {
        return vec![layout::MAY_NOT_LOOK.to_owned()];
    }
    let mut missing: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (name, _) in COUNTS {
        let asked = scripts::sql(name, &warden.version).map_err(|reason| reason.to_string());
        let said = asked.and_then(|sql| warden.query(sql).map_err(|error| error.to_string()));
        if let Err(words) = said {
            missing.entry(words).or_default().push(name);
        }
    }
    let words = |(words, names): (String, Vec<&str>)| {
        format!("the server's {} are missing, because it says: {words}", names.join(", "))
    };
    missing.into_iter().map(words).collect()
}

impl Instance for Server {
    fn identity(&self) -> String {
        self.identity.clone()
    }

    fn session(
        &self,
        variant: &VariantSettings,
        at: SessionPlacement,
    ) -> Result<Box<dyn Session>, TargetError> {
        let post = self.post(variant, at)?;
        let port = self.port_of(variant, at);
        let address = Address { port: port.unwrap_or(self.address.port), ..self.address.clone() };
        let is_placed = port.is_some() || self.affinity.is_some();
        let of_node = at.node.and_then(|node| self.nodes.get(&node)).filter(|_| is_placed);
        let of_post = post.as_ref().map(|post| CpuSet::from_iter([post.cpu]));
        let audit = variant.session.audit;
        let session = Connection::open(Opening {
            address: &address,
            lines: &self.lines,
            statements: &self.statements,
            dataset: self.dataset,
            dop: variant.parallel.map_or(1, |parallel| parallel.dop),
            cpus: of_post.or_else(|| of_node.cloned()),
            post,
            auditing: audit.map(|audit| self.auditing().map(|by| (audit, by))).transpose()?,
            filling: self.fillings.as_ref().map(|fillings| (fillings, &self.filled)),
            is_served: &self.are_served,
        })?;
        Ok(Box::new(session))
    }

    /// The server is bound to where the variant works, writes down what it asks for, and its look-ups count from here.
    fn enter_variant(&self, variant: &VariantSettings) -> Result<(), TargetError> {
        let at = variant.of_stream(0, 0);
        // A port that leads to a node needs no more. Where the server cannot be bound, the proof will tell.
        let affinity = self.affinity.as_ref().filter(|_| self.port_of(variant, at).is_none());
        if let (Some(affinity), Some(cpus)) = (affinity, self.cpus_of(variant, at)?) {
            let _ = affinity.bind(&cpus);
        }
        if let Some(audit) = variant.session.audit {
            self.auditing()?.begin(audit);
        }
        if let Some(node) = at.node {
            self.watch(node)?;
        }
        Ok(())
    }

    fn leave_variant(&self, variant: &VariantSettings) -> Counted {
        // First of all: what we ask besides is not to be written down.
        if let Some(auditing) = &*self.auditing.lock().unwrap_or_else(PoisonError::into_inner) {
            auditing.begin(Audit::Off);
        }
        let node = variant.of_stream(0, 0).node;
        let mut watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        let lookups = node.and_then(|node| watches.get_mut(&node)?.counted());
        let rows = |fillings: &Fillings| fillings.counted(&mut self.warden(), &self.filled);
        let rows = self.fillings.as_ref().and_then(rows);
        let proved = rows.map(|rows| (Metric::RowsCounted, rows)).into_iter().collect();
        Counted { lookups, proved, ..Counted::default() }
    }

    fn prove(&self, look: Look) -> Known<Vec<Locality>> {
        match (self.home, look) {
            (Some(_), Look::Full) if self.is_in_memory() => {
                Known::missing(Code::NotApplicable, "a table in memory is in no buffer")
            }
            (Some(home), Look::Full) => {
                let mut warden = self.warden();
                let _ = warden.limit(Some(FOR_ALL_BUFFERS));
                let found = layout::locality(&mut warden, home);
                let _ = warden.limit(Some(AT_ONCE));
                found
            }
            (Some(_), Look::Glance) => Known::missing(
                Code::NotMeasured,
                "each look goes through all of the server's buffers",
            ),
            (None, _) => Known::missing(
                Code::NotAsked,
                "the experiment does not say where the data is to be",
            ),
        }
    }

    fn plans(&self) -> Result<Vec<String>, TargetError> {
        let mut warden = self.warden();
        let explained =
            self.statements.iter().map(|statement| self.explain(&mut warden, statement));
        explained.map(|plan| plan.map_err(failed)).collect()
    }

    fn readings(&self) -> Vec<Reading> {
        let mut warden = self.warden();
        let read = |(name, read): &Count| {
            let sql = scripts::sql(name, &warden.version).ok();
            sql.and_then(|sql| warden.query(sql).ok()).map(read).unwrap_or_default()
        };
        COUNTS.iter().flat_map(read).collect()
    }

    fn hang_up(&self) {
        hang_up(&self.lines, &self.address);
    }
}

/// A statement, and what its rows are.
type Count = (&'static str, fn(Rows) -> Vec<Reading>);

/// What the server counts: by which statement, and what its rows are.
const COUNTS: [Count; 5] = [
    ("buffer_nodes", |rows| {
        each(rows, |[node, side, count]| {
            let gauge = if side == "remote" {
                gauge::REMOTE_PAGE_LOOKUPS
            } else {
                gauge::LOCAL_PAGE_LOOKUPS
            };
            Some(vec![count_of(gauge, format!("node {node}"), &count)?])
        })
    }),
    ("buffer_reads", |rows| {
        each(rows, |[count]| Some(vec![count_of(gauge::BUFFER_READS, String::new(), &count)?]))
    }),
    ("log_bytes", |rows| {
        each(rows, |[name, count]| {
            let gauge =
                if name.starts_with("Log Bytes") { gauge::WAL_BYTES } else { gauge::LOG_FLUSHES };
            Some(vec![count_of(gauge, String::new(), &count)?])
        })
    }),
    ("waits", |rows| each(rows, |[kind, ms]| Some(vec![count_of(gauge::WAIT_MS, kind, &ms)?]))),
    ("spinlocks", |rows| {
        each(rows, |[name, collisions, spins, backoffs]| {
            Some(vec![
                count_of(gauge::SPIN_COLLISIONS, name.clone(), &collisions)?,
                count_of(gauge::SPINS, name.clone(), &spins)?,
                count_of(gauge::SPIN_BACKOFFS, name, &backoffs)?,
            ])
        })
    }),
];

fn count_of(gauge: &'static Gauge, of: String, value: &str) -> Option<Reading> {
    Some(Reading { gauge, of, value: value.parse().ok()? })
}

/// The readings of each row of so many values.
fn each<const N: usize>(
    rows: Rows,
    read: impl Fn([String; N]) -> Option<Vec<Reading>>,
) -> Vec<Reading> {
    let read = |row: Vec<Option<String>>| {
        let values: Vec<String> = row.into_iter().collect::<Option<_>>()?;
        read(values.try_into().ok()?)
    };
    rows.into_iter().filter_map(read).flatten().collect()
}
