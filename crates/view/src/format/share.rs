//! Results for others to read: no name of a host, a user, a path, an address or an object.
//!
//! Method: a white list. Each structure is taken apart field by field, so that a new field does not
//! compile before somebody decides. Reasons, which may quote anything, become what their code means.

use std::collections::BTreeMap;

use hopcost_core::{
    Arm, CellResult, Code, Details, ExperimentResult, Known, Limits, Machine, ProbeReport,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::output::{Format, Shown};
use crate::page::{Page, Section};

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
const DAY_S: i64 = 86_400;

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
    let Machine {
        version,
        host: _,
        kernel,
        processor,
        page_bytes,
        sockets,
        cpus,
        caches,
        nodes,
        distances,
        limits,
        virtualization,
        devices: _,
        notes: _,
    } = of.clone();
    Machine {
        version,
        host: not_shared(),
        kernel: kernel.map(|kernel| release(&kernel)),
        processor,
        page_bytes,
        sockets,
        cpus,
        caches,
        nodes,
        distances,
        limits: limits_of(limits),
        virtualization,
        devices: Vec::new(),
        notes: Vec::new(),
    }
}

/// Without the suffix, which whoever built the kernel chose.
fn release(kernel: &str) -> String {
    let is_number = |c: &char| c.is_ascii_digit() || *c == '.';
    kernel.chars().skip_while(|c| !c.is_ascii_digit()).take_while(is_number).collect()
}

fn limits_of(limits: Limits) -> Limits {
    let Limits {
        cpus,
        nodes,
        cgroup: _,
        cpu_quota,
        memory_bytes,
        memory_used_bytes,
        locked_bytes,
        open_files,
    } = limits;
    Limits {
        cpus,
        nodes,
        cgroup: not_shared(),
        cpu_quota,
        memory_bytes,
        memory_used_bytes,
        locked_bytes,
        open_files,
    }
}

fn result(of: &ExperimentResult) -> ExperimentResult {
    let ExperimentResult {
        version,
        experiment,
        question: _,
        target,
        verdict,
        reason,
        estimate,
        proof,
        emulated,
        planted,
        details,
        against: _,
        seconds,
    } = of.clone();
    ExperimentResult {
        version,
        experiment,
        question: String::new(),
        target: target.map(|url| url.split_inclusive(':').next().unwrap_or_default().to_owned()),
        verdict,
        reason,
        estimate,
        proof,
        emulated,
        planted,
        details: details.map(details_of),
        against: None,
        seconds,
    }
}

fn details_of(details: Details) -> Details {
    let Details {
        identity: _,
        bindings,
        window_s,
        guard_s,
        blocks,
        dropped,
        starts,
        scores,
        contended,
        points,
        spreads,
        scaling,
        arms,
        tier,
        proved_by,
        placebo,
        harness_ns_per_call,
        plans: _,
        left_out: _,
        notes: _,
    } = details;
    Details {
        identity: String::new(),
        bindings,
        window_s,
        guard_s,
        blocks,
        dropped,
        starts,
        scores,
        contended,
        points,
        spreads,
        scaling,
        arms: arms.into_iter().map(arm).collect(),
        tier,
        proved_by,
        placebo,
        harness_ns_per_call,
        plans: Vec::new(),
        left_out: Vec::new(),
        notes: Vec::new(),
    }
}

fn arm(arm: Arm) -> Arm {
    let Arm {
        level,
        streams,
        windows,
        calls,
        errors,
        first_error: _,
        response,
        latency_ms,
        times,
        modes,
        acquisitions,
        distinct_pages,
        observed: _,
    } = arm;
    Arm {
        level,
        streams,
        windows,
        calls,
        errors,
        first_error: None,
        response,
        latency_ms,
        times,
        modes,
        acquisitions,
        distinct_pages,
        observed: Vec::new(),
    }
}

fn report(of: &ProbeReport) -> ProbeReport {
    let ProbeReport {
        probe,
        question,
        effort,
        seed,
        starts,
        contended,
        rounds,
        seconds,
        interrupted,
        cells,
        warnings: _,
    } = of.clone();
    let cells = cells.into_iter().map(|cell| {
        let CellResult { cell, outcome, proof, dropped, counters: _, starts, occasion } = cell;
        CellResult { cell, outcome, proof, dropped, counters: BTreeMap::new(), starts, occasion }
    });
    ProbeReport {
        probe,
        question,
        effort,
        seed,
        starts,
        contended,
        rounds,
        seconds,
        interrupted,
        cells: cells.collect(),
        warnings: Vec::new(),
    }
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
