//! `hopcost list`: what exists and applies here; with `--all`, each database's settings.

use std::fmt::Write as _;

use hopcost_app::{App, Applicability, Listing, Named, Outcome, machine};
use hopcost_view::plural;
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
        output::print(&text(&printed))?;
    }
    Ok(Exit::Done)
}

fn text(printed: &Printed) -> String {
    let Printed { listing, matrix, .. } = printed;
    let mut out = String::from("experiments\n");
    for experiment in &listing.experiments {
        line(&mut out, &experiment.name, &experiment.question);
        line(&mut out, "", &so_much_applies(experiment.applicability));
    }
    for (heading, entries) in [
        ("targets", &listing.targets),
        ("workloads", &listing.workloads),
        ("observers", &listing.observers),
        ("probes", &listing.probes),
        ("data sets", &listing.data_sets),
    ] {
        let _ = writeln!(out, "\n{heading}");
        for Named { name, about } in entries {
            line(&mut out, name, about);
        }
    }
    if let Some(matrix) = matrix {
        let _ = write!(out, "\n{}", matrix.text());
    }
    out
}

/// A longer name is printed whole.
const NAME_WIDTH: usize = 20;

fn line(out: &mut String, name: &str, text: &str) {
    let _ = writeln!(out, "  {name:<NAME_WIDTH$} {text}");
}

fn so_much_applies(Applicability { parts, left_out }: Applicability) -> String {
    match (parts, left_out) {
        (0, _) => "does not apply here: 'hopcost plan' says why".to_owned(),
        (_, 0) => "applies here".to_owned(),
        (_, n) => {
            format!("applies here, without {}: 'hopcost plan' says why", plural(n, "part"))
        }
    }
}

#[cfg(test)]
mod tests {
    use hopcost_app::catalogue::experiment_names;

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
        let applies = |left_out| so_much_applies(Applicability { parts: 3, left_out });
        assert!(applies(1).contains("without 1 part:"), "{}", applies(1));
        assert!(applies(2).contains("without 2 parts:"));
    }
}
