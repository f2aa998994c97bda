//! `hopcost survey`: surveys this machine and writes one page.

use hopcost_app::{
    App, Event, Failure, InContext, Outcome, Ran, Scene, Store, Surveyed, catalogue,
};
use hopcost_core::{Code, Experiment};
use hopcost_view::page::NotTested;
use hopcost_view::{Sentences, Shown, absence, format, text};

use super::{attended, fail_if};
use crate::args::SurveyArgs;
use crate::exit::Exit;
use crate::output::{self, Output};

pub fn run(app: &App, args: &SurveyArgs) -> Outcome<Exit> {
    checks_can_be_made(args)?;
    // Fail before measuring rather than after.
    let html = Output::written(&format::HTML, &args.html);
    html.can_be_written()?;
    let wanted = Output::of(&args.format.format, args.json);
    output::can_be_shown(&wanted)?;
    let scene = Scene::look(args.allow_load.as_ref())?;
    let is_for_programs = wanted.iter().any(Output::is_printed);
    let mut printed = Ok(());
    let show = |event: &Event<'_>| {
        if let (Event::Concluded(section), false, true) = (event, is_for_programs, printed.is_ok())
        {
            printed = output::print(&text::outcome(section, output::columns()));
        }
    };
    let surveyed = attended(show, |control| {
        let mut store = Store::open(&args.store).in_context(args.store.display())?;
        app.survey(&args.request(), scene, &mut store, control)
    })?;
    printed?;
    let bytes = surveyed.report.show(|page| html.show(&Shown::Report(page)))?;
    surveyed.report.show(|page| output::show(&wanted, &Shown::Report(page)))?;
    if !is_for_programs {
        output::print(&summary(args, &surveyed, bytes))?;
    }
    Ok(if surveyed.interrupted { Exit::Interrupted } else { checked(args, &surveyed) })
}

fn checks_can_be_made(args: &SurveyArgs) -> Outcome<()> {
    let all = catalogue::of_a_survey()?;
    for check in &args.checks.fail_if {
        let of_name = |experiment: &&Experiment| check.of().is_none_or(|of| of == experiment.name);
        let mut concerned = all.iter().filter(of_name).peekable();
        if let (None, Some(name)) = (concerned.peek(), check.of()) {
            return Err(Failure::usage(
                Code::UnknownName,
                format!("--fail-if '{check}': '{name}' is not part of a survey"),
            ));
        }
        // It may concern some experiments only.
        let objections: Option<Vec<_>> = concerned.map(|it| check.objection(it, false)).collect();
        if let Some(objection) = objections.and_then(|all| all.into_iter().next_back()) {
            return Err(Failure::usage(
                Code::BadValue,
                format!("--fail-if '{check}': {objection}"),
            ));
        }
    }
    Ok(())
}

/// A complete survey succeeds whatever its verdicts, unless a check fails.
fn checked(args: &SurveyArgs, surveyed: &Surveyed) -> Exit {
    let mut exit = Exit::Done;
    for check in &args.checks.fail_if {
        let measured = |(experiment, ran): &(Experiment, Ran)| {
            ran.result.is_some() && check.concerns(experiment)
        };
        if !surveyed.runs.iter().any(measured) {
            output::remark(&format!(
                "--fail-if '{check}' could not be checked: nothing that it concerns was measured"
            ));
            exit = Exit::Failed;
        }
    }
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

fn summary(args: &SurveyArgs, surveyed: &Surveyed, page_bytes: u64) -> String {
    let Sentences { found, why, mut action, sure, has_lines } = surveyed.report.sentences();
    if has_lines {
        action = format!("{action} {} has the lines.", args.html.display());
    }
    let not_tested = not_tested(&surveyed.not_tested);
    let page = format!(
        "{} ({}) · runs in {} · {:.0} s",
        args.html.display(),
        hopcost_view::bytes(page_bytes),
        args.store.display(),
        surveyed.seconds,
    );
    let said = [("Finding", Some(found)), ("Why", why), ("Do", Some(action)), ("How sure", sure)];
    let said = said.into_iter().filter_map(|(name, text)| Some((name, text?)));
    let lines: Vec<_> = said.chain(not_tested).chain([("Page", page)]).collect();
    let lines: Vec<_> = lines.iter().map(|(name, text)| (*name, text.as_str())).collect();
    format!("\n{}", text::survey(&lines, output::columns()))
}

/// A line for each reason.
fn not_tested(all: &[NotTested]) -> Vec<(&'static str, String)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for left in all {
        let why = absence::shortened(&left.why);
        match groups.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, names)) => names.push(&left.what),
            None => groups.push((why, vec![&left.what])),
        }
    }
    let line = |(n, (why, names)): (usize, (&str, Vec<&str>))| {
        let title = if n == 0 { "Not tested" } else { "" };
        (title, format!("{} ({why})", names.join(", ")))
    };
    groups.into_iter().enumerate().map(line).collect()
}
