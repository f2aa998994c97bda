//! `hopcost plan --sql`: what would be said to a server, without one.

use std::collections::BTreeSet;

use hopcost_app::catalogue;
use hopcost_core::{Code, Reason, Spoken, Subject};
use hopcost_sys::{Root, topology};
use serde::Serialize;

use super::comparison::Prepared;
use crate::args::{EVERYTHING, ExperimentArgs};
use crate::exit::{Exit, Failure};
use crate::output;

#[derive(Serialize)]
struct Printed {
    version: u32,
    experiment: String,
    target: String,
    /// Why it cannot be run on this target, where that is so.
    objection: Option<Reason>,
    statements: Vec<Spoken>,
}

const NONE: &str = "\
    what is said is known beforehand for --target sqlserver://… alone; other databases are asked what the experiments' \
    files and docs/EXPERIMENT-FORMAT.md say";

/// Of one experiment, or of all.
pub fn list(args: &ExperimentArgs) -> Result<Exit, Failure> {
    let all = match args.name.as_str() {
        EVERYTHING => catalogue::experiments()?,
        name => vec![catalogue::experiment(name)?],
    };
    let machine = topology::read(&Root::live());
    let mut printed = Vec::new();
    for experiment in &all {
        let Subject::Database(comparison) = &experiment.subject else { continue };
        let prepared = Prepared::new(experiment, comparison, &machine, args)?;
        printed.push(Printed {
            version: 1,
            experiment: experiment.name.clone(),
            target: prepared.url(),
            objection: prepared.refusal(),
            statements: prepared.spoken(),
        });
    }
    if printed.iter().all(|printed| printed.statements.is_empty()) {
        return Err(Failure::usage(Code::BadOption, NONE.to_owned()));
    }
    if args.json {
        output::print_json(&printed)?;
    } else {
        let mut known = BTreeSet::new();
        let texts: Vec<String> =
            printed.iter().map(|printed| script(printed, &mut known)).collect();
        output::print(&texts.join("\n\n"))?;
    }
    Ok(Exit::Done)
}

/// An experiment's statements as a script; those that have been told before only by their names.
fn script(printed: &Printed, known: &mut BTreeSet<(String, String)>) -> String {
    let head = format!("-- {} on {}", printed.experiment, printed.target);
    if let Some(objection) = &printed.objection {
        return format!("{head}\n-- not applicable: {objection}");
    }
    let is_new = |spoken: &&Spoken| known.insert((spoken.name.clone(), spoken.sql.clone()));
    let (new, again): (Vec<&Spoken>, Vec<&Spoken>) = printed.statements.iter().partition(is_new);
    let told = |Spoken { name, about, versions, tried, sql }: &Spoken| {
        let tried = match tried {
            Some(on) => format!("tried on {on}"),
            None => "experimental: never tried on a server".to_owned(),
        };
        format!("-- {name}: {about}\n-- for {versions}; {tried}\n{sql};")
    };
    let names: Vec<&str> = again.iter().map(|spoken| spoken.name.as_str()).collect();
    let again = (!names.is_empty()).then(|| format!("-- as above: {}", names.join(", ")));
    [head]
        .into_iter()
        .chain(new.into_iter().map(told))
        .chain(again)
        .collect::<Vec<_>>()
        .join("\n\n")
}
