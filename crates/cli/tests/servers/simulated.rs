//! Simulated runs.
//!
//! Method: start a real run, kill it after its preparation, and store the blocks of a machine where
//! distance costs what the test chose. hopcost then judges them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Output, Stdio};

use hopcost_core::{
    BlockRecord, Cell, CellResult, Code, CpuId, Effort, Estimate, Experiment, Histogram, Known,
    Lookups, Outcome, Phase, Place, ProbeReport, Spread, Subject, Trial, Unit, Window, Words,
};
use hopcost_method::hardware;
use hopcost_method::plan::{Placement, Plan};
use hopcost_method::schedule::{Pace, Schedule};
use hopcost_store::{NewRun, Store};
use hopcost_testkit::named::machine;
use rusqlite::Connection;
use serde::Deserialize;

use crate::bench::{Bench, wait_until};

#[derive(Clone, Copy)]
pub struct Gives {
    /// Baseline calls a second.
    pub rate: f64,
    /// Share that distance costs; twice as much for two clients.
    pub cost: f64,
}

/// hopcost's own time is 0.
const CALLS: u64 = 100;

#[derive(Deserialize)]
struct Preparation {
    plan: Plan,
    pace: Pace,
}

impl Bench {
    /// The output of `run` on that machine. The default store is `hopcost.db`.
    pub fn simulate(&self, store: &str, arguments: &[&str], gives: Gives) -> Output {
        let arguments = [&["run", "--store", store], arguments].concat();
        let path = self.path(store);
        let mut command = self.command(&arguments);
        let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until("it is decided what to measure", || unfinished(&path).is_some());
        run.kill().unwrap();
        run.wait().unwrap();
        let (id, preparation) = unfinished(&path).unwrap();
        let store = Connection::open(&path).unwrap();
        store.execute("DELETE FROM block WHERE run_id = ?1", [id]).unwrap();
        let mut store = Store::open(&path).unwrap();
        for block in blocks(&preparation, gives) {
            store.add_block(id, &block, &[]).unwrap();
        }
        self.hopcost(&[&arguments[..], &["--resume"]].concat())
    }
}

fn unfinished(store: &Path) -> Option<(i64, Preparation)> {
    let store = Connection::open(store).ok().filter(|_| store.exists())?;
    let sql = "SELECT id, preparation FROM run WHERE verdict IS NULL AND preparation IS NOT NULL";
    let found = store.query_row(sql, [], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)));
    let (id, preparation) = found.ok()?;
    Some((id, serde_json::from_str(&preparation).unwrap()))
}

fn blocks(Preparation { plan, pace }: &Preparation, gives: Gives) -> Vec<BlockRecord> {
    let schedule = Schedule::new(plan, pace, plan.points.len() > 1);
    let mut blocks = Vec::new();
    while let Some(trial) = schedule.next(&blocks, 0.0) {
        let of_level =
            |tested: bool| &plan.placements[trial.binding][usize::from(tested) * trial.level];
        let windows = trial.arms().map(|tested| window(&trial, of_level(tested), tested, gives));
        let placement = Known::missing(Code::NotMeasured, "nothing was placed");
        blocks.push(BlockRecord { trial, windows: windows.into(), placement });
    }
    blocks
}

/// 100 calls, all page accesses on the node of the data.
fn window(trial: &Trial, placement: &Placement, tested: bool, gives: Gives) -> Window {
    let is_far = tested && trial.level > 0 && trial.phase != Phase::Placebo;
    let streams = f64::from(trial.streams);
    let cost = if is_far { gives.cost * streams } else { 0.0 };
    let sign = if tested { 1.0 } else { -1.0 };
    let jitter = 1.0 + 2e-3 * sign * (trial.number as f64 * 2.3).sin();
    let rate = gives.rate * (1.0 - cost) * jitter;
    let mut latency = Histogram::default();
    (0..CALLS).for_each(|_| latency.record((1e9 * streams / rate) as u64));
    let looked_up = [(placement.settings.home.unwrap(), 1_000)];
    let lookups = Lookups { acquisitions: looked_up.into(), distinct_pages: looked_up.into() };
    let seconds = CALLS as f64 / rate;
    Window {
        tested,
        begin_s: trial.number as f64 * 4.0 * seconds,
        seconds,
        streams_s: seconds * streams,
        calls: CALLS,
        rate,
        latency,
        lookups: Some(lookups),
        planted: cost,
        ..Window::default()
    }
}

impl Bench {
    /// Stores a hardware run with one cell per value, in nanoseconds.
    pub fn keep_figures(&self, store: &str, found: &[f64]) {
        let experiment = Experiment {
            name: "switches".into(),
            question: "How long does a thread take to wake?".into(),
            subject: Subject::Hardware { probes: vec!["switch".into()] },
            beside: Vec::new(),
            survey: None,
            words: Words::default(),
            advice: Vec::new(),
        };
        let store = Store::open(&self.path(store)).unwrap();
        let new = NewRun {
            experiment: &experiment.name,
            question: &experiment.question,
            target: None,
            effort: Effort::Quick,
            seed: 1,
            machine: machine(),
            begun_ns: 1_800_000_000_000_000_000,
            identity: None,
            host_key: None,
            boot_id: "",
            traits: &BTreeMap::new(),
        };
        let run = store.begin(&new).unwrap();
        let report = report(found);
        store.add_report(run, &report).unwrap();
        store.finish(run, &hardware::conclude(&experiment, &[report], false)).unwrap();
    }
}

fn report(found: &[f64]) -> ProbeReport {
    let cells = found.iter().enumerate().map(|(cpu, &point)| CellResult {
        starts: Vec::new(),
        occasion: None,
        cell: Cell {
            series: "wake".into(),
            row: Place::Cpu(CpuId(0)),
            column: Place::Cpu(CpuId(cpu as u32)),
            class: Known::missing(Code::NotMeasured, "a test"),
            unit: Unit::Nanoseconds,
            cpus: Known::Is(vec![CpuId(0), CpuId(cpu as u32)]),
        },
        outcome: Outcome::Measured {
            estimate: Estimate {
                point,
                low: 0.99 * point,
                high: 1.01 * point,
                level: 0.95,
                n: 60,
                n_effective: 12.0,
            },
            spread: Spread { min: point, p5: point, median: point, p95: point, max: point },
        },
        proof: Known::missing(Code::NotMeasured, "a test"),
        dropped: BTreeMap::new(),
        counters: BTreeMap::new(),
    });
    ProbeReport {
        starts: 1,
        contended: 0,
        probe: "switch".into(),
        question: "How long does a thread take to wake?".into(),
        effort: Effort::Quick,
        seed: 1,
        rounds: 60,
        seconds: 1.5,
        interrupted: false,
        cells: cells.collect(),
        warnings: Vec::new(),
    }
}
