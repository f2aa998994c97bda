//! The hosted processes of an experiment: sessions, proofs, plans.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use hopcost_core::{
    Audit, Code, Counted, CpuSet, Filling, Instance, Known, Locality, Look, Reading, Session,
    SessionPlacement, Setup, Statement, TargetError, VariantSettings,
};
use hopcost_sys::affinity;

use super::super::ledger::Ledger;
use super::super::restrictions::UNAUDITED_LOADS;
use super::super::server::failed;
use super::super::{Heard, data_words, homes_of};
use super::audit::{self, AuditedSession};
use super::copy::HostedCopy;
use super::library::LibraryInfo;
use super::pool::Pools;
use super::protocol::Question;
use super::session::HostedSession;
use super::wire::Wire;

pub fn open(
    info: &'static LibraryInfo,
    file: &Path,
    setup: &Setup<'_>,
    heard: &mut Heard<'_>,
) -> Result<Box<dyn Instance>, TargetError> {
    let start = |home| HostedCopy::start(info, file, setup, home, heard);
    let copies = homes_of(setup).into_iter().map(start).collect::<Result<Vec<_>, _>>()?;
    let spec = setup.spec();
    let (name, version, data) = (info.name, &copies[0].version, data_words(setup));
    Ok(Box::new(HostedInstance {
        info,
        identity: format!("{name} {version}, in a process of its own; {data}"),
        copies,
        is_emulated: setup.emulation.is_some(),
        load: spec.effect.filling().map(Filling::rows_a_call),
        statements: spec.statements,
        pools: Pools::on(setup.machine),
        workers: Mutex::default(),
    }))
}

struct HostedInstance {
    info: &'static LibraryInfo,
    copies: Vec<HostedCopy>,
    identity: String,
    /// Are nodes sets of CPUs, with all pages on one real node?
    is_emulated: bool,
    statements: Vec<Statement>,
    /// Rows that a call appends; `None` if calls are statements.
    load: Option<u64>,
    pools: Pools,
    workers: Mutex<BTreeSet<u32>>,
}

impl HostedInstance {
    /// The process for a session; the first one if the session names no data placement.
    fn copy_for(&self, at: SessionPlacement) -> Result<&HostedCopy, TargetError> {
        let is_meant = |copy: &&HostedCopy| at.data.is_none_or(|home| copy.home == home);
        let nowhere = || failed(format!("there is no {} for that place", self.info.name));
        self.copies.iter().find(is_meant).ok_or_else(nowhere)
    }

    fn audited(
        &self,
        wire: &mut Wire,
        number: u32,
        audit: Audit,
    ) -> Result<AuditedSession, TargetError> {
        if self.load.is_some() {
            return Err(TargetError::NotHere(Code::Unsupported.because(UNAUDITED_LOADS.words)));
        }
        let files: Vec<PathBuf> = wire.ask(&Question::Audit(audit)).map_err(failed)?;
        audit::of_session(number, audit, &files, self.statements.clone())
    }
}

impl Instance for HostedInstance {
    fn identity(&self) -> String {
        self.identity.clone()
    }

    fn session(
        &self,
        variant: &VariantSettings,
        at: SessionPlacement,
    ) -> Result<Box<dyn Session>, TargetError> {
        let copy = self.copy_for(at)?;
        let (mut wire, thread) = copy.enter()?;
        let audited = variant.session.audit.map(|audit| self.audited(&mut wire, thread, audit));
        let audited = audited.transpose()?;
        if let Some(cpu) = at.backend_cpu {
            affinity::pin_other(thread, &CpuSet::from_iter([cpu])).map_err(|error| {
                let words = format!("{}'s thread {thread}: {error}", self.info.name);
                TargetError::NotHere(Code::NotPlaceable.because(words))
            })?;
        }
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).insert(thread);
        Ok(Box::new(HostedSession {
            wire,
            thread,
            cpu: at.backend_cpu,
            memory: copy.memory.clone(),
            tells_pages: !self.is_emulated,
            load: self.load.map(|rows| (rows, Ledger::default())),
            audited,
        }))
    }

    fn enter_variant(&self, variant: &VariantSettings) -> Result<(), TargetError> {
        self.pools.enter(variant, |at| {
            let copy = self.copy_for(at)?;
            copy.enter().map(|(wire, thread)| (wire, [copy.process.pid(), thread]))
        })
    }

    fn leave_variant(&self, variant: &VariantSettings) -> Counted {
        Counted { proved: self.pools.leave(variant), ..Counted::default() }
    }

    fn prove(&self, look: Look) -> Known<Vec<Locality>> {
        let memories = self.copies.iter().filter_map(|copy| copy.memory.as_ref());
        let homes: Vec<_> = memories.filter_map(|memory| memory.locality(look)).collect();
        let unasked = "the experiment does not say where the data is to be";
        if homes.is_empty() { Known::missing(Code::NotAsked, unasked) } else { Known::Is(homes) }
    }

    fn plans(&self) -> Result<Vec<String>, TargetError> {
        if let Some(rows) = self.load {
            let plan = |of: &Statement| format!("{}\n  {rows} rows {}", of.name, self.info.loads);
            return Ok(self.statements.iter().map(plan).collect());
        }
        let (mut wire, _) = self.copies[0].enter()?;
        wire.ask(&Question::Plans).map_err(failed)
    }

    fn workers(&self) -> Vec<u32> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }

    fn readings(&self) -> Vec<Reading> {
        self.pools.readings()
    }

    fn hang_up(&self) {
        for copy in &self.copies {
            copy.lines.hang_up();
        }
    }
}
