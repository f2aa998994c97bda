//! Costs as bars: one interval each on a common scale around zero.

use std::fmt::Write as _;

use hopcost_core::Estimate;

use super::ink::Ink;
use super::wrap::{pad, width};
use crate::charts::{Kind, Row};
use crate::words::cost;

const BAR: usize = 20;

pub fn costs(rows: &[Row]) -> String {
    let mut out = String::new();
    let reach = rows.iter().flat_map(|row| [row.cost.low.abs(), row.cost.high.abs()]);
    let reach = reach.fold(0.01, f64::max);
    let widest =
        |text: fn(&Row) -> String| rows.iter().map(|row| width(&text(row))).max().unwrap_or(0);
    let (labels, figures) = (widest(|row| row.label.clone()), widest(|row| cost(&row.cost)));
    for row in rows {
        let ink = if row.kind == Kind::Search { Ink::Faint } else { Ink::Strong };
        let (label, figure) = (pad(&row.label, labels), pad(&cost(&row.cost), figures));
        let bar = bar(&row.cost, reach);
        let _ = writeln!(out, "  {label}  {figure}  {bar}  {}", ink.on(row.role));
    }
    let reach = 100.0 * reach;
    let scale = format!("−{reach:.0} %{}+{reach:.0} %", " ".repeat(BAR.saturating_sub(9)));
    let _ = writeln!(out, "{}{}", " ".repeat(6 + labels + figures), Ink::Faint.on(&scale));
    out
}

/// The line is `2 · reach` long, with zero in the middle.
fn bar(cost: &Estimate, reach: f64) -> String {
    let at = |share: f64| {
        let place = f64::midpoint(share / reach, 1.0) * (BAR - 1) as f64;
        place.round().clamp(0.0, (BAR - 1) as f64) as usize
    };
    let (low, point, high) = (at(cost.low), at(cost.point), at(cost.high));
    (0..BAR)
        .map(|place| match place {
            place if place == point => '●',
            place if (low..=high).contains(&place) => '━',
            place if place == at(0.0) => '│',
            _ => '·',
        })
        .collect()
}
