//! Running servers as an instance: sessions, proofs, plans, readings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hopcost_core::{
    Counted, CpuSet, Dataset, Gauge, Instance, Known, Locality, Look, Metric, Reading, Session,
    SessionPlacement, Setup, Statement, TargetError, VariantSettings,
};
use hopcost_sys::affinity;

use super::connection::{Connection, Opening};
use super::copy::{Levels, ServerCopy};
use super::filling::Fillings;
use super::tables::Tables;
use super::waits::Waits;
use super::{SERVED, first_arguments};

/// Leaves an existing server; returns notes for the user.
pub trait Stay<D: Levels>: Send + Sync {
    fn leave(self: Box<Self>, copies: Vec<ServerCopy<D>>) -> Result<Vec<String>, TargetError>;
}

pub struct Cluster<D: Levels + Tables> {
    dialect: Arc<D>,
    copies: Vec<ServerCopy<D>>,
    statements: Vec<Statement>,
    dataset: Option<&'static dyn Dataset>,
    examples: Vec<[i64; 4]>,
    identity: String,
    fillings: Option<Fillings>,
    workers: Mutex<BTreeSet<u32>>,
    /// Has a worker sent and received for many connections?
    are_served: Arc<AtomicBool>,
    /// `None` for managed servers.
    stay: Option<Box<dyn Stay<D>>>,
}

impl<D: Levels + Tables> Cluster<D> {
    pub fn new(
        setup: &Setup<'_>,
        dialect: Arc<D>,
        copies: Vec<ServerCopy<D>>,
        identity: String,
    ) -> Self {
        let dataset = setup.dataset.map(Dataset::name);
        let fillings = Fillings::of(&*dialect, &copies[0].admin(), setup);
        Self {
            dialect,
            copies,
            statements: setup.spec().statements,
            dataset: dataset.and_then(super::dataset_named),
            examples: first_arguments(setup),
            identity,
            fillings,
            workers: Mutex::default(),
            are_served: Arc::default(),
            stay: None,
        }
    }

    #[must_use]
    pub fn leaving(self, stay: Box<dyn Stay<D>>) -> Self {
        Self { stay: Some(stay), ..self }
    }

    /// The server for a session; the first one if the session names no data placement.
    fn copy_for(&self, at: SessionPlacement) -> Result<&ServerCopy<D>, TargetError> {
        // An existing server's data cannot be placed.
        let data = at.data.filter(|_| self.stay.is_none());
        let is_meant = |copy: &&ServerCopy<D>| data.is_none_or(|home| copy.home == home);
        let nowhere = || TargetError::Failed("there is no server for that place".to_owned());
        self.copies.iter().find(is_meant).ok_or_else(nowhere)
    }

    /// The servers of a variant; all if it names no data placement, or if there is one server.
    fn copies_of(&self, variant: &VariantSettings) -> impl Iterator<Item = &ServerCopy<D>> {
        let homes = variant.copies();
        let is_any = homes.is_empty() || self.copies.len() == 1;
        self.copies.iter().filter(move |copy| is_any || homes.contains(&copy.home))
    }

    fn notes(&self) -> Vec<String> {
        let of_copies = self.copies.iter().flat_map(|copy| self.dialect.notes(copy));
        let mut notes: Vec<String> = Vec::new();
        for note in of_copies {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        if self.are_served.load(Ordering::Relaxed) {
            notes.push(SERVED.to_owned());
        }
        notes
    }
}

impl<D: Levels + Tables> Instance for Cluster<D> {
    fn identity(&self) -> String {
        self.identity.clone()
    }

    fn session(
        &self,
        variant: &VariantSettings,
        at: SessionPlacement,
    ) -> Result<Box<dyn Session>, TargetError> {
        let copy = self.copy_for(at)?;
        let session = Connection::open(&Opening {
            copy,
            statements: &self.statements,
            dataset: self.dataset,
            variant,
            at,
            fillings: self.fillings.as_ref(),
            is_served: &self.are_served,
        })?;
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        workers.extend(session.worker().filter(|_| copy.process.is_some()));
        Ok(Box::new(session))
    }

    fn enter_variant(&self, variant: &VariantSettings) -> Result<(), TargetError> {
        for copy in self.copies_of(variant) {
            if let (Some(cpu), Some(_)) = (variant.log_writer_cpu(), copy.process) {
                // All variants share the log writers; the proof shows if one cannot be moved.
                copy.log_writers
                    .iter()
                    .for_each(|writer| _ = place(*writer, &CpuSet::from_iter([cpu])));
            }
            self.dialect.enter_level(copy, variant)?;
        }
        Ok(())
    }

    fn leave_variant(&self, variant: &VariantSettings) -> Counted {
        let counted = |copy: &ServerCopy<D>| {
            let mut counted = self.dialect.leave_level(copy, variant);
            let rows = |fillings: &Fillings| fillings.counted::<D>(&mut copy.admin(), &copy.filled);
            let rows = self.fillings.as_ref().and_then(rows);
            counted.proved.extend(rows.map(|rows| (Metric::RowsCounted, rows)));
            counted
        };
        Counted::sum(self.copies_of(variant).map(counted))
    }

    fn prove(&self, look: Look) -> Known<Vec<Locality>> {
        let grounds = self.copies.iter().filter_map(|copy| copy.ground.as_ref());
        let mut homes: Vec<Locality> = grounds.filter_map(|ground| ground.locality(look)).collect();
        let mut missing = None;
        for copy in &self.copies {
            match self.dialect.prove(copy, look) {
                Known::Is(told) => homes.extend(told),
                Known::Missing(reason) => missing = missing.or(Some(reason)),
            }
        }
        match missing {
            Some(reason) if homes.is_empty() => Known::Missing(reason),
            _ => Known::Is(homes),
        }
    }

    fn plans(&self) -> Result<Vec<String>, TargetError> {
        let mut admin = self.copies[0].admin();
        let explained = |(n, statement): (usize, &Statement)| {
            let lines = match &self.fillings {
                Some(_) => vec!["  rows of its own making".to_owned()],
                None => self.dialect.explain(&mut admin, n, statement, &self.examples[n])?,
            };
            Ok([statement.name.to_owned()].into_iter().chain(lines).collect::<Vec<_>>().join("\n"))
        };
        self.statements.iter().enumerate().map(explained).collect()
    }

    fn workers(&self) -> Vec<u32> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }

    fn readings(&self) -> Vec<Reading> {
        let waits = Waits::readings(self.copies.iter().filter_map(ServerCopy::waits));
        let told = self.copies.iter().flat_map(|copy| self.dialect.readings(copy));
        sum(waits.into_iter().chain(told))
    }

    fn hang_up(&self) {
        self.copies.iter().for_each(ServerCopy::hang_up);
    }

    fn close(mut self: Box<Self>) -> Result<Vec<String>, TargetError> {
        let notes = self.notes();
        let Some(stay) = self.stay.take() else { return Ok(notes) };
        let left = stay.leave(std::mem::take(&mut self.copies))?;
        Ok(left.into_iter().chain(notes).collect())
    }
}

fn sum(all: impl Iterator<Item = Reading>) -> Vec<Reading> {
    let mut sums: BTreeMap<(&'static str, String), (&'static Gauge, f64)> = BTreeMap::new();
    for Reading { gauge, of, value } in all {
        sums.entry((gauge.name, of)).or_insert((gauge, 0.0)).1 += value;
    }
    let reading = |((_, of), (gauge, value))| Reading { gauge, of, value };
    sums.into_iter().map(reading).collect()
}

pub fn place(pid: u32, cpus: &CpuSet) -> bool {
    affinity::mask_of(pid).is_ok_and(|mask| mask == *cpus) || affinity::pin_other(pid, cpus).is_ok()
}
