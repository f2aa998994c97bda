//! Collects stored runs into a page.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use hopcost_core::{
    BlockRecord, Code, CpuSet, Experiment, ExperimentResult, Finding, Known, Machine, ProbeReport,
    Reason, Subject, Unit, Verdict,
};
use hopcost_data::published;
use hopcost_method::advice::{self, Advice, Place};
use hopcost_method::judge::result::ResultOf;
use hopcost_store::{Header, Listed, Store, StoreError};
use hopcost_view::page::{self, NotTested, Origin, Probed, Section};
use hopcost_view::text::StoredRun;
use hopcost_view::{Sentences, plural, sentences};
use serde_json::Value;

use crate::run::quoted;
use crate::shared::comparable;
use crate::{Failure, InContext, Outcome, Ran, catalogue};

/// A run of a store by its number or as the latest of its experiment, or the latest of all. Opens
/// the store read-only.
pub fn report(path: &Path, run: Option<&str>) -> Outcome<Reported> {
    let place = path.display().to_string();
    let store = Store::open_to_read(path).in_context(&place)?;
    let runs = store.runs().in_context(&place)?;
    let is_asked =
        |it: &&Listed| run.is_none_or(|run| run.parse() == Ok(it.id) || run == it.experiment);
    match (runs.iter().find(is_asked), run) {
        (Some(found), _) => Reported::of(&store, &[found.id]).in_context(&place),
        (None, Some(run)) if !runs.is_empty() => Err(Failure::usage(
            Code::UnknownName,
            format!("{place}: there is no run {run}; {}", listed(&runs)),
        )),
        (None, _) => {
            Err(Failure::usage(Code::UnknownName, format!("{place}: no run is kept here yet")))
        }
    }
}

/// All runs of a store, latest first. Opens the store read-only.
pub fn stored_runs(path: &Path) -> Outcome<Vec<StoredRun>> {
    let place = path.display().to_string();
    let store = Store::open_to_read(path).in_context(&place)?;
    let shown = |run: Listed| StoredRun {
        run: run.id,
        begun_s: run.begun_s,
        experiment: run.experiment,
        target: run.target,
        verdict: run.verdict.and_then(|name| serde_json::from_value(Value::from(name)).ok()),
        baselines: run.baselines,
    };
    Ok(store.runs().in_context(&place)?.into_iter().map(shown).collect())
}

pub(crate) fn listed(runs: &[Listed]) -> String {
    let mut out = String::from("stored are");
    for run in runs.iter().take(8) {
        let _ = write!(out, " {} ({})", run.id, run.experiment);
    }
    out
}

#[derive(Debug)]
pub struct Reported {
    runs: Vec<Run>,
    survey: Option<OfSurvey>,
}

#[derive(Debug)]
pub(crate) struct OfSurvey {
    pub machine: Machine,
    pub findings: Vec<Finding>,
    pub not_tested: Vec<NotTested>,
    pub interrupted: bool,
    pub begun_unix_s: u64,
    pub seconds: f64,
    pub html: PathBuf,
}

#[derive(Debug)]
struct Run {
    id: i64,
    header: Header,
    result: ExperimentResult,
    is_unfinished: bool,
    failure: Option<String>,
    blocks: Vec<BlockRecord>,
    reports: Vec<ProbeReport>,
    /// `None` if it is none of those that come with hopcost.
    experiment: Option<Experiment>,
    labels: BTreeMap<String, String>,
}

impl Reported {
    /// Skips runs that do not exist.
    pub fn of(store: &Store, ids: &[i64]) -> Result<Self, StoreError> {
        let runs = ids.iter().map(|id| Run::read(store, *id)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { runs: runs.into_iter().flatten().collect(), survey: None })
    }

    pub(crate) fn of_survey(
        store: &Store,
        ids: &[i64],
        survey: OfSurvey,
    ) -> Result<Self, StoreError> {
        Ok(Self { survey: Some(survey), ..Self::of(store, ids)? })
    }

    pub fn sentences(&self) -> Sentences {
        self.show(sentences)
    }

    pub fn show<T>(&self, show: impl FnOnce(&page::Page<'_>) -> T) -> T {
        fn beside(report: &ProbeReport) -> Probed<'_> {
            Probed { report, published: published::beside(&report.probe) }
        }
        let first = self.runs.first();
        let reports = self.runs.iter().flat_map(|run| &run.reports);
        let failure = first.and_then(|run| run.failure.as_deref());
        let is_cut = first.is_some_and(|run| run.is_unfinished);
        let of_runs = page::Page {
            origin: if is_cut { Origin::Unfinished { failure } } else { Origin::Run },
            title: first.map_or(String::new(), |run| run.header.experiment.clone()),
            host: first.map_or(Known::missing(Code::NotStored, "there is no run"), |run| {
                run.header.machine.as_ref().and_then(|machine| machine.host.clone())
            }),
            machine: first.map_or(Known::missing(Code::NotStored, "there is no run"), |run| {
                run.header.machine.as_ref()
            }),
            sections: self.runs.iter().map(Run::section).collect(),
            probes: reports.map(beside).collect(),
            findings: Known::missing(
                Code::NotStored,
                "a stored run does not keep what the doctor saw: hopcost doctor says how it is now",
            ),
            not_tested: Vec::new(),
            interrupted: self.runs.iter().any(|run| run.is_unfinished),
            changed: self.runs.iter().filter_map(Run::changed).collect(),
            begun_unix_s: first.map_or(0, |run| run.header.begun_s),
            seconds: self.runs.iter().map(|run| run.result.seconds).sum(),
            version: first.map_or(String::new(), |run| run.header.version.clone()),
        };
        let Some(survey) = &self.survey else { return show(&of_runs) };
        show(&page::Page {
            origin: Origin::Survey { page: &survey.html },
            title: "hopcost survey".to_owned(),
            host: survey.machine.host.clone(),
            machine: Known::Is(&survey.machine),
            findings: Known::Is(&survey.findings),
            not_tested: survey.not_tested.clone(),
            interrupted: survey.interrupted,
            begun_unix_s: survey.begun_unix_s.cast_signed(),
            seconds: survey.seconds,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..of_runs
        })
    }

    /// Replaces the stored result by the one just computed, which has full precision.
    #[must_use]
    pub fn with(mut self, ran: &Ran) -> Self {
        if let Some(run) = self.runs.iter_mut().find(|run| run.id == ran.id) {
            run.reports.clone_from(&ran.reports);
            if let Some(result) = &ran.result {
                run.result.clone_from(result);
            }
        }
        self
    }

    /// With the words of an experiment that need not come with hopcost.
    #[must_use]
    pub fn in_words_of(mut self, experiment: &Experiment) -> Self {
        for run in self.runs.iter_mut().filter(|run| run.header.experiment == experiment.name) {
            run.labels = labels(experiment);
            run.experiment = Some(experiment.clone());
        }
        self
    }

    /// Of its first run; the error describes an unfinished run.
    pub fn result(&self) -> Result<&ExperimentResult, Reason> {
        let missing = |words: String| Err(Code::NotMeasured.because(words));
        let Some(run) = self.runs.first() else { return missing("there is no run".to_owned()) };
        if !run.is_unfinished {
            return Ok(&run.result);
        }
        let why = run.failure.as_ref().map_or(String::new(), |failure| format!(" ({failure})"));
        missing(format!(
            "run {} was not finished{why}; what it had is shown: {}, {}",
            run.id,
            plural(run.blocks.len(), "block"),
            plural(run.reports.len(), "probe")
        ))
    }
}

impl Run {
    fn read(store: &Store, id: i64) -> Result<Option<Self>, StoreError> {
        let (Some(header), Some(kept)) = (store.header(id)?, store.run(id)?) else {
            return Ok(None);
        };
        let is_unfinished = kept.result.is_none();
        let blocks = store.blocks(id)?;
        let (failure, reports) = (kept.failure, kept.reports);
        let result = kept
            .result
            .unwrap_or_else(|| unfinished(&header, failure.as_deref(), &blocks, &reports));
        let experiment = catalogue::built_in(&header.experiment);
        let labels = experiment.as_ref().map_or_else(|| header.decided.labels.clone(), labels);
        let run = Self {
            id,
            header,
            result,
            is_unfinished,
            failure,
            blocks,
            reports,
            experiment,
            labels,
        };
        Ok(Some(run))
    }

    fn changed(&self) -> Option<String> {
        if !had_cpus_off_line(&self.header) || self.result.verdict == Verdict::NotApplicable {
            return None;
        }
        let off = self.blocks.iter().flat_map(|block| self.off_line_in(block));
        let off = off.fold(CpuSet::new(), |all, cpus| all.union(cpus));
        let what = match off.is_empty() {
            true if self.is_unfinished => {
                "CPUs may have been off-line before its first block".into()
            }
            true => return None,
            false => format!("CPU {off} off-line in windows of levels that leave them unused"),
        };
        let and = if self.is_unfinished {
            "it was not finished, and what a kill left off-line 'hopcost restore' brings back"
        } else {
            "on-line again after them"
        };
        Some(format!("run {}: {what}; {and}", self.id))
    }

    fn off_line_in(&self, block: &BlockRecord) -> impl Iterator<Item = &CpuSet> {
        let of_binding = self.header.decided.spare.get(block.trial.binding);
        let levels = [0, block.trial.level];
        levels.into_iter().filter_map(move |level| of_binding?.get(level))
    }

    fn section(&self) -> Section<'_> {
        let decided = &self.header.decided;
        let section = Section {
            run: self.id,
            result: &self.result,
            is_finished: !self.is_unfinished,
            words: Some(self.experiment.as_ref().map_or(&decided.words, |it| &it.words)),
            never_verified: self.is_on("sqlserver"),
            response: self.experiment.as_ref().and_then(|experiment| match &experiment.subject {
                Subject::Database(comparison) => Some(comparison.response),
                Subject::Hardware { .. } => None,
            }),
            labels: &self.labels,
            levels: &decided.levels,
            workers_at: &decided.workers_at,
            margin: decided.margin,
            blocks: &self.blocks,
            published: published::beside(&self.header.experiment),
            command: self.command(),
            advice: None,
            reports: &self.reports,
            options: self
                .comes_with_hopcost()
                .then(|| comparable(self.header.identity.as_deref().unwrap_or_default())),
        };
        let advice = self.advice(&section);
        Section { advice, ..section }
    }

    /// An experiment of the user's may have the name of one that does.
    fn comes_with_hopcost(&self) -> bool {
        self.experiment.as_ref().is_some_and(|experiment| match &experiment.subject {
            Subject::Database(comparison) => {
                let is_known = |name: &String| comparison.levels.iter().any(|it| it.name == *name);
                self.header.decided.levels.iter().all(is_known)
            }
            Subject::Hardware { .. } => true,
        })
    }

    fn is_on(&self, engine: &str) -> bool {
        let scheme = self.header.target.as_deref().and_then(|url| url.split(':').next());
        scheme == Some(engine)
    }

    fn advice(&self, section: &Section<'_>) -> Option<Advice> {
        let (result, experiment) = (&self.result, self.experiment.as_ref()?);
        if result.emulated {
            return None;
        }
        let variant = section.headline_point().map(|point| point.level.as_str());
        let cost = result.estimate.get().filter(|it| it.unit == Unit::Fraction);
        let cost = cost.map(|headline| &headline.estimate);
        let margin = section.margin_or_usual();
        let rule = advice::rule(experiment, result.verdict, variant, cost, margin)?;
        let node = section.workers_at.first().and_then(|of_binding| *of_binding.first()?);
        let target = self.header.target.as_deref().unwrap_or_default();
        let place = Place::new(target, self.header.machine.get(), node);
        let place = place.of_unit(self.header.decided.unit.as_deref());
        advice::advice(rule, catalogue::recipe, &place)
    }

    /// The command that measured it, or a reconstruction.
    fn command(&self) -> String {
        let Header { experiment, effort, seed, decided, .. } = &self.header;
        decided.command.clone().unwrap_or_else(|| {
            let effort = if effort == "normal" { String::new() } else { format!(" --{effort}") };
            format!("hopcost run {}{effort} --seed {seed}", quoted(experiment))
        })
    }
}

/// Of its variants, by name.
pub(crate) fn labels(experiment: &Experiment) -> BTreeMap<String, String> {
    let Subject::Database(comparison) = &experiment.subject else { return BTreeMap::new() };
    let labels =
        comparison.levels.iter().filter_map(|it| Some((it.name.clone(), it.label.clone()?)));
    labels.collect()
}

fn had_cpus_off_line(header: &Header) -> bool {
    let asked = |identity: &String| -> Option<bool> {
        serde_json::from_str::<Value>(identity).ok()?.get("unused_off_line")?.as_bool()
    };
    header.identity.as_ref().and_then(asked) == Some(true)
}

/// Why a run has no verdict.
fn stopped(failure: Option<&str>, blocks: &[BlockRecord], reports: &[ProbeReport]) -> String {
    let after = match (blocks.len(), reports.len()) {
        (0, 0) => "before it had measured anything".to_owned(),
        (0, probes) => format!("after {}, before there was a verdict", plural(probes, "probe")),
        (blocks, _) => format!("after {}, before there was a verdict", plural(blocks, "block")),
    };
    match failure {
        Some(failure) => format!("it failed {after}: {failure}"),
        None => format!("it was stopped {after}"),
    }
}

/// A result without verdict for an unfinished run, and why.
fn unfinished(
    header: &Header,
    failure: Option<&str>,
    blocks: &[BlockRecord],
    reports: &[ProbeReport],
) -> ExperimentResult {
    let why = stopped(failure, blocks, reports);
    let of_blocks = blocks.iter().map(BlockRecord::end_s).fold(0.0, f64::max);
    let of_probes: f64 = reports.iter().map(|report| report.seconds).sum();
    let target = header.target.clone();
    let subject = ResultOf {
        experiment: header.experiment.clone(),
        question: header.question.clone(),
        target: target.map_or(Known::missing(Code::NotApplicable, "the hardware alone"), Known::Is),
        emulated: header.decided.is_emulated,
        seconds: of_blocks + of_probes,
    };
    subject.without_figure(Verdict::Inconclusive, &Code::NotMeasured.because(why))
}

#[cfg(test)]
mod tests {
    use hopcost_core::{Effort, Phase, Trial};
    use hopcost_sys::{Root, topology};
    use hopcost_view::{Canvas, Shown};

    use super::*;
    use crate::run::{Host, begin};

    fn stored(unused_off_line: bool, with_block: bool, finished: bool) -> Reported {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(&dir.path().join("store.db")).unwrap();
        let machine = topology::read(&Root::live());
        let identity = format!(r#"{{"experiment":"smt","unused_off_line":{unused_off_line}}}"#);
        let experiment = catalogue::experiment("smt-oltp").unwrap();
        let wanted = (Effort::Quick, 1);
        let of = (Some("sqlite:"), Some(identity.as_str()));
        let id = begin(&store, &experiment, &machine, &Host::read(&machine), wanted, of).unwrap();
        let prepared = serde_json::json!({"plan": {"levels": ["both", "one"], "placements":
            [[{"at": 0}, {"at": 0, "spare": [2, 3]}], [{"at": 0}, {"at": 0, "spare": [0, 1]}]]}});
        store.prepare(id, &prepared).unwrap();
        let trial = Trial {
            number: 0,
            phase: Phase::Fresh,
            unit: 0,
            streams: 1,
            binding: 0,
            level: 1,
            baseline_outside: true,
        };
        if with_block {
            let placement = Known::missing(Code::NotMeasured, "a test");
            store
                .add_block(id, &BlockRecord { trial, windows: Vec::new(), placement }, &[])
                .unwrap();
        }
        if finished {
            let header = store.header(id).unwrap().unwrap();
            store.finish(id, &unfinished(&header, None, &[], &[])).unwrap();
        }
        Reported::of(&store, &[id]).unwrap()
    }

    #[test]
    fn a_page_names_the_cpus_that_a_run_took_off_line() {
        let text = |page: &Reported, name: &str| {
            let format = hopcost_view::format::named(name).unwrap();
            page.show(|page| (format.of)(&Shown::Report(page), Canvas { columns: 80 }))
        };
        let took = stored(true, true, true);
        let changed = "changed on this host: run 1: CPU 2-3 off-line in windows of levels that leave \
                       them unused; on-line again after them ·";
        assert!(text(&took, "markdown").contains(changed), "{}", text(&took, "markdown"));
        let html = text(&took, "html");
        assert!(html.contains("<p>Changed on this host:</p>") && html.contains("CPU 2-3 off-line"));
        let killed = text(&stored(true, true, false), "markdown");
        assert!(
            killed.contains("CPU 2-3 off-line") && killed.contains("'hopcost restore'"),
            "{killed}"
        );
        let at_once = text(&stored(true, false, false), "markdown");
        assert!(at_once.contains("may have been off-line"), "{at_once}");
        let left_alone = stored(false, true, true);
        assert!(text(&left_alone, "markdown").contains("changed on this host: nothing"));
        let nothing = "<p>Changed on this host: nothing.</p>";
        assert!(text(&left_alone, "html").contains(nothing));
    }
}
