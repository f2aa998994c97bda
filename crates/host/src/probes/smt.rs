//! **smt**: how much slower work gets beside other work, on the same core and on another.
//!
//! Method: a small kernel runs on one CPU, alone and beside a load: on its sibling and, as a
//! control, on another core. The cost of the sibling is the loss beyond the control's. The loads
//! resemble server work: spinning, arithmetic, cache reads, pointer chasing, streaming. Limits: if
//! a guest is not told of siblings, a control that loses as much as a sibling would is one.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fastrand::Rng;
use hopcost_core::{
    CacheKind, Cell, CellResult, Code, CpuId, DistanceClass, Disturbance, Effort, Known, Locality,
    Occasion, Place, Probe, ProbeError, Proof, Recorder, Rig, Site, Unit, Warning,
};
use hopcost_sys::kernels::arithmetic::reckon;
use hopcost_sys::kernels::bandwidth::{BLOCK_BYTES, Kernel, Vectors, stream_bytes, sweep};
use hopcost_sys::kernels::chase::{Course, LINE_BYTES, Order, Plan};
use hopcost_sys::memory::Region;
use hopcost_sys::quiet::Watch;
use hopcost_sys::{affinity, clock};

use super::ground;
use super::pace::Pace;

pub struct Smt;

const LEAST_OPERATIONS: usize = 64;
const RAMP: Duration = Duration::from_millis(2);
const ASSUMED_L1_BYTES: u64 = 32 << 10;
const ASSUMED_L2_BYTES: u64 = 1 << 20;
/// For streaming and chasing: larger than a core's own caches, and quick to link.
const FAR_BYTES: usize = 128 << 20;
/// Between two checks whether the load is still needed: some microseconds.
const CHUNK_BYTES: usize = 64 << 10;
const TOLD_FROM: f64 = 1.1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Small {
    Arithmetic,
    Chase,
}

impl Small {
    const ALL: [Self; 2] = [Self::Arithmetic, Self::Chase];

    const fn name(self) -> &'static str {
        match self {
            Self::Arithmetic => "arithmetic",
            Self::Chase => "chase in L2",
        }
    }

    /// Nanoseconds per operation, batch by batch, after both have started.
    fn sample(
        self,
        near: &mut Course,
        pace: &mut Pace,
        batches: usize,
        watch: &mut Watch,
    ) -> Vec<(f64, Result<(), Disturbance>)> {
        let mut batch = |operations| match self {
            Self::Arithmetic => {
                black_box(reckon(operations));
            }
            Self::Chase => near.walk(0, 1, operations),
        };
        let came = clock::now();
        while came.elapsed() < RAMP {
            batch(LEAST_OPERATIONS);
        }
        let mut samples = Vec::new();
        while samples.len() < batches {
            let operations = pace.operations;
            watch.begin();
            let ((), took) = clock::time(|| batch(operations));
            let quiet = watch.end();
            if pace.counts(took) {
                samples.push((took.as_nanos() as f64 / operations as f64, quiet));
            }
        }
        samples
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    Nothing,
    Spin,
    Arithmetic,
    L1,
    L2,
    Chase,
    Stream,
}

impl Load {
    const ALL: [Self; 7] = [
        Self::Nothing,
        Self::Spin,
        Self::Arithmetic,
        Self::L1,
        Self::L2,
        Self::Chase,
        Self::Stream,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "alone",
            Self::Spin => "beside spinning",
            Self::Arithmetic => "beside arithmetic",
            Self::L1 => "beside reads of L1",
            Self::L2 => "beside reads of L2",
            Self::Chase => "beside a chase",
            Self::Stream => "beside a stream",
        }
    }
}

fn series(small: Small, load: Load) -> String {
    format!("{}, {}", small.name(), load.name())
}

struct SmtPlacement {
    cpu: CpuId,
    sibling: Known<CpuId>,
    other: Known<CpuId>,
}

impl SmtPlacement {
    /// A core with two usable threads if there is one, and not the first if there is another.
    fn of(site: &Site<'_>) -> Option<Self> {
        let sibling_of = |cpu: CpuId| {
            let siblings = site.machine.cpu(cpu)?.siblings.intersection(&site.cpus);
            siblings.iter().find(|&sibling| sibling != cpu)
        };
        let cores: Vec<CpuId> = site.machine.one_cpu_per_core(&site.cpus).iter().collect();
        let (first, rest) = cores.split_first()?;
        let by_choice = || rest.iter().chain([first]).copied();
        let cpu = by_choice().find(|&cpu| sibling_of(cpu).is_some()).or(by_choice().next())?;
        let of_its_core = |other: &CpuId| {
            site.machine.cpu(cpu).is_some_and(|own| *other == cpu || own.siblings.contains(*other))
        };
        let class = |other: &CpuId| site.machine.cpu_distance(cpu, *other).ok();
        let nearest = by_choice().filter(|other| !of_its_core(other)).min_by_key(class);
        let sibling = sibling_of(cpu)
            .map_or(Known::missing(Code::NoSiblings, "no core has two usable threads"), Known::Is);
        let other = nearest
            .map_or(Known::missing(Code::NoSiblings, "there is no other usable core"), Known::Is);
        Some(Self { cpu, sibling, other })
    }
}

impl Probe for Smt {
    fn name(&self) -> &'static str {
        "smt"
    }

    fn question(&self) -> &'static str {
        "How much longer does work take beside other work on its core, and on another?"
    }

    fn assumed_in_a_guest(&self) -> f64 {
        Occasion::OF_THROUGHPUT
    }

    fn is_for_all(&self) -> bool {
        false
    }

    fn cells(&self, site: &Site<'_>) -> Vec<Cell> {
        let Some(placement) = SmtPlacement::of(site) else { return Vec::new() };
        let other = placement
            .other
            .get()
            .and_then(|&cpu| site.machine.cpu_distance(placement.cpu, cpu).ok());
        let far = other.unwrap_or(DistanceClass::SameNode);
        let mut cells = Vec::new();
        for (class, partner) in
            [(DistanceClass::Sibling, &placement.sibling), (far, &placement.other)]
        {
            for small in Small::ALL {
                for load in Load::ALL {
                    cells.push(cell(&placement, class, partner, series(small, load), load));
                }
            }
        }
        cells
    }

    fn open(&self, site: &Site<'_>, ready: &[Cell]) -> Result<Box<dyn Rig>, ProbeError> {
        let jobs = ready.iter().filter_map(|cell| ReadyCell::of(site, cell)).collect();
        let sibling = SmtPlacement::of(site).map(|placement| placement.sibling);
        let warnings =
            sibling.as_ref().and_then(|sibling| sibling.reason()).map(|reason| Warning {
                text: format!("what a sibling costs is missing: {reason}"),
                advice: "only the control, work on another core, is measured".into(),
            });
        let warnings = warnings.into_iter().collect();
        Ok(Box::new(SmtRig { jobs, stage: Stage::build(site)?, warnings }))
    }

    fn advise(&self, _: &Site<'_>, results: &[CellResult]) -> Vec<Warning> {
        let mut classes: Vec<DistanceClass> =
            results.iter().filter_map(|result| result.cell.class.get().copied()).collect();
        classes.dedup();
        classes.into_iter().filter_map(|class| dearest(class, results)).collect()
    }
}

fn cell(
    placement: &SmtPlacement,
    class: DistanceClass,
    partner: &Known<CpuId>,
    series: String,
    load: Load,
) -> Cell {
    let cpus = partner.as_ref().map(|&partner| match load {
        Load::Nothing => vec![placement.cpu],
        _ => vec![placement.cpu, partner],
    });
    let column = partner.get().map_or(Place::Class(class), |&partner| Place::Cpu(partner));
    let unit = Unit::Nanoseconds;
    Cell { series, row: Place::Class(class), column, class: Known::Is(class), unit, cpus }
}

fn dearest(class: DistanceClass, results: &[CellResult]) -> Option<Warning> {
    let estimate = |small: Small, load: Load| {
        let series = series(small, load);
        let of = |r: &&CellResult| r.cell.series == series && r.cell.row == Place::Class(class);
        results.iter().find(of).and_then(CellResult::estimate)
    };
    let pairs = Small::ALL.into_iter().flat_map(|small| Load::ALL.map(|load| (small, load)));
    let found = pairs.filter_map(|(small, load)| {
        let (alone, beside) = (estimate(small, Load::Nothing)?, estimate(small, load)?);
        let ratio = beside.point / alone.point;
        let is_told = beside.low > alone.high && ratio > TOLD_FROM;
        is_told.then_some((ratio, small, load, alone.point, beside.point))
    });
    let (ratio, small, load, alone, beside) = found.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let (whose, advice) = if class == DistanceClass::Sibling {
        ("a sibling", "count cores, not threads, when a server is sized for such work")
    } else {
        (
            "another core",
            "more than cores that share no more than a cache should lose points to siblings that a \
             hypervisor hides, or to other work on the host",
        )
    };
    Some(Warning {
        text: format!(
            "on {whose} ({class}), {} takes {ratio:.1} × as long {} as alone: {beside:.2} against \
             {alone:.2} ns",
            small.name(),
            load.name()
        ),
        advice: advice.into(),
    })
}

struct Stage {
    /// For the small chase, in a quarter of the second cache.
    near: Course,
    company: LoadMemory,
}

struct LoadMemory {
    far: Course,
    swept: Region,
    vectors: Vectors,
    l1_bytes: usize,
    l2_bytes: usize,
}

impl LoadMemory {
    fn work(&mut self, load: Load, done: &AtomicBool) {
        let bytes = match load {
            Load::L1 => self.l1_bytes,
            Load::L2 => self.l2_bytes,
            _ => stream_bytes(self.swept.len(), Kernel::Read),
        };
        let mut at = 0;
        while !done.load(Ordering::Relaxed) {
            match load {
                Load::Nothing | Load::Spin => std::hint::spin_loop(),
                Load::Arithmetic => {
                    black_box(reckon(LEAST_OPERATIONS));
                }
                Load::Chase => self.far.walk(0, 1, LEAST_OPERATIONS),
                Load::L1 | Load::L2 | Load::Stream => {
                    let chunk = at..bytes.min(at + CHUNK_BYTES);
                    black_box(sweep(&mut self.swept, Kernel::Read, self.vectors, &chunk));
                    at = if chunk.end < bytes { chunk.end } else { 0 };
                }
            }
        }
    }
}

impl Stage {
    fn build(site: &Site<'_>) -> Result<Self, ProbeError> {
        let nowhere =
            || ProbeError::NotHere(Code::TooFewCpus.because("no CPU and no memory is usable"));
        let cpu = SmtPlacement::of(site).ok_or_else(nowhere)?.cpu;
        let node = ground::nearest_memory(site, cpu).ok_or_else(nowhere)?;
        let cache = |level| {
            let caches = site.machine.caches.iter();
            let mut own = caches.filter(|cache| {
                cache.level == level
                    && cache.kind != CacheKind::Instruction
                    && cache.cpus.contains(cpu)
            });
            own.find_map(|cache| cache.bytes.get().copied())
        };
        // A quarter of a cache stays cached even if other work uses part of it.
        let quarter = |bytes: u64| bytes as usize / 4 / BLOCK_BYTES * BLOCK_BYTES;
        let (l1_bytes, l2_bytes) = (
            quarter(cache(1).unwrap_or(ASSUMED_L1_BYTES)),
            quarter(cache(2).unwrap_or(ASSUMED_L2_BYTES)),
        );
        let far_bytes = site.size_bytes.map_or(FAR_BYTES, |bytes| bytes as usize);
        let mut rng = Rng::with_seed(site.seed);
        let mut course = |bytes: usize| -> Result<Course, ProbeError> {
            let mut course = Course::new(ground::region(site, node, bytes)?);
            let (stride, order) = (LINE_BYTES, Order::Random);
            course.lay(&Plan { from: 0, bytes, stride, line: 0, order }, &mut rng);
            Ok(course)
        };
        let (near, far) = (course(l2_bytes)?, course(far_bytes)?);
        let swept = ground::region(site, node, far_bytes.max(l2_bytes))?;
        let company = LoadMemory { far, swept, vectors: Vectors::widest(), l1_bytes, l2_bytes };
        Ok(Self { near, company })
    }

    fn locality(&self) -> Vec<Locality> {
        let LoadMemory { far, swept, .. } = &self.company;
        vec![self.near.locality(), far.locality(), swept.locality()]
    }
}

struct ReadyCell {
    small: Small,
    load: Load,
    cpus: Vec<CpuId>,
    batches: usize,
    pace: Pace,
}

impl ReadyCell {
    fn of(site: &Site<'_>, cell: &Cell) -> Option<Self> {
        let mut kinds =
            Small::ALL.into_iter().flat_map(|small| Load::ALL.map(|load| (small, load)));
        let (small, load) = kinds.find(|&(small, load)| series(small, load) == cell.series)?;
        let (milliseconds, batches) = match site.effort {
            Effort::Quick => (6, 2),
            Effort::Normal => (12, 2),
            Effort::Full => (12, 6),
        };
        let pace = Pace::new(Duration::from_millis(milliseconds), LEAST_OPERATIONS);
        Some(Self { small, load, cpus: cell.cpus.get()?.clone(), batches, pace })
    }
}

struct SmtRig {
    jobs: Vec<ReadyCell>,
    stage: Stage,
    warnings: Vec<Warning>,
}

impl Rig for SmtRig {
    fn measure(&mut self, cell: usize, recorder: &mut Recorder) -> Result<(), ProbeError> {
        let ReadyCell { small, load, cpus, batches, pace } = &mut self.jobs[cell];
        let Stage { near, company } = &mut self.stage;
        let (own, company) = (Mutex::new((near, pace)), Mutex::new(company));
        let done = AtomicBool::new(false);
        let sides = affinity::crew(cpus, |side| {
            let mut watch = Watch::new(cpus[side]);
            if side == 0 {
                let mut own = own.lock().unwrap_or_else(PoisonError::into_inner);
                let (near, pace) = &mut *own;
                let samples = small.sample(near, pace, *batches, &mut watch);
                done.store(true, Ordering::Relaxed);
                return samples;
            }
            let mut company = company.lock().unwrap_or_else(PoisonError::into_inner);
            watch.begin();
            company.work(*load, &done);
            vec![(0.0, watch.end())]
        })?;
        let loaded = sides.get(1).and_then(|side| side.first()).map_or(Ok(()), |&(_, quiet)| quiet);
        for &(value, quiet) in &sides[0] {
            recorder.sample(value, quiet.and(loaded));
        }
        Ok(())
    }

    fn prove(&mut self) -> Result<Vec<Proof>, ProbeError> {
        let proof = Proof { memory: Known::Is(self.stage.locality()) };
        Ok(self.jobs.iter().map(|_| proof.clone()).collect())
    }

    fn warnings(&self) -> Vec<Warning> {
        self.warnings.clone()
    }
}
