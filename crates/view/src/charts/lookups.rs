//! Local and remote page accesses over time by node; counts, not samples, so without intervals.

use std::collections::BTreeSet;

use hopcost_core::{Code, Known, NodeId};

use super::axis::{Anchor, LEFT, Plot, RIGHT, Scale, Sheet, add_box};
use super::timeline::{Column, Timeline};
use crate::page::Section;
use crate::words::{count, figure};

/// Further nodes are only in the store.
const MOST_NODES: usize = 8;
const PANEL: f64 = 52.0;
const GAP: f64 = 16.0;

/// All panels share one scale that begins at zero.
pub fn lookups(section: &Section<'_>) -> Known<String> {
    let Some(timeline) = Timeline::of(section) else {
        return Known::missing(Code::NotStored, "no blocks were kept");
    };
    let nodes: BTreeSet<NodeId> = timeline.columns.iter().flat_map(nodes_of).collect();
    if nodes.is_empty() {
        return Known::missing(Code::NotTold, "this target does not count page accesses by node");
    }
    if section.workers_at.is_empty() {
        return Known::missing(Code::NotTold, "it is not known on which node the workers stood");
    }
    let drawn: Vec<NodeId> = nodes.iter().copied().take(MOST_NODES).collect();
    let rates = |column: &Column<'_>, node| rates(column, node);
    let all = timeline.columns.iter().flat_map(|c| drawn.iter().map(move |&n| rates(c, n)));
    let most = rounded_up(all.map(|[here, there]| here + there).fold(0.0, f64::max).max(1.0));
    let mut sheet = Sheet::new("Page accesses over the run", words(&timeline, &drawn));
    let top = 34.0;
    let bottom = top + drawn.len() as f64 * (PANEL + GAP) - GAP;
    let mut plot = Plot::new(timeline.span_s(), (0.0, 1.0), (top, bottom));
    let scale = format!("up to {} a second", figure(most));
    sheet.text((0.0, 16.0), Anchor::Start, "faint", &scale);
    draw_key(&mut sheet);
    for (n, node) in drawn.iter().enumerate() {
        let top = top + n as f64 * (PANEL + GAP);
        draw_panel(&mut sheet, &plot, &timeline, *node, (top, most));
    }
    timeline.draw_ribbon(&mut sheet, &mut plot);
    let left_out = match nodes.len() - drawn.len() {
        0 => String::new(),
        n => format!("; {n} more nodes are in the store"),
    };
    let what = format!("seconds from the first block{}{left_out}", timeline.note());
    plot.draw_along(&mut sheet, &what);
    Known::Is(sheet.finish())
}

fn rounded_up(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let factors = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    factors.map(|factor| factor * power).into_iter().find(|&n| n >= value).unwrap_or(value)
}

fn nodes_of(column: &Column<'_>) -> Vec<NodeId> {
    let lookups = column.slots.iter().filter_map(|slot| slot.window.lookups.as_ref());
    lookups.flat_map(|lookups| lookups.acquisitions.keys().copied()).collect()
}

fn rates(column: &Column<'_>, node: NodeId) -> [f64; 2] {
    let counted = counted(column, node);
    let seconds = column.seconds().max(f64::MIN_POSITIVE);
    counted.map(|count| count as f64 / seconds)
}

fn counted(column: &Column<'_>, node: NodeId) -> [u64; 2] {
    let mut sides = [0, 0];
    for slot in &column.slots {
        let Some(lookups) = &slot.window.lookups else { continue };
        let is_elsewhere = slot.at != Some(node);
        sides[usize::from(is_elsewhere)] += lookups.acquisitions.get(&node).copied().unwrap_or(0);
    }
    sides
}

fn words(timeline: &Timeline<'_>, nodes: &[NodeId]) -> String {
    let of_node = |node: &NodeId| {
        let sum = timeline.columns.iter().map(|column| counted(column, *node));
        let [here, there] = sum.fold([0, 0], |all, one| [all[0] + one[0], all[1] + one[1]]);
        format!("node {node}: {} local and {} remote page accesses", count(here), count(there))
    };
    nodes.iter().map(of_node).collect::<Vec<_>>().join("; ")
}

/// In dark mode the darker shade is the remote one.
fn draw_key(sheet: &mut Sheet) {
    for (class, name, right) in [("local", "local", RIGHT - 92.0), ("remote", "remote", RIGHT)] {
        let left = right - 76.0;
        let mut square = String::new();
        add_box(&mut square, (left, left + 13.0), (5.0, 17.0));
        sheet.path(&format!("fill {class}"), &square);
        sheet.text((left + 18.0, 16.0), Anchor::Start, "", name);
    }
}

fn draw_panel(
    sheet: &mut Sheet,
    plot: &Plot,
    timeline: &Timeline<'_>,
    node: NodeId,
    (top, most): (f64, f64),
) {
    let scale = Scale::new((0.0, most), (top + PANEL, top));
    let (mut local, mut remote) = (String::new(), String::new());
    for column in &timeline.columns {
        let [here, there] = rates(column, node);
        let ends = (plot.x.at(column.from_s), plot.x.at(column.to_s));
        if here > 0.0 {
            add_box(&mut local, ends, (scale.at(here), scale.at(0.0)));
        }
        if there > 0.0 {
            add_box(&mut remote, ends, (scale.at(here + there), scale.at(here)));
        }
    }
    sheet.line("grid", (LEFT, top), (RIGHT, top));
    sheet.path("fill local", &local);
    sheet.path("fill remote", &remote);
    sheet.line("axis", (LEFT, top + PANEL), (RIGHT, top + PANEL));
    let label = format!("node {node}");
    sheet.text((LEFT - 8.0, top + PANEL / 2.0 + 4.0), Anchor::End, "", &label);
}

#[cfg(test)]
mod tests {
    use hopcost_core::Verdict;

    use super::*;
    use crate::sample::Sample;

    #[test]
    fn local_is_where_the_workers_stood() {
        let mut sample = Sample::compared("x", Verdict::Cost, 0.1, 0.01).with_blocks(2);
        // The first block's data is on node 0, the second's on node 1. Both variants access it.
        let svg = lookups(&sample.section()).ok().unwrap();
        for node in [0, 1] {
            assert!(!svg.contains(&format!("node {node}: 0 local")), "{svg}");
        }
        assert!(!svg.contains("and 0 remote"), "{svg}");
        sample.workers_at = vec![vec![Some(NodeId(0)); 2], vec![Some(NodeId(1)); 2]];
        let svg = lookups(&sample.section()).ok().unwrap();
        assert_eq!(svg.matches("and 0 remote").count(), 2, "{svg}");
        sample.workers_at.clear();
        let reason = lookups(&sample.section());
        assert!(reason.reason().unwrap().as_str().contains("workers stood"));
    }

    #[test]
    fn a_panel_ends_at_a_round_number() {
        assert!((rounded_up(1_766_933.0) - 2_000_000.0).abs() < 1.0);
        assert!((rounded_up(1.0) - 1.0).abs() < 1e-9);
    }
}
