//! Changes in throughput on one logarithmic axis: a row each, with its interval and the band in
//! which no difference matters.

use hopcost_core::{Code, Estimate, Known};

use super::axis::{Anchor, RIGHT, Scale, Sheet, WIDTH, add_box, add_shape, extent, with_air};
use crate::words::{change, minus, on_ratio_axis};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Estimate,
    /// The worst point of a search: shown, never quoted as a result.
    Search,
    Emulated,
}

#[derive(Clone, Debug)]
pub struct Row {
    pub label: String,
    pub role: &'static str,
    /// Anchor of its section.
    pub link: Option<String>,
    pub cost: Estimate,
    pub kind: Kind,
    /// A cost within it is no difference.
    pub margin: Option<f64>,
}

impl Row {
    fn name(&self) -> String {
        let comma = if self.role.is_empty() { "" } else { ", " };
        format!("{}{comma}{}", self.label, self.role)
    }
}

const PITCH: f64 = 50.0;
const START: f64 = 8.0;

pub fn effect(title: &str, rows: &[Row]) -> Known<String> {
    let costs = rows.iter().flat_map(|row| {
        let margin = row.margin.unwrap_or(0.0);
        [row.cost.low, row.cost.high, -margin, margin].map(on_ratio_axis)
    });
    let Some((low, high)) = extent(costs) else {
        return Known::missing(Code::TooFew, "no cost was estimated");
    };
    let scale = Scale::new(with_air((low.min(-0.005), high.max(0.005))), (START, RIGHT));
    let mut sheet = Sheet::new(title, words(rows));
    let bottom = rows.len() as f64 * PITCH + 4.0;
    draw_scale(&mut sheet, &scale, bottom);
    for (n, row) in rows.iter().enumerate() {
        draw_row(&mut sheet, &scale, n as f64 * PITCH, row);
    }
    Known::Is(sheet.finish())
}

fn words(rows: &[Row]) -> String {
    let row = |row: &Row| format!("{}: {}", row.name(), change(&row.cost));
    rows.iter().map(row).collect::<Vec<_>>().join("; ")
}

/// Costs that ticks are made of, and how each is written as a change; the first are the most wanted.
const TICKS: [(f64, &str); 25] = [
    (0.0, "0%"),
    (0.5, "1/2"),
    (-1.0, "2×"),
    (0.9, "1/10"),
    (-9.0, "10×"),
    (0.1, "-10%"),
    (-0.1, "+10%"),
    (0.25, "-25%"),
    (-0.25, "+25%"),
    (0.99, "1/100"),
    (-99.0, "100×"),
    (0.05, "-5%"),
    (-0.05, "+5%"),
    (0.75, "1/4"),
    (-3.0, "4×"),
    (0.02, "-2%"),
    (-0.02, "+2%"),
    (0.01, "-1%"),
    (-0.01, "+1%"),
    (0.975, "1/40"),
    (-39.0, "40×"),
    (-0.5, "+50%"),
    (0.005, "-0.5%"),
    (-0.005, "+0.5%"),
    (0.95, "1/20"),
];
/// Between two ticks, so that their labels do not touch.
const LEAST_DISTANCE: f64 = 56.0;

fn draw_scale(sheet: &mut Sheet, scale: &Scale, bottom: f64) {
    let mut drawn: Vec<f64> = Vec::new();
    for (cost, label) in TICKS {
        let x = scale.at(on_ratio_axis(cost));
        let has_room = drawn.iter().all(|other| (x - other).abs() >= LEAST_DISTANCE);
        if !(START..=RIGHT).contains(&x) || !has_room {
            continue;
        }
        drawn.push(x);
        sheet.line(if cost == 0.0 { "zero" } else { "grid" }, (x, 2.0), (x, bottom));
        let anchor = match x {
            x if x < 36.0 => Anchor::Start,
            x if x > WIDTH - 36.0 => Anchor::End,
            _ => Anchor::Middle,
        };
        sheet.text((x, bottom + 20.0), anchor, "", &minus(label));
    }
    sheet.text((START, bottom + 42.0), Anchor::Start, "faint", "← slower");
    sheet.text((RIGHT, bottom + 42.0), Anchor::End, "faint", "faster →");
    sheet.height = bottom + 50.0;
}

fn draw_row(sheet: &mut Sheet, scale: &Scale, top: f64, row: &Row) {
    let baseline = top + 16.0;
    let figure = change(&row.cost);
    let ink = if row.kind == Kind::Search { "halo faint" } else { "halo" };
    match &row.link {
        Some(place) => sheet.link((0.0, baseline), "halo strong", &row.name(), place),
        None => sheet.text((0.0, baseline), Anchor::Start, ink, &row.name()),
    }
    sheet.text((WIDTH, baseline), Anchor::End, ink, &figure);
    let y = top + 33.0;
    if let Some(margin) = row.margin {
        let mut band = String::new();
        let ends = (scale.at(on_ratio_axis(margin)), scale.at(on_ratio_axis(-margin)));
        add_box(&mut band, ends, (y - 9.0, y + 9.0));
        sheet.path("margin", &band);
    }
    let [low, point, high] =
        [row.cost.low, row.cost.point, row.cost.high].map(|cost| scale.at(on_ratio_axis(cost)));
    let (line, end_line, mark, size) = match row.kind {
        Kind::Estimate => ("interval", "interval thin", "point", 5.5),
        Kind::Search => ("interval thin quiet", "interval thin quiet", "point open quiet", 4.0),
        Kind::Emulated => ("interval dashed", "interval thin", "point open", 5.5),
    };
    sheet.line(line, (low, y), (high, y));
    for end in [low, high] {
        sheet.line(end_line, (end, y - 5.0), (end, y + 5.0));
    }
    let mut shape = String::new();
    add_shape(&mut shape, 0, (point, y), size);
    sheet.path(mark, &shape);
}
