//! Results for others to read: no name of a host, a user, a path, an address or an object.
//!
//! Method: a white list. Each structure is taken apart field by field, so that a new field does not
//! compile before somebody decides. Reasons, which may quote anything, become what their code means.

use hopcost_core::{
    Arm, CellResult, Code, Details, ExperimentResult, Known, Limits, Machine, ProbeReport,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::output::{Format, Shown};
use crate::page::{Page, Section};
use crate::words::DAY_S;

pub const FORMAT: Format = Format {
    name: "share",
    about: "JSON for others, which names no host and no user; 'compare' reads it",
    media: "application/json",
    of: |shown, _| match shown {
        Shown::Report(page) => document(page),
        Shown::Between(_) => {
            "a comparison is not shared: share each side with 'report'\n".to_owned()
        }
    },
};

const VERSION: u32 = 1;

/// docs/reference/json.md documents its keys.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Shared {
    pub share: u32,
    pub hopcost_version: String,
    /// The day's first second, since 1970.
    pub begun_s: i64,
    pub machine: Known<Machine>,
    pub runs: Vec<SharedRun>,
    /// Of experiments that do not come with hopcost: their words are the user's.
    pub left_out: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SharedRun {
    /// What has to be equal for a comparison.
    pub options: String,
    pub result: ExperimentResult,
    pub reports: Vec<ProbeReport>,
}

fn document(page: &Page<'_>) -> String {
    let shared = |section: &Section<'_>| {
        let options = section.options.clone()?;
        let reports = section.reports.iter().map(report).collect();
        Some(SharedRun { options, result: result(section.result), reports })
    };
    let runs: Vec<SharedRun> = page.sections.iter().filter_map(shared).collect();
    let shared = Shared {
        share: VERSION,
        hopcost_version: page.version.clone(),
        begun_s: page.begun_unix_s.div_euclid(DAY_S) * DAY_S,
        machine: page.machine.clone().map(machine),
        left_out: (page.sections.len() - runs.len()) as u64,
        runs,
    };
    let mut document = json!(shared);
    without_words(&mut document);
    format!("{document:#}\n")
}

fn not_shared<T>() -> Known<T> {
    Known::missing(Code::NotStored, "it is not shared")
}

fn machine(of: &Machine) -> Machine {
    let mut machine = of.clone();
    let Machine {
        version: _,
        host,
        kernel,
        processor: _,
        page_bytes: _,
        sockets: _,
        cpus: _,
        caches: _,
        nodes: _,
        distances: _,
        limits,
        virtualization: _,
        devices,
        notes,
    } = &mut machine;
    let Limits {
        cpus: _,
        nodes: _,
        cgroup,
        cpu_quota: _,
        memory_bytes: _,
        memory_used_bytes: _,
        locked_bytes: _,
        open_files: _,
    } = limits;
    *host = not_shared();
    *cgroup = not_shared();
    if let Known::Is(kernel) = kernel {
        *kernel = release(kernel);
    }
    devices.clear();
    notes.clear();
    machine
}

/// Without the suffix that a distribution or a company adds.
fn release(kernel: &str) -> String {
    let is_number = |c: &char| c.is_ascii_digit() || *c == '.';
    kernel.chars().skip_while(|c| !c.is_ascii_digit()).take_while(is_number).collect()
}

fn result(of: &ExperimentResult) -> ExperimentResult {
    let mut result = of.clone();
    let ExperimentResult {
        version: _,
        experiment: _,
        question,
        target,
        verdict: _,
        reason: _,
        estimate: _,
        proof: _,
        emulated: _,
        planted: _,
        details,
        against,
        seconds: _,
    } = &mut result;
    question.clear();
    if let Known::Is(url) = target {
        url.truncate(url.find(':').map_or(0, |colon| colon + 1));
    }
    details.iter_mut().for_each(without_texts);
    *against = None;
    result
}

fn without_texts(details: &mut Details) {
    let Details {
        identity,
        bindings: _,
        window_s: _,
        guard_s: _,
        blocks: _,
        dropped: _,
        starts: _,
        scores: _,
        contended: _,
        points: _,
        spreads: _,
        scaling: _,
        arms,
        tier: _,
        proved_by: _,
        placebo: _,
        harness_ns_per_call: _,
        plans,
        left_out,
        notes,
    } = details;
    identity.clear();
    [plans, left_out, notes].into_iter().for_each(Vec::clear);
    for arm in arms {
        let Arm {
            level: _,
            streams: _,
            windows: _,
            calls: _,
            errors: _,
            first_error,
            response: _,
            latency_ms: _,
            times: _,
            modes: _,
            acquisitions: _,
            distinct_pages: _,
            observed,
        } = arm;
        *first_error = None;
        observed.clear();
    }
}

fn report(of: &ProbeReport) -> ProbeReport {
    let mut report = of.clone();
    let ProbeReport {
        probe: _,
        question: _,
        effort: _,
        seed: _,
        starts: _,
        contended: _,
        rounds: _,
        seconds: _,
        interrupted: _,
        cells,
        warnings,
    } = &mut report;
    warnings.clear();
    for cell in cells {
        let CellResult {
            cell: _,
            outcome: _,
            proof: _,
            dropped: _,
            counters,
            starts: _,
            occasion: _,
        } = cell;
        counters.clear();
    }
    report
}

/// In each form of a reason in JSON.
fn without_words(value: &mut Value) {
    if let Value::Object(object) = value {
        for (words, code) in [("reason", "reason_code"), ("missing", "code"), ("void", "code")] {
            let code = object.get(code).and_then(|it| Code::deserialize(it).ok());
            if let Some(Value::String(words)) = object.get_mut(words) {
                *words = code.map_or(String::new(), |code| code.about().to_owned());
            }
        }
    }
    match value {
        Value::Object(object) => object.values_mut().for_each(without_words),
        Value::Array(all) => all.iter_mut().for_each(without_words),
        _ => {}
    }
}
