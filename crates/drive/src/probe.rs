//! Runs one start of a probe: rounds over all its cells, with proof of page placement before and after.
//!
//! Method: each round measures every cell once in random order, so that drift affects all alike.
//! The figure is the median of round medians, since samples within a round are not independent.
//! Misplaced pages void it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fastrand::Rng;
use hopcost_core::{
    Cell, CellResult, Code, Disturbance, Known, Outcome, Probe, ProbeError, ProbeReport, Proof,
    Reason, Recorder, Rig, Site,
};
use hopcost_method::hardware::Timing;
use hopcost_stats::{median_interval, spread};
use hopcost_sys::activity::Others;
use hopcost_sys::{Root, clock};

use crate::event::{Event, Listener};

const LEVEL: f64 = 0.95;
const MOST_TRIES: usize = 3;
/// Relative range of three successive samples.
const WARM_WITHIN: f64 = 0.02;

pub fn run_probe(
    probe: &dyn Probe,
    site: &Site<'_>,
    timing: Timing,
    stop: &AtomicBool,
    listener: &mut dyn Listener,
) -> Result<ProbeReport, ProbeError> {
    let start = clock::now();
    let root = Root::live();
    let others = Others::watch(&root, &site.cpus);
    let cells = probe.cells(site);
    let ready: Vec<Cell> = cells.iter().filter(|cell| cell.is_ready()).cloned().collect();
    listener.hear(Event::Opening { probe: probe.name(), cells: ready.len() });
    let mut run = Run { tallies: vec![Tally::default(); ready.len()], ..Run::default() };
    let mut warnings = Vec::new();
    if !ready.is_empty() {
        let mut rig = probe.open(site, &ready)?;
        warnings.extend(rig.warnings());
        run.before = rig.prove()?;
        warm_up(rig.as_mut(), timing.warm_up, stop)?;
        let budget = timing.budget.saturating_sub(start.elapsed());
        let timing = Timing { budget, ..timing };
        run.rounds(rig.as_mut(), site.seed, timing, stop, listener)?;
        run.after = rig.prove()?;
    }
    listener.hear(Event::Closed);
    let is_contended = others.is_some_and(|others| others.contend(&root));
    let results = run.results(cells);
    Ok(ProbeReport {
        probe: probe.name().into(),
        question: probe.question().into(),
        effort: site.effort,
        seed: site.seed,
        starts: 1,
        contended: u64::from(is_contended),
        rounds: run.rounds,
        seconds: start.elapsed().as_secs_f64(),
        interrupted: stop.load(Ordering::Relaxed),
        cells: results,
        warnings,
    })
}

#[derive(Default)]
struct Run {
    rounds: u64,
    tallies: Vec<Tally>,
    before: Vec<Proof>,
    after: Vec<Proof>,
}

#[derive(Clone, Default)]
struct Tally {
    samples: Vec<f64>,
    round_medians: Vec<f64>,
    dropped: BTreeMap<Disturbance, u64>,
    counters: BTreeMap<&'static str, u64>,
}

impl Run {
    fn rounds(
        &mut self,
        rig: &mut dyn Rig,
        seed: u64,
        Timing { budget, least_rounds, .. }: Timing,
        stop: &AtomicBool,
        listener: &mut dyn Listener,
    ) -> Result<(), ProbeError> {
        let mut rng = Rng::with_seed(seed);
        let mut order: Vec<usize> = (0..self.tallies.len()).collect();
        let rounds_began = clock::now();
        let mut sampled = 0_u32;
        while self.rounds < least_rounds || rounds_began.elapsed() < budget {
            rng.shuffle(&mut order);
            for &cell in &order {
                if stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
                self.measure(rig, cell)?;
                sampled += 1;
                let elapsed = rounds_began.elapsed();
                let least = elapsed / sampled * (least_rounds as u32 * order.len() as u32);
                let whole = budget.max(least);
                let left = whole.saturating_sub(elapsed);
                let done = 1.0 - left.as_secs_f64() / whole.as_secs_f64().max(1e-9);
                listener.hear(Event::Sampled { done, left });
            }
            self.rounds += 1;
        }
        Ok(())
    }

    /// Repeated while every sample is disturbed.
    fn measure(&mut self, rig: &mut dyn Rig, cell: usize) -> Result<(), ProbeError> {
        for _ in 0..MOST_TRIES {
            let mut recorder = Recorder::default();
            rig.measure(cell, &mut recorder)?;
            self.tallies[cell].take(&recorder);
            if !recorder.samples().is_empty() {
                break;
            }
        }
        Ok(())
    }

    fn results(&self, cells: Vec<Cell>) -> Vec<CellResult> {
        let mut tallies = self.tallies.iter().zip(self.before.iter().zip(&self.after));
        let result = |cell: Cell| match cell.cpus.reason().cloned() {
            Some(reason) => nothing(cell, reason),
            None => match tallies.next() {
                Some((tally, (before, after))) => tally.result(cell, [before, after]),
                None => nothing(
                    cell,
                    Code::Interrupted.because("it was interrupted before its first sample"),
                ),
            },
        };
        cells.into_iter().map(result).collect()
    }
}

fn warm_up(rig: &mut dyn Rig, at_most: Duration, stop: &AtomicBool) -> Result<(), ProbeError> {
    let start = clock::now();
    let mut last = Vec::new();
    while start.elapsed() < at_most && !stop.load(Ordering::Relaxed) {
        let mut recorder = Recorder::default();
        rig.measure(0, &mut recorder)?;
        last.extend(spread(recorder.samples()).map(|spread| spread.median));
        if let [.., a, b, c] = last[..] {
            let (low, high) = (a.min(b).min(c), a.max(b).max(c));
            if high <= low * (1.0 + WARM_WITHIN) {
                break;
            }
        }
    }
    Ok(())
}

fn nothing(cell: Cell, reason: Reason) -> CellResult {
    CellResult {
        cell,
        proof: Known::Missing(reason.clone()),
        outcome: Outcome::Missing(reason),
        dropped: BTreeMap::new(),
        counters: BTreeMap::new(),
        starts: Vec::new(),
        occasion: None,
    }
}

impl Tally {
    fn take(&mut self, recorder: &Recorder) {
        self.samples.extend(recorder.samples());
        self.round_medians.extend(spread(recorder.samples()).map(|spread| spread.median));
        for (&disturbance, count) in recorder.dropped() {
            *self.dropped.entry(disturbance).or_default() += count;
        }
        for (&counter, count) in recorder.counters() {
            *self.counters.entry(counter).or_default() += count;
        }
    }

    fn result(&self, cell: Cell, proof: [&Proof; 2]) -> CellResult {
        let objection = proof.iter().find_map(|proof| proof.objection());
        let figures = median_interval(&self.round_medians, LEVEL).zip(spread(&self.samples));
        let outcome = match (objection, figures) {
            (Some(objection), _) => Outcome::Void(objection),
            (None, Some((mut estimate, spread))) => {
                estimate.n = self.samples.len() as u64;
                Outcome::Measured { estimate, spread }
            }
            (None, None) => Outcome::Missing(self.why_empty()),
        };
        CellResult {
            cell,
            outcome,
            proof: Known::Is(proof.map(Clone::clone)),
            dropped: self.dropped.clone(),
            counters: self.counters.iter().map(|(&name, &n)| (name.into(), n)).collect(),
            starts: Vec::new(),
            occasion: None,
        }
    }

    fn why_empty(&self) -> Reason {
        if self.dropped.is_empty() {
            return Code::NotMeasured.because("it was interrupted before its first sample");
        }
        let causes: Vec<String> =
            self.dropped.iter().map(|(cause, count)| format!("{cause}: {count}")).collect();
        Code::OthersAtWork.because(format!("every sample was disturbed ({})", causes.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use hopcost_core::{CpuId, Locality, NodeId, PageSize, Place, ProofMethod, Unit};

    use hopcost_core::Effort;

    use super::*;
    use crate::event::Silent;

    struct Fake {
        disturbed: bool,
        displaced: u64,
    }

    struct FakeRig {
        disturbed: bool,
        displaced: u64,
        proofs: u64,
    }

    impl Probe for Fake {
        fn name(&self) -> &'static str {
            "fake"
        }
        fn question(&self) -> &'static str {
            "Does the runner do as it says?"
        }
        fn assumed_in_a_guest(&self) -> f64 {
            0.1
        }
        fn cells(&self, _: &Site<'_>) -> Vec<Cell> {
            let cell = |n, cpus| Cell {
                series: "only".into(),
                row: Place::Node(NodeId(n)),
                column: Place::Node(NodeId(0)),
                class: Known::missing(Code::NotMeasured, "a fake"),
                unit: Unit::Nanoseconds,
                cpus,
            };
            let here = Known::Is(vec![CpuId(0)]);
            vec![
                cell(0, here.clone()),
                cell(1, Known::missing(Code::NotApplicable, "no CPU")),
                cell(2, here),
            ]
        }
        fn open(&self, _: &Site<'_>, ready: &[Cell]) -> Result<Box<dyn Rig>, ProbeError> {
            assert_eq!(ready.len(), 2);
            let (disturbed, displaced) = (self.disturbed, self.displaced);
            Ok(Box::new(FakeRig { disturbed, displaced, proofs: 0 }))
        }
    }

    impl Rig for FakeRig {
        fn measure(&mut self, cell: usize, recorder: &mut Recorder) -> Result<(), ProbeError> {
            let quiet = if self.disturbed && cell == 1 { Err(Disturbance::Stolen) } else { Ok(()) };
            recorder.sample(100.0 + cell as f64, quiet);
            recorder.count("turns", 1);
            Ok(())
        }
        /// The second proof finds `displaced` of 1,000 pages elsewhere.
        fn prove(&mut self) -> Result<Vec<Proof>, ProbeError> {
            let away = if self.proofs == 0 { 0 } else { self.displaced };
            self.proofs += 1;
            let locality = Locality {
                asked: NodeId(0),
                spread: Vec::new(),
                bound: true,
                pages_by_node: [(NodeId(0), 1000 - away), (NodeId(1), away)].into(),
                pages_unknown: 0,
                method: ProofMethod::MovePages,
                page_size: PageSize::Base,
                page_size_share: 1.0,
            };
            let memory = Known::Is(vec![locality]);
            Ok(vec![Proof { memory: memory.clone() }, Proof { memory }])
        }
    }

    fn run(probe: &Fake, stop: &AtomicBool) -> ProbeReport {
        let machine = hopcost_sys::topology::read(&Root::live());
        let site = Site {
            machine: &machine,
            planted: None,
            effort: Effort::Quick,
            cpus: machine.limits.cpus.clone(),
            nodes: machine.limits.nodes.clone(),
            size_bytes: None,
            stride_bytes: None,
            pages: None,
            may_bind: true,
            log_dir: ".".into(),
            seed: 1,
        };
        let (budget, warm_up) = (Duration::ZERO, Duration::from_millis(1));
        let timing = Timing { budget, warm_up, least_rounds: 6 };
        run_probe(probe, &site, timing, stop, &mut Silent).unwrap()
    }

    #[test]
    fn missing_cells_keep_their_place_and_reason_and_disturbed_ones_say_so() {
        let report = run(&Fake { disturbed: true, displaced: 0 }, &AtomicBool::new(false));
        let [first, absent, disturbed] = &report.cells[..] else { panic!("three cells") };
        let estimate = first.estimate().unwrap();
        assert!((estimate.point - 100.0).abs() < 1e-9 && estimate.n_effective >= 6.0);
        assert_eq!(absent.outcome, Outcome::Missing(Code::NotApplicable.because("no CPU")));
        let Outcome::Missing(reason) = &disturbed.outcome else { panic!("{disturbed:?}") };
        assert!(reason.as_str().starts_with("every sample was disturbed (CPU time stolen: "));
        assert_eq!(first.counters["turns"], report.rounds);
    }

    #[test]
    fn pages_that_left_void_the_figure() {
        for (displaced, void) in [(0, false), (5, false), (50, true), (1000, true)] {
            let report = run(&Fake { disturbed: false, displaced }, &AtomicBool::new(false));
            let is_void = matches!(report.cells[0].outcome, Outcome::Void(_));
            assert_eq!(is_void, void, "{displaced} pages of 1,000");
        }
    }

    #[test]
    fn a_stop_ends_the_run_and_is_said() {
        let report = run(&Fake { disturbed: false, displaced: 0 }, &AtomicBool::new(true));
        assert!(report.interrupted && report.seconds < 1.0);
        let reason = "it was interrupted before its first sample";
        assert_eq!(report.cells[0].outcome, Outcome::Missing(Code::NotMeasured.because(reason)));
    }
}
