//! Test data.

use std::collections::BTreeMap;

use hopcost_core::{
    Cell, CellResult, Code, DistanceClass, Effort, Estimate, Experiment, ExperimentResult, Known,
    NodeId, Outcome, Place, ProbeReport, Spread, Subject, Unit, Verdict, Words,
};

pub fn estimate(point: f64, half: f64) -> Estimate {
    let (low, high) = (point * (1.0 - half), point * (1.0 + half));
    Estimate { point, low, high, level: 0.95, n: 60, n_effective: 12.0 }
}

pub fn measured(point: f64) -> Outcome {
    let spread = Spread { min: point, p5: point, median: point, p95: point, max: point };
    Outcome::Measured { estimate: estimate(point, 0.001), spread }
}

pub fn none<T>() -> Known<T> {
    Known::missing(Code::NotMeasured, "a test")
}

pub fn cell(unit: Unit, row: u32, column: u32, outcome: Outcome) -> CellResult {
    let class = if row == column { DistanceClass::SameNode } else { DistanceClass::OtherSocket };
    CellResult {
        cell: Cell {
            series: "reads".into(),
            row: Place::Node(NodeId(row)),
            column: Place::Node(NodeId(column)),
            class: Known::Is(class),
            unit,
            cpus: Known::Is(Vec::new()),
        },
        outcome,
        proof: none(),
        dropped: BTreeMap::new(),
        counters: BTreeMap::new(),
        starts: Vec::new(),
        occasion: None,
    }
}

pub fn report(probe: &'static str, cells: Vec<CellResult>) -> ProbeReport {
    ProbeReport {
        probe: probe.into(),
        question: "?".into(),
        effort: Effort::Quick,
        seed: 1,
        starts: 1,
        contended: 0,
        rounds: 12,
        seconds: 6.0,
        interrupted: false,
        cells,
        warnings: Vec::new(),
    }
}

pub fn result(experiment: &str) -> ExperimentResult {
    ExperimentResult {
        version: 1,
        experiment: experiment.into(),
        question: "?".into(),
        target: Known::Is("sqlite:".into()),
        verdict: Verdict::Measured,
        reason: Code::NotComparable.because("a test"),
        estimate: none(),
        proof: Vec::new(),
        emulated: false,
        planted: None,
        details: None,
        against: None,
        seconds: 30.0,
    }
}

pub fn experiment(name: &str, subject: Subject) -> Experiment {
    Experiment {
        name: name.into(),
        question: "?".into(),
        subject,
        beside: Vec::new(),
        survey: None,
        words: Words::default(),
        advice: Vec::new(),
    }
}
