//! `--baseline NAME`: compares a run with the first finished run of that name.

use hopcost_core::{
    Against, BlockRecord, Code, Details, Experiment, ExperimentResult, Known, Machine, NOISY,
    Subject, Verdict,
};
use hopcost_method::against::{Change, Measured, caveat, compare, points};
use hopcost_method::plan::{LeftOut, Plan};
use hopcost_method::run::differing_options;
use hopcost_store::{Baseline, Store, StoreError};
use serde_json::Value;

use crate::on_database::OnDatabase;
use crate::{Control, Failure, InContext, Outcome};

pub struct Beside {
    name: String,
    /// `None`: this run may become the baseline.
    kept: Option<(Baseline, Vec<BlockRecord>)>,
}

/// An experiment without variants cannot be a baseline.
pub fn can_be_kept(asked: Option<&str>, experiment: &Experiment) -> Outcome<()> {
    match (asked, &experiment.subject) {
        (Some(_), Subject::Hardware { .. }) => Err(Failure::usage(
            Code::BadOption,
            format!(
                "--baseline: '{}' looks at the hardware alone, without a database; leave it out",
                experiment.name
            ),
        )),
        _ => Ok(()),
    }
}

/// The requested baseline, if any. Fails if the stored one had other options.
pub fn asked_for(
    name: Option<&str>,
    store: &Store,
    prepared: &OnDatabase<'_>,
) -> Outcome<Option<Beside>> {
    let Some(name) = name else { return Ok(None) };
    let place = &store.path().display().to_string();
    let kept = store.baseline(name, &prepared.experiment.name, &prepared.url());
    let Some(kept) = kept.in_context(place)? else {
        return Ok(Some(Beside { name: name.to_owned(), kept: None }));
    };
    let differ = differing_options(&kept.identity, &prepared.identity());
    if !differ.is_empty() {
        return Err(Failure::usage(
            Code::NoBaseline,
            format!(
                "--baseline {name}: it is run {} in {place}, which differs in {}; run it with the same, or \
                 give another name",
                kept.run,
                differ.join(", ")
            ),
        ));
    }
    let blocks = store.blocks(kept.run).in_context(place)?;
    Ok(Some(Beside { name: name.to_owned(), kept: Some((kept, blocks)) }))
}

/// A mistyped name would become a baseline of its own.
pub fn announced(
    beside: Option<&Beside>,
    store: &Store,
    prepared: &OnDatabase<'_>,
    control: &mut Control<'_>,
) -> Outcome<()> {
    let Some(Beside { name, kept: None }) = beside else { return Ok(()) };
    let runs = store.runs().in_context(store.path().display())?;
    let url = prepared.url();
    let of_it = runs.iter().filter(|run| {
        run.experiment == prepared.experiment.name && run.target.as_ref() == Some(&url)
    });
    let known: Vec<&str> = of_it.flat_map(|run| &run.baselines).map(String::as_str).collect();
    let known = if known.is_empty() { "none yet".to_owned() } else { known.join(", ") };
    control.remark(&format!(
        "--baseline {name}: no run has this name, so this one becomes it if it finds a figure \
         (baselines of this experiment and database: {known})"
    ));
    Ok(())
}

/// Limits a search for the worst point to the point of the baseline: today's worst may be another.
pub fn narrowed(mut plan: Plan, beside: Option<&Beside>, find_worst: bool) -> Plan {
    let Some(Beside { name, kept: Some((kept, blocks)) }) = beside else { return plan };
    let then = points(blocks);
    if !find_worst || !plan.points.iter().any(|point| then.contains(point)) {
        return plan;
    }
    let all = plan.points.len();
    plan.points.retain(|point| then.contains(point));
    if plan.points.len() < all {
        plan.left_out.push(LeftOut {
            what: "the rest of the sweep".into(),
            reason: Code::NotMeasured.because(format!(
                "baseline '{name}' (run {}) was measured at this point",
                kept.run
            )),
        });
    }
    plan
}

/// `None` if the run was refused or measured nothing, and cannot be a baseline.
pub fn against(
    beside: &Beside,
    store: &Store,
    run: i64,
    result: &ExperimentResult,
    machine: &Machine,
    control: &mut Control<'_>,
) -> Result<Option<Against>, StoreError> {
    let is_noisy = result.details.as_ref().is_some_and(Details::is_noisy);
    let counts =
        result.estimate.get().is_some() && !result.verdict.is_without_figures() && !is_noisy;
    let name = &beside.name;
    let nothing = if is_noisy { NOISY } else { "this run found nothing that counts" };
    let Some((kept, blocks)) = &beside.kept else {
        if !counts {
            control.remark(&format!("--baseline {name}: {nothing}; the next one may be it"));
            return Ok(None);
        }
        let Change { worse, dearer } = Change::missing("this run is the baseline");
        let (baseline, begun_s) = (name.clone(), store.begun_s(run)?);
        let (is_first, notes) = (true, Vec::new());
        return Ok(Some(Against { baseline, run, begun_s, is_first, worse, dearer, notes }));
    };
    let earlier = store.compared_with(name, kept.run)?;
    let machines = Machines::new(&kept.machine, machine);
    let Change { worse, dearer } = if !counts {
        Change::missing(nothing)
    } else if let Some(other) = machines.other() {
        Change::missing(&other)
    } else {
        let mut runs = vec![measured(blocks.clone(), &kept.result)];
        for id in &earlier {
            let result = store.run(*id)?.and_then(|run| run.result);
            let blocks = store.blocks(*id)?;
            runs.extend(result.map(|result| measured(blocks, &result)));
        }
        let change = compare(&runs, &measured(store.blocks(run)?, result));
        if result.verdict == Verdict::Measured {
            Change { dearer: Known::missing(Code::NotApplicable, "a score has no cost"), ..change }
        } else {
            change
        }
    };
    let mut notes = vec![caveat(1 + earlier.len())];
    notes.extend(machines.changes());
    notes.extend(other_versions(kept, result));
    Ok(Some(Against {
        baseline: name.clone(),
        run: kept.run,
        begun_s: kept.begun_s,
        is_first: false,
        worse,
        dearer,
        notes,
    }))
}

fn measured(blocks: Vec<BlockRecord>, result: &ExperimentResult) -> Measured {
    let has_starts = |details: &Details| details.starts.is_some() || !details.scores.is_empty();
    Measured { blocks, has_starts: result.details.as_ref().is_some_and(has_starts) }
}

pub fn is_same_machine(then: &str, now: &Machine) -> bool {
    Machines::new(then, now).other().is_none()
}

struct Machines {
    then: Value,
    now: Value,
}

impl Machines {
    fn new(then: &str, now: &Machine) -> Self {
        let then = serde_json::from_str(then).unwrap_or_default();
        Self { then, now: serde_json::to_value(now).unwrap_or_default() }
    }

    fn before(&self, pointer: &str) -> Option<String> {
        let (then, now) = (self.then.pointer(pointer)?, self.now.pointer(pointer));
        let words = then.as_str().map_or_else(|| then.to_string(), str::to_owned);
        (Some(then) != now).then_some(words)
    }

    fn other(&self) -> Option<String> {
        const SAME: [(&str, &str); 3] = [
            ("/processor", "another processor"),
            ("/limits/cpus", "other CPUs"),
            ("/limits/nodes", "other memory nodes"),
        ];
        let found = SAME.iter().find_map(|(at, what)| Some((what, self.before(at)?)));
        found.map(|(what, then)| format!("the baseline was measured on {what}: {then}"))
    }

    fn changes(&self) -> impl Iterator<Item = String> {
        const TOLD: [(&str, &str); 2] = [("/host", "host"), ("/kernel", "kernel")];
        TOLD.iter().filter_map(move |(at, what)| {
            Some(format!("the baseline's {what} was {}", self.before(at)?))
        })
    }
}

fn other_versions(kept: &Baseline, result: &ExperimentResult) -> Vec<String> {
    let identity = |result: &ExperimentResult| {
        result.details.as_ref().map_or(String::new(), |details| details.identity.clone())
    };
    let (then, now) = (identity(&kept.result), identity(result));
    let ours = env!("CARGO_PKG_VERSION");
    let database = (then != now).then(|| format!("the baseline's database was {then}"));
    let hopcost = (kept.hopcost_version != ours)
        .then(|| format!("the baseline's hopcost was {}", kept.hopcost_version));
    database.into_iter().chain(hopcost).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_machine_is_no_baseline_and_another_kernel_is_told() {
        let of = |processor: &str, kernel: &str| {
            let text = format!(
                r#"{{"processor": "{processor}", "kernel": "{kernel}", "limits": {{"cpus": [0]}}}}"#
            );
            serde_json::from_str::<Value>(&text).unwrap()
        };
        let machines = |then, now| Machines { then, now };
        let same = machines(of("Xeon", "6.1"), of("Xeon", "6.1"));
        assert!(same.other().is_none() && same.changes().next().is_none());
        let updated = machines(of("Xeon", "6.1"), of("Xeon", "6.12"));
        assert!(updated.other().is_none());
        assert_eq!(updated.changes().collect::<Vec<_>>(), ["the baseline's kernel was 6.1"]);
        let moved = machines(of("Xeon", "6.1"), of("EPYC", "6.1"));
        assert!(moved.other().unwrap().contains("another processor: Xeon"));
    }
}
