//! Invented results of every kind for tests.

use std::collections::BTreeMap;

use hopcost_core::{
    Arm, BlockRecord, Code, CostSoFar, CpuId, CpuSet, Details, Disturbance, Estimate,
    ExperimentResult, Headline, Histogram, Known, Locality, Lookups, NodeId, Observation, PageSize,
    Phase, PointCost, ProofMethod, Proved, ProvedBy, Response, Tier, Trial, Unit, Verdict, Window,
    Witness, Words, gauge,
};

use crate::page::{Origin, Page, Section};

#[derive(Clone, Debug)]
pub struct Sample {
    pub result: ExperimentResult,
    pub words: Option<Words>,
    pub labels: BTreeMap<String, String>,
    pub levels: Vec<String>,
    pub workers_at: Vec<Vec<Option<NodeId>>>,
    pub blocks: Vec<BlockRecord>,
    pub command: String,
}

pub fn estimate(point: f64, half: f64) -> Estimate {
    let (low, high) = (point - half, point + half);
    Estimate { point, low, high, level: 0.95, n: 16, n_effective: 16.0 }
}

impl Sample {
    /// A comparison of `near` and `far`, without blocks.
    pub fn compared(name: &str, verdict: Verdict, point: f64, half: f64) -> Self {
        let mut sample = Self::absent(name, "the interval is beyond ±3.0%");
        sample.result.verdict = verdict;
        sample.result.estimate = Known::Is(Headline {
            of: "cost of far over near at 2 streams".into(),
            unit: Unit::Fraction,
            estimate: estimate(point, half),
            occasion: None,
        });
        sample.result.proof =
            vec![Proved { claim: "local_lookups at near".into(), least: 0.98, found: 0.9996 }];
        sample.result.details = Some(details(point, half));
        sample.levels = vec!["near".into(), "far".into()];
        sample
    }

    /// Not applicable on this machine.
    pub fn absent(name: &str, reason: &str) -> Self {
        let result = ExperimentResult {
            version: 1,
            experiment: name.into(),
            question: "How far?".into(),
            target: Known::Is("sqlite:".into()),
            verdict: Verdict::NotApplicable,
            reason: Code::NotMeasured.because(reason.to_owned()),
            estimate: Known::missing(Code::NotMeasured, reason.to_owned()),
            proof: Vec::new(),
            emulated: false,
            planted: None,
            details: None,
            against: None,
            seconds: 41.5,
        };
        let (levels, blocks) = (Vec::new(), Vec::new());
        let command = format!("hopcost run {name} --quick --seed 1");
        let words = Words {
            unit: Some("queries".into()),
            why: Some("Every page is far away.".into()),
            ..Words::default()
        };
        let labels = [("near", "local memory"), ("far", "remote memory")];
        let labels = labels.map(|(name, label)| (name.to_owned(), label.to_owned())).into();
        let words = Some(words);
        Self { result, words, labels, levels, workers_at: Vec::new(), blocks, command }
    }

    pub fn with_blocks(mut self, blocks: u64) -> Self {
        self.blocks = (0..blocks).map(block).collect();
        let (near, far) = (Some(NodeId(0)), Some(NodeId(1)));
        self.workers_at = vec![vec![near, far], vec![far, near]];
        self
    }

    pub fn section(&self) -> Section<'_> {
        Section {
            run: 1,
            result: &self.result,
            is_finished: true,
            words: self.words.as_ref(),
            never_verified: false,
            response: Some(Response::QueriesPerHour),
            labels: &self.labels,
            levels: &self.levels,
            workers_at: &self.workers_at,
            margin: Some(0.03),
            blocks: &self.blocks,
            published: Vec::new(),
            command: self.command.clone(),
            advice: None,
            reports: &[],
            options: Some("{}".to_owned()),
        }
    }
}

pub fn page(sections: Vec<Section<'_>>) -> Page<'_> {
    Page {
        origin: Origin::Run,
        title: "sample".into(),
        host: Known::Is("box".into()),
        machine: Known::missing(Code::NotMeasured, "a test"),
        sections,
        probes: Vec::new(),
        findings: Known::missing(Code::NotMeasured, "nobody asked the doctor"),
        not_tested: Vec::new(),
        interrupted: false,
        changed: Vec::new(),
        begun_unix_s: 1_800_000_000,
        seconds: 61.0,
        version: "0.0.0".into(),
    }
}

fn details(point: f64, half: f64) -> Details {
    let cost = |streams, exploratory, point, half| PointCost {
        streams,
        level: "far".into(),
        cost: estimate(point, half),
        exploratory,
        may_be_worst: streams == 2,
        looks: (1..6)
            .map(|n| {
                let wide = half * 2.2 / f64::from(n).sqrt();
                CostSoFar { after_s: 9.0 + 4.0 * f64::from(n), cost: estimate(point, wide) }
            })
            .collect(),
    };
    let arm = |level: &str, streams, response| Arm {
        level: level.into(),
        streams,
        windows: 32,
        calls: 4_000,
        errors: 0,
        first_error: None,
        response,
        latency_ms: Some([2.8, 0.07, 2.79, 2.92, 3.4]),
        times: Vec::new(),
        modes: Vec::new(),
        acquisitions: Some([17_399_824, 0]),
        distinct_pages: Some([61_000, 0]),
        observed: vec![Observation {
            metric: gauge::CONTEXT_SWITCHES.name.into(),
            of: String::new(),
            value: 41.0,
        }],
    };
    Details {
        identity: "SQLite, 2,000,000 rows".into(),
        bindings: vec!["A = node 0, B = node 1".into(), "A = node 1, B = node 0".into()],
        window_s: 0.2,
        guard_s: 0.05,
        blocks: BTreeMap::from([("fresh".into(), 16), ("search".into(), 12)]),
        dropped: BTreeMap::from([(Disturbance::Stolen, 1)]),
        starts: None,
        contended: 0,
        scores: Vec::new(),
        points: vec![
            cost(1, true, point * 0.7, half * 1.8),
            cost(2, true, point * 0.9, half * 1.6),
            cost(2, false, point, half),
        ],
        spreads: Vec::new(),
        scaling: Vec::new(),
        arms: vec![
            arm("near", 1, 1_608.0),
            arm("far", 1, 1_555.0),
            arm("near", 2, 1_609.0),
            arm("far", 2, 1_544.0),
        ],
        tier: Some(Tier::EngineCounters),
        proved_by: vec![
            ProvedBy { by: Witness::LookUps, found: None },
            ProvedBy { by: Witness::Pages(ProofMethod::MovePages), found: Some(1.0) },
            ProvedBy { by: Witness::ThreadMasks, found: None },
        ],
        placebo: Some(estimate(-0.002, 0.008)),
        harness_ns_per_call: 36.0,
        plans: vec!["SCAN tran_stats".into()],
        left_out: vec!["8, 16 streams: more than 2 per worker CPU only wait".into()],
        notes: vec!["perf is not observed: the guest has no counters".into()],
    }
}

fn block(number: u64) -> BlockRecord {
    let phase = match number {
        n if n < 4 => Phase::Search,
        n if n % 9 == 8 => Phase::Placebo,
        _ => Phase::Fresh,
    };
    let trial = Trial {
        number,
        phase,
        unit: number / 2,
        streams: 2,
        binding: (number % 2) as usize,
        level: usize::from(phase != Phase::Placebo),
        baseline_outside: number.is_multiple_of(3),
    };
    let arms = trial.arms();
    let windows = (0..4).map(|place| window(&trial, place, arms[place])).collect();
    let locality = Locality {
        asked: NodeId(0),
        spread: Vec::new(),
        bound: true,
        pages_by_node: BTreeMap::from([(NodeId(0), 1_000)]),
        pages_unknown: 0,
        method: ProofMethod::MovePages,
        page_size: PageSize::Base,
        page_size_share: 1.0,
    };
    BlockRecord { trial, windows, placement: Known::Is(vec![locality]) }
}

fn window(trial: &Trial, place: usize, tested: bool) -> Window {
    let begin_s = 0.3 * (4.0 * trial.number as f64 + place as f64);
    let wobble = (begin_s * 7.0).sin() * 8.0;
    let slow = if tested && trial.level > 0 { 0.95 } else { 1.0 };
    let node = NodeId(trial.binding as u32);
    let lookups = BTreeMap::from([(node, 90_000 + (wobble * 100.0) as u64)]);
    let observed = (0..2).flat_map(|cpu| {
        let busy = if cpu == trial.binding { 190.0 } else { 20.0 + wobble };
        [(gauge::CPU_USER_MS, busy), (gauge::CPU_IDLE_MS, 200.0 - busy)].map(|(gauge, value)| {
            Observation { metric: gauge.name.into(), of: format!("cpu {cpu}"), value }
        })
    });
    Window {
        tested,
        begin_s,
        seconds: 0.2,
        calls: 40,
        rate: 200.0 * slow + wobble,
        latency: Histogram::default(),
        lookups: Some(Lookups { acquisitions: lookups, distinct_pages: BTreeMap::new() }),
        cpus: CpuSet::from_iter([CpuId(0)]),
        observations: observed.collect(),
        disturbed: (trial.number % 11 == 5).then_some(Disturbance::Stolen),
        ..Window::default()
    }
}
