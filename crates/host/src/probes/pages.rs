//! **pages**: load latency by working-set size, on small pages and on large ones.
//!
//! Method: a chase from 4 KiB to four times the last-level cache, four sizes per doubling, on each
//! page size, with the same order of lines. *Every line* shows the caches. *A line per 4 KiB* shows
//! the TLB: so few lines that caches hold them. Before each batch all lines are read to warm the
//! caches. Limits: large guest pages on small host pages behave as small ones. If memory is too
//! short for the largest walk, the report says how far it got.

use std::time::Duration;

use fastrand::Rng;
use hopcost_core::{
    Cell, CellResult, Code, CpuId, Effort, Known, NodeId, Occasion, PageSize, Place, Probe,
    ProbeError, Proof, Recorder, Rig, Site, Unit, Warning,
};
use hopcost_sys::kernels::chase::{Course, LINE_BYTES, Order, Plan};
use hopcost_sys::quiet::Watch;
use hopcost_sys::{Root, affinity, clock};

use super::ground;
use super::pace::Pace;

pub struct Pages;

const MOST_DOUBLINGS: u32 = 40;
const KIB: usize = 1 << 10;
const ALL_PAGES: [PageSize; 4] =
    [PageSize::Base, PageSize::Transparent, PageSize::Huge2M, PageSize::Huge1G];
const LEAST_LOADS: usize = 64;
/// Loads right before a batch, to bring its page tables into the caches.
const LEAD_IN_LOADS: usize = 4096;
const TOLD_FROM: f64 = 1.1;
const OBTAINED_FROM: f64 = 0.95;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Walk {
    EveryLine,
    LinePerPage,
}

impl Walk {
    const ALL: [Self; 2] = [Self::EveryLine, Self::LinePerPage];

    const fn name(self) -> &'static str {
        match self {
            Self::EveryLine => "every line",
            Self::LinePerPage => "a line per 4 KiB",
        }
    }

    const fn stride(self) -> usize {
        match self {
            Self::EveryLine => LINE_BYTES,
            Self::LinePerPage => 4 * KIB,
        }
    }

    fn series(self, pages: PageSize) -> String {
        format!("{}, {pages}, by KiB", self.name())
    }

    fn sizes(self, largest: usize, effort: Effort) -> Vec<usize> {
        let (first, steps) = match (self, effort) {
            (Self::EveryLine, Effort::Quick) => (4 * KIB, 1),
            (Self::EveryLine, _) => (4 * KIB, 4),
            (Self::LinePerPage, _) => (64 * KIB, 1),
        };
        let size = |step: u32| first as f64 * (f64::from(step) / f64::from(steps)).exp2();
        let whole = |bytes: f64| (bytes / KIB as f64).round() as usize * KIB;
        (0..steps * MOST_DOUBLINGS)
            .map(|step| whole(size(step)))
            .take_while(|&bytes| bytes <= largest)
            .collect()
    }
}

fn walks(largest: usize, effort: Effort) -> Vec<(Walk, usize)> {
    let sizes = |walk: Walk| walk.sizes(largest, effort).into_iter().map(move |size| (walk, size));
    Walk::ALL.into_iter().flat_map(sizes).collect()
}

/// The walks are contiguous, each starts on a page.
fn room(walks: &[(Walk, usize)]) -> usize {
    walks.iter().map(|(_, bytes)| bytes.next_multiple_of(4 * KIB)).sum()
}

struct WalkPlacement {
    row: NodeId,
    cpu: CpuId,
    memory: NodeId,
}

impl WalkPlacement {
    fn of(site: &Site<'_>) -> Option<Self> {
        let row = *ground::rows(site).first()?;
        let cpu = ground::row_cpu(site, row)?;
        Some(Self { row: row.id, cpu, memory: ground::nearest_memory(site, cpu)? })
    }
}

impl Probe for Pages {
    fn name(&self) -> &'static str {
        "pages"
    }

    fn question(&self) -> &'static str {
        "How long does a load wait, by how much is walked and on which pages?"
    }

    fn assumed_in_a_guest(&self) -> f64 {
        Occasion::OF_MEMORY
    }

    fn is_for_all(&self) -> bool {
        false
    }

    fn cells(&self, site: &Site<'_>) -> Vec<Cell> {
        let Some(placement) = WalkPlacement::of(site) else { return Vec::new() };
        let walks = walks(largest_bytes(site), site.effort);
        let room = room(&walks) as u64;
        let mut cells = Vec::new();
        for walk in Walk::ALL {
            for pages in kinds(site) {
                let state = state(site, placement.memory, pages, room);
                for &(_, bytes) in walks.iter().filter(|(of, _)| *of == walk) {
                    cells.push(Cell {
                        series: walk.series(pages),
                        row: Place::Node(placement.row),
                        column: Place::Count((bytes / KIB) as u32),
                        class: site.machine.memory_distance(placement.cpu, placement.memory),
                        unit: Unit::Nanoseconds,
                        cpus: state.as_ref().map(|()| vec![placement.cpu]),
                    });
                }
            }
        }
        cells
    }

    fn open(&self, site: &Site<'_>, ready: &[Cell]) -> Result<Box<dyn Rig>, ProbeError> {
        let placement = WalkPlacement::of(site)
            .ok_or_else(|| ProbeError::NotHere(Code::TooFewNodes.because("no node is usable")))?;
        let walks = walks(largest_bytes(site), site.effort);
        // Free memory is read before any of it is taken.
        let mut warnings = too_small(site);
        let mut kinds: Vec<PageSize> =
            ready.iter().filter_map(walk_of).map(|(_, pages)| pages).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let lay = |pages| Estate::lay(site, &placement, pages, &walks);
        let estates = kinds.into_iter().map(lay).collect::<Result<Vec<Estate>, _>>()?;
        let job = |cell| ReadyCell::of(cell, placement.cpu, &walks, &estates, site.effort);
        let jobs = ready.iter().filter_map(job).collect();
        warnings.extend(estates.iter().filter_map(Estate::shortfall));
        Ok(Box::new(PagesRig { estates, jobs, warnings }))
    }

    fn memory_needed(&self, site: &Site<'_>) -> Vec<(NodeId, Vec<u64>)> {
        let room = room(&walks(largest_bytes(site), site.effort)) as u64;
        WalkPlacement::of(site)
            .map(|placement| (placement.memory, vec![room]))
            .into_iter()
            .collect()
    }

    fn advise(&self, _: &Site<'_>, results: &[CellResult]) -> Vec<Warning> {
        dearest(results).into_iter().collect()
    }
}

/// The page sizes compared: those requested, or all that a processor may have. For 2 MiB, reserved
/// pages if there are any.
fn kinds(site: &Site<'_>) -> Vec<PageSize> {
    if let Some(pages) = site.pages {
        return vec![pages];
    }
    let reserved = WalkPlacement::of(site).is_some_and(|placement| {
        state(site, placement.memory, PageSize::Huge2M, 1).get().is_some()
    });
    let two_mib = if reserved { PageSize::Huge2M } else { PageSize::Transparent };
    vec![PageSize::Base, two_mib, PageSize::Huge1G]
}

fn state(site: &Site<'_>, memory: NodeId, pages: PageSize, bytes: u64) -> Known<()> {
    if pages == PageSize::Transparent {
        let choices = Root::live().text("sys/kernel/mm/transparent_hugepage/enabled");
        match choices {
            Known::Is(choices) if choices.contains("[never]") => {
                return Known::missing(
                    Code::NotTold,
                    "transparent huge pages are switched off: echo madvise > \
                     /sys/kernel/mm/transparent_hugepage/enabled",
                );
            }
            Known::Is(_) => {}
            Known::Missing(reason) => return Known::Missing(reason),
        }
    }
    let on = Site { pages: Some(pages), ..site.clone() };
    ground::room_on(&on, memory, &[bytes])
}

/// As requested, or four times the last-level cache, limited so that all walks together fit in half
/// of the memory (an eighth with `--quick`: linking memory takes time).
fn largest_bytes(site: &Site<'_>) -> usize {
    if let Some(bytes) = site.size_bytes {
        return bytes as usize;
    }
    let wish = 4 * cache_bytes(site) as usize;
    let share = if site.effort == Effort::Quick { 8 } else { 2 };
    let Some(most) = ground::most_available(site) else { return wish };
    let is_had = |pages: &&PageSize| {
        WalkPlacement::of(site)
            .is_some_and(|placement| state(site, placement.memory, **pages, 1).get().is_some())
    };
    let each = most as usize / share / kinds(site).iter().filter(is_had).count().max(1);
    let mut sizes = Walk::EveryLine.sizes(wish, site.effort);
    while sizes.len() > 1 && room(&walks(sizes[sizes.len() - 1], site.effort)) > each {
        sizes.pop();
    }
    sizes.pop().unwrap_or(wish)
}

fn cache_bytes(site: &Site<'_>) -> u64 {
    let cache =
        WalkPlacement::of(site).and_then(|placement| ground::cache_bytes(site, placement.cpu));
    cache.unwrap_or(ground::ASSUMED_CACHE_BYTES)
}

fn visit(effort: Effort) -> (Duration, usize) {
    let (milliseconds, batches) = match effort {
        Effort::Quick => (4, 2),
        Effort::Normal => (10, 1),
        Effort::Full => (12, 2),
    };
    (Duration::from_millis(milliseconds), batches)
}

fn too_small(site: &Site<'_>) -> Vec<Warning> {
    let (largest, cache) = (largest_bytes(site), cache_bytes(site) as usize);
    if largest >= 2 * cache {
        return Vec::new();
    }
    vec![Warning {
        text: format!(
            "the largest walk, {}, is {:.1} × the last-level cache ({}): its last step is not all memory",
            ground::bytes_text(largest),
            largest as f64 / cache as f64,
            ground::bytes_text(cache)
        ),
        advice: format!("walk more with --size {}M, if memory allows", (4 * cache) >> 20),
    }]
}

fn walk_of(cell: &Cell) -> Option<(Walk, PageSize)> {
    let mut all = Walk::ALL.into_iter().flat_map(|walk| ALL_PAGES.map(|pages| (walk, pages)));
    all.find(|(walk, pages)| walk.series(*pages) == cell.series)
}

fn dearest(results: &[CellResult]) -> Option<Warning> {
    let last = |walk: Walk, pages: PageSize| {
        let series = walk.series(pages);
        let of: Vec<&CellResult> = results.iter().filter(|r| r.cell.series == series).collect();
        of.last()
            .copied()
            .and_then(|result| Some((result.cell.column.clone(), *result.estimate()?)))
    };
    let larger = ALL_PAGES.into_iter().filter(|&pages| pages != PageSize::Base);
    let pairs = larger.flat_map(|pages| Walk::ALL.map(|walk| (walk, pages)));
    let found = pairs.filter_map(|(walk, pages)| {
        let ((at, small), (_, large)) = (last(walk, PageSize::Base)?, last(walk, pages)?);
        let ratio = small.point / large.point;
        let is_told = small.low > large.high && ratio > TOLD_FROM;
        is_told.then_some((ratio, walk, pages, at, small.point, large.point))
    });
    let (ratio, walk, pages, at, small, large) = found.max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Warning {
        text: format!(
            "over {at} KiB, {}, a load waits {ratio:.1} × as long on base pages as on {pages}: \
             {small:.0} against {large:.0} ns",
            walk.name()
        ),
        advice: "put a database's buffers on large pages".into(),
    })
}

struct Estate {
    pages: PageSize,
    course: Course,
}

impl Estate {
    /// Walk n is cycle n. Each page size gets the same order.
    fn lay(
        site: &Site<'_>,
        placement: &WalkPlacement,
        pages: PageSize,
        walks: &[(Walk, usize)],
    ) -> Result<Self, ProbeError> {
        let on = Site { pages: Some(pages), ..site.clone() };
        let mut course = Course::new(ground::region(&on, placement.memory, room(walks))?);
        let mut rng = Rng::with_seed(site.seed);
        let mut from = 0;
        for &(walk, bytes) in walks {
            let stride = walk.stride();
            course.lay(&Plan { from, bytes, stride, line: 0, order: Order::Random }, &mut rng);
            from += bytes.next_multiple_of(4 * KIB);
        }
        Ok(Self { pages, course })
    }

    fn shortfall(&self) -> Option<Warning> {
        let locality = self.course.locality();
        let share = if locality.page_size == self.pages { locality.page_size_share } else { 0.0 };
        (share < OBTAINED_FROM).then(|| Warning {
            text: format!(
                "of the memory for {}, {:.0}% are on such pages",
                self.pages,
                share * 100.0
            ),
            advice: "its figures are of a mixture: free memory, or reserve the pages (--pages 2m)"
                .into(),
        })
    }
}

struct ReadyCell {
    cpu: CpuId,
    estate: usize,
    cycle: usize,
    batches: usize,
    pace: Pace,
}

impl ReadyCell {
    fn of(
        cell: &Cell,
        cpu: CpuId,
        walks: &[(Walk, usize)],
        estates: &[Estate],
        effort: Effort,
    ) -> Option<Self> {
        let (walk, pages) = walk_of(cell)?;
        let Place::Count(kib) = cell.column else { return None };
        let estate = estates.iter().position(|estate| estate.pages == pages)?;
        let cycle = walks.iter().position(|&at| at == (walk, kib as usize * KIB))?;
        let (batch, batches) = visit(effort);
        Some(Self { cpu, estate, cycle, batches, pace: Pace::new(batch, LEAST_LOADS) })
    }
}

struct PagesRig {
    estates: Vec<Estate>,
    jobs: Vec<ReadyCell>,
    warnings: Vec<Warning>,
}

impl Rig for PagesRig {
    fn measure(&mut self, cell: usize, recorder: &mut Recorder) -> Result<(), ProbeError> {
        let ReadyCell { cpu, estate, cycle, batches, pace } = &mut self.jobs[cell];
        let course = &mut self.estates[*estate].course;
        let work = || {
            course.bring_near(*cycle);
            course.walk(*cycle, 1, LEAD_IN_LOADS);
            let mut watch = Watch::new(*cpu);
            let mut kept = 0;
            while kept < *batches {
                let loads = pace.operations;
                watch.begin();
                let ((), took) = clock::time(|| course.walk(*cycle, 1, loads));
                let quiet = watch.end();
                if pace.counts(took) {
                    recorder.sample(took.as_nanos() as f64 / loads as f64, quiet);
                    kept += 1;
                }
            }
        };
        Ok(affinity::on_cpu(*cpu, work)?)
    }

    fn prove(&mut self) -> Result<Vec<Proof>, ProbeError> {
        let localities: Vec<_> = self.estates.iter().map(|e| e.course.locality()).collect();
        let proof =
            |job: &ReadyCell| Proof { memory: Known::Is(vec![localities[job.estate].clone()]) };
        Ok(self.jobs.iter().map(proof).collect())
    }

    fn warnings(&self) -> Vec<Warning> {
        self.warnings.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_climb_by_four_steps_a_doubling_and_each_once() {
        let sizes = Walk::EveryLine.sizes(64 * KIB, Effort::Normal);
        let kib: Vec<usize> = sizes.iter().map(|bytes| bytes / KIB).collect();
        assert_eq!(kib, [4, 5, 6, 7, 8, 10, 11, 13, 16, 19, 23, 27, 32, 38, 45, 54, 64]);
        assert_eq!(Walk::EveryLine.sizes(16 * KIB, Effort::Quick), [4, 8, 16].map(|n| n * KIB));
        let pages = Walk::LinePerPage.sizes(256 * KIB, Effort::Full);
        assert_eq!(pages, [64, 128, 256].map(|n| n * KIB));
        // 5 KiB take two pages of 4.
        assert_eq!(room(&[(Walk::EveryLine, 4 * KIB), (Walk::EveryLine, 5 * KIB)]), 12 * KIB);
    }
}
