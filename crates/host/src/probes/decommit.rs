//! **decommit**: the cost of returning memory to the system, by threads and by processes.
//!
//! Method: 1, 2, 4, … workers, each with its CPU and memory, touch it or return it together. A
//! sample is the workers' mean time per MiB. If threads take longer than processes, that is the
//! price of one address space: its locks and TLB shoot-downs, whose machine-wide count is reported.
//! Limits: ordinary pages only; shoot-downs by broadcast or by a hypervisor are not counted.

use hopcost_core::{
    Cell, CellResult, Code, CpuId, DistanceClass, Effort, Known, Occasion, PageSize, Place, Probe,
    ProbeError, Proof, Recorder, Rig, Site, Unit, Warning,
};
use hopcost_sys::Root;
use hopcost_sys::kernels::decommit::{self, Act, Crowd};

use super::ground;

pub struct Decommit;

/// Per worker: a batch takes some milliseconds.
const WORKER_BYTES: usize = 16 << 20;
const MIB: usize = 1 << 20;
const LAPS: usize = 4;
const TOLD_FROM: f64 = 1.1;

const ACTS: [(Act, &str); 4] = [
    (Act::Touch, "first touch"),
    (Act::Unmap, "munmap"),
    (Act::DontNeed, "MADV_DONTNEED"),
    (Act::Free, "MADV_FREE"),
];
const CROWDS: [(Crowd, &str); 2] = [(Crowd::Threads, "threads"), (Crowd::Processes, "processes")];

fn series(act: &str, crowd: &str) -> String {
    format!("{act}, {crowd}, per MiB")
}

impl Probe for Decommit {
    fn name(&self) -> &'static str {
        "decommit"
    }

    fn question(&self) -> &'static str {
        "What does it take to give memory back, by threads and by processes?"
    }

    fn assumed_in_a_guest(&self) -> f64 {
        Occasion::OF_THROUGHPUT
    }

    fn is_for_all(&self) -> bool {
        false
    }

    fn cells(&self, site: &Site<'_>) -> Vec<Cell> {
        let cpus = site.machine.in_order_of_use(&site.cpus);
        let mut cells = Vec::new();
        for (_, act) in ACTS {
            for (_, crowd) in CROWDS {
                for count in counts(cpus.len(), site.effort) {
                    cells.push(cell(site, series(act, crowd), &cpus[..count]));
                }
            }
        }
        cells
    }

    fn open(&self, site: &Site<'_>, ready: &[Cell]) -> Result<Box<dyn Rig>, ProbeError> {
        let jobs = ready.iter().filter_map(ReadyCell::of).collect();
        let bytes = worker_bytes(site, site.machine.in_order_of_use(&site.cpus).len());
        Ok(Box::new(DecommitRig {
            jobs,
            bytes,
            counts: decommit::shoot_downs(&Root::live()).is_some(),
        }))
    }

    fn advise(&self, _: &Site<'_>, results: &[CellResult]) -> Vec<Warning> {
        dearest(results).into_iter().collect()
    }
}

/// 1, 2, 4, … and all; with `--quick` the ends and the middle.
fn counts(most: usize, effort: Effort) -> Vec<usize> {
    let mut counts: Vec<usize> =
        std::iter::successors(Some(1), |n| Some(n * 2)).take_while(|&n| n < most).collect();
    counts.push(most);
    if effort == Effort::Quick && counts.len() > 3 {
        counts = vec![1, counts[counts.len() / 2], most];
    }
    counts
}

fn cell(site: &Site<'_>, series: String, cpus: &[CpuId]) -> Cell {
    let (first, last) = (cpus[0], cpus[cpus.len() - 1]);
    let class = match cpus.len() {
        1 => Known::Is(DistanceClass::SameCpu),
        _ => site.machine.cpu_distance(first, last),
    };
    let (row, column) = (Place::Cpu(first), Place::Count(cpus.len() as u32));
    let cpus = match site.pages {
        None | Some(PageSize::Base) => Known::Is(cpus.to_vec()),
        Some(pages) => {
            Known::missing(Code::NotApplicable, format!("it gives base pages back, and no {pages}"))
        }
    };
    Cell { series, row, column, class, unit: Unit::Microseconds, cpus }
}

/// As requested, or what fits in half of the memory, in whole MiB.
fn worker_bytes(site: &Site<'_>, workers: usize) -> usize {
    let wish = site.size_bytes.map_or(WORKER_BYTES, |bytes| bytes as usize);
    let most = ground::most_available(site).map_or(wish, |bytes| bytes as usize / 2 / workers);
    wish.min(most).max(MIB) / MIB * MIB
}

fn dearest(results: &[CellResult]) -> Option<Warning> {
    let pairs = ACTS.iter().flat_map(|(_, act)| {
        let of = |crowd| {
            let series = series(act, crowd);
            results.iter().filter(move |result| result.cell.series == series)
        };
        of("threads")
            .zip(of("processes"))
            .map(move |(threads, processes)| (act, threads, processes))
    });
    let found = pairs.filter_map(|(act, threads, processes)| {
        let (slow, fast) = (threads.estimate()?, processes.estimate()?);
        let ratio = slow.point / fast.point;
        (slow.low > fast.high && ratio > TOLD_FROM).then_some((ratio, act, threads, processes))
    });
    let (ratio, act, threads, processes) = found.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let figure = |result: &CellResult| result.estimate().map_or(0.0, |estimate| estimate.point);
    let counted = |result: &CellResult| {
        let count = |name: &str| result.counters.get(name).map(|&count| count as f64);
        Some(count("tlb_shootdowns")? / count("mib")?)
    };
    let beside = counted(threads).zip(counted(processes)).map_or(String::new(), |(of, beside)| {
        format!(", with {of:.1} TLB shoot-downs counted a MiB against {beside:.1}")
    });
    Some(Warning {
        text: format!(
            "a MiB takes each of {} threads {ratio:.1} × as long as each of as many processes ({act}: \
             {:.1} against {:.1} µs){beside}",
            threads.cell.column,
            figure(threads),
            figure(processes),
        ),
        advice:
            "where many threads of one server load data, let its allocator keep what it frees, \
                 or spread them over more instances"
                .into(),
    })
}

struct ReadyCell {
    act: Act,
    crowd: Crowd,
    cpus: Vec<CpuId>,
}

impl ReadyCell {
    fn of(cell: &Cell) -> Option<Self> {
        let mut kinds = ACTS.iter().flat_map(|act| CROWDS.iter().map(move |crowd| (act, crowd)));
        let (act, crowd) = kinds.find(|(act, crowd)| series(act.1, crowd.1) == cell.series)?;
        Some(Self { act: act.0, crowd: crowd.0, cpus: cell.cpus.get()?.clone() })
    }
}

struct DecommitRig {
    jobs: Vec<ReadyCell>,
    bytes: usize,
    counts: bool,
}

impl Rig for DecommitRig {
    fn measure(&mut self, cell: usize, recorder: &mut Recorder) -> Result<(), ProbeError> {
        let job = &self.jobs[cell];
        let mib = self.bytes / MIB;
        for _ in 0..LAPS {
            let before = decommit::shoot_downs(&Root::live());
            let accounts = decommit::run(job.act, job.crowd, &job.cpus, self.bytes)?;
            let after = decommit::shoot_downs(&Root::live());
            let each = |took: std::time::Duration| took.as_nanos() as f64 / 1000.0 / mib as f64;
            let all: f64 = accounts.iter().map(|account| each(account.took)).sum();
            let quiet = accounts.iter().find_map(|account| account.quiet.err()).map_or(Ok(()), Err);
            recorder.sample(all / accounts.len() as f64, quiet);
            if let (Some(before), Some(after)) = (before, after) {
                recorder.count("tlb_shootdowns", after.saturating_sub(before));
                recorder.count("mib", (mib * accounts.len()) as u64);
            }
        }
        Ok(())
    }

    fn prove(&mut self) -> Result<Vec<Proof>, ProbeError> {
        let why = "its memory comes and goes within each sample, first touched on its worker's CPU";
        Ok(self
            .jobs
            .iter()
            .map(|_| Proof { memory: Known::missing(Code::NotMeasured, why) })
            .collect())
    }

    fn warnings(&self) -> Vec<Warning> {
        if self.counts {
            return Vec::new();
        }
        vec![Warning {
            text:
                "TLB shoot-downs are missing: this kernel does not count them in /proc/interrupts"
                    .into(),
            advice: "where threads are slower than processes, the cause stays unproved".into(),
        }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crowd_doubles_until_all_are_at_work() {
        for (most, all, quick) in [
            (1, vec![1], vec![1]),
            (2, vec![1, 2], vec![1, 2]),
            (4, vec![1, 2, 4], vec![1, 2, 4]),
            (12, vec![1, 2, 4, 8, 12], vec![1, 4, 12]),
        ] {
            assert_eq!(counts(most, Effort::Normal), all);
            assert_eq!(counts(most, Effort::Quick), quick);
        }
    }
}
