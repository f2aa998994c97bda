//! Changes in throughput as bars: one interval each on a common axis of ratios.

use std::fmt::Write as _;

use hopcost_core::Estimate;

use super::ink::Ink;
use super::wrap::{pad, width};
use crate::charts::{Kind, Row};
use crate::words::{change, on_ratio_axis};

const BAR: usize = 20;
const WHAT: &str = "change in throughput";

/// Labels that leave no room have lines of their own.
pub fn costs(rows: &[Row], columns: usize) -> String {
    let mut out = String::new();
    let ends = rows.iter().flat_map(|row| [row.cost.low, row.cost.high]);
    let reach = ends.map(|cost| on_ratio_axis(cost).abs()).fold(0.01, f64::max);
    let widest =
        |text: fn(&Row) -> String| rows.iter().map(|row| width(&text(row))).max().unwrap_or(0);
    let labels = widest(|row| row.label.clone());
    let figures = widest(|row| change(&row.cost)).max(WHAT.len());
    let roles = rows.iter().map(|row| width(row.role)).max().unwrap_or(0);
    let is_beside = labels + figures + BAR + roles + 7 <= columns;
    let indent = if is_beside { labels } else { 2 };
    let head = format!("{}{}slower ←   → faster", pad("", indent + 4), pad(WHAT, figures + 2));
    let _ = writeln!(out, "{}", Ink::Faint.on(&head));
    for row in rows {
        let ink = if row.kind == Kind::Search { Ink::Faint } else { Ink::Strong };
        if !is_beside {
            let _ = writeln!(out, "  {}", row.label);
        }
        let label = pad(if is_beside { &row.label } else { "" }, indent);
        let (figure, bar) = (pad(&change(&row.cost), figures), bar(&row.cost, reach));
        let _ = writeln!(out, "  {label}  {figure}  {bar} {}", ink.on(row.role));
    }
    out
}

/// The line is `2 · reach` long, with zero in the middle.
fn bar(cost: &Estimate, reach: f64) -> String {
    let at = |cost: f64| {
        let place = f64::midpoint(on_ratio_axis(cost) / reach, 1.0) * (BAR - 1) as f64;
        place.round().clamp(0.0, (BAR - 1) as f64) as usize
    };
    let (low, point, high) = (at(cost.high), at(cost.point), at(cost.low));
    (0..BAR)
        .map(|place| match place {
            place if place == point => '●',
            place if (low..=high).contains(&place) => '━',
            place if place == at(0.0) => '│',
            _ => '·',
        })
        .collect()
}
