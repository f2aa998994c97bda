//! `hopcost list`: what exists and applies here; with `--all`, each database's settings.

use std::fmt::Write as _;

use hopcost_app::{App, ListedExperiment, Listing, Named, Outcome, machine};
use hopcost_view::{plural, sentence, text};
use serde::Serialize;

use super::capabilities::Matrix;
use crate::exit::Exit;
use crate::output;

#[derive(Serialize)]
struct Printed {
    version: u32,
    #[serde(flatten)]
    listing: Listing,
    #[serde(flatten)]
    matrix: Option<Matrix>,
}

pub fn run(app: &App, all: bool, as_json: bool) -> Outcome<Exit> {
    let listing = app.list(&machine())?;
    let printed = Printed { version: 1, listing, matrix: all.then(Matrix::new) };
    if as_json {
        output::print_json(&printed)?;
    } else {
        output::print(&listed(&printed))?;
    }
    Ok(Exit::Done)
}

fn listed(printed: &Printed) -> String {
    let Printed { listing, matrix, .. } = printed;
    let mut out = experiments(&listing.experiments);
    let Some(matrix) = matrix else {
        out.push_str("\nTargets, probes, workloads, data sets: hopcost list --all\n");
        return out;
    };
    for (heading, entries) in [
        ("Targets", &listing.targets),
        ("Workloads", &listing.workloads),
        ("Observers", &listing.observers),
        ("Probes", &listing.probes),
        ("Data sets", &listing.data_sets),
    ] {
        let _ = writeln!(out, "\n{heading}");
        for Named { name, about } in entries {
            line(&mut out, name, about);
        }
    }
    let _ = write!(out, "\n{}", matrix.text());
    out
}

/// What runs here, then what does not, by the reason.
fn experiments(all: &[ListedExperiment]) -> String {
    let (here, not): (Vec<_>, Vec<_>) = all.iter().partition(|it| it.applicability.parts > 0);
    let mut out = format!("Runs here ({} of {})\n", here.len(), all.len());
    for experiment in here {
        line(&mut out, &experiment.name, &experiment.question);
        if experiment.applicability.left_out > 0 {
            line(&mut out, "", &skipped(experiment.applicability.left_out));
        }
    }
    let mut reasons: Vec<(&str, Vec<&ListedExperiment>)> = Vec::new();
    for experiment in not {
        let why = experiment.why_not.as_ref().map_or("'hopcost plan' says why", |it| it.as_str());
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, all)) => all.push(experiment),
            None => reasons.push((why, vec![experiment])),
        }
    }
    for (why, all) in reasons {
        let why = format!("Not on this machine ({}): {why}", all.len());
        let _ =
            write!(out, "\n{}", text::indented(&sentence(&why), output::columns()).trim_start());
        for experiment in all {
            line(&mut out, &experiment.name, &experiment.question);
        }
    }
    out
}

fn skipped(parts: usize) -> String {
    format!("without {}: 'hopcost plan NAME' says why", plural(parts, "part"))
}

/// A longer name is printed whole.
const NAME_WIDTH: usize = 20;

fn line(out: &mut String, name: &str, text: &str) {
    let _ = writeln!(out, "  {name:<NAME_WIDTH$} {text}");
}

#[cfg(test)]
mod tests {
    use hopcost_app::catalogue::experiment_names;
    use hopcost_core::{Code, Words};

    use hopcost_app::Applicability;

    use super::*;

    #[test]
    fn each_name_has_room_beside_its_text() {
        for name in experiment_names() {
            let mut out = String::new();
            line(&mut out, name, "What?");
            assert_eq!(out, format!("  {name:<20} What?\n"));
        }
        let mut out = String::new();
        line(&mut out, &"x".repeat(30), "What?");
        assert!(out.ends_with("x What?\n"), "{out}");
    }

    #[test]
    fn one_part_is_no_parts() {
        assert!(skipped(1).starts_with("without 1 part:"));
        assert!(skipped(2).starts_with("without 2 parts:"));
    }

    #[test]
    fn what_does_not_run_here_is_grouped_by_its_reason() {
        let listed = |name: &str, parts, why: Option<&str>| ListedExperiment {
            name: name.into(),
            question: "What?".into(),
            words: Words::default(),
            applicability: Applicability { parts, left_out: 0 },
            why_not: why.map(|why| Code::NotMeasured.because(why.to_owned())),
        };
        let nodes = Some("one node");
        let text = experiments(&[
            listed("a", 1, None),
            listed("b", 0, nodes),
            listed("c", 0, nodes),
            listed("d", 0, None),
        ]);
        let expected = "Runs here (1 of 4)\n  a                    What?\n\n\
                        Not on this machine (2): one node.\n  b                    What?\n  \
                        c                    What?\n\n\
                        Not on this machine (1): 'hopcost plan' says why.\n  \
                        d                    What?\n";
        assert_eq!(text, expected);
    }
}
