//! Applies variants to SQL Server: ports of nodes, CPU affinity, statement logging, page accesses.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hopcost_core::{
    Audit, Code, Counted, CpuId, CpuSet, Known, Locality, Look, Metric, NodeId, Reading,
    SessionPlacement, TargetError, VariantSettings,
};

use super::super::restrictions::UNAUDITED_LOADS;
use super::super::server::address::Address;
use super::super::server::copy::{self, Asked, Levels, Opened, ServerCopy};
use super::super::server::wire::Wire as _;
use super::address::{is_by_sql_trace, port_of};
use super::affinity::Affinity;
use super::audit::Auditing;
use super::calls::{self, Call};
use super::dialect::{AT_ONCE, SqlServerDialect};
use super::layout::{self, Watch};
use super::wire::Wire;
use super::writers::{self, LogWriterPlacement};

/// Timeout for queries over all buffers or a whole audit file.
const FOR_ALL_OF_THEM: Duration = Duration::from_mins(1);

pub const MAY_NOT_AUDIT: &str = "\
    logging statements changes a setting of the server. Use --allow-server-changes, with data that hopcost loads \
    and removes";
pub const IS_NOT_BOUND: &str = "\
    log writers cannot be moved, so hopcost binds the server around them. Use --allow-server-changes, a server on \
    this host, and data that hopcost loads and removes";

pub struct Beside {
    affinity: Option<Affinity>,
    watches: Mutex<BTreeMap<NodeId, Watch>>,
    told: Vec<String>,
}

type Copy = ServerCopy<SqlServerDialect>;

impl Levels for SqlServerDialect {
    type Witness = Witness;
    type Beside = Beside;
    type AuditLog = Auditing;

    fn calls(
        &self,
        _: &ServerCopy<Self>,
        wire: &mut Wire,
        asked: &Asked<'_>,
    ) -> Result<Vec<Call>, TargetError> {
        asked.statements.iter().map(|statement| calls::of(wire, statement, asked)).collect()
    }

    fn beside(&self, admin: &mut Wire, opened: &Opened<'_>) -> Result<Beside, TargetError> {
        let affinity = self.binds().then(|| Wire::connect(opened.address).map(Affinity::new));
        let mut told = layout::told(admin);
        told.extend(layout::untold(admin));
        Ok(Beside { affinity: affinity.transpose()?, watches: Mutex::default(), told })
    }

    fn address(
        &self,
        copy: &Copy,
        variant: &VariantSettings,
        at: SessionPlacement,
    ) -> Result<Option<Address>, TargetError> {
        let port = self.port_of(variant, at);
        Ok(port.map(|port| Address { port, ..copy.address.clone() }))
    }

    fn audit_log(&self, copy: &Copy) -> Result<Option<Auditing>, TargetError> {
        let refused = |code: Code, words| Err(TargetError::NotHere(code.because(words)));
        if !self.may_change() {
            return refused(Code::RightsMissing, MAY_NOT_AUDIT);
        }
        if self.loads {
            return refused(Code::Unsupported, UNAUDITED_LOADS.words);
        }
        let wire = copy.connect()?;
        wire.limit(Some(FOR_ALL_OF_THEM))?;
        Ok(Some(Auditing::new(wire, is_by_sql_trace(&self.address))?))
    }

    fn witness(
        &self,
        copy: &Copy,
        _: &Wire,
        variant: &VariantSettings,
        at: SessionPlacement,
    ) -> Result<Witness, TargetError> {
        let post = self.post(copy, variant, at)?;
        let is_placed = self.port_of(variant, at).is_some() || copy.beside.affinity.is_some();
        let of_node = at.node.and_then(|node| self.nodes.get(&node)).filter(|_| is_placed);
        let of_post = post.as_ref().map(|post| CpuSet::from_iter([post.cpu]));
        Ok(Witness { cpus: of_post.or_else(|| of_node.cloned()), post })
    }

    fn enter_level(&self, copy: &Copy, variant: &VariantSettings) -> Result<(), TargetError> {
        let at = variant.of_stream(0, 0);
        // A port that leads to the node needs no affinity. A failure to bind shows in the proof.
        let affinity = copy.beside.affinity.as_ref();
        let affinity = affinity.filter(|_| self.port_of(variant, at).is_none());
        if let (Some(affinity), Some(cpus)) = (affinity, self.cpus_of(copy, variant, at)?) {
            let _ = affinity.bind(&cpus);
        }
        if let Some(audit) = variant.session.audit
            && let Some(auditing) = copy.audit_log()?
        {
            auditing.begin(audit);
        }
        at.node.map_or(Ok(()), |node| watch(copy, node))
    }

    fn leave_level(&self, copy: &Copy, variant: &VariantSettings) -> Counted {
        // First of all: the queries below must not be logged.
        if let Some(auditing) = copy.begun_audit_log() {
            auditing.begin(Audit::Off);
        }
        let node = variant.of_stream(0, 0).node;
        let mut watches = copy.beside.watches.lock().unwrap_or_else(PoisonError::into_inner);
        let lookups = node.and_then(|node| watches.get_mut(&node)?.counted());
        Counted { lookups, ..Counted::default() }
    }

    fn prove(&self, copy: &Copy, look: Look) -> Known<Vec<Locality>> {
        match (copy.home.node, look) {
            (Some(_), Look::Full) if self.fills_memory => {
                Known::missing(Code::NotApplicable, "a table in memory is in no buffer")
            }
            (Some(home), Look::Full) => {
                let mut admin = copy.admin();
                let _ = admin.limit(Some(FOR_ALL_OF_THEM));
                let found = layout::locality(&mut admin, home);
                let _ = admin.limit(Some(AT_ONCE));
                found
            }
            (Some(_), Look::Glance) => {
                let words = "each look goes through all of the server's buffers";
                Known::missing(Code::NotMeasured, words)
            }
            (None, _) => {
                let words = "the experiment does not say where the data is to be";
                Known::missing(Code::NotAsked, words)
            }
        }
    }

    fn readings(&self, copy: &Copy) -> Vec<Reading> {
        layout::readings(&mut copy.admin())
    }

    fn notes(&self, copy: &Copy) -> Vec<String> {
        let trouble = copy.begun_audit_log().and_then(|auditing| auditing.trouble());
        trouble.into_iter().chain(copy.beside.told.clone()).chain(self.noted()).collect()
    }
}

impl SqlServerDialect {
    /// Not used when the variant places sessions on CPUs near the log writer.
    fn port_of(&self, variant: &VariantSettings, at: SessionPlacement) -> Option<u16> {
        let port = at.node.and_then(|node| port_of(&self.address, node));
        port.filter(|_| variant.log_writer.is_none() || at.backend_cpu.is_none())
    }

    /// `None` when the variant does not place its sessions.
    fn cpus_of(
        &self,
        copy: &Copy,
        variant: &VariantSettings,
        at: SessionPlacement,
    ) -> Result<Option<CpuSet>, TargetError> {
        if let Some(post) = self.post(copy, variant, at)? {
            return Ok(Some(CpuSet::from_iter([post.cpu])));
        }
        let nodes = variant.at.iter().chain(&variant.nodes);
        let cpus: CpuSet =
            nodes.filter_map(|node| self.nodes.get(node)).flat_map(CpuSet::iter).collect();
        Ok(Some(cpus).filter(|cpus| !cpus.is_empty()))
    }

    /// `None` unless a distance from the log writers is asked for.
    fn post(
        &self,
        copy: &Copy,
        variant: &VariantSettings,
        at: SessionPlacement,
    ) -> Result<Option<LogWriterPlacement>, TargetError> {
        let asked = at.backend_cpu.zip(variant.log_writer_cpu());
        let Some(((worker, log_writer), machine)) = asked.zip(self.machine.as_ref()) else {
            return Ok(None);
        };
        if copy.beside.affinity.is_none() {
            return Err(TargetError::NotHere(Code::NotPlaceable.because(IS_NOT_BOUND)));
        }
        let writers = writers::cpus(&mut copy.admin())?;
        let post = LogWriterPlacement::of([worker, log_writer], machine, &writers);
        post.map(Some).map_err(TargetError::NotHere)
    }
}

fn watch(copy: &Copy, node: NodeId) -> Result<(), TargetError> {
    let mut watches = copy.beside.watches.lock().unwrap_or_else(PoisonError::into_inner);
    let watch = match watches.entry(node) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(new) => {
            let wire = copy.connect()?;
            wire.limit(Some(AT_ONCE))?;
            new.insert(Watch::new(wire, node, copy.home.node))
        }
    };
    watch.begin();
    Ok(())
}

pub struct Witness {
    /// The CPUs that should answer; `None` when nothing is placed.
    cpus: Option<CpuSet>,
    post: Option<LogWriterPlacement>,
}

impl copy::Witness<Wire> for Witness {
    fn counted(&mut self, wire: &mut Wire, counted: &mut Counted) {
        let proved = &mut counted.proved;
        if let Some(cpus) = &self.cpus {
            let cpu = wire.value_of("worker_cpu").ok().flatten();
            let cpu = cpu.and_then(|cpu| cpu.parse().ok());
            let is_there = cpu.is_some_and(|cpu| cpus.contains(CpuId(cpu)));
            proved.insert(Metric::AnsweredInPlace, [u64::from(is_there), 1]);
        }
        if let Some(post) = &self.post {
            let found = writers::cpus(wire).unwrap_or_default();
            proved.insert(Metric::LogWriterInPlace, post.proved(&found));
        }
    }
}
