//! `hopcost plan --sql`: lists statements without a server.

use std::collections::BTreeSet;

use hopcost_app::{App, Failure, Outcome, Request, Statements, catalogue, machine};
use hopcost_core::{Code, Spoken};
use serde::Serialize;

use crate::args::{EVERYTHING, ExperimentArgs};
use crate::exit::Exit;
use crate::output;

#[derive(Serialize)]
struct Printed<'a> {
    version: u32,
    #[serde(flatten)]
    statements: &'a Statements,
}

const NONE: &str = "\
    what is said is known beforehand for --target sqlserver://… alone; other databases are asked what the experiments' \
    files and docs/reference/experiment-format.md say";

pub fn list(app: &App, args: &ExperimentArgs) -> Outcome<Exit> {
    let names: Vec<&str> = match args.name.as_str() {
        EVERYTHING => catalogue::experiment_names().collect(),
        name => vec![name],
    };
    let machine = machine();
    let mut all = Vec::new();
    for name in names {
        let prepared = app.prepare(Request { experiment: name.to_owned(), ..args.request() })?;
        all.extend(app.statements(&prepared, &machine)?);
    }
    if all.iter().all(|of| of.statements.is_empty()) {
        return Err(Failure::usage(Code::BadOption, NONE));
    }
    if args.json {
        let printed = |statements| Printed { version: 1, statements };
        output::print_json(&all.iter().map(printed).collect::<Vec<_>>())?;
    } else {
        let mut known = BTreeSet::new();
        let texts: Vec<String> = all.iter().map(|of| script(of, &mut known)).collect();
        output::print(&texts.join("\n\n"))?;
    }
    Ok(Exit::Done)
}

/// As a script. Statements in `known` are only named.
fn script(printed: &Statements, known: &mut BTreeSet<(String, String)>) -> String {
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
