//! Starts as the unit, by simulation: docs/method/starts.md.
//!
//! Thousands of runs whose starts differ, and in which the truth is known, are judged by the
//! production code. Each figure that was found by an independent simulation is compared with it:
//! within three standard errors of both.

mod cell;
mod figures;
mod worlds;

use std::fmt::Write as _;

use anyhow::Result;

use super::tables::write_into;
use cell::Cell;
use figures::SECTIONS;

pub fn run(runs: usize) -> Result<u8> {
    let mut text = String::new();
    let (mut compared, mut outside) = (0, Vec::new());
    for section in SECTIONS {
        let cells = (section.cells)(runs);
        let _ = writeln!(text, "## {}\n\n{}", section.title, table(&cells));
        compared += cells.iter().filter(|cell| cell.reference.is_some()).count();
        outside.extend(cells.into_iter().filter(|cell| cell.is_outside() == Some(true)));
    }
    let _ = writeln!(
        text,
        "{runs} runs for each figure. {compared} figures were compared with an independent simulation, \
         and {} were further from it than three standard errors of both.",
        outside.len()
    );
    println!("{text}");
    for cell in &outside {
        let reference = cell.reference.map_or(f64::NAN, |reference| 100.0 * reference);
        println!("outside: {}, {}: {} against {reference}", cell.row, cell.column, cell.text());
    }
    write_into("docs/method/starts.md", &text)?;
    Ok(u8::from(is_too_many(outside.len(), compared)))
}

/// Two in a hundred.
fn is_too_many(outside: usize, compared: usize) -> bool {
    50 * outside > compared
}

fn table(cells: &[Cell]) -> String {
    let mut columns: Vec<&str> = Vec::new();
    let mut rows: Vec<&str> = Vec::new();
    for cell in cells {
        if !columns.contains(&cell.column.as_str()) {
            columns.push(&cell.column);
        }
        if !rows.contains(&cell.row.as_str()) {
            rows.push(&cell.row);
        }
    }
    let mut out =
        format!("| | {} |\n|---|{}\n", columns.join(" | "), "---:|".repeat(columns.len()));
    for row in rows {
        let of = |column: &&str| {
            let found = cells.iter().filter(|cell| cell.row == row && cell.column == *column);
            found.map(Cell::text).collect::<Vec<_>>().join(" / ")
        };
        let _ =
            writeln!(out, "| {row} | {} |", columns.iter().map(of).collect::<Vec<_>>().join(" | "));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::cell::Figure;
    use super::*;

    /// The short form of the validation.
    #[test]
    fn starts_keep_their_promises() {
        const RUNS: usize = 1_000;
        let cells: Vec<Cell> = SECTIONS.iter().flat_map(|section| (section.cells)(RUNS)).collect();
        let compared = cells.iter().filter(|cell| cell.reference.is_some()).count();
        let outside = cells.iter().filter(|cell| cell.is_outside() == Some(true));
        let outside: Vec<String> =
            outside.map(|cell| format!("{}, {}: {}", cell.row, cell.column, cell.text())).collect();
        assert!(compared >= 150, "{compared}");
        assert!(
            !is_too_many(outside.len(), compared),
            "{} of {compared}: {outside:#?}",
            outside.len()
        );
    }

    #[test]
    fn a_figure_far_from_its_reference_is_outside() {
        let cell = |share| Cell::new("a", "b", Figure::Share(share, 1_000)).against(95.0);
        assert_eq!(cell(0.95).is_outside(), Some(false));
        assert_eq!(cell(0.90).is_outside(), Some(true));
        assert_eq!(Cell::new("a", "b", Figure::Size(0.05)).against(4.0).is_outside(), Some(true));
        assert_eq!(Cell::new("a", "b", Figure::Size(0.05)).is_outside(), None);
    }
}
