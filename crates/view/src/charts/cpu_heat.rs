//! A heat map of how busy each CPU was during a run.

use std::collections::{BTreeMap, BTreeSet};

use hopcost_core::{Code, Gauge, Known, gauge};

use super::axis::{Anchor, LEFT, Plot, RIGHT, SHADE, Sheet, add_box, draw_steps};
use super::timeline::{Column, Timeline};
use crate::page::Section;

/// With more CPUs, neighbors share a row.
const MOST_ROWS: usize = 32;
pub const SHADES: usize = 6;

pub fn cpu_heat(section: &Section<'_>) -> Known<String> {
    let Some(timeline) = Timeline::of(section) else {
        return Known::missing(Code::NotStored, "no blocks were kept");
    };
    let columns: Vec<BTreeMap<u32, f64>> = timeline.columns.iter().map(busy).collect();
    let cpus: BTreeSet<u32> = columns.iter().flat_map(|column| column.keys().copied()).collect();
    let cpus: Vec<u32> = cpus.into_iter().collect();
    if cpus.is_empty() {
        return Known::missing(Code::NotMeasured, "CPU time was not observed");
    }
    let rows: Vec<&[u32]> = cpus.chunks(cpus.len().div_ceil(MOST_ROWS)).collect();
    let height = (168.0 / rows.len() as f64).clamp(4.0, 22.0);
    let (top, bottom) = (40.0, 40.0 + height * rows.len() as f64);
    let mut sheet = Sheet::new("CPU time over the run", words(&cpus, &columns));
    let mut plot = Plot::new(timeline.span_s(), (0.0, 1.0), (top, bottom));
    draw_scale(&mut sheet);
    let mut shades: [String; SHADES] = Default::default();
    for (place, row) in rows.iter().enumerate() {
        let y = top + height * place as f64;
        for (shade, from_s, to_s) in runs(row, &timeline.columns, &columns) {
            let ends = (plot.x.at(from_s), plot.x.at(to_s));
            add_box(&mut shades[shade], ends, (y, y + height - 0.8));
        }
    }
    for (shade, path) in shades.iter().enumerate() {
        sheet.path(&format!("fill h{shade}"), path);
    }
    label_rows(&mut sheet, &rows, top, height);
    timeline.draw_ribbon(&mut sheet, &mut plot);
    let what = format!("seconds from the first block{}", timeline.note());
    plot.draw_along(&mut sheet, &what);
    Known::Is(sheet.finish())
}

fn runs(
    row: &[u32],
    columns: &[Column<'_>],
    busy: &[BTreeMap<u32, f64>],
) -> Vec<(usize, f64, f64)> {
    let mut runs: Vec<(usize, f64, f64)> = Vec::new();
    for (column, busy) in columns.iter().zip(busy) {
        let shares: Vec<f64> = row.iter().filter_map(|cpu| busy.get(cpu).copied()).collect();
        if shares.is_empty() {
            continue;
        }
        let shade = shade(shares.iter().sum::<f64>() / shares.len() as f64);
        match runs.last_mut() {
            // Bitwise equality: a column ends exactly where the next begins.
            Some((last, _, to_s)) if *last == shade && to_s.total_cmp(&column.from_s).is_eq() => {
                *to_s = column.to_s;
            }
            _ => runs.push((shade, column.from_s, column.to_s)),
        }
    }
    runs
}

pub fn shade(share: f64) -> usize {
    (share.clamp(0.0, 1.0) * (SHADES - 1) as f64).round() as usize
}

fn busy(column: &Column<'_>) -> BTreeMap<u32, f64> {
    let mut times: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for observation in column.slots.iter().flat_map(|slot| &slot.window.observations) {
        let is_one_of = |gauges: [&Gauge; 2]| gauges.iter().any(|gauge| observation.is(gauge));
        let is_used = is_one_of([gauge::CPU_USER_MS, gauge::CPU_SYSTEM_MS]);
        if !is_used && !is_one_of([gauge::CPU_IDLE_MS, gauge::CPU_STEAL_MS]) {
            continue;
        }
        let cpu = observation.of.strip_prefix("cpu ").and_then(|number| number.parse().ok());
        let Some(cpu) = cpu else { continue };
        let (used, all) = times.entry(cpu).or_default();
        if is_used {
            *used += observation.value;
        }
        *all += observation.value;
    }
    let share = |(cpu, (used, all)): (u32, (f64, f64))| (all > 0.0).then(|| (cpu, used / all));
    times.into_iter().filter_map(share).collect()
}

/// More CPUs are not listed in the description.
const MOST_TOLD: usize = 16;

fn words(cpus: &[u32], columns: &[BTreeMap<u32, f64>]) -> String {
    let mean = |cpu: &u32| {
        let shares: Vec<f64> = columns.iter().filter_map(|busy| busy.get(cpu).copied()).collect();
        let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
        format!("CPU {cpu}: {:.0}% busy", 100.0 * mean)
    };
    let named: Vec<String> = cpus.iter().take(MOST_TOLD).map(mean).collect();
    let rest = cpus.len().saturating_sub(MOST_TOLD);
    let rest = if rest > 0 { format!("; and {rest} more") } else { String::new() };
    format!("On average over the windows: {}{rest}", named.join("; "))
}

fn draw_scale(sheet: &mut Sheet) {
    sheet.text((0.0, 16.0), Anchor::Start, "faint", "time used, CPU by CPU");
    let left = RIGHT - 52.0 - SHADE * SHADES as f64;
    sheet.text((left - 8.0, 16.0), Anchor::End, "faint", "idle");
    draw_steps(sheet, left, SHADES);
    sheet.text((RIGHT, 16.0), Anchor::End, "faint", "busy");
}

fn label_rows(sheet: &mut Sheet, rows: &[&[u32]], top: f64, height: f64) {
    let every = (20.0 / height).ceil().max(1.0) as usize;
    for (place, row) in rows.iter().enumerate().step_by(every) {
        let label = match row {
            [cpu] => format!("CPU {cpu}"),
            [first, .., last] => format!("{first}–{last}"),
            [] => continue,
        };
        let y = top + height * (place as f64 + 0.5) + 4.0;
        sheet.text((LEFT - 8.0, y), Anchor::End, "", &label);
    }
}

#[cfg(test)]
mod tests {
    use hopcost_core::Verdict;

    use super::*;
    use crate::sample::Sample;

    #[test]
    fn the_cpu_of_the_workers_is_the_busy_one() {
        let sample = Sample::compared("x", Verdict::Cost, 0.1, 0.01).with_blocks(1);
        let svg = cpu_heat(&sample.section()).ok().unwrap();
        assert!(svg.contains("CPU 0: 95% busy; CPU 1: "), "{svg}");
        assert_eq!((shade(-0.2), shade(0.5), shade(1.7)), (0, 3, SHADES - 1));
    }
}
