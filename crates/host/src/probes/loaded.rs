//! **loaded**: the duration of a load while other cores use the memory's bandwidth.
//!
//! Method: one CPU chases pointers while the other cores of its node read memory of the same node.
//! Their pause between two lines sets their bandwidth, in steps. Latency and bandwidth of a step
//! come from the same windows. Limits: only requested bytes are counted, without the chase and
//! useless prefetches. One loading thread rarely saturates a memory.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fastrand::Rng;
use hopcost_core::{
    Cell, CellResult, Code, CpuId, CpuSet, Disturbance, Effort, Known, Locality, Node, NodeId,
    Occasion, Place, Probe, ProbeError, Proof, Recorder, Rig, Site, Unit, Warning,
};
use hopcost_sys::kernels::chase::{Course, Order, Plan};
use hopcost_sys::kernels::trickle::{self, Wait};
use hopcost_sys::memory::Region;
use hopcost_sys::quiet::Watch;
use hopcost_sys::{affinity, clock};

use super::ground;
use super::pace::Pace;

pub struct Loaded;

const STRIDE: usize = 256;
const LEAST_LOADS: usize = 64;
const RAMP: Duration = Duration::from_millis(5);
const CHUNK_BYTES: usize = 16 << 10;
const LEAST_BUFFER_BYTES: u64 = 16 << 20;
const TOLD_FROM: f64 = 1.1;

const ALONE: &str = "latency, nothing beside it";
const LATENCY: &str = "latency, by the loads' wait in ns";
const BANDWIDTH: &str = "bandwidth of the loads, by their wait in ns";

/// Nanoseconds of pause between two lines: from little bandwidth to much.
fn waits(effort: Effort) -> &'static [u32] {
    match effort {
        Effort::Quick => &[1000, 100, 20, 0],
        Effort::Normal | Effort::Full => &[2000, 1000, 500, 200, 100, 50, 20, 10, 5, 2, 0],
    }
}

struct LoadPlacement {
    node: NodeId,
    memory: NodeId,
    cpu: CpuId,
    loads: Vec<CpuId>,
}

impl LoadPlacement {
    /// On the first node, unless `--nodes` names another.
    fn of(site: &Site<'_>) -> Option<Self> {
        let node: &Node = ground::rows(site).first().copied()?;
        let cpu = ground::row_cpu(site, node)?;
        let core: CpuSet =
            [cpu].into_iter().chain(site.machine.cpu(cpu)?.siblings.iter()).collect();
        let loads = node.cpus.intersection(&site.cpus).difference(&core).iter().collect();
        Some(Self { node: node.id, memory: ground::nearest_memory(site, cpu)?, cpu, loads })
    }

    fn cpus(&self) -> Known<Vec<CpuId>> {
        if self.loads.is_empty() {
            return Known::missing(
                Code::NoSiblings,
                format!("node {} has no other usable core for a load", self.node),
            );
        }
        Known::Is([self.cpu].into_iter().chain(self.loads.iter().copied()).collect())
    }
}

impl Probe for Loaded {
    fn name(&self) -> &'static str {
        "loaded"
    }

    fn question(&self) -> &'static str {
        "How long does a load wait for memory while others take bytes from it?"
    }

    fn assumed_in_a_guest(&self) -> f64 {
        Occasion::OF_MEMORY
    }

    fn is_for_all(&self) -> bool {
        false
    }

    fn cells(&self, site: &Site<'_>) -> Vec<Cell> {
        let Some(placement) = LoadPlacement::of(site) else { return Vec::new() };
        let state = ground::room_on(site, placement.memory, &needed(site, &placement));
        let class = site.machine.memory_distance(placement.cpu, placement.memory);
        let cell = |series: &str, column: Place, unit: Unit, cpus: Known<Vec<CpuId>>| Cell {
            series: series.to_owned(),
            row: Place::Node(placement.node),
            column,
            class: class.clone(),
            unit,
            cpus: state.as_ref().and_then(|()| cpus),
        };
        let own = Known::Is(vec![placement.cpu]);
        let mut cells = vec![cell(ALONE, Place::Node(placement.memory), Unit::Nanoseconds, own)];
        for (series, unit) in [(LATENCY, Unit::Nanoseconds), (BANDWIDTH, Unit::GigabytesPerSecond)]
        {
            let steps = waits(site.effort).iter();
            cells.extend(
                steps.map(|&wait| cell(series, Place::Count(wait), unit, placement.cpus())),
            );
        }
        cells
    }

    fn open(&self, site: &Site<'_>, ready: &[Cell]) -> Result<Box<dyn Rig>, ProbeError> {
        let placement = LoadPlacement::of(site)
            .ok_or_else(|| ProbeError::NotHere(Code::TooFewNodes.because("no node is usable")))?;
        let bytes = walk_bytes(site);
        let mut course = Course::new(ground::region(site, placement.memory, bytes)?);
        let (stride, order) = (STRIDE, Order::Random);
        let mut rng = Rng::with_seed(site.seed);
        course.lay(&Plan { from: 0, bytes, stride, line: 0, order }, &mut rng);
        let bytes = buffer_bytes(site, &placement);
        let buffer = |_| ground::region(site, placement.memory, bytes).map(Buffer::new);
        let buffers = placement.loads.iter().map(buffer).collect::<Result<Vec<Buffer>, _>>()?;
        // A pause is calibrated on the CPU that executes it.
        let calibrate = || waits(site.effort).iter().map(|&wait| Step::of(wait)).collect();
        let steps =
            affinity::on_cpu(*placement.loads.first().unwrap_or(&placement.cpu), calibrate)?;
        let jobs = ready.iter().filter_map(|cell| ReadyCell::of(site, cell)).collect();
        let (milliseconds, batches) = match site.effort {
            Effort::Quick => (6, 2),
            Effort::Normal => (12, 2),
            Effort::Full => (12, 6),
        };
        let pace = Pace::new(Duration::from_millis(milliseconds), LEAST_LOADS);
        let placement = (placement.cpu, placement.loads);
        Ok(Box::new(LoadedRig { course, buffers, steps, jobs, pace, batches, placement }))
    }

    fn memory_needed(&self, site: &Site<'_>) -> Vec<(NodeId, Vec<u64>)> {
        let placement = LoadPlacement::of(site);
        placement
            .map(|placement| (placement.memory, needed(site, &placement)))
            .into_iter()
            .collect()
    }

    fn advise(&self, site: &Site<'_>, results: &[CellResult]) -> Vec<Warning> {
        too_small(site).into_iter().chain(dearest(results)).collect()
    }
}

fn needed(site: &Site<'_>, placement: &LoadPlacement) -> Vec<u64> {
    let mut regions = vec![walk_bytes(site) as u64];
    regions.extend(placement.loads.iter().map(|_| buffer_bytes(site, placement) as u64));
    regions
}

fn cache_bytes(site: &Site<'_>) -> u64 {
    let cache =
        LoadPlacement::of(site).and_then(|placement| ground::cache_bytes(site, placement.cpu));
    cache.unwrap_or(ground::ASSUMED_CACHE_BYTES)
}

/// Memory whose walked lines are twice the last-level cache: the loads use the rest of it.
fn enough_bytes(site: &Site<'_>) -> u64 {
    2 * cache_bytes(site) * (STRIDE / 64) as u64
}

/// As requested, or enough, or an eighth of the memory (a sixteenth with `--quick`).
fn walk_bytes(site: &Site<'_>) -> usize {
    if let Some(bytes) = site.size_bytes {
        return bytes as usize;
    }
    let share = if site.effort == Effort::Quick { 16 } else { 8 };
    let most = ground::most_available(site).map_or(u64::MAX, |bytes| bytes / share);
    (enough_bytes(site).min(most).max(4 << 20) >> 20 << 20) as usize
}

/// Together four times the last-level cache, at most a quarter of the memory.
fn buffer_bytes(site: &Site<'_>, placement: &LoadPlacement) -> usize {
    if let Some(bytes) = site.size_bytes {
        return bytes as usize;
    }
    let loads = placement.loads.len().max(1) as u64;
    let wish = (4 * cache_bytes(site) / loads).max(LEAST_BUFFER_BYTES);
    let most = ground::most_available(site).map_or(wish, |bytes| bytes / 4 / loads);
    (wish.min(most).max(1 << 20) >> 20 << 20) as usize
}

fn too_small(site: &Site<'_>) -> Option<Warning> {
    let (lines, cache) = (walk_bytes(site) / STRIDE * 64, cache_bytes(site) as usize);
    (walk_bytes(site) < enough_bytes(site) as usize).then(|| Warning {
        text: format!(
            "the lines walked, {}, are only {:.1} × the last-level cache ({}): hits in it make memory look \
             faster, most of all with nothing beside",
            ground::bytes_text(lines),
            lines as f64 / cache as f64,
            ground::bytes_text(cache)
        ),
        advice: format!("walk more with --size {}M, if memory allows", enough_bytes(site) >> 20),
    })
}

fn dearest(results: &[CellResult]) -> Option<Warning> {
    let of = |series: &'static str| results.iter().filter(move |r| r.cell.series == series);
    let alone = of(ALONE).next()?.estimate()?;
    let steps = of(LATENCY).zip(of(BANDWIDTH));
    let steps = steps.filter_map(|(wait, rate)| Some((wait.estimate()?, rate.estimate()?)));
    let (loaded, rate) = steps.max_by(|a, b| a.1.point.total_cmp(&b.1.point))?;
    let ratio = loaded.point / alone.point;
    (loaded.low > alone.high && ratio > TOLD_FROM).then(|| Warning {
        text: format!(
            "while others took {:.1} GB/s of it, a load waited {ratio:.1} × as long for memory as with \
             nothing beside it: {:.0} against {:.0} ns",
            rate.point, loaded.point, alone.point
        ),
        advice: "if scans run at the same time as page accesses, expect this latency instead of the idle one".into(),
    })
}

/// One pause of the loads, and the windows that only one of its two cells has used.
struct Step {
    wait: Wait,
    for_latency: Option<Window>,
    for_bandwidth: Option<Window>,
}

impl Step {
    fn of(nanoseconds: u32) -> Self {
        Self { wait: Wait::of(nanoseconds), for_latency: None, for_bandwidth: None }
    }
}

type Sample = (f64, Result<(), Disturbance>);

enum ReadyCell {
    Alone,
    Latency(usize),
    Bandwidth(usize),
}

impl ReadyCell {
    fn of(site: &Site<'_>, cell: &Cell) -> Option<Self> {
        let Place::Count(wait) = cell.column else { return Some(Self::Alone) };
        let step = waits(site.effort).iter().position(|&step| step == wait)?;
        Some(if cell.series == LATENCY { Self::Latency(step) } else { Self::Bandwidth(step) })
    }
}

struct LoadedRig {
    course: Course,
    buffers: Vec<Buffer>,
    steps: Vec<Step>,
    jobs: Vec<ReadyCell>,
    pace: Pace,
    batches: usize,
    placement: (CpuId, Vec<CpuId>),
}

impl Rig for LoadedRig {
    fn measure(&mut self, cell: usize, recorder: &mut Recorder) -> Result<(), ProbeError> {
        match self.jobs[cell] {
            ReadyCell::Alone => self.window(None)?.tell_latency(recorder),
            ReadyCell::Latency(step) => {
                let window = match self.steps[step].for_latency.take() {
                    Some(window) => window,
                    None => self.look_at(step, |step| &mut step.for_bandwidth)?,
                };
                window.tell_latency(recorder);
            }
            ReadyCell::Bandwidth(step) => {
                let window = match self.steps[step].for_bandwidth.take() {
                    Some(window) => window,
                    None => self.look_at(step, |step| &mut step.for_latency)?,
                };
                recorder.sample(window.rate(), window.quiet());
            }
        }
        Ok(())
    }

    fn prove(&mut self) -> Result<Vec<Proof>, ProbeError> {
        let mut memory: Vec<Locality> = vec![self.course.locality()];
        memory.extend(self.buffers.iter().map(|buffer| buffer.region.locality()));
        Ok(self.jobs.iter().map(|_| Proof { memory: Known::Is(memory.clone()) }).collect())
    }
}

#[derive(Clone, Default)]
struct Window {
    latencies: Vec<Sample>,
    loads: Vec<Taken>,
}

#[derive(Clone, Copy)]
struct Taken {
    bytes: usize,
    time: Duration,
    quiet: Result<(), Disturbance>,
}

impl Window {
    fn tell_latency(&self, recorder: &mut Recorder) {
        for &(value, quiet) in &self.latencies {
            recorder.sample(value, quiet.and(self.quiet()));
        }
        for load in &self.loads {
            recorder.count("load_bytes", load.bytes as u64);
            recorder.count("load_ns", load.time.as_nanos() as u64);
        }
    }

    /// Gigabytes per second of all loads.
    fn rate(&self) -> f64 {
        let of = |load: &Taken| load.bytes as f64 / load.time.as_nanos().max(1) as f64;
        self.loads.iter().map(of).sum()
    }

    fn quiet(&self) -> Result<(), Disturbance> {
        self.loads.iter().try_for_each(|load| load.quiet)
    }
}

const RAMPING: u8 = 0;
const OPEN: u8 = 1;
const CLOSED: u8 = 2;

impl LoadedRig {
    fn look_at(
        &mut self,
        step: usize,
        other: fn(&mut Step) -> &mut Option<Window>,
    ) -> Result<Window, ProbeError> {
        let window = self.window(Some(self.steps[step].wait))?;
        *other(&mut self.steps[step]) = Some(window.clone());
        Ok(window)
    }

    fn window(&mut self, wait: Option<Wait>) -> Result<Window, ProbeError> {
        let Self { course, buffers, pace, batches, placement: (cpu, loads), .. } = self;
        let loads = if wait.is_some() { loads.as_slice() } else { &[] };
        let cpus: Vec<CpuId> = [*cpu].into_iter().chain(loads.iter().copied()).collect();
        let state = AtomicU8::new(RAMPING);
        let window = Mutex::new(Window::default());
        let chase = Mutex::new((course, pace));
        affinity::crew(&cpus, |n| {
            let mut watch = Watch::new(cpus[n]);
            if let (Some(load), Some(wait)) = (n.checked_sub(1), wait) {
                let taken = buffers[load].take(wait, &state, &mut watch);
                window.lock().unwrap_or_else(PoisonError::into_inner).loads.push(taken);
            } else {
                let mut chase = chase.lock().unwrap_or_else(PoisonError::into_inner);
                let (course, pace) = &mut *chase;
                let samples = follow(course, pace, *batches, &state, &mut watch);
                window.lock().unwrap_or_else(PoisonError::into_inner).latencies = samples;
            }
        })?;
        Ok(window.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Nanoseconds per load, batch by batch, while the window is open.
fn follow(
    course: &mut Course,
    pace: &mut Pace,
    batches: usize,
    state: &AtomicU8,
    watch: &mut Watch,
) -> Vec<Sample> {
    let came = clock::now();
    while came.elapsed() < RAMP {
        course.walk(0, 1, LEAST_LOADS);
    }
    state.store(OPEN, Ordering::Release);
    let mut samples = Vec::new();
    while samples.len() < batches {
        let loads = pace.operations;
        watch.begin();
        let ((), took) = clock::time(|| course.walk(0, 1, loads));
        let quiet = watch.end();
        if pace.counts(took) {
            samples.push((took.as_nanos() as f64 / loads as f64, quiet));
        }
    }
    state.store(CLOSED, Ordering::Release);
    samples
}

/// One load's private memory and position: what it read last is in the caches.
struct Buffer {
    region: Region,
    at: AtomicUsize,
}

impl Buffer {
    fn new(region: Region) -> Self {
        Self { region, at: AtomicUsize::new(0) }
    }

    fn read(&self, wait: Wait) -> usize {
        let at = self.at.load(Ordering::Relaxed);
        let bytes = trickle::read(&self.region, at, CHUNK_BYTES, wait);
        let next = if at + bytes < self.region.len() { at + bytes } else { 0 };
        self.at.store(next, Ordering::Relaxed);
        bytes
    }

    fn take(&self, wait: Wait, state: &AtomicU8, watch: &mut Watch) -> Taken {
        watch.begin();
        while state.load(Ordering::Acquire) == RAMPING {
            self.read(wait);
        }
        let (mut bytes, since) = (0, clock::now());
        while state.load(Ordering::Acquire) != CLOSED {
            bytes += self.read(wait);
        }
        let time = since.elapsed();
        // It may have got its CPU back only after the window.
        let was_there = if bytes > 0 { Ok(()) } else { Err(Disturbance::Waited) };
        Taken { bytes, time, quiet: watch.end().and(was_there) }
    }
}
