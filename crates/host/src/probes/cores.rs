//! **cores**: the time for a cache line to get from one CPU to another.
//!
//! Method: two pinned threads pass a line back and forth, by compare-and-swap on one line or by
//! release and acquire on two; half a round trip is a hand-over. Each sample is a fresh line on a
//! fresh page, because the line decides which cache slice holds its directory entry. The page is on
//! the first CPU's node, the second's, or a third, because that alone can add half. Many-CPU
//! machines are sampled by distance class. Limits: in a guest, the hypervisor schedules the CPUs.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use fastrand::Rng;
use hopcost_core::{
    Cell, CellResult, CpuId, DistanceClass, Effort, Known, Locality, NodeId, Occasion, PageSize,
    Place, Probe, ProbeError, Proof, Recorder, Rig, Site, Unit, Warning,
};
use hopcost_sys::affinity;
use hopcost_sys::kernels::ping_pong::{self, Method, Table};
use hopcost_sys::memory::Region;
use hopcost_sys::quiet::Watch;

use super::ground;

pub struct Cores;

const MOST_PAIRS: usize = 400;
const PAGE_BYTES: usize = 4096;
const LINE_BYTES: usize = 64;
const REGION_BYTES: usize = 4 << 20;
/// Pairs of one kind differ by some ten percent; kinds by a factor.
const KINDS_DIFFER_BY: f64 = 1.6;
/// Round trips of a batch, and batches on one line. The line's sample is their median.
const TRIPS: u64 = 500;
const BATCHES: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    First,
    Second,
    Third,
}

impl Home {
    const ALL: [Self; 3] = [Self::First, Self::Second, Self::Third];

    const fn name(self) -> &'static str {
        match self {
            Self::First => "home on the row's node",
            Self::Second => "home on the column's node",
            Self::Third => "home on a third node",
        }
    }

    /// `None` if it is the same node as an earlier placement.
    fn node(self, site: &Site<'_>, a: CpuId, b: CpuId) -> Option<NodeId> {
        let of = |cpu| ground::nearest_memory(site, cpu);
        let (first, second) = (of(a)?, of(b)?);
        match self {
            Self::First => Some(first),
            Self::Second => (second != first).then_some(second),
            Self::Third => {
                let others = ground::columns_for(site, &[]).into_iter();
                let mut others = others.filter(|(_, state)| state.get().is_some());
                let third = others.find(|(node, _)| node.id != first && node.id != second);
                third.map(|(node, _)| node.id)
            }
        }
    }
}

const fn method_name(method: Method) -> &'static str {
    match method {
        Method::CompareAndSwap => "compare-and-swap",
        Method::TwoLines => "two lines",
    }
}

impl Probe for Cores {
    fn name(&self) -> &'static str {
        "cores"
    }

    fn question(&self) -> &'static str {
        "How long does a cache line take from one CPU to another?"
    }

    fn assumed_in_a_guest(&self) -> f64 {
        Occasion::OF_MEMORY
    }

    fn cells(&self, site: &Site<'_>) -> Vec<Cell> {
        let methods: &[Method] = match site.effort {
            Effort::Quick => &[Method::CompareAndSwap],
            Effort::Normal | Effort::Full => &[Method::CompareAndSwap, Method::TwoLines],
        };
        let pairs = pairs(site);
        let mut cells = Vec::new();
        for &method in methods {
            for home in Home::ALL {
                if home != Home::First && site.effort == Effort::Quick && pairs.len() > 100 {
                    continue;
                }
                for &(a, b) in &pairs {
                    if home.node(site, a, b).is_some() {
                        cells.push(cell(site, method, home, a, b));
                    }
                }
            }
        }
        cells
    }

    fn advise(&self, site: &Site<'_>, results: &[CellResult]) -> Vec<Warning> {
        hidden_kinds(site, results).into_iter().collect()
    }

    fn open(&self, site: &Site<'_>, ready: &[Cell]) -> Result<Box<dyn Rig>, ProbeError> {
        let jobs: Vec<ReadyCell> =
            ready.iter().filter_map(|cell| ReadyCell::of(site, cell)).collect();
        // A line's page is fresh only if each line has its own page.
        let small = Site { pages: Some(PageSize::Base), ..site.clone() };
        let mut pools = BTreeMap::new();
        for job in &jobs {
            if let Entry::Vacant(vacant) = pools.entry(job.home) {
                let region = ground::region(&small, job.home, REGION_BYTES)?;
                vacant.insert(LinePool { region, rng: Rng::with_seed(site.seed), page: 0 });
            }
        }
        let lines = if site.effort == Effort::Quick { 4 } else { 8 };
        Ok(Box::new(CoresRig { pools, jobs, lines }))
    }
}

/// Pairs of one class with different figures: siblings or sockets that a hypervisor hides.
fn hidden_kinds(site: &Site<'_>, results: &[CellResult]) -> Option<Warning> {
    let mut by_class: BTreeMap<DistanceClass, Vec<(f64, &Cell)>> = BTreeMap::new();
    for result in
        results.iter().filter(|r| r.cell.series == series(Method::CompareAndSwap, Home::First))
    {
        if let (Some(estimate), Known::Is(class)) = (result.estimate(), &result.cell.class) {
            by_class.entry(*class).or_default().push((estimate.point, &result.cell));
        }
    }
    let gaps = by_class.into_iter().filter_map(|(class, pairs)| {
        let figures: Vec<f64> = pairs.iter().map(|(figure, _)| *figure).collect();
        Some((class, hopcost_stats::widest_gap(&figures)?, pairs))
    });
    let (class, gap, pairs) = gaps.max_by(|a, b| a.1.ratio().total_cmp(&b.1.ratio()))?;
    let near: Vec<String> = pairs
        .iter()
        .filter(|(figure, _)| *figure <= gap.below)
        .map(|(_, cell)| format!("{}–{}", cell.row, cell.column).replace("cpu ", ""))
        .collect();
    (gap.ratio() > KINDS_DIFFER_BY).then(|| Warning {
        text: format!(
            "the machine calls {} pairs {class}, but {} of them are near (up to {:.0} ns) and the rest \
             far (from {:.0} ns); near: {}",
            pairs.len(),
            near.len(),
            gap.below,
            gap.above,
            near.iter().take(8).cloned().collect::<Vec<_>>().join(" "),
        ),
        advice: if site.machine.virtualization.guest == Known::Is(true) {
            "the hypervisor hides siblings or sockets: trust the measured kinds".into()
        } else {
            "the class holds more than one kind of distance: read the matrix, not the class".into()
        },
    })
}

fn series(method: Method, home: Home) -> String {
    format!("{}, {}", method_name(method), home.name())
}

fn cell(site: &Site<'_>, method: Method, home: Home, a: CpuId, b: CpuId) -> Cell {
    Cell {
        series: series(method, home),
        row: Place::Cpu(a),
        column: Place::Cpu(b),
        class: site.machine.cpu_distance(a, b),
        unit: Unit::Nanoseconds,
        cpus: Known::Is(vec![a, b]),
    }
}

/// All pairs of the site's CPUs, or an even sample of each distance class.
fn pairs(site: &Site<'_>) -> Vec<(CpuId, CpuId)> {
    let mut by_class: BTreeMap<Option<DistanceClass>, Vec<(CpuId, CpuId)>> = BTreeMap::new();
    for a in site.cpus.iter() {
        for b in site.cpus.iter().filter(|&b| b > a) {
            by_class.entry(site.machine.cpu_distance(a, b).ok()).or_default().push((a, b));
        }
    }
    let all: usize = by_class.values().map(Vec::len).sum();
    if all > MOST_PAIRS {
        let each = MOST_PAIRS / by_class.len();
        let mut rng = Rng::with_seed(site.seed);
        for pairs in by_class.values_mut() {
            rng.shuffle(pairs);
            pairs.truncate(each);
        }
    }
    let mut pairs: Vec<_> = by_class.into_values().flatten().collect();
    pairs.sort_unstable();
    pairs
}

struct ReadyCell {
    method: Method,
    cpus: [CpuId; 2],
    home: NodeId,
}

impl ReadyCell {
    fn of(site: &Site<'_>, cell: &Cell) -> Option<Self> {
        let [a, b] = cell.cpus.get()?.as_slice() else { return None };
        let home = Home::ALL.into_iter().find(|home| cell.series.ends_with(home.name()))?;
        let methods = [Method::CompareAndSwap, Method::TwoLines];
        let method = methods.into_iter().find(|&m| cell.series.starts_with(method_name(m)))?;
        Some(Self { method, cpus: [*a, *b], home: home.node(site, *a, *b)? })
    }
}

struct LinePool {
    region: Region,
    rng: Rng,
    page: usize,
}

impl LinePool {
    /// Two words on separate lines, on a page not used recently.
    fn fresh_table(&mut self) -> Table<'_> {
        let lines = PAGE_BYTES / LINE_BYTES;
        self.page = (self.page + 1) % (self.region.len() / PAGE_BYTES);
        // Even lines half a page apart: the adjacent-line prefetcher pairs even with odd.
        let line = self.rng.usize(..lines / 4) * 2;
        let words = &self.region.atomics()[self.page * PAGE_BYTES / 8..];
        Table {
            first: &words[line * LINE_BYTES / 8],
            second: &words[(line + lines / 2) * LINE_BYTES / 8],
        }
    }
}

struct CoresRig {
    pools: BTreeMap<NodeId, LinePool>,
    jobs: Vec<ReadyCell>,
    lines: usize,
}

impl Rig for CoresRig {
    fn measure(&mut self, cell: usize, recorder: &mut Recorder) -> Result<(), ProbeError> {
        let job = &self.jobs[cell];
        let Some(pool) = self.pools.get_mut(&job.home) else { return Ok(()) };
        for _ in 0..self.lines {
            let table = pool.fresh_table();
            ping_pong::lay(job.method, table);
            let sides = affinity::crew(&job.cpus, |side| {
                let mut watch = Watch::new(job.cpus[side]);
                watch.begin();
                let mut batches = [0.0; BATCHES];
                for batch in &mut batches {
                    if side == 0 {
                        let took = ping_pong::begin(job.method, table, TRIPS);
                        *batch = took.as_nanos() as f64 / (2 * TRIPS) as f64;
                    } else {
                        ping_pong::answer(job.method, table, TRIPS);
                    }
                }
                (batches, watch.end())
            })?;
            let mut batches = sides[0].0;
            batches.sort_by(f64::total_cmp);
            recorder.sample(batches[BATCHES / 2], sides[0].1.and(sides[1].1));
        }
        Ok(())
    }

    fn prove(&mut self) -> Result<Vec<Proof>, ProbeError> {
        let localities: BTreeMap<NodeId, Locality> =
            self.pools.iter().map(|(&node, pool)| (node, pool.region.locality())).collect();
        let of = |job: &ReadyCell| localities.get(&job.home).cloned().into_iter().collect();
        Ok(self.jobs.iter().map(|job| Proof { memory: Known::Is(of(job)) }).collect())
    }
}
