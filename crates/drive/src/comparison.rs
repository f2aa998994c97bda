//! Runs a comparison: starts worker pools for every placement and runs the schedule's blocks.
//!
//! Method: docs/method/methodology.md. Thread placement and a sample of pages are read back around every
//! window, all pages after each block. A misplacement voids the run and ends it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hopcost_core::{
    BlockRecord, Comparison, CpuId, CpuSet, Disturbance, Histogram, Instance, Known, Load,
    Locality, Look, Machine, Metric, Nature, Observation, Observer, Phase, Reading, Reason, Scope,
    Seeming, Shape, TargetError, Trial, VariantSettings, Watching, Window, Workload,
};
use hopcost_sys::clock;
use hopcost_sys::hotplug::Hotplug;

use crate::event::{Event, Listener};
use crate::pool::{Ask, Crew, Muster, Patience, RawCall, Tally, Work};
use hopcost_method::judge::LEAST_CALLS_FOR_SPREAD;
use hopcost_method::mix::Unchecked;
use hopcost_method::plan::{Placement, Plan};
use hopcost_method::schedule::{Pace, Schedule};

#[derive(Clone)]
pub struct Bench<'a> {
    pub comparison: &'a Comparison,
    pub plan: &'a Plan,
    pub instance: &'a dyn Instance,
    pub in_process: bool,
    pub workloads: Vec<&'a dyn Workload>,
    pub shape: Shape,
    pub ground: &'a Machine,
    pub planted: Option<Seeming<'a>>,
    /// `None` leaves all CPUs online.
    pub hotplug: Option<&'a RefCell<Hotplug>>,
    pub observers: &'a [&'a dyn Observer],
    pub seed: u64,
    pub keep_calls: bool,
    pub stop: &'a AtomicBool,
}

/// Receives each finished block, with its calls by window.
pub type Keeper<'a> = dyn FnMut(&BlockRecord, &[Vec<RawCall>]) -> Result<(), TargetError> + 'a;

const LEAST_CALLS: u64 = 2;

impl<'a> Bench<'a> {
    pub fn staff<T>(
        &self,
        work: impl FnOnce(&mut Staff<'_>) -> Result<T, TargetError>,
    ) -> Result<T, TargetError> {
        thread::scope(|scope| {
            let start = |(placement, workload): (&Placement, &&'a dyn Workload)| {
                let muster = Muster {
                    settings: placement.settings.clone(),
                    clients: placement.client.as_ref().map(|cpus| cpus.iter().collect()),
                    streams: self.plan.most_streams(),
                };
                Crew::start(scope, self.work(*workload), &muster)
            };
            let mut crews = Vec::new();
            for placements in &self.plan.placements {
                let each = placements.iter().zip(&self.workloads);
                // The last one is a second crew of the baseline, for A/A checks.
                let levels = each.clone().chain(each.take(1)).map(start);
                let levels = levels.collect::<Result<Vec<_>, _>>()?;
                crews.push(levels);
            }
            let mut tids = self.instance.workers();
            tids.extend(crews.iter().flatten().flat_map(Crew::tids));
            let scope = Scope { machine: self.ground, workers: &tids };
            let mut watching = Vec::new();
            let mut unwatched = Vec::new();
            for observer in self.observers {
                match observer.open(&scope) {
                    Ok(opened) => watching.push(opened),
                    Err(reason) => unwatched.push((observer.name(), reason)),
                }
            }
            work(&mut Staff {
                bench: self,
                crews: &crews,
                watching,
                unwatched,
                begun: clock::now(),
            })
        })
    }

    fn work(&self, workload: &'a dyn Workload) -> Work<'a> {
        Work {
            instance: self.instance,
            workload,
            shape: self.shape,
            load: self.comparison.load,
            planted: self.planted,
            seed: self.seed,
        }
    }
}

pub struct Staff<'a> {
    bench: &'a Bench<'a>,
    /// By binding, then by variant, then the baseline's second crew.
    crews: &'a [Vec<Crew>],
    watching: Vec<Box<dyn Watching>>,
    pub unwatched: Vec<(&'static str, Reason)>,
    begun: Instant,
}

#[derive(Clone, Copy)]
struct Turn {
    binding: usize,
    crew: usize,
    tested: bool,
    ask: Ask,
}

impl Staff<'_> {
    /// Continues after `blocks`, to the end of the start.
    pub fn measure(
        &mut self,
        pace: &Pace,
        mut blocks: Vec<BlockRecord>,
        keep: &mut Keeper<'_>,
        listener: &mut dyn Listener,
    ) -> Result<Vec<BlockRecord>, TargetError> {
        let bench = self.bench;
        let schedule = Schedule::new(bench.plan, pace, bench.comparison.find_worst);
        let before = blocks.last().map_or(0.0, BlockRecord::end_s);
        let start = clock::now();
        let mut cost = None;
        let mut this_start = None;
        // Only locates the pages.
        bench.instance.prove(Look::Full);
        if pace.starts.is_some() {
            self.warm_up(pace)?;
        }
        loop {
            let elapsed_s = before + start.elapsed().as_secs_f64();
            let Some(trial) = schedule.next(&blocks, elapsed_s) else { break };
            let start = schedule.start_of(&trial);
            if *this_start.get_or_insert(start) != start {
                break;
            }
            let (block, calls) = self.block(pace, trial, before)?;
            keep(&block, &calls)?;
            let (done, left) = pace.progress(&block, elapsed_s);
            blocks.push(block);
            let block = &blocks[blocks.len() - 1];
            if block.trial.phase == Phase::Fresh {
                cost = schedule.look(&blocks).or(cost);
            }
            listener.hear(Event::Block { block, cost, done, left });
            if listener.has_enough() {
                break;
            }
        }
        Ok(blocks)
    }

    /// The first window of a crew in a start is another one, e.g. while its log file grows. Each A/A
    /// check is the first work of the baseline's second crew.
    fn warm_up(&mut self, pace: &Pace) -> Result<(), TargetError> {
        let streams = self.bench.plan.most_streams();
        let ask = self.ask(pace, pace.window_s, streams);
        for binding in 0..self.crews.len() {
            for crew in 0..self.crews[binding].len() {
                self.window(&Turn { binding, crew, tested: false, ask })?;
            }
        }
        Ok(())
    }

    fn ask(&self, pace: &Pace, length_s: f64, streams: u32) -> Ask {
        Ask {
            guard: Duration::from_secs_f64(pace.guard_s),
            length: Duration::from_secs_f64(length_s),
            calls_per_stream: self.least_calls(streams),
            streams,
            keep_calls: self.bench.keep_calls,
        }
    }

    fn block(
        &mut self,
        pace: &Pace,
        trial: Trial,
        before_s: f64,
    ) -> Result<(BlockRecord, Vec<Vec<RawCall>>), TargetError> {
        let length = match (trial.phase, pace.long_s) {
            (Phase::Long, Some(long_s)) => long_s,
            _ => pace.window_s,
        };
        let placebo = self.crews[trial.binding].len() - 1;
        let tested = if trial.level == 0 { placebo } else { trial.level };
        let (mut windows, mut calls) = (Vec::new(), Vec::new());
        for arm in trial.arms() {
            let ask = self.ask(pace, length, trial.streams);
            let crew = if arm { tested } else { 0 };
            let turn = Turn { binding: trial.binding, crew, tested: arm, ask };
            let (mut window, raw) = self.window(&turn)?;
            window.begin_s += before_s;
            windows.push(window);
            calls.push(raw);
        }
        let placement = self.bench.instance.prove(Look::Full);
        if let (Some(reason), Some(last)) = (misplaced(&placement), windows.last_mut()) {
            last.objection.get_or_insert(reason);
        }
        Ok((BlockRecord { trial, windows, placement }, calls))
    }

    fn window(&mut self, turn: &Turn) -> Result<(Window, Vec<RawCall>), TargetError> {
        if self.bench.stop.load(Ordering::Relaxed) {
            return Err(TargetError::Interrupted);
        }
        let crew = &self.crews[turn.binding][turn.crew];
        self.take_off_the_unused(turn)?;
        let misled = self.other_cpus();
        let (told, watched) = (self.bench.instance.readings(), self.watched());
        let begin_s = self.begun.elapsed().as_secs_f64();
        let (stop, instance) = (self.bench.stop, self.bench.instance);
        let mut tallies = crew.work(&turn.ask, &mut Patience::until(stop, instance))?;
        if let Some(lost) = tallies.iter_mut().find_map(|tally| tally.lost.take()) {
            // Closed by `hang_up`, and not lost.
            let is_unwanted = stop.load(Ordering::Relaxed);
            return Err(if is_unwanted {
                TargetError::Interrupted
            } else {
                TargetError::Failed(lost)
            });
        }
        if let Some(words) = nothing_works(&tallies) {
            return Err(TargetError::Failed(words));
        }
        let mut observations = differences(&watched, &self.watched());
        // Before page accesses are counted: a displaced page makes this locate all pages anew.
        let placement = self.bench.instance.prove(Look::Glance);
        let counted = crew.counted()?;
        observations.extend(differences(&told, &self.bench.instance.readings()));
        let raw = tallies.iter_mut().flat_map(|tally| std::mem::take(&mut tally.raw)).collect();
        let mut window = summed(&tallies, turn.tested);
        window.begin_s = begin_s;
        window.lookups = counted.lookups;
        window.proved = counted.proved;
        let is_claimed =
            |metric| self.bench.comparison.claims.iter().any(|claim| claim.metric == metric);
        if is_claimed(Metric::AnsweredInPlace) && self.bench.in_process {
            let in_place = tallies.iter().filter(|tally| tally.objection.is_none()).count();
            let all = [in_place as u64, tallies.len() as u64];
            window.proved.entry(Metric::AnsweredInPlace).or_insert(all);
        }
        if is_claimed(Metric::CoresUnshared) {
            let machine = self.bench.planted.map_or(self.bench.ground, |planted| planted.machine);
            window.proved.insert(Metric::CoresUnshared, unshared(machine, &counted.at));
        }
        let worked_s: f64 = tallies.iter().map(|tally| tally.seconds).sum();
        let by_us: Duration = tallies.iter().map(|tally| tally.planted).sum();
        window.planted = (counted.planted + by_us).as_secs_f64() / worked_s;
        window.observations = observations;
        window.objection = misled
            .or_else(|| self.other_cpus())
            .or(window.objection)
            .or_else(|| misplaced(&placement));
        Ok((window, raw))
    }

    /// The other CPUs come back online.
    fn take_off_the_unused(&self, turn: &Turn) -> Result<(), TargetError> {
        let Some(hotplug) = self.bench.hotplug else { return Ok(()) };
        let levels = &self.bench.plan.placements[turn.binding];
        // The baseline's second crew comes after those of the variants.
        let placement = levels.get(turn.crew).unwrap_or(&levels[0]);
        let taken = hotplug.borrow_mut().take_off(&placement.spare);
        taken.map_err(|error| TargetError::Failed(error.to_string()))?;
        self.crews[turn.binding][turn.crew].stand()
    }

    fn other_cpus(&self) -> Option<Reason> {
        self.bench.hotplug.and_then(|hotplug| hotplug.borrow().objection())
    }

    pub(crate) fn asks_for_spread(&self) -> bool {
        self.bench.comparison.spread
    }

    fn least_calls(&self, streams: u32) -> u64 {
        let for_spread = LEAST_CALLS_FOR_SPREAD.div_ceil(u64::from(streams));
        if self.asks_for_spread() { for_spread.max(LEAST_CALLS) } else { LEAST_CALLS }
    }

    pub(crate) fn is_sliced(&self) -> bool {
        self.bench.shape.sliced
    }

    pub(crate) fn pilot(&mut self, crew: usize, ask: Ask) -> Result<Vec<RawCall>, TargetError> {
        let turn = Turn { binding: 0, crew, tested: false, ask: Ask { keep_calls: true, ..ask } };
        Ok(self.window(&turn)?.1)
    }

    fn watched(&mut self) -> Vec<Reading> {
        self.watching.iter_mut().flat_map(|observer| observer.read()).collect()
    }
}

fn nothing_works(tallies: &[Tally]) -> Option<String> {
    let calls: u64 = tallies.iter().map(|tally| tally.calls).sum();
    let refused: u64 = tallies.iter().map(|tally| tally.refused).sum();
    let first = tallies.iter().find_map(|tally| tally.first_error.as_deref())?;
    (calls > 0 && refused == calls)
        .then(|| format!("all {calls} calls of a window failed, the first: {first}"))
}

/// `[used CPUs whose sibling threads are unused, used CPUs]`.
fn unshared(machine: &Machine, at: &CpuSet) -> [u64; 2] {
    let is_alone =
        |cpu: &CpuId| machine.cpu(*cpu).is_some_and(|cpu| cpu.siblings.intersection(at).len() == 1);
    [at.iter().filter(is_alone).count() as u64, at.len() as u64]
}

fn misplaced(placement: &Known<Vec<Locality>>) -> Option<Reason> {
    placement.get()?.iter().find_map(Locality::objection)
}

fn summed(tallies: &[Tally], tested: bool) -> Window {
    let mut latency = Histogram::default();
    let working = tallies.iter().filter(|tally| tally.calls > 0);
    let rate = working.map(|tally| tally.rate).sum();
    for tally in tallies {
        latency.add(&tally.latency);
    }
    Window {
        tested,
        seconds: tallies.iter().map(|tally| tally.seconds).fold(0.0, f64::max),
        streams_s: tallies.iter().map(|tally| tally.streams_s).sum(),
        calls: tallies.iter().map(|tally| tally.calls).sum(),
        errors: tallies.iter().map(|tally| tally.errors).sum(),
        first_error: tallies.iter().find_map(|tally| tally.first_error.clone()),
        rate,
        latency,
        waited_s: tallies.iter().map(|tally| tally.waited_s).sum(),
        cpus: tallies.iter().flat_map(|tally| tally.cpus.iter().copied()).collect::<CpuSet>(),
        objection: tallies.iter().find_map(|tally| tally.objection.clone()),
        disturbed: tallies
            .iter()
            .filter_map(|tally| tally.disturbed)
            .find(|disturbed| *disturbed == Disturbance::Stolen),
        ..Window::default()
    }
}

fn differences(before: &[Reading], after: &[Reading]) -> Vec<Observation> {
    let stood: BTreeMap<(&str, &str), f64> =
        before.iter().map(|r| ((r.gauge.name, r.of.as_str()), r.value)).collect();
    let observation = |reading: &Reading| {
        let value = match reading.gauge.nature {
            Nature::Level => reading.value,
            Nature::Count => {
                reading.value - stood.get(&(reading.gauge.name, reading.of.as_str()))?
            }
        };
        Some(Observation { metric: reading.gauge.name.into(), of: reading.of.clone(), value })
    };
    after.iter().filter_map(observation).collect()
}

/// With a database that does nothing.
pub fn harness_ns_per_call(
    null: &dyn Instance,
    workload: &dyn Workload,
    shape: Shape,
    placement: &Placement,
) -> Result<f64, TargetError> {
    let unchecked = Unchecked(workload);
    let (load, planted) = (Load::default(), None);
    let work = Work { instance: null, workload: &unchecked, shape, load, planted, seed: 1 };
    let settings = VariantSettings::on_cpus(placement.settings.workers[..1].to_vec());
    let muster = Muster { settings, clients: None, streams: 1 };
    let ask = Ask {
        guard: Duration::from_millis(5),
        length: Duration::from_millis(50),
        calls_per_stream: LEAST_CALLS,
        streams: 1,
        keep_calls: false,
    };
    let tallies = thread::scope(|scope| {
        Crew::start(scope, work, &muster)?.work(&ask, &mut Patience::Endless)
    })?;
    let (calls, seconds) = tallies
        .iter()
        .fold((0, 0.0), |(calls, seconds), tally| (calls + tally.calls, seconds + tally.seconds));
    Ok(seconds * 1e9 / calls.max(1) as f64)
}
