//! Surveys this machine within a time budget.
//!
//! Method: the experiments of a survey run in order, each as an ordinary quick run that gets at
//! least the time a decision needs. What does not fit or apply is listed with the reason. Time left
//! over goes to later experiments. Six starts of an experiment are measured if its time holds them,
//! else one.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use hopcost_core::{Experiment, Finding, Machine, Subject};
use hopcost_host::occupancy::{self, Occupancy};
use hopcost_method::bounds::Allowance;
use hopcost_method::hardware;
use hopcost_method::pace::{self, StartsAsked};
use hopcost_method::survey::{Wish, share_out};
use hopcost_store::Store;
use hopcost_sys::{Root, clock, topology};
use hopcost_view::page::NotTested;

use crate::on_database::OnDatabase;
use crate::permission::{Permission, look, permitted};
use crate::report::{OfSurvey, Reported};
use crate::{
    App, Control, Event, Leave, Outcome, Prepared, Ran, Request, RunOptions, catalogue, examine,
    run, site,
};

/// More time only adds unneeded precision.
const MOST_S: f64 = 60.0;
/// Time to write the page, with a reserve.
const PAGE_S: f64 = 5.0;
/// Time per run to start threads and read placement back.
const START_S: f64 = 2.0;
/// Rows and indexes on a slow disk.
const LOADED_BYTES_PER_S: f64 = 30e6;

#[derive(Clone, Debug)]
pub struct SurveyRequest {
    pub budget_s: f64,
    /// Emulated nodes or latencies, such as `nodes=2,remote_ns=80`.
    pub emulate: Option<String>,
    pub cache_dir: Option<PathBuf>,
    pub seed: u64,
    pub page: PathBuf,
}

#[derive(Debug)]
pub struct Scene {
    machine: Machine,
    findings: Vec<Finding>,
    occupancy: Occupancy,
    permission: Permission,
    begun: Instant,
    begun_unix_s: u64,
}

impl Scene {
    /// Runs the doctor and looks for other load. Takes two seconds.
    pub fn look(allowance: Option<&Allowance>) -> Outcome<Self> {
        let (begun, begun_unix_s) = (clock::now(), clock::unix_seconds());
        let root = Root::live();
        let machine = topology::read(&root);
        let findings = examine(&machine);
        let occupancy = look(&root);
        let permission = permitted(occupancy::presence(&occupancy), allowance, &machine)?;
        Ok(Self { machine, findings, occupancy, permission, begun, begun_unix_s })
    }
}

#[derive(Debug)]
pub struct Surveyed {
    pub runs: Vec<(Experiment, Ran)>,
    pub not_tested: Vec<NotTested>,
    pub interrupted: bool,
    pub seconds: f64,
    pub report: Reported,
}

#[derive(Default)]
struct Measured {
    runs: Vec<(Experiment, Ran)>,
    not_tested: Vec<NotTested>,
    interrupted: bool,
}

/// Reason for every experiment left when a survey is interrupted.
const INTERRUPTED: &str = "the survey was interrupted";

impl Measured {
    fn blame(&mut self, why: &str) {
        for left in self.not_tested.iter_mut().filter(|left| left.why == INTERRUPTED) {
            why.clone_into(&mut left.why);
        }
    }
}

struct Candidate {
    experiment: Experiment,
    wish: Wish,
    /// Part of the least time: everything but measuring.
    preparing_s: f64,
}

impl App {
    pub fn survey(
        &self,
        asked: &SurveyRequest,
        scene: Scene,
        store: &mut Store,
        control: &mut Control<'_>,
    ) -> Outcome<Surveyed> {
        let Scene { machine, findings, occupancy, permission, begun, begun_unix_s } = scene;
        let survey = |machine| Survey { app: self, asked, machine, begun };
        let Measured { runs, not_tested, interrupted } = match permission {
            Permission::Free => survey(&machine).measure(store, control)?,
            Permission::ReadOnly { reasons } => survey(&machine).look_only(&reasons, control)?,
            Permission::Within(bounds) => {
                let leave = Leave::within(&bounds, &machine, Some(&occupancy))?;
                let guard = leave.guard(&control.stop)?;
                let mut measured = survey(&leave.machine).measure(store, control)?;
                if let Some(complaint) = guard.complaint() {
                    control.remark(&format!("stopped: {complaint}"));
                    measured.blame(&format!("the survey stopped itself: {complaint}"));
                }
                measured
            }
        };
        let ids: Vec<i64> = runs.iter().map(|(_, ran)| ran.id).collect();
        let seconds = begun.elapsed().as_secs_f64();
        let facts = OfSurvey {
            machine,
            findings,
            not_tested: not_tested.clone(),
            interrupted,
            begun_unix_s,
            seconds,
            html: asked.page.clone(),
        };
        let report = Reported::of_survey(store, &ids, facts)?;
        let report = runs.iter().fold(report, |report, (_, ran)| report.with(ran));
        Ok(Surveyed { runs, not_tested, interrupted, seconds, report })
    }
}

struct Survey<'a> {
    app: &'a App,
    asked: &'a SurveyRequest,
    machine: &'a Machine,
    begun: Instant,
}

impl Survey<'_> {
    fn measure(&self, store: &mut Store, control: &mut Control<'_>) -> Outcome<Measured> {
        let mut surveyed = Measured::default();
        let mut candidates = Vec::new();
        for experiment in catalogue::of_a_survey()? {
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
            self.one(candidate, (seconds, after_s), store, &mut surveyed, control)?;
            if control.is_stopped() {
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

    fn look_only(&self, reasons: &[String], control: &mut Control<'_>) -> Outcome<Measured> {
        let mut surveyed = Measured::default();
        let why = format!(
            "no load is put on a host where something is at work ({}); --allow-load, or \
             --allow-load=cpus:LIST,mem:SIZE, starts it",
            reasons.join("; ")
        );
        for experiment in catalogue::of_a_survey()? {
            surveyed.not_tested.push(match self.candidate(experiment)? {
                Ok(Candidate { experiment, wish, .. }) => NotTested {
                    what: experiment.name,
                    why: why.clone(),
                    takes_s: Some(wish.least_s),
                },
                Err(not_tested) => not_tested,
            });
        }
        control.remark(&why);
        Ok(surveyed)
    }

    fn left_s(&self) -> f64 {
        self.asked.budget_s - self.begun.elapsed().as_secs_f64() - PAGE_S
    }

    fn one(
        &self,
        candidate: Candidate,
        (seconds, after_s): (f64, f64),
        store: &mut Store,
        surveyed: &mut Measured,
        control: &mut Control<'_>,
    ) -> Outcome<()> {
        let Candidate { experiment, preparing_s, .. } = candidate;
        let asked = self.request(&experiment, Some(seconds - preparing_s));
        let prepared = Prepared { asked, experiment };
        let what = &prepared.experiment.name;
        control.tell(Event::Began { what, after: Duration::from_secs_f64(after_s) });
        let options = RunOptions::default();
        let ran = self.app.run(&prepared, &options, self.machine, store, control);
        control.tell(Event::Ended);
        match ran {
            Ok(ran) => {
                if ran.result.is_some() {
                    let run = Reported::of(store, &[ran.id])?.with(&ran);
                    run.in_words_of(&prepared.experiment).show(|page| {
                        page.sections.iter().for_each(|it| control.tell(Event::Concluded(it)));
                    });
                }
                surveyed.runs.push((prepared.experiment, ran));
            }
            // Without a working store nothing more can be kept.
            Err(failure) if failure.is_of_the_store() => return Err(failure),
            Err(failure) => surveyed.not_tested.push(NotTested {
                what: prepared.experiment.name,
                why: failure.to_string(),
                takes_s: None,
            }),
        }
        Ok(())
    }

    fn candidate(&self, experiment: Experiment) -> Outcome<Result<Candidate, NotTested>> {
        let what = experiment.name.clone();
        let not_tested = |why: String| Ok(Err(NotTested { what, why, takes_s: None }));
        let asked = self.request(&experiment, None);
        match &experiment.subject {
            Subject::Hardware { .. } => {
                let site = site::site(self.machine, asked.effort, self.asked.seed)?;
                let steps = hardware::plan(&run::probes(&experiment), &site, None);
                if steps.iter().all(|step| step.cells == 0) {
                    return not_tested("nothing of it can be measured here".to_owned());
                }
                let seconds = START_S + steps.iter().map(|step| step.seconds).sum::<f64>();
                let wish = Wish { least_s: seconds, most_s: seconds };
                Ok(Ok(Candidate { experiment, wish, preparing_s: 0.0 }))
            }
            Subject::Database(comparison) => {
                let here =
                    OnDatabase::new(self.app, &experiment, comparison, self.machine, &asked)?;
                let plan = match here.plan() {
                    Ok(plan) => plan,
                    Err(reason) => return not_tested(reason.to_string()),
                };
                let (_, disk_bytes) = here.takes(&plan);
                let preparing_s = START_S + disk_bytes as f64 / LOADED_BYTES_PER_S;
                let least_s = preparing_s + pace::least_s(&plan, here.comparison.find_worst);
                let wish = Wish { least_s, most_s: least_s.max(preparing_s + MOST_S) };
                Ok(Ok(Candidate { experiment, wish, preparing_s }))
            }
        }
    }

    fn request(&self, experiment: &Experiment, budget_s: Option<f64>) -> Request {
        let of_comparison = matches!(experiment.subject, Subject::Database(_));
        Request {
            seed: self.asked.seed,
            budget_s: budget_s.filter(|_| of_comparison),
            emulate: self.asked.emulate.clone().filter(|_| of_comparison),
            cache_dir: self.asked.cache_dir.clone().filter(|_| of_comparison),
            starts: StartsAsked::Usual,
            ..Request::quick(&experiment.name)
        }
    }
}
