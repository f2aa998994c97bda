//! `hopcost run`: runs an experiment to a verdict.

use hopcost_app::{App, Event, InContext, Leave, Outcome, Reported, RunOptions, Store};
use hopcost_core::{ProbeReport, Subject};
use hopcost_view::{Shown, format};

use super::{attended, fail_if};
use crate::args::RunArgs;
use crate::exit::Exit;
use crate::output::{self, Output};

pub fn run(app: &App, args: &RunArgs) -> Outcome<Exit> {
    let prepared = app.prepare(args.experiment.request())?;
    let options = options(args);
    fail_if::can_be_checked(args, &prepared.experiment)?;
    app.can_run(&prepared, &options)?;
    let wanted = wanted(args);
    output::can_be_shown(&wanted)?;
    attended(
        |_| {},
        |control| {
            let leave = Leave::to_load(args.allow_load.as_ref(), control)?;
            let path = args.store.display();
            let mut store = Store::open(&args.store).in_context(&path)?;
            let guard = leave.guard(&control.stop)?;
            (control.told)(Event::Began {
                what: &prepared.experiment.name,
                after: std::time::Duration::ZERO,
            });
            let ran = app.run(&prepared, &options, &leave.machine, &mut store, control)?;
            let id = ran.id;
            let Some(result) = &ran.result else {
                if let Some(complaint) = guard.complaint() {
                    output::remark(&format!("stopped: {complaint}"));
                }
                let how = match &prepared.experiment.subject {
                    Subject::Hardware { .. } => "",
                    Subject::Database(_) => ": the same command with --resume goes on",
                };
                output::remark(&format!(
                    "interrupted; what was finished is kept as run {id} in {path}{how}"
                ));
                return Ok(Exit::Interrupted);
            };
            let page = Reported::of(&store, &[id])?.with(&ran).in_words_of(&prepared.experiment);
            page.show(|page| output::show(&wanted, &Shown::Report(page)))?;
            if wanted.iter().any(Output::is_for_people) {
                output::print(&format!("kept as run {id} in {path}\n"))?;
            }
            let exit = fail_if::exit(&args.checks, result);
            let has_gaps = !args.accept_gaps && ran.reports.iter().any(ProbeReport::is_disturbed);
            Ok(if has_gaps && exit == Exit::Done { Exit::Disturbed } else { exit })
        },
    )
}

fn options(args: &RunArgs) -> RunOptions {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    RunOptions {
        resume: args.resume,
        raw_calls: args.raw_calls,
        baseline: args.baseline.clone(),
        command_line: std::iter::once("hopcost".to_owned()).chain(words).collect(),
    }
}

fn wanted(args: &RunArgs) -> Vec<Output> {
    let mut wanted = Output::of(&args.format.format, args.experiment.json);
    if !wanted.iter().any(Output::is_printed) {
        wanted.push(Output::printed(&format::TERMINAL));
    }
    wanted
}
