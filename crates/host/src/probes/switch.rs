//! **switch**: the cost to wake another thread and wait for its answer, by distance.
//!
//! Method: two pinned threads wake each other in turn, through a futex as locks do, and through a
//! pipe as a local client and server do. Half a round trip is a hand-over. The kernel's count of
//! context switches proves that the threads really slept.

use std::time::Duration;

use hopcost_core::{Cell, CpuId, Occasion, Probe, ProbeError, Proof, Recorder, Rig, Site, Unit};
use hopcost_sys::affinity;
use hopcost_sys::kernels::handover::{Method, Table};
use hopcost_sys::quiet::Watch;

use super::ground;
use super::pace::Pace;

pub struct Switch;

const BATCH: Duration = Duration::from_millis(12);
const LEAST_TRIPS: usize = 50;

const METHODS: [(Method, &str); 2] = [(Method::Futex, "futex"), (Method::Pipe, "pipe")];

impl Probe for Switch {
    fn name(&self) -> &'static str {
        "switch"
    }

    fn question(&self) -> &'static str {
        "What does it cost to wake another thread, by where it waits?"
    }

    fn assumed_in_a_guest(&self) -> f64 {
        Occasion::OF_WAKING
    }

    fn cells(&self, site: &Site<'_>) -> Vec<Cell> {
        ground::ladder_cells(site, &METHODS.map(|(_, name)| name.to_owned()), Unit::Microseconds)
    }

    fn open(&self, _: &Site<'_>, ready: &[Cell]) -> Result<Box<dyn Rig>, ProbeError> {
        let opened = |source| ProbeError::System { what: "opening a pipe".into(), source };
        let table = Table::new().map_err(opened)?;
        Ok(Box::new(SwitchRig { jobs: ready.iter().filter_map(ReadyCell::of).collect(), table }))
    }
}

struct ReadyCell {
    method: Method,
    cpus: Vec<CpuId>,
    pace: Pace,
}

impl ReadyCell {
    fn of(cell: &Cell) -> Option<Self> {
        let (method, _) = METHODS.into_iter().find(|(_, name)| *name == cell.series)?;
        let pace = Pace::new(BATCH, LEAST_TRIPS);
        Some(Self { method, cpus: cell.cpus.get()?.clone(), pace })
    }
}

struct SwitchRig {
    jobs: Vec<ReadyCell>,
    table: Table,
}

impl Rig for SwitchRig {
    fn measure(&mut self, cell: usize, recorder: &mut Recorder) -> Result<(), ProbeError> {
        let Self { jobs, table } = self;
        let job = &mut jobs[cell];
        loop {
            let trips = job.pace.operations as u64;
            let play = |side| {
                let mut watch = Watch::new(job.cpus[side]);
                watch.begin();
                table.play(job.method, side, trips).map(|account| (account, watch.end_blocking()))
            };
            let sides = affinity::crew(&job.cpus, play)?;
            let sides: Result<Vec<_>, std::io::Error> = sides.into_iter().collect();
            let failed = |source| ProbeError::System { what: "handing over".into(), source };
            let sides = sides.map_err(failed)?;
            let (account, quiet) = sides[0];
            if job.pace.counts(account.took) {
                let microseconds = account.took.as_nanos() as f64 / 1000.0 / (2 * trips) as f64;
                recorder.sample(microseconds, quiet.and(sides[1].1));
                recorder.count("handovers", 2 * trips);
                recorder.count("switches", sides.iter().map(|(side, _)| side.switches).sum());
                return Ok(());
            }
        }
    }

    fn prove(&mut self) -> Result<Vec<Proof>, ProbeError> {
        Ok(self.jobs.iter().map(|_| Proof::of_threads()).collect())
    }
}
