//! **log**: commit rate of one inserter, by its distance from the log writer.
//!
//! Method: the inserter appends a 128-byte record under a counted spinlock and waits until the log
//! writer has flushed it, to memory (the hand-over alone) or to a file with `O_DSYNC`. The log
//! buffer is on the log writer's node. Limits: a real engine's other work dilutes the effect.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hopcost_core::{
    Cell, Code, CpuId, Effort, Known, Locality, NodeId, Occasion, PageSize, Probe, ProbeError,
    Proof, Recorder, Rig, Site, Unit, Warning,
};
use hopcost_sys::affinity;
use hopcost_sys::kernels::commit_log::{CommitLog, FlushTotals, Inserted, Sink};
use hopcost_sys::memory::Region;
use hopcost_sys::quiet::Watch;

use super::ground;

pub struct Log;

const TO_MEMORY: &str = "flushed to memory";
const TO_DISK: &str = "flushed to disk";
const BUFFER_BYTES: usize = 2 << 20;
/// Words of 8 bytes: 512 records.
const LOG_WORDS: usize = 8192;

impl Probe for Log {
    fn name(&self) -> &'static str {
        "log"
    }

    fn question(&self) -> &'static str {
        "How fast does one inserter commit, by its distance from the log writer?"
    }

    fn assumed_in_a_guest(&self) -> f64 {
        Occasion::OF_WAKING
    }

    fn cells(&self, site: &Site<'_>) -> Vec<Cell> {
        let series = [TO_MEMORY.to_owned(), TO_DISK.to_owned()];
        let mut cells = ground::ladder_cells(site, &series, Unit::PerSecond);
        if let Err(error) = Sink::file_in(&site.log_dir) {
            for cell in cells.iter_mut().filter(|cell| cell.series == TO_DISK && cell.is_ready()) {
                let dir = site.log_dir.display();
                cell.cpus = Known::missing(
                    Code::Unreadable,
                    format!(
                        "no log file can be written in {dir}: {error}; name another place with --log-dir"
                    ),
                );
            }
        }
        cells
    }

    fn open(&self, site: &Site<'_>, ready: &[Cell]) -> Result<Box<dyn Rig>, ProbeError> {
        let jobs: Vec<ReadyCell> =
            ready.iter().filter_map(|cell| ReadyCell::of(site, cell)).collect();
        let small = Site { pages: Some(PageSize::Base), ..site.clone() };
        let mut buffers = BTreeMap::new();
        for job in &jobs {
            if let Entry::Vacant(vacant) = buffers.entry(job.home) {
                vacant.insert(ground::region(&small, job.home, BUFFER_BYTES)?);
            }
        }
        let window = match site.effort {
            Effort::Quick => Duration::from_millis(60),
            Effort::Normal => Duration::from_millis(150),
            Effort::Full => Duration::from_millis(400),
        };
        let on_disk = ready.iter().any(|cell| cell.series == TO_DISK);
        let warnings = if on_disk { warnings(&site.log_dir) } else { Vec::new() };
        Ok(Box::new(LogRig { buffers, jobs, window, dir: site.log_dir.clone(), warnings }))
    }
}

fn warnings(dir: &Path) -> Vec<Warning> {
    if !hopcost_sys::files::is_memory_backed(dir) {
        return Vec::new();
    }
    vec![Warning {
        text: format!("{} is a file system in memory: nothing is durable there", dir.display()),
        advice: "name a directory on the disk of your log with --log-dir".into(),
    }]
}

/// CPUs: the log writer's, then the inserter's.
struct ReadyCell {
    to_disk: bool,
    cpus: Vec<CpuId>,
    home: NodeId,
}

impl ReadyCell {
    fn of(site: &Site<'_>, cell: &Cell) -> Option<Self> {
        let cpus = cell.cpus.get()?.clone();
        let home = ground::nearest_memory(site, *cpus.first()?)?;
        Some(Self { to_disk: cell.series == TO_DISK, cpus, home })
    }
}

struct LogRig {
    buffers: BTreeMap<NodeId, Region>,
    jobs: Vec<ReadyCell>,
    window: Duration,
    dir: PathBuf,
    warnings: Vec<Warning>,
}

enum Report {
    Writer(std::io::Result<FlushTotals>),
    Inserter(Inserted),
}

impl Rig for LogRig {
    fn measure(&mut self, cell: usize, recorder: &mut Recorder) -> Result<(), ProbeError> {
        let job = &self.jobs[cell];
        let failed = |source| ProbeError::System {
            what: format!("writing a log file in {}", self.dir.display()),
            source,
        };
        let sink =
            if job.to_disk { Sink::file_in(&self.dir).map_err(failed)? } else { Sink::Memory };
        let Some(buffer) = self.buffers.get(&job.home) else { return Ok(()) };
        let log = CommitLog::new(&buffer.atomics()[..LOG_WORDS], sink);
        let members = affinity::crew(&job.cpus, |n| {
            let mut watch = Watch::new(job.cpus[n]);
            watch.begin();
            let report = match n {
                0 => Report::Writer(log.write()),
                _ => Report::Inserter(log.insert_for(self.window)),
            };
            (report, watch.end_blocking())
        })?;
        let quiet = members.iter().find_map(|(_, quiet)| quiet.err()).map_or(Ok(()), Err);
        for (report, _) in members {
            match report {
                Report::Writer(written) => count_writer(recorder, written.map_err(failed)?),
                Report::Inserter(inserted) => {
                    let rate = inserted.commits as f64 / inserted.took.as_secs_f64();
                    recorder.sample(rate, quiet);
                    count_inserter(recorder, inserted);
                }
            }
        }
        Ok(())
    }

    fn prove(&mut self) -> Result<Vec<Proof>, ProbeError> {
        let localities: BTreeMap<NodeId, Locality> =
            self.buffers.iter().map(|(&node, region)| (node, region.locality())).collect();
        let of = |job: &ReadyCell| localities.get(&job.home).cloned().into_iter().collect();
        Ok(self.jobs.iter().map(|job| Proof { memory: Known::Is(of(job)) }).collect())
    }

    fn warnings(&self) -> Vec<Warning> {
        self.warnings.clone()
    }
}

fn count_writer(recorder: &mut Recorder, written: FlushTotals) {
    recorder.count("flushes", written.flushes);
    recorder.count("bytes", written.bytes);
    recorder.count("spins_of_writer", written.spins);
}

fn count_inserter(recorder: &mut Recorder, inserted: Inserted) {
    recorder.count("commits", inserted.commits);
    recorder.count("spins", inserted.spins);
    recorder.count("backoffs", inserted.backoffs);
    recorder.count("waits", inserted.waits);
}
