//! Figures of probes: hopcost is executed anew for each start, which answers with its report.
//!
//! Method: probes take turns, one start each. A start in which others used the CPUs is measured again,
//! a few times for all starts of a probe together. That is decided without a look at its figures.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hopcost_core::{
    CpuSet, Effort, Emulation, ExperimentResult, Known, Machine, NodeSet, Occasion, PageSize,
    Planted, Probe, ProbeError, ProbeReport, Reason, Site, Unit,
};
use hopcost_drive::{Listener as _, Silent, run_probe};
use hopcost_method::figures::{across_starts, assumed, for_any_hour, with_occasions};
use hopcost_method::hardware::Timing;
use hopcost_method::judge::MOST_AGAIN;
use hopcost_method::run::differing_keys;
use hopcost_store::{KeptFigure, Store, StoreError};
use hopcost_sys::clock;
use serde::{Deserialize, Serialize};

use crate::anew::{self, Requests, executed_anew};
use crate::run::Host;
use crate::{Control, InContext, Outcome, Progress, catalogue};

/// The hidden argument.
const WORD: &str = "one-start-of-a-probe";

#[derive(Serialize, Deserialize)]
struct Order {
    probe: String,
    machine: Machine,
    planted: Option<(Machine, Emulation)>,
    effort: Effort,
    cpus: CpuSet,
    nodes: NodeSet,
    size_bytes: Option<u64>,
    stride_bytes: Option<u64>,
    pages: Option<PageSize>,
    may_bind: bool,
    log_dir: PathBuf,
    seed: u64,
    budget_s: f64,
    warm_up_s: f64,
    least_rounds: u64,
}

#[derive(Serialize, Deserialize)]
enum Answer {
    Report(Box<ProbeReport>),
    NotHere(Reason),
    Failed(String),
}

impl Order {
    fn of(probe: &dyn Probe, site: &Site<'_>, timing: Timing) -> Self {
        Self {
            probe: probe.name().to_owned(),
            machine: site.machine.clone(),
            planted: site.planted.map(|planted| (planted.ground.clone(), planted.emulation)),
            effort: site.effort,
            cpus: site.cpus.clone(),
            nodes: site.nodes.clone(),
            size_bytes: site.size_bytes,
            stride_bytes: site.stride_bytes,
            pages: site.pages,
            may_bind: site.may_bind,
            log_dir: site.log_dir.clone(),
            seed: site.seed,
            budget_s: timing.budget.as_secs_f64(),
            warm_up_s: timing.warm_up.as_secs_f64(),
            least_rounds: timing.least_rounds,
        }
    }

    fn measure(&self, stop: &AtomicBool) -> Answer {
        let Some(probe) = catalogue::probe(&self.probe) else {
            return Answer::Failed(format!("there is no probe '{}'", self.probe));
        };
        let planted = self.planted.as_ref();
        let site = Site {
            machine: &self.machine,
            planted: planted.map(|(ground, emulation)| Planted { ground, emulation: *emulation }),
            effort: self.effort,
            cpus: self.cpus.clone(),
            nodes: self.nodes.clone(),
            size_bytes: self.size_bytes,
            stride_bytes: self.stride_bytes,
            pages: self.pages,
            may_bind: self.may_bind,
            log_dir: self.log_dir.clone(),
            seed: self.seed,
        };
        let timing = Timing {
            budget: Duration::from_secs_f64(self.budget_s),
            warm_up: Duration::from_secs_f64(self.warm_up_s),
            least_rounds: self.least_rounds,
        };
        match run_probe(probe, &site, timing, stop, &mut Silent) {
            Ok(report) => Answer::Report(Box::new(report)),
            Err(ProbeError::NotHere(reason)) => Answer::NotHere(reason),
            Err(error) => Answer::Failed(error.to_string()),
        }
    }
}

/// If this process is a start of a probe, measures it.
pub fn serve_if_asked() -> Option<ExitCode> {
    anew::serve(WORD, |order: Order, requests, say| say(&order.measure(&requests.stop)))
}

/// What earlier occasions of this host found, oldest first.
#[derive(Debug, Default)]
pub struct Occasions(Vec<KeptFigure>);

impl Occasions {
    pub fn of(store: &Store, host: &Host, effort: Effort) -> Result<Self, StoreError> {
        let Some(key) = &host.key else { return Ok(Self::default()) };
        store.occasions(key, effort).map(Self)
    }

    pub fn in_store(path: &Path, effort: Effort, machine: &Machine) -> Outcome<Self> {
        if !path.exists() {
            return Ok(Self::default());
        }
        let of = |path: &Path| Self::of(&Store::open_to_read(path)?, &Host::read(machine), effort);
        of(path).in_context(path.display())
    }

    fn of_probe(&self, name: &str) -> Vec<f64> {
        let same = self.0.iter().filter(|kept| kept.figure == name && kept.identity.is_none());
        same.map(|kept| kept.point).collect()
    }

    /// Of the same run but for its seed and its time.
    fn of_score(&self, name: &str, identity: &str) -> Vec<f64> {
        let may_differ = |key: &String| ["seed", "wishes"].contains(&key.as_str());
        let is_same = |kept: &&KeptFigure| {
            let of = kept.identity.as_deref().filter(|_| kept.figure == name);
            of.is_some_and(|of| differing_keys(of, identity).iter().all(may_differ))
        };
        self.0.iter().filter(is_same).map(|kept| kept.point).collect()
    }
}

/// A score's interval is of this hour until earlier ones are considered.
pub fn score_with_occasions(
    result: &mut ExperimentResult,
    occasions: &Occasions,
    identity: &str,
    machine: &Machine,
) {
    let Known::Is(score) = &mut result.estimate else { return };
    if score.unit != Unit::PerSecond || result.emulated {
        return;
    }
    let name = format!("{}, {}", result.experiment, score.of);
    let earlier = occasions.of_score(&name, identity);
    let assumed = assumed(machine, Occasion::OF_THROUGHPUT);
    (score.estimate, score.occasion) = for_any_hour(&score.estimate, &earlier, assumed);
}

/// A probe, and what its starts found.
pub type Measured<'p> = (&'p dyn Probe, Result<ProbeReport, ProbeError>);

/// Without the probes that were interrupted before their first start was measured.
pub fn measure<'p>(
    probes: &[&'p dyn Probe],
    site: &Site<'_>,
    timing: Timing,
    wanted: u64,
    occasions: &Occasions,
    control: &mut Control<'_>,
) -> Vec<Measured<'p>> {
    let timing = timing.of_each(wanted);
    let mut turns: Vec<Turn<'p>> = probes.iter().map(|probe| Turn::of(*probe)).collect();
    if wanted == 1 {
        for turn in &mut turns {
            turn.take_here(site, timing, control);
        }
    } else {
        let whole = timing.budget * (wanted * probes.len() as u64) as u32;
        control.hear(Progress::Sampled { done: 0.0, left: whole });
        let began = clock::now();
        for round in 1..=wanted {
            for (at, turn) in turns.iter_mut().enumerate() {
                turn.take(site, timing, control);
                let share = (round - 1) as f64 + (at + 1) as f64 / probes.len() as f64;
                let done = share / wanted as f64;
                let left = began.elapsed().mul_f64((1.0 - done) / done);
                control.hear(Progress::Sampled { done, left });
            }
        }
        control.hear(Progress::Closed);
    }
    turns.into_iter().filter_map(|turn| turn.concluded(site, wanted, occasions)).collect()
}

/// The starts of one probe. It takes turns with others, one start each, so that the starts of a
/// figure are spread over the time of the whole command.
struct Turn<'p> {
    probe: &'p dyn Probe,
    done: Vec<ProbeReport>,
    again: u64,
    failed: Option<ProbeError>,
}

impl<'p> Turn<'p> {
    fn of(probe: &'p dyn Probe) -> Self {
        Self { probe, done: Vec::new(), again: 0, failed: None }
    }

    /// In this process.
    fn take_here(&mut self, site: &Site<'_>, timing: Timing, control: &mut Control<'_>) {
        let stop = Arc::clone(&control.stop);
        if !control.is_stopped() {
            match run_probe(self.probe, site, timing, &stop, control) {
                Ok(start) => self.done.push(start),
                Err(error) => self.failed = Some(error),
            }
        }
    }

    fn take(&mut self, site: &Site<'_>, timing: Timing, control: &Control<'_>) {
        while self.failed.is_none() && !control.is_stopped() {
            let seed = site.seed ^ (self.done.len() as u64 + self.again).rotate_left(32);
            let order = Order::of(self.probe, &Site { seed, ..site.clone() }, timing);
            match order.executed(control) {
                Ok(Some(start)) if start.contended > 0 && self.again < MOST_AGAIN => {
                    self.again += 1;
                }
                Ok(Some(start)) => return self.done.push(start),
                Ok(None) => return,
                Err(error) => self.failed = Some(error),
            }
        }
    }

    fn concluded(
        self,
        site: &Site<'_>,
        wanted: u64,
        occasions: &Occasions,
    ) -> Option<Measured<'p>> {
        let probe = self.probe;
        if let Some(error) = self.failed {
            return Some((probe, Err(error)));
        }
        let is_complete = self.done.len() as u64 == wanted;
        let mut report = across_starts(self.done)?;
        report.interrupted |= !is_complete;
        report.seed = site.seed;
        let advice = probe.advise(site, &report.cells);
        report.warnings.extend(advice);
        let assumed = assumed(site.machine, probe.assumed_in_a_guest());
        with_occasions(&mut report, &|name| occasions.of_probe(name), assumed);
        Some((probe, Ok(report)))
    }
}

impl Order {
    /// `None` if it was interrupted.
    fn executed(&self, control: &Control<'_>) -> Result<Option<ProbeReport>, ProbeError> {
        let failed = |source| ProbeError::System { what: "one start of a probe".into(), source };
        let stop = control.stop.clone();
        let requests = Requests { stop, ..Requests::default() };
        let mut answer = None;
        executed_anew(WORD, self, self.seed, &requests, &mut |said| answer = Some(said))
            .map_err(failed)?;
        match answer {
            Some(Answer::Report(report)) => Ok(Some(*report).filter(|report| !report.interrupted)),
            Some(Answer::NotHere(reason)) => Err(ProbeError::NotHere(reason)),
            Some(Answer::Failed(words)) => Err(failed(io::Error::other(words))),
            None if control.is_stopped() => Ok(None),
            None => Err(failed(io::Error::other("it was killed"))),
        }
    }
}
