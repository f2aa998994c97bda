//! **latency**: the duration of one load, from each node's CPU to each node's memory.
//!
//! Method: dependent loads over a random cycle, one line per 256 bytes. The lines are 4 and 8 times
//! the last-level cache: if the figures differ, caches still help at the smaller size. Random order
//! shows the cost of a database's page accesses, TLB misses included; page by page shows the memory
//! alone; parallel chains show how much a core can overlap. Limits: the machine is idle; a guest's
//! cache size is the hypervisor's. If memory or time (`--quick`) is too short, the report says how
//! much of the walk the cache can hold.

use std::time::Duration;

use fastrand::Rng;
use hopcost_core::{
    Cell, CellResult, Code, CpuId, Effort, Known, Locality, Node, NodeId, NodeSet, Occasion, Place,
    Probe, ProbeError, Proof, Recorder, Rig, Site, Unit, Warning,
};
use hopcost_sys::kernels::chase::{Course, LINE_BYTES, Order, Plan};
use hopcost_sys::quiet::Watch;
use hopcost_sys::{affinity, clock};

use super::ground;
use super::pace::Pace;

pub struct Latency;

const DEFAULT_STRIDE: usize = 256;
const BATCH: Duration = Duration::from_millis(12);
/// Loads of the shortest batch: one unrolled loop body per chain.
const LEAST_LOADS: usize = 64;
const SIZES_AGREE_WITHIN: f64 = 0.10;
/// TLB-friendly order finishes one group of this size before the next.
const GROUP_BYTES: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    Random,
    RandomTwice,
    PageByPage,
}

impl Variant {
    const ALL: [Self; 3] = [Self::Random, Self::RandomTwice, Self::PageByPage];

    fn bytes(self, size: usize) -> usize {
        if self == Self::RandomTwice { 2 * size } else { size }
    }

    fn series(self, size: usize) -> String {
        let bytes = ground::bytes_text(self.bytes(size));
        match self {
            Self::Random | Self::RandomTwice => format!("random, {bytes}"),
            Self::PageByPage => format!("page by page, {bytes}"),
        }
    }
}

fn chain_counts(effort: Effort) -> &'static [usize] {
    match effort {
        Effort::Quick => &[1, 2, 4, 8, 16],
        Effort::Normal | Effort::Full => &[1, 2, 3, 4, 6, 8, 12, 16],
    }
}

impl Probe for Latency {
    fn name(&self) -> &'static str {
        "latency"
    }

    fn question(&self) -> &'static str {
        "How long does one load wait for memory, by where the memory is?"
    }

    fn assumed_in_a_guest(&self) -> f64 {
        Occasion::OF_MEMORY
    }

    /// The whole matrix; twice the size on each node's own memory unless all is requested.
    fn cells(&self, site: &Site<'_>) -> Vec<Cell> {
        let size = walk_bytes(site);
        let columns = ground::columns_for(site, &needed(site));
        let mut cells = Vec::new();
        for variant in Variant::ALL {
            for row in ground::rows(site) {
                for (column, state) in &columns {
                    let own = ground::is_own(row, column);
                    if own || variant != Variant::RandomTwice || site.effort == Effort::Full {
                        cells.push(cell(site, variant.series(size), row.id, column.id, state));
                    }
                }
            }
        }
        let is_row = |node: &Node| ground::rows(site).iter().any(|row| row.id == node.id);
        if let Some((node, state)) = columns.iter().find(|(node, _)| is_row(node)) {
            for &chains in chain_counts(site.effort) {
                let series = format!("parallel chains, {}", ground::bytes_text(size));
                let local = cell(site, series, node.id, node.id, state);
                cells.push(Cell { column: Place::Count(chains as u32), ..local });
            }
        }
        cells
    }

    fn open(&self, site: &Site<'_>, ready: &[Cell]) -> Result<Box<dyn Rig>, ProbeError> {
        let size = walk_bytes(site);
        let stride = stride(site);
        let mut rng = Rng::with_seed(site.seed);
        let nodes: NodeSet = ready.iter().filter_map(data_node).collect();
        let mut estates = Vec::new();
        for node in nodes.iter() {
            estates.push(Estate::lay(site, node, size, stride, &mut rng)?);
        }
        let jobs = ready.iter().map(|cell| ReadyCell::of(site, cell, size, &estates));
        let jobs = jobs.collect::<Option<Vec<ReadyCell>>>();
        let jobs =
            jobs.ok_or_else(|| ProbeError::NotHere(Code::TooFewNodes.because("a node went away")))?;
        let warnings = warnings(site, size);
        let (batches, lead_in) = visit(site.effort);
        Ok(Box::new(LatencyRig { estates, jobs, batches, lead_in, warnings }))
    }

    fn memory_needed(&self, site: &Site<'_>) -> Vec<(NodeId, Vec<u64>)> {
        ground::columns(site).iter().map(|node| (node.id, needed(site))).collect()
    }

    fn advise(&self, site: &Site<'_>, results: &[CellResult]) -> Vec<Warning> {
        sizes_differ(site, results).into_iter().collect()
    }
}

/// If twice the size is over a tenth slower, caches still helped at the smaller one.
fn sizes_differ(site: &Site<'_>, results: &[CellResult]) -> Option<Warning> {
    let size = walk_bytes(site);
    let (small, large) = (Variant::Random.series(size), Variant::RandomTwice.series(size));
    let figure = |series: &str, like: &Cell| {
        let of = |r: &&CellResult| {
            r.cell.series == series && r.cell.row == like.row && r.cell.column == like.column
        };
        results.iter().find(of)?.estimate().map(|estimate| estimate.point)
    };
    let at_small = results.iter().filter(|result| result.cell.series == small);
    let ratios = at_small.filter_map(|r| Some(figure(&large, &r.cell)? / r.estimate()?.point));
    let worst = ratios.max_by(|a, b| (a - 1.0).abs().total_cmp(&(b - 1.0).abs()))?;
    ((worst - 1.0).abs() > SIZES_AGREE_WITHIN).then(|| Warning {
        text: format!(
            "twice the memory gives {:+.0}%: the smaller size is not all memory",
            (worst - 1.0) * 100.0
        ),
        advice: format!(
            "quote the larger size, or walk more with --size {}M, if memory allows",
            enough_bytes(site).max(2 * size as u64) >> 20
        ),
    })
}

fn cell(site: &Site<'_>, series: String, row: NodeId, column: NodeId, state: &Known<()>) -> Cell {
    let cpu = site.machine.node(row).and_then(|node| ground::row_cpu(site, node));
    let cpus = cpu.map_or(Known::missing(Code::TooFewCpus, "the node has no usable CPU"), |cpu| {
        Known::Is(vec![cpu])
    });
    let cpus = state.as_ref().and_then(|()| cpus);
    let class = match cpu {
        Some(cpu) => site.machine.memory_distance(cpu, column),
        None => Known::missing(Code::TooFewCpus, "the node has no usable CPU"),
    };
    let unit = Unit::Nanoseconds;
    Cell { series, row: Place::Node(row), column: Place::Node(column), class, unit, cpus }
}

/// Batches per visit to a cell, and how long the walk is warmed up. The caches need time to hold
/// the page tables of *this* walk: right after another walk, base pages read up to 8% off.
fn visit(effort: Effort) -> (usize, Duration) {
    let (batches, lead_in_ms) = match effort {
        Effort::Quick => (2, 12),
        Effort::Normal => (4, 100),
        Effort::Full => (8, 200),
    };
    (batches, Duration::from_millis(lead_in_ms))
}

fn stride(site: &Site<'_>) -> usize {
    site.stride_bytes.map_or(DEFAULT_STRIDE, |bytes| bytes as usize)
}

fn data_node(cell: &Cell) -> Option<NodeId> {
    match (&cell.row, &cell.column) {
        (_, Place::Node(node)) | (Place::Node(node), Place::Count(_)) => Some(*node),
        _ => None,
    }
}

fn needed(site: &Site<'_>) -> Vec<u64> {
    let regions = region_sizes(walk_bytes(site), stride(site));
    regions.into_iter().map(|bytes| bytes as u64).collect()
}

/// The smaller size: as requested, or [`enough_bytes`], or a quarter of the largest node (an eighth
/// with `--quick`: populating and linking memory takes time).
fn walk_bytes(site: &Site<'_>) -> usize {
    if let Some(bytes) = site.size_bytes {
        return bytes as usize;
    }
    let wish = enough_bytes(site);
    let share = if site.effort == Effort::Quick { 8 } else { 4 };
    let most = ground::most_available(site).map_or(wish, |bytes| bytes / share);
    let whole = most.min(wish).max(4 << 20) >> 20 << 20;
    whole as usize
}

/// Memory whose walked lines are 4 × the last-level cache that one CPU can fill.
fn enough_bytes(site: &Site<'_>) -> u64 {
    4 * cache_bytes(site) * (stride(site) / LINE_BYTES) as u64
}

fn cache_bytes(site: &Site<'_>) -> u64 {
    let cpus = ground::rows(site).into_iter().filter_map(|node| ground::row_cpu(site, node));
    cpus.filter_map(|cpu| ground::cache_bytes(site, cpu))
        .max()
        .unwrap_or(ground::ASSUMED_CACHE_BYTES)
}

fn warnings(site: &Site<'_>, size: usize) -> Vec<Warning> {
    let (cache, lines) = (cache_bytes(site), size / stride(site) * LINE_BYTES);
    let ratio = lines as f64 / cache as f64;
    if size as u64 >= enough_bytes(site) {
        return Vec::new();
    }
    vec![Warning {
        text: format!(
            "the lines walked, {}, are only {ratio:.1} × the last-level cache ({}): hits in it make \
             memory look faster",
            ground::bytes_text(lines),
            ground::bytes_text(cache as usize)
        ),
        advice: format!("walk more with --size {}M, if memory allows", enough_bytes(site) >> 20),
    }]
}

/// One region for all cycles if a slot has a line for each of them, else one each.
fn region_sizes(size: usize, stride: usize) -> Vec<usize> {
    if stride / LINE_BYTES >= Variant::ALL.len() {
        return vec![2 * size];
    }
    Variant::ALL.iter().map(|variant| variant.bytes(size)).collect()
}

struct Estate {
    node: NodeId,
    courses: Vec<Course>,
    /// By variant: the index of its region, and of its cycle there.
    cycles: Vec<(usize, usize)>,
}

impl Estate {
    fn lay(
        site: &Site<'_>,
        node: NodeId,
        size: usize,
        stride: usize,
        rng: &mut Rng,
    ) -> Result<Self, ProbeError> {
        let sizes = region_sizes(size, stride);
        let courses = sizes.iter().map(|&bytes| ground::region(site, node, bytes).map(Course::new));
        let mut courses = courses.collect::<Result<Vec<Course>, _>>()?;
        let mut cycles = Vec::new();
        for (n, variant) in Variant::ALL.into_iter().enumerate() {
            let (at, line) = if courses.len() == 1 { (0, n) } else { (n, 0) };
            let order = match variant {
                Variant::Random | Variant::RandomTwice => Order::Random,
                Variant::PageByPage => Order::Grouped { bytes: GROUP_BYTES },
            };
            let plan = Plan { from: 0, bytes: variant.bytes(size), stride, line, order };
            cycles.push((at, courses[at].lay(&plan, rng)));
        }
        Ok(Self { node, courses, cycles })
    }
}

struct ReadyCell {
    cpu: CpuId,
    spinners: Vec<CpuId>,
    estate: usize,
    variant: usize,
    chains: usize,
    pace: Pace,
}

impl ReadyCell {
    fn of(site: &Site<'_>, cell: &Cell, size: usize, estates: &[Estate]) -> Option<Self> {
        let cpu = *cell.cpus.get()?.first()?;
        let node = data_node(cell)?;
        let chains = match cell.column {
            Place::Count(chains) => chains as usize,
            _ => 1,
        };
        let variant = Variant::ALL.iter().position(|v| v.series(size) == cell.series).unwrap_or(0);
        Some(Self {
            cpu,
            spinners: ground::spinners(site, cpu),
            estate: estates.iter().position(|estate| estate.node == node)?,
            variant,
            chains,
            pace: Pace::new(BATCH, LEAST_LOADS),
        })
    }
}

struct LatencyRig {
    estates: Vec<Estate>,
    jobs: Vec<ReadyCell>,
    batches: usize,
    lead_in: Duration,
    warnings: Vec<Warning>,
}

impl Rig for LatencyRig {
    fn measure(&mut self, cell: usize, recorder: &mut Recorder) -> Result<(), ProbeError> {
        let job = &mut self.jobs[cell];
        let estate = &mut self.estates[job.estate];
        let (course, cycle) = estate.cycles[job.variant];
        let course = &mut estate.courses[course];
        let (cpu, chains, pace) = (job.cpu, job.chains, &mut job.pace);
        let (batches, lead_in) = (self.batches, self.lead_in);
        let work = || {
            let came = clock::now();
            while came.elapsed() < lead_in {
                course.walk(cycle, chains, pace.operations);
            }
            let mut watch = Watch::new(cpu);
            let mut kept = 0;
            while kept < batches {
                let loads = pace.operations;
                watch.begin();
                let ((), took) = clock::time(|| course.walk(cycle, chains, loads));
                let quiet = watch.end();
                if pace.counts(took) {
                    recorder.sample(took.as_nanos() as f64 / (loads * chains) as f64, quiet);
                    kept += 1;
                }
            }
        };
        Ok(affinity::accompanied(cpu, &job.spinners, work)?)
    }

    fn prove(&mut self) -> Result<Vec<Proof>, ProbeError> {
        let localities: Vec<Vec<Locality>> = self
            .estates
            .iter()
            .map(|estate| estate.courses.iter().map(Course::locality).collect())
            .collect();
        let proof = |job: &ReadyCell| Proof { memory: Known::Is(localities[job.estate].clone()) };
        Ok(self.jobs.iter().map(proof).collect())
    }

    fn warnings(&self) -> Vec<Warning> {
        self.warnings.clone()
    }
}
