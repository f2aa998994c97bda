//! Tables that fit the terminal.

use std::fmt::Write as _;

use super::ink::Ink;
use super::wrap::{pad, pad_left, width};
use crate::story::block::{Column, Table};

/// Drops secondary columns if they do not fit. If the others do not fit either, each row's first
/// cell is a line of its own.
pub fn table(table: &Table, columns: usize) -> String {
    let width_of = |n: usize| {
        let cells = table.rows.iter().map(|row| width(&row[n]));
        cells.max().unwrap_or(0).max(width(&table.head[n].name)) + 2
    };
    let widths: Vec<usize> = (0..table.head.len()).map(width_of).collect();
    let total = |shown: usize| widths[..shown].iter().sum::<usize>();
    let mut shown = table.head.len();
    while total(shown) > columns && table.head[shown - 1].is_detail {
        shown -= 1;
    }
    let is_folded = total(shown) > columns;
    let cell = |(text, (column, width)): (&String, (&Column, &usize))| {
        let padded =
            if column.is_figures { pad_left(text, width - 2) } else { pad(text, width - 2) };
        format!("  {padded}")
    };
    let line = |cells: &[String]| -> String {
        let from = usize::from(is_folded);
        let columns = table.head.iter().zip(&widths);
        let rest: String = cells.iter().zip(columns).take(shown).skip(from).map(cell).collect();
        let rest = rest.trim_end();
        if is_folded { format!("  {}\n  {rest}", cells[0]) } else { rest.to_owned() }
    };
    let mut out = String::new();
    let head: Vec<String> = table.head.iter().map(|column| column.name.clone()).collect();
    for text in line(&head).lines().filter(|line| !line.trim().is_empty()) {
        let _ = writeln!(out, "{}", Ink::Faint.on(text));
    }
    for row in &table.rows {
        let _ = writeln!(out, "{}", line(row));
    }
    out
}
