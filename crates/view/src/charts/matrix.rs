//! A probe's matrix as a heat map: light is near and fast. Cells show figures if they fit.

use hopcost_core::{CellResult, Code, Known, Outcome, Place};

use super::axis::{Anchor, LEFT, RIGHT, SHADE, Sheet, add_box, draw_steps};
use super::cpu_heat::{SHADES, shade};
use crate::series::{Grid, Heat};
use crate::words::{figure, margin};

/// With more columns figures do not fit.
const MOST_WITH_FIGURES: usize = 8;
/// With more rows only every second (third, …) row and column is drawn.
const MOST_DRAWN: usize = 96;

pub fn matrix(series: &str, cells: &[&CellResult]) -> Known<String> {
    let heat = Heat::of(cells);
    if !heat.low.is_finite() {
        return Known::missing(Code::NotMeasured, "none of it could be measured");
    }
    let grid = Grid::of(cells);
    let unit = cells[0].cell.unit;
    let words = format!("{series}: from {} to {} {unit}", figure(heat.low), figure(heat.high));
    let mut sheet = Sheet::new(series, words);
    draw_scale(&mut sheet, &heat, &unit.to_string());
    let height = if grid.across.len() <= MOST_WITH_FIGURES {
        draw_with_figures(&mut sheet, &grid, &heat)
    } else {
        draw_shades(&mut sheet, &grid, &heat)
    };
    sheet.height = height;
    Known::Is(sheet.finish())
}

const TOP: f64 = 58.0;

fn draw_scale(sheet: &mut Sheet, heat: &Heat, unit: &str) {
    let (near, far) = if heat.at(heat.low) <= heat.at(heat.high) {
        (heat.low, heat.high)
    } else {
        (heat.high, heat.low)
    };
    let label = format!("{} {unit}", figure(far));
    let left = RIGHT - 92.0 - SHADE * SHADES as f64;
    sheet.text((left - 8.0, 16.0), Anchor::End, "", &format!("{} {unit}", figure(near)));
    draw_steps(sheet, left, SHADES);
    sheet.text((left + SHADE * SHADES as f64 + 8.0, 16.0), Anchor::Start, "", &label);
    sheet.text((0.0, 16.0), Anchor::Start, "faint", "near and fast is light");
}

fn draw_with_figures(sheet: &mut Sheet, grid: &Grid<'_>, heat: &Heat) -> f64 {
    const HEIGHT: f64 = 40.0;
    let width = ((RIGHT - LEFT) / grid.across.len() as f64).min(150.0);
    for (column, place) in grid.across.iter().enumerate() {
        let x = LEFT + (column as f64 + 0.5) * width;
        sheet.text((x, TOP - 8.0), Anchor::Middle, "faint", &place.to_string());
    }
    for (row, from) in grid.rows.iter().enumerate() {
        let y = TOP + row as f64 * HEIGHT;
        sheet.text((LEFT - 8.0, y + 24.0), Anchor::End, "faint", &from.to_string());
        for (column, to) in grid.across.iter().enumerate() {
            let x = LEFT + column as f64 * width;
            draw_cell(
                sheet,
                grid.find(from, to),
                heat,
                ((x, x + width - 2.0), (y, y + HEIGHT - 2.0)),
            );
        }
    }
    TOP + grid.rows.len() as f64 * HEIGHT + 4.0
}

type Ends = (f64, f64);

fn draw_cell(sheet: &mut Sheet, cell: Option<&CellResult>, heat: &Heat, (x, y): (Ends, Ends)) {
    let middle = f64::midpoint(x.0, x.1);
    let mut square = String::new();
    add_box(&mut square, x, y);
    let Some(estimate) = cell.and_then(CellResult::estimate) else {
        let is_void = cell.is_some_and(|cell| matches!(cell.outcome, Outcome::Void(_)));
        sheet.path("empty", &square);
        sheet.text(
            (middle, y.0 + 24.0),
            Anchor::Middle,
            "faint",
            if is_void { "void" } else { "–" },
        );
        return;
    };
    let shade = shade(heat.at(estimate.point));
    sheet.path(&format!("fill h{shade}"), &square);
    let class = format!("on{shade}");
    sheet.text((middle, y.0 + 17.0), Anchor::Middle, &class, &figure(estimate.point));
    sheet.text((middle, y.0 + 32.0), Anchor::Middle, &format!("{class} small"), &margin(estimate));
}

fn draw_shades(sheet: &mut Sheet, grid: &Grid<'_>, heat: &Heat) -> f64 {
    let step = grid.across.len().max(grid.rows.len()).div_ceil(MOST_DRAWN);
    let thin = |places: &[&Place]| places.iter().step_by(step).map(|&p| p.clone()).collect();
    let (rows, across): (Vec<Place>, Vec<Place>) = (thin(&grid.rows), thin(&grid.across));
    let size = ((RIGHT - LEFT) / across.len() as f64).min(22.0);
    let mut shades: [String; SHADES] = Default::default();
    for (row, from) in rows.iter().enumerate() {
        let y = TOP + row as f64 * size;
        let mut begun: Option<(usize, usize)> = None;
        for column in 0..=across.len() {
            let found = across.get(column).and_then(|to| grid.find(from, to)?.estimate());
            let next = found.map(|estimate| shade(heat.at(estimate.point)));
            if begun.map(|(shade, _)| shade) == next {
                continue;
            }
            if let Some((shade, first)) = begun {
                let ends = (LEFT + first as f64 * size, LEFT + column as f64 * size);
                add_box(&mut shades[shade], ends, (y, y + size));
            }
            begun = next.map(|shade| (shade, column));
        }
    }
    for (shade, path) in shades.iter().enumerate() {
        sheet.path(&format!("fill h{shade}"), path);
    }
    let every = (22.0 / size).ceil() as usize;
    for (row, place) in rows.iter().enumerate().step_by(every) {
        let y = TOP + (row as f64 + 0.5) * size + 4.0;
        sheet.text((LEFT - 8.0, y), Anchor::End, "faint", &place.to_string());
    }
    if step > 1 {
        let words = format!("one row and column in {step} is drawn, all are in the store");
        sheet.text((LEFT, TOP - 8.0), Anchor::Start, "faint", &words);
    }
    let bottom = TOP + rows.len() as f64 * size;
    sheet.text((LEFT, bottom + 21.0), Anchor::Start, "faint", "columns in the order of the rows");
    bottom + 30.0
}
