//! Costs on one axis: a row each, with its interval and the band in which no difference matters.

use hopcost_core::{Code, Estimate, Known};

use super::axis::{Anchor, RIGHT, Scale, Sheet, WIDTH, add_box, add_shape, extent, with_air};
use crate::words::cost;

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
    let percents = rows.iter().flat_map(|row| {
        let margin = row.margin.unwrap_or(0.0);
        [row.cost.low, row.cost.high, -margin, margin].map(|share| 100.0 * share)
    });
    let Some((low, high)) = extent(percents) else {
        return Known::missing(Code::TooFew, "no cost was estimated");
    };
    let scale = Scale::new(with_air((low.min(-0.5), high.max(0.5))), (START, RIGHT));
    let mut sheet = Sheet::new(title, words(rows));
    let bottom = rows.len() as f64 * PITCH + 4.0;
    draw_scale(&mut sheet, &scale, bottom);
    for (n, row) in rows.iter().enumerate() {
        draw_row(&mut sheet, &scale, n as f64 * PITCH, row);
    }
    Known::Is(sheet.finish())
}

fn words(rows: &[Row]) -> String {
    let row = |row: &Row| format!("{}: {}", row.name(), cost(&row.cost));
    rows.iter().map(row).collect::<Vec<_>>().join("; ")
}

fn draw_scale(sheet: &mut Sheet, scale: &Scale, bottom: f64) {
    const TICKS: usize = 7;
    for tick in scale.ticks(TICKS) {
        let x = scale.at(tick);
        sheet.line(if tick == 0.0 { "zero" } else { "grid" }, (x, 2.0), (x, bottom));
        let label = format!("{} %", scale.label(tick, TICKS));
        let anchor = match x {
            x if x < 36.0 => Anchor::Start,
            x if x > WIDTH - 36.0 => Anchor::End,
            _ => Anchor::Middle,
        };
        sheet.text((x, bottom + 20.0), anchor, "", &label);
    }
    sheet.text((START, bottom + 42.0), Anchor::Start, "faint", "← faster");
    sheet.text((RIGHT, bottom + 42.0), Anchor::End, "faint", "costs throughput →");
    sheet.height = bottom + 50.0;
}

fn draw_row(sheet: &mut Sheet, scale: &Scale, top: f64, row: &Row) {
    let baseline = top + 16.0;
    let figure = cost(&row.cost);
    let ink = if row.kind == Kind::Search { "halo faint" } else { "halo" };
    match &row.link {
        Some(place) => sheet.link((0.0, baseline), "halo strong", &row.name(), place),
        None => sheet.text((0.0, baseline), Anchor::Start, ink, &row.name()),
    }
    sheet.text((WIDTH, baseline), Anchor::End, ink, &figure);
    let y = top + 33.0;
    if let Some(margin) = row.margin {
        let mut band = String::new();
        let ends = (scale.at(-100.0 * margin), scale.at(100.0 * margin));
        add_box(&mut band, ends, (y - 9.0, y + 9.0));
        sheet.path("margin", &band);
    }
    let [low, point, high] =
        [row.cost.low, row.cost.point, row.cost.high].map(|share| scale.at(100.0 * share));
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
