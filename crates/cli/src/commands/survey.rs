//! `hopcost survey`: what matters on this machine, within a budget, ending in one page.
//!
//! Method: the experiments that belong to a survey, in their order, each with at least the time that
//! can decide it; what does not fit or does not apply is named with its reason. Each is an ordinary
//! quick run, kept in the store like any other. Time that one leaves over goes to those after it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use hopcost_app::catalogue;
use hopcost_core::{Code, Experiment, Machine, Subject};
use hopcost_drive::load_monitor::Guardian;
use hopcost_host::occupancy;
use hopcost_method::hardware;
use hopcost_method::pace;
use hopcost_method::survey::{Wish, share_out};
use hopcost_store::Store;
use hopcost_sys::{Root, clock, topology};
use hopcost_view::page::NotTested;
use hopcost_view::{Sentences, format, text};

use super::comparison::Prepared;
use super::page::{self, Page};
use super::run::{self, Ran};
use super::{doctor, experiment, fail_if, run_hardware};
use crate::args::{ChecksArgs, ExperimentArgs, RunArgs, SurveyArgs};
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::output::{self, FormatArgs, Output};
use crate::progress::Progress;
use crate::safety::{self, Leave, Permission};

/// Beyond this an experiment of a survey only becomes more precise than anybody asked.
const MOST_S: f64 = 60.0;
/// What writing the page takes, with a little in hand.
const PAGE_S: f64 = 5.0;
/// What starting threads and reading placement back takes of each run.
const START_S: f64 = 2.0;
/// Rows and indexes reach the disk at so many bytes a second, on a slow machine.
const LOADED_BYTES_PER_S: f64 = 30e6;

/// What a survey came to.
#[derive(Default)]
struct Surveyed {
    runs: Vec<(Experiment, Ran)>,
    not_tested: Vec<NotTested>,
    interrupted: bool,
}

/// Why what was still to come was not measured.
const INTERRUPTED: &str = "the survey was interrupted";

impl Surveyed {
    /// Tells a better reason for what was interrupted.
    fn blame(&mut self, why: &str) {
        for left in self.not_tested.iter_mut().filter(|left| left.why == INTERRUPTED) {
            why.clone_into(&mut left.why);
        }
    }
}

/// An experiment that applies here, and what it takes.
struct Candidate {
    experiment: Experiment,
    wish: Wish,
    /// Of its least, what is not measuring.
    preparing_s: f64,
}

pub fn run(args: &SurveyArgs) -> Result<Exit, Failure> {
    let begun = clock::now();
    let begun_unix_s = clock::unix_seconds();
    checks_can_be_made(args)?;
    // Better now than in five minutes.
    let html = Output::written(&format::HTML, &args.html);
    html.can_be_written()?;
    output::can_be_shown(&args.format.format)?;
    let root = Root::live();
    let machine = topology::read(&root);
    let findings = doctor::examine(&root, &machine);
    let occupancy = safety::look(&root);
    let permission =
        safety::permitted(occupancy::presence(&occupancy), args.allow_load.as_ref(), &machine)?;
    let stop = interrupt::watch()?;
    let mut store = Store::open(&args.store).with_context(|| args.store.display().to_string())?;
    let survey = |machine| Survey { args, machine, begun, stop: &stop };
    let surveyed = match permission {
        Permission::Free => survey(&machine).measure(&mut store)?,
        Permission::ReadOnly { reasons } => survey(&machine).look_only(&reasons)?,
        Permission::Within(bounds) => {
            let leave = Leave::within(&bounds, &machine, Some(&occupancy))?;
            let guardian = leave.guardian(&stop)?;
            let mut surveyed = survey(&leave.machine).measure(&mut store)?;
            safety::say_what_suffered(guardian.as_ref());
            if let Some(complaint) = guardian.as_ref().and_then(Guardian::complaint) {
                surveyed.blame(&format!("the survey stopped itself: {complaint}"));
            }
            surveyed
        }
    };
    let ids: Vec<i64> = surveyed.runs.iter().map(|(_, ran)| ran.id).collect();
    let facts = page::Survey {
        machine,
        findings,
        not_tested: surveyed.not_tested.clone(),
        interrupted: surveyed.interrupted,
        begun_unix_s,
        seconds: begun.elapsed().as_secs_f64(),
        html: args.html.clone(),
    };
    let mut page = Page::of_survey(&store, &ids, facts)?;
    for (_, ran) in &surveyed.runs {
        page = page.with(ran);
    }
    let bytes = page.write(&html)?;
    tell(args, &surveyed, &page, bytes, begun.elapsed())?;
    Ok(if surveyed.interrupted { Exit::Interrupted } else { checked(args, &surveyed) })
}

/// Refuses checks of what is not part of a survey, before anything is measured for them.
fn checks_can_be_made(args: &SurveyArgs) -> Result<(), Failure> {
    let all = of_a_survey()?;
    for check in &args.checks.fail_if {
        if let Some(name) = check.of() {
            let Some(experiment) = all.iter().find(|experiment| experiment.name == name) else {
                return Err(Failure::usage(
                    Code::UnknownName,
                    format!("--fail-if '{check}': '{name}' is not part of a survey"),
                ));
            };
            if let Some(objection) = check.objection(experiment, false) {
                return Err(Failure::usage(
                    Code::BadValue,
                    format!("--fail-if '{check}': {objection}"),
                ));
            }
        }
    }
    Ok(())
}

/// A survey whose page is complete is done, whatever its verdicts; only a check makes it worse.
fn checked(args: &SurveyArgs, surveyed: &Surveyed) -> Exit {
    let mut exit = Exit::Done;
    for (experiment, ran) in &surveyed.runs {
        let checks = || args.checks.fail_if.iter().filter(|check| check.concerns(experiment));
        let Some(result) = ran.result.as_ref().filter(|_| checks().next().is_some()) else {
            continue;
        };
        match fail_if::exit_of(checks(), result) {
            Exit::Crossed => exit = Exit::Crossed,
            other if exit == Exit::Done => exit = other,
            _ => {}
        }
    }
    exit
}

/// Five lines: what was found, what to do, what was not tested, what changed, where the page is.
fn tell(
    args: &SurveyArgs,
    surveyed: &Surveyed,
    page: &Page,
    bytes: u64,
    took: Duration,
) -> Result<(), Failure> {
    page.show_as(&wanted(args))?;
    if is_for_programs(args) {
        return Ok(());
    }
    let Sentences { found, action } = page.sentences();
    let not_tested: Vec<&str> = surveyed.not_tested.iter().map(|it| it.what.as_str()).collect();
    let not_tested =
        if not_tested.is_empty() { "nothing".to_owned() } else { not_tested.join(", ") };
    let page = format!(
        "{}, {}, after {:.0} s; runs kept in {}; changed on this host: nothing",
        args.html.display(),
        hopcost_view::bytes(bytes),
        took.as_secs_f64(),
        args.store.display()
    );
    output::print(&text::survey(
        &[("found", &found), ("do", &action), ("not tested", &not_tested), ("page", &page)],
        output::columns(),
    ))
}

fn wanted(args: &SurveyArgs) -> Vec<Output> {
    Output::of(&args.format.format, args.json)
}

/// Is all that is printed a document?
fn is_for_programs(args: &SurveyArgs) -> bool {
    wanted(args).iter().any(Output::is_printed)
}

struct Survey<'a> {
    args: &'a SurveyArgs,
    machine: &'a Machine,
    begun: Instant,
    stop: &'a AtomicBool,
}

impl Survey<'_> {
    fn measure(&self, store: &mut Store) -> Result<Surveyed, Failure> {
        let mut surveyed = Surveyed::default();
        let mut candidates = Vec::new();
        for experiment in of_a_survey()? {
            match self.candidate(experiment)? {
                Ok(candidate) => candidates.push(candidate),
                Err(not_tested) => surveyed.not_tested.push(not_tested),
            }
        }
        candidates.reverse();
        while let Some(candidate) = candidates.pop() {
            let mut wishes = vec![candidate.wish];
            wishes.extend(candidates.iter().rev().map(|candidate| candidate.wish));
            let granted = share_out(self.left_s(), &wishes);
            let Some(seconds) = granted[0] else {
                surveyed.not_tested.push(NotTested {
                    what: candidate.experiment.name,
                    why: "the budget is spent on what is worth more".to_owned(),
                    takes_s: Some(candidate.wish.least_s),
                });
                continue;
            };
            let after_s: f64 = granted[1..].iter().flatten().sum();
            self.one(candidate, seconds, after_s, store, &mut surveyed)?;
            if self.stop.load(Ordering::Relaxed) {
                surveyed.interrupted = true;
                surveyed.not_tested.extend(candidates.into_iter().rev().map(|candidate| {
                    let (what, why) = (candidate.experiment.name, INTERRUPTED.to_owned());
                    NotTested { what, why, takes_s: Some(candidate.wish.least_s) }
                }));
                return Ok(surveyed);
            }
        }
        Ok(surveyed)
    }

    /// Nothing is loaded: what would be measured is named, with what it would take.
    fn look_only(&self, reasons: &[String]) -> Result<Surveyed, Failure> {
        let mut surveyed = Surveyed::default();
        let why = format!(
            "no load is put on a host where something is at work ({}); --allow-load, or \
             --allow-load=cpus:LIST,mem:SIZE, starts it",
            reasons.join("; ")
        );
        for experiment in of_a_survey()? {
            surveyed.not_tested.push(match self.candidate(experiment)? {
                Ok(Candidate { experiment, wish, .. }) => NotTested {
                    what: experiment.name,
                    why: why.clone(),
                    takes_s: Some(wish.least_s),
                },
                Err(not_tested) => not_tested,
            });
        }
        output::remark(&why);
        Ok(surveyed)
    }

    fn left_s(&self) -> f64 {
        self.args.budget - self.begun.elapsed().as_secs_f64() - PAGE_S
    }

    /// One experiment. One that fails is told in the page, and the others go on.
    fn one(
        &self,
        candidate: Candidate,
        seconds: f64,
        after_s: f64,
        store: &mut Store,
        surveyed: &mut Surveyed,
    ) -> Result<(), Failure> {
        let experiment = candidate.experiment;
        let asked = self.asked(&experiment, Some(seconds - candidate.preparing_s));
        let mut progress = Progress::of(&experiment.name, Duration::from_secs_f64(after_s));
        let ran = run::perform(&asked, &experiment, self.machine, store, self.stop, &mut progress);
        progress.close();
        match ran {
            Ok(ran) => {
                if let (Some(result), false) = (&ran.result, is_for_programs(self.args)) {
                    output::print(&text::outcome(result, output::columns()))?;
                }
                surveyed.runs.push((experiment, ran));
            }
            // What is kept cannot be trusted to grow: nothing more is measured.
            Err(failure) if failure.is_of_the_store() => return Err(failure),
            Err(failure) => surveyed.not_tested.push(NotTested {
                what: experiment.name,
                why: failure.to_string(),
                takes_s: None,
            }),
        }
        Ok(())
    }

    /// What an experiment takes here, or why it is not measured.
    fn candidate(&self, experiment: Experiment) -> Result<Result<Candidate, NotTested>, Failure> {
        let what = experiment.name.clone();
        let not_tested = |why: String| Ok(Err(NotTested { what, why, takes_s: None }));
        let asked = self.asked(&experiment, None);
        match &experiment.subject {
            Subject::Hardware { .. } => {
                let site =
                    experiment::site(self.machine, asked.experiment.effort(), self.args.seed)?;
                let steps = hardware::plan(&run_hardware::probes(&experiment), &site, None);
                if steps.iter().all(|step| step.cells == 0) {
                    return not_tested("nothing of it can be measured here".to_owned());
                }
                let seconds = START_S + steps.iter().map(|step| step.seconds).sum::<f64>();
                let wish = Wish { least_s: seconds, most_s: seconds };
                Ok(Ok(Candidate { experiment, wish, preparing_s: 0.0 }))
            }
            Subject::Database(comparison) => {
                let prepared =
                    Prepared::new(&experiment, comparison, self.machine, &asked.experiment)?;
                let plan = match prepared.plan() {
                    Ok(plan) => plan,
                    Err(reason) => return not_tested(reason.to_string()),
                };
                let (_, disk_bytes) = prepared.takes(&plan);
                let preparing_s = START_S + disk_bytes as f64 / LOADED_BYTES_PER_S;
                let least_s = preparing_s + pace::least_s(&plan, prepared.comparison.find_worst);
                let wish = Wish { least_s, most_s: least_s.max(preparing_s + MOST_S) };
                Ok(Ok(Candidate { experiment, wish, preparing_s }))
            }
        }
    }

    fn asked(&self, experiment: &Experiment, budget: Option<f64>) -> RunArgs {
        let of_comparison = matches!(experiment.subject, Subject::Database(_));
        RunArgs {
            experiment: ExperimentArgs {
                seed: self.args.seed,
                budget: budget.filter(|_| of_comparison),
                emulate: self.args.emulate.clone().filter(|_| of_comparison),
                cache_dir: self.args.cache_dir.clone().filter(|_| of_comparison),
                ..ExperimentArgs::quick(&experiment.name)
            },
            resume: false,
            raw_calls: false,
            accept_gaps: false,
            baseline: None,
            allow_load: None,
            format: FormatArgs::default(),
            checks: ChecksArgs::default(),
            store: self.args.store.clone(),
        }
    }
}

/// The experiments that belong to a survey, in their order.
fn of_a_survey() -> Result<Vec<Experiment>, Failure> {
    let mut all = catalogue::experiments()?;
    all.retain(|experiment| experiment.survey.is_some());
    all.sort_by_key(|experiment| experiment.survey);
    Ok(all)
}
