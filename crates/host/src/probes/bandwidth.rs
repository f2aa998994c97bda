//! **bandwidth**: bytes per second from each node's cores to each node's memory.
//!
//! Method: each thread sweeps private buffers with the widest vectors; one thread per core, one
//! alone, and on request one per sibling. A window counts what the threads moved while all of them
//! ran. It reports program bytes: a plain store also reads each line, so its bus traffic is larger
//! (see docs/method/probes.md). Emulated remote memory is slowed by delays between chunks; the real delay
//! is reported (`planted_ns` of `window_ns`). Limits: one thread rarely saturates a memory.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use hopcost_core::{
    Cell, Code, CpuId, CpuSet, Disturbance, Effort, Known, Locality, Node, NodeId, NodeSet,
    Occasion, Place, Probe, ProbeError, Proof, Recorder, Rig, Site, Unit, Warning,
};
use hopcost_sys::kernels::bandwidth::{BLOCK_BYTES, Kernel, Vectors, stream_bytes, sweep};
use hopcost_sys::memory::Region;
use hopcost_sys::quiet::Watch;
use hopcost_sys::{affinity, clock};

use super::ground;

pub struct Bandwidth;

const CHUNK_BYTES: usize = 256 << 10;
const RAMP: Duration = Duration::from_millis(5);
const LEAST_BUFFER_BYTES: u64 = 16 << 20;
/// The smallest injected delay: a window then has few pauses, and each is a useful share of it. A
/// pause costs more than its length, probably because pending writes restart: with 30% injected,
/// plain stores and copies lost 40 to 50%, reads and the other kernels 30%.
const PAYABLE_NS: f64 = 250e3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Crowd {
    One,
    Cores,
    Siblings,
}

impl Crowd {
    const ALL: [Self; 3] = [Self::One, Self::Cores, Self::Siblings];

    const fn name(self) -> &'static str {
        match self {
            Self::One => "one thread",
            Self::Cores => "a thread per core",
            Self::Siblings => "a thread per sibling",
        }
    }

    fn cpus(self, site: &Site<'_>, node: &Node) -> Vec<CpuId> {
        let here = node.cpus.intersection(&site.cpus);
        match self {
            Self::One => ground::row_cpu(site, node).into_iter().collect(),
            Self::Cores => site.machine.one_cpu_per_core(&here).iter().collect(),
            Self::Siblings => here.iter().collect(),
        }
    }

    fn is_here(self, site: &Site<'_>) -> bool {
        let more = |than: Self| {
            ground::rows(site)
                .iter()
                .any(|row| self.cpus(site, row).len() > than.cpus(site, row).len())
        };
        match self {
            Self::One => true,
            Self::Cores => more(Self::One),
            Self::Siblings => site.effort != Effort::Quick && more(Self::Cores),
        }
    }
}

fn series(kernel: Kernel, crowd: Crowd) -> String {
    format!("{}, {}", kernel.name(), crowd.name())
}

impl Probe for Bandwidth {
    fn name(&self) -> &'static str {
        "bandwidth"
    }

    fn question(&self) -> &'static str {
        "How many bytes per second does each memory give, and to whom?"
    }

    fn assumed_in_a_guest(&self) -> f64 {
        Occasion::OF_MEMORY
    }

    /// The whole matrix for reads; other kernels on each node's own memory unless all are
    /// requested.
    fn cells(&self, site: &Site<'_>) -> Vec<Cell> {
        let columns = ground::columns_for(site, &needed(site));
        let mut cells = Vec::new();
        for crowd in Crowd::ALL.into_iter().filter(|crowd| crowd.is_here(site)) {
            for kernel in Kernel::ALL {
                for row in ground::rows(site) {
                    for (column, state) in &columns {
                        let own = ground::is_own(row, column);
                        if own || kernel == Kernel::Read || site.effort == Effort::Full {
                            cells.push(cell(site, kernel, crowd, row, (column.id, state)));
                        }
                    }
                }
            }
        }
        cells
    }

    fn memory_needed(&self, site: &Site<'_>) -> Vec<(NodeId, Vec<u64>)> {
        ground::columns(site).iter().map(|node| (node.id, needed(site))).collect()
    }

    fn open(&self, site: &Site<'_>, ready: &[Cell]) -> Result<Box<dyn Rig>, ProbeError> {
        let jobs: Vec<ReadyCell> =
            ready.iter().filter_map(|cell| ReadyCell::of(site, cell)).collect();
        let slots = slots(site);
        let bytes = buffer_bytes(site, slots);
        let mut estates = Vec::new();
        let nodes: NodeSet = jobs.iter().map(|job| job.node).collect();
        for node in nodes.iter() {
            let buffer = || ground::region(site, node, bytes);
            let buffers =
                (0..slots).map(|_| buffer().map(Buffer::new)).collect::<Result<_, _>>()?;
            estates.push(Estate { node, buffers });
        }
        let window = match site.effort {
            Effort::Quick => Duration::from_millis(40),
            Effort::Normal => Duration::from_millis(100),
            Effort::Full => Duration::from_millis(250),
        };
        let warnings = warnings(site, slots, bytes);
        Ok(Box::new(BandwidthRig { estates, jobs, vectors: Vectors::widest(), window, warnings }))
    }
}

fn cell(
    site: &Site<'_>,
    kernel: Kernel,
    crowd: Crowd,
    row: &Node,
    (column, state): (NodeId, &Known<()>),
) -> Cell {
    let cpus = crowd.cpus(site, row);
    let class = cpus
        .first()
        .map_or(Known::missing(Code::TooFewCpus, "the node has no usable CPU"), |&cpu| {
            site.machine.memory_distance(cpu, column)
        });
    let cpus = if kernel.is_here() {
        state.as_ref().map(|()| cpus)
    } else {
        Known::missing(
            Code::NotApplicable,
            "this processor has no non-temporal store that hopcost can use",
        )
    };
    Cell {
        series: series(kernel, crowd),
        row: Place::Node(row.id),
        column: Place::Node(column),
        class,
        unit: Unit::GigabytesPerSecond,
        cpus,
    }
}

fn slots(site: &Site<'_>) -> usize {
    let crowds = Crowd::ALL.into_iter().filter(|crowd| crowd.is_here(site));
    let sizes = crowds.flat_map(|crowd| {
        ground::rows(site).into_iter().map(move |row| crowd.cpus(site, row).len())
    });
    sizes.max().unwrap_or(1)
}

fn needed(site: &Site<'_>) -> Vec<u64> {
    let slots = slots(site);
    vec![buffer_bytes(site, slots) as u64; slots]
}

/// Together 4 × the last-level caches that the threads can fill, if memory allows.
fn buffer_bytes(site: &Site<'_>, slots: usize) -> usize {
    if let Some(bytes) = site.size_bytes {
        return bytes as usize;
    }
    let wish = (4 * cache_bytes(site) / slots as u64).max(LEAST_BUFFER_BYTES);
    let most = ground::most_available(site).map_or(wish, |bytes| bytes / 2 / slots as u64);
    (wish.min(most).max(1 << 20) >> 20 << 20) as usize
}

fn cache_bytes(site: &Site<'_>) -> u64 {
    let of_row = |row: &Node| {
        let cpus: CpuSet = row.cpus.intersection(&site.cpus);
        ground::last_level_bytes(site.machine, &cpus)
    };
    ground::rows(site).into_iter().filter_map(of_row).max().unwrap_or(ground::ASSUMED_CACHE_BYTES)
}

fn warnings(site: &Site<'_>, slots: usize, bytes: usize) -> Vec<Warning> {
    let (all, cache) = (slots * bytes, cache_bytes(site) as usize);
    if all >= 2 * cache {
        return Vec::new();
    }
    vec![Warning {
        text: format!(
            "the buffers hold {} together, the last-level caches {}: part of this is cache bandwidth",
            ground::bytes_text(all),
            ground::bytes_text(cache)
        ),
        advice: "give more with --size, if the nodes have it free".into(),
    }]
}

struct Buffer {
    region: Region,
    at: usize,
}

impl Buffer {
    fn new(region: Region) -> Self {
        Self { region, at: 0 }
    }

    /// Returns the program bytes moved, and whether the end of the buffer was reached.
    fn sweep_chunk(&mut self, kernel: Kernel, vectors: Vectors) -> (usize, bool) {
        let stream = stream_bytes(self.region.len(), kernel);
        if self.at >= stream {
            self.at = 0;
        }
        let start = self.at / BLOCK_BYTES * BLOCK_BYTES;
        let chunk = start..stream.min(start + CHUNK_BYTES);
        std::hint::black_box(sweep(&mut self.region, kernel, vectors, &chunk));
        self.at = chunk.end;
        (chunk.len() * kernel.program_bytes(), self.at >= stream)
    }

    fn sweep_to_end(&mut self, kernel: Kernel, vectors: Vectors) {
        while !self.sweep_chunk(kernel, vectors).1 {}
    }
}

struct Estate {
    node: NodeId,
    buffers: Vec<Buffer>,
}

struct ReadyCell {
    kernel: Kernel,
    cpus: Vec<CpuId>,
    node: NodeId,
    /// Injected delay per nanosecond of work.
    planted: f64,
}

impl ReadyCell {
    fn of(site: &Site<'_>, cell: &Cell) -> Option<Self> {
        let Place::Node(node) = cell.column else { return None };
        let kernel = Kernel::ALL.into_iter().find(|k| {
            cell.series.strip_prefix(k.name()).is_some_and(|rest| rest.starts_with(','))
        })?;
        let less = site.planted.and_then(|planted| planted.emulation.bandwidth);
        let less = less.filter(|less| less.node == node);
        let planted = less.map_or(0.0, |less| 1.0 / less.share - 1.0);
        Some(Self { kernel, cpus: cell.cpus.get()?.clone(), node, planted })
    }
}

struct BandwidthRig {
    estates: Vec<Estate>,
    jobs: Vec<ReadyCell>,
    vectors: Vectors,
    window: Duration,
    warnings: Vec<Warning>,
}

impl Rig for BandwidthRig {
    fn measure(&mut self, cell: usize, recorder: &mut Recorder) -> Result<(), ProbeError> {
        let job = &self.jobs[cell];
        let (kernel, vectors, window) = (job.kernel, self.vectors, self.window);
        let estate = self.estates.iter_mut().find(|estate| estate.node == job.node);
        let Some(estate) = estate else { return Ok(()) };
        // One thread alone walks all buffers in turn, so that it also exceeds the caches.
        let share = estate.buffers.len() / job.cpus.len();
        let shares: Vec<_> = estate.buffers.chunks_mut(share).take(job.cpus.len()).collect();
        let shares: Vec<_> = shares.into_iter().map(Mutex::new).collect();
        if kernel == Kernel::StoreNonTemporal {
            // This kernel bypasses the caches, so it would find old dirty lines there during its
            // whole window. The other kernels evict those while they ramp up.
            affinity::crew(&job.cpus, |n| {
                let mut mine = shares[n].lock().unwrap_or_else(PoisonError::into_inner);
                mine.iter_mut().for_each(|buffer| buffer.sweep_to_end(kernel, vectors));
            })?;
        }
        let opening = OnceLock::new();
        let results = affinity::crew(&job.cpus, |n| {
            let mut mine = shares[n].lock().unwrap_or_else(PoisonError::into_inner);
            let injected = InjectedWait { of_work: job.planted, ..InjectedWait::default() };
            stream(&mut mine, (kernel, vectors), injected, (&opening, window), job.cpus[n])
        })?;
        let rate: f64 = results.iter().map(Stretch::gigabytes_per_second).sum();
        let quiet = results.iter().find_map(|stretch| stretch.quiet.err()).map_or(Ok(()), Err);
        recorder.sample(rate, quiet);
        if job.planted > 0.0 {
            let sum = |of: fn(&Stretch) -> Duration| results.iter().map(of).sum::<Duration>();
            recorder.count("planted_ns", sum(|stretch| stretch.planted).as_nanos() as u64);
            recorder.count("window_ns", sum(|stretch| stretch.took).as_nanos() as u64);
        }
        Ok(())
    }

    fn prove(&mut self) -> Result<Vec<Proof>, ProbeError> {
        let localities: Vec<(NodeId, Vec<Locality>)> = self
            .estates
            .iter()
            .map(|e| (e.node, e.buffers.iter().map(|buffer| buffer.region.locality()).collect()))
            .collect();
        let of = |node| localities.iter().find(|(n, _)| *n == node).map(|(_, all)| all.clone());
        let proof = |job: &ReadyCell| Proof { memory: Known::Is(of(job.node).unwrap_or_default()) };
        Ok(self.jobs.iter().map(proof).collect())
    }

    fn warnings(&self) -> Vec<Warning> {
        self.warnings.clone()
    }
}

struct Stretch {
    bytes: usize,
    took: Duration,
    planted: Duration,
    quiet: Result<(), Disturbance>,
}

impl Stretch {
    fn gigabytes_per_second(&self) -> f64 {
        self.bytes as f64 / self.took.as_nanos().max(1) as f64
    }
}

/// The extra time that the work would have taken on slower memory.
#[derive(Default)]
struct InjectedWait {
    of_work: f64,
    owed_ns: f64,
    paid: Duration,
}

impl InjectedWait {
    fn pay_since(&mut self, then: Instant) {
        self.owed_ns += self.of_work * then.elapsed().as_nanos() as f64;
        if self.owed_ns >= PAYABLE_NS {
            let paid = clock::spin(Duration::from_nanos(self.owed_ns as u64));
            self.owed_ns -= paid.as_nanos() as f64;
            self.paid += paid;
        }
    }
}

fn stream(
    buffers: &mut [Buffer],
    (kernel, vectors): (Kernel, Vectors),
    mut injected: InjectedWait,
    (opening, window): (&OnceLock<Instant>, Duration),
    cpu: CpuId,
) -> Stretch {
    let opens = *opening.get_or_init(|| clock::now() + RAMP);
    let mut watch = Watch::new(cpu);
    watch.begin();
    let mut turn = 0;
    let mut next = |then: Instant, injected: &mut InjectedWait| {
        let (bytes, ended) = buffers[turn].sweep_chunk(kernel, vectors);
        turn = if ended { (turn + 1) % buffers.len() } else { turn };
        injected.pay_since(then);
        (bytes, clock::now())
    };
    let mut from = clock::now();
    while from < opens {
        from = next(from, &mut injected).1;
    }
    // A thread that waited for its CPU before this point was not observed to wait, and the others
    // ran alone.
    let was_late = from >= opens + RAMP;
    // Delays until now belong to no window.
    injected.paid = Duration::ZERO;
    let (mut bytes, mut to) = (0, from);
    while to < opens + window {
        let (moved, now) = next(to, &mut injected);
        bytes += moved;
        to = now;
    }
    let planted = injected.paid;
    let quiet = if was_late { Err(Disturbance::Waited) } else { watch.end() };
    // The others' windows close at about the same time and must not see a quieter machine.
    let mut last = clock::now();
    while last < opens + window + RAMP / 5 {
        last = next(last, &mut injected).1;
    }
    Stretch { bytes, took: to - from, planted, quiet }
}

#[cfg(test)]
mod measured {
    use hopcost_sys::memory::Request;
    use hopcost_sys::{Root, topology};

    use super::*;

    const WINDOW: Duration = Duration::from_millis(40);
    const LEFT: f64 = 0.7;
    /// Other work affects both samples equally only on average.
    const MOST_TRIES: usize = 20;

    /// `left` is the share of the bandwidth that remains.
    fn read(buffers: &mut [Buffer], cpu: CpuId, left: f64) -> Stretch {
        let injected = InjectedWait { of_work: 1.0 / left - 1.0, ..InjectedWait::default() };
        let opening = OnceLock::new();
        stream(buffers, (Kernel::Read, Vectors::widest()), injected, (&opening, WINDOW), cpu)
    }

    #[test]
    fn planted_slowness_is_counted_and_takes_what_it_says() {
        let machine = topology::read(&Root::live());
        let cpu = machine.limits.cpus.first().unwrap();
        let request = Request::on(&machine, machine.limits.nodes.first().unwrap(), 4 << 20, None);
        let mut buffers = [Buffer::new(Region::place(&request).unwrap())];
        let mut ratios = Vec::new();
        for _ in 0..MOST_TRIES {
            let whole = read(&mut buffers, cpu, 1.0);
            assert_eq!(whole.planted, Duration::ZERO);
            let less = read(&mut buffers, cpu, LEFT);
            let counted = less.planted.as_secs_f64() / less.took.as_secs_f64();
            assert!((0.2..0.4).contains(&counted), "{counted}");
            let ratio = less.gigabytes_per_second() / whole.gigabytes_per_second();
            if (LEFT - 0.07..LEFT + 0.07).contains(&ratio) {
                return;
            }
            ratios.push(ratio);
        }
        panic!("never near {LEFT}: {ratios:?}");
    }
}
