//! A comparison over several starts: each is hopcost executed anew, which goes on where the one
//! before ended, as `--resume` does, and keeps its blocks itself. The last one concludes.

use std::process::ExitCode;
use std::time::Duration;

use hopcost_core::{BlockRecord, Code, Estimate, Loading, Machine, Subject};
use hopcost_drive::Listener as _;
use hopcost_store::Store;
use serde::{Deserialize, Serialize};

use super::database;
use super::ran::{Ran, RunOptions};
use crate::anew::{self, Requests, executed_anew};
use crate::on_database::OnDatabase;
use crate::{
    App, Control, Dirs, Ending, Event, Failure, InContext, Outcome, Prepared, Progress, Request,
    catalogue,
};

/// The hidden argument.
const WORD: &str = "one-start-of-a-run";

#[derive(Serialize, Deserialize)]
struct Order {
    dirs: Dirs,
    asked: Request,
    options: RunOptions,
    machine: Machine,
    store: std::path::PathBuf,
}

/// What a start tells while it works, and at its end.
#[derive(Serialize, Deserialize)]
enum Said {
    Loading { what: String, done: f64 },
    Pilot { seconds: f64 },
    Block { block: Box<BlockRecord>, cost: Option<Estimate>, done: f64, left: Duration },
    Remark(String),
    Over { run: i64, has_result: bool, needs_a_start: bool },
    Failed { ending: Ending, code: Code, words: String },
}

pub fn run(
    app: &App,
    prepared: &Prepared,
    options: &RunOptions,
    machine: &Machine,
    store: &Store,
    control: &mut Control<'_>,
) -> Outcome<Ran> {
    let mut order = Order {
        dirs: app.dirs.clone(),
        asked: prepared.asked.clone(),
        options: options.clone(),
        machine: machine.clone(),
        store: store.path().to_owned(),
    };
    let requests = Requests { stop: control.stop.clone(), enough: control.enough.clone() };
    for start in 0_u64.. {
        let mut last = None;
        let mut heard = |said: Said| match said {
            Said::Loading { what, done } => {
                control.tell(Event::Loading(Loading { what: &what, done }));
            }
            Said::Pilot { seconds } => control.hear(Progress::Pilot { seconds }),
            Said::Block { block, cost, done, left } => {
                control.hear(Progress::Block { block: &block, cost, done, left });
            }
            Said::Remark(words) => control.remark(&words),
            over => last = Some(over),
        };
        let seed = order.asked.seed ^ start.rotate_left(32);
        executed_anew(WORD, &order, seed, &requests, &mut heard)
            .in_context("a start of the run")?;
        match last {
            Some(Said::Over { run, needs_a_start: true, .. }) if control.is_stopped() => {
                return Ok(Ran::interrupted(run));
            }
            Some(Said::Over { needs_a_start: true, .. }) => order.options.resume = true,
            Some(Said::Over { run, has_result: false, .. }) => return Ok(Ran::interrupted(run)),
            Some(Said::Over { run, .. }) => {
                control.tell(Event::Ended);
                let kept = store.run(run).in_context(store.path().display())?;
                let result = kept.and_then(|kept| kept.result);
                return Ok(Ran { result, ..Ran::interrupted(run) });
            }
            Some(Said::Failed { ending, code, words }) => {
                return Err(Failure::new(ending, code, words));
            }
            _ => {
                let words = "a start was killed: the same command with --resume goes on";
                return Err(Failure::new(Ending::Failed, Code::SystemFailed, words.to_owned()));
            }
        }
    }
    unreachable!("starts are numbered without end")
}

/// If this process is a start of a run, measures it.
pub fn serve_if_asked() -> Option<ExitCode> {
    anew::serve(WORD, |order: Order, requests, say| {
        let mut told = |event: Event<'_>| {
            let said = match event {
                Event::Loading(Loading { what, done }) => {
                    Said::Loading { what: what.to_owned(), done }
                }
                Event::Progress(Progress::Pilot { seconds }) => Said::Pilot { seconds },
                Event::Progress(Progress::Block { block, cost, done, left }) => {
                    Said::Block { block: Box::new(block.clone()), cost, done, left }
                }
                Event::Remark(words) => Said::Remark(words.to_owned()),
                _ => return,
            };
            say(&said);
        };
        let Requests { stop, enough } = requests.clone();
        let ran = order.measure(&mut Control { stop, enough, told: &mut told });
        say(&match ran {
            Ok(ran) => Said::Over {
                run: ran.id,
                has_result: ran.result.is_some(),
                needs_a_start: ran.needs_a_start,
            },
            Err(failure) => Said::Failed {
                ending: failure.ending,
                code: failure.code,
                words: failure.to_string(),
            },
        });
    })
}

impl Order {
    fn measure(self, control: &mut Control<'_>) -> Outcome<Ran> {
        let app = App::new(self.dirs);
        let experiment = catalogue::experiment(&self.asked.experiment)?;
        let mut store = Store::open(&self.store).in_context(self.store.display())?;
        let Subject::Database(comparison) = &experiment.subject else {
            return Err(Failure::usage(Code::BadOption, "an experiment without a database"));
        };
        let here = OnDatabase::new(&app, &experiment, comparison, &self.machine, &self.asked)?;
        database::run(&here, &self.options, &mut store, control)
    }
}
