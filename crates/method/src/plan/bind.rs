//! Binds an experiment's node letters to nodes and makes the plan.

use std::collections::{BTreeMap, BTreeSet};

use hopcost_core::{Binding, Code, Comparison, Effort, Level, Machine, Node, NodeId, Reason, Spot};

use super::boundaries;
use super::layout::{LeftOut, Placement, Plan, Point};
use super::place::{place, too_few_nodes};

/// More need full effort.
const MANY_PAIRS: usize = 12;
/// More need full effort.
const STREAMS_PER_CPU: u32 = 2;

pub fn plan(comparison: &Comparison, machine: &Machine, effort: Effort) -> Result<Plan, Reason> {
    let bindings = bindings(comparison, machine, effort)?;
    let mut left_out = Vec::new();
    let mut kept: Vec<usize> = Vec::new();
    for (number, level) in comparison.levels.iter().enumerate() {
        let missing = bindings.iter().find_map(|binding| place(level, binding, machine).err());
        match missing {
            None => kept.push(number),
            Some(reason) if number == 0 => return Err(reason),
            Some(reason) => left_out.push(LeftOut { what: level.name.clone(), reason }),
        }
    }
    if kept.len() < 2 && !comparison.is_score() {
        let reason = left_out.pop().map(|left_out| left_out.reason);
        return Err(
            reason.unwrap_or_else(|| Code::TooFewCpus.because("there is nothing to compare"))
        );
    }
    let levels: Vec<&Level> = kept.iter().map(|&number| &comparison.levels[number]).collect();
    let placed = |binding: &Binding| -> Result<Vec<Placement>, Reason> {
        levels.iter().map(|level| place(level, binding, machine)).collect()
    };
    let mut placements = bindings.iter().map(placed).collect::<Result<Vec<_>, _>>()?;
    if levels.iter().all(|level| !says_how_many(level)) {
        equal_hands(&mut placements);
    }
    let cpus =
        placements.iter().flatten().map(|placed| placed.settings.workers.len()).max().unwrap_or(0);
    let streams = if comparison.find_scaling {
        // Clients without a CPU of their own are part of the question.
        comparison.streams.clone()
    } else {
        streams(&comparison.streams, cpus, effort, &mut left_out)
    };
    let boundaries = match placements.first() {
        Some(levels) if comparison.find_scaling => {
            levels.iter().map(|placed| boundaries::of(&placed.settings.workers, machine)).collect()
        }
        _ => Vec::new(),
    };
    let tested = if comparison.is_score() { 0..1 } else { 1..levels.len() };
    let points = streams
        .iter()
        .flat_map(|&streams| tested.clone().map(move |level| Point { streams, level }))
        .collect();
    let levels = levels.iter().map(|level| level.name.clone()).collect();
    Ok(Plan { bindings, placements, levels, points, left_out, boundaries })
}

fn says_how_many(level: &Level) -> bool {
    level.cpus.is_some() || level.siblings.is_some() || level.cores.is_some()
}

/// More CPUs would be another experiment.
fn equal_hands(placements: &mut [Vec<Placement>]) {
    let sizes = placements.iter().flatten().map(|placement| placement.settings.workers.len());
    let least = sizes.min().unwrap_or(0);
    for placement in placements.iter_mut().flatten() {
        placement.settings.workers.truncate(least);
    }
}

fn streams(all: &[u32], cpus: usize, effort: Effort, left_out: &mut Vec<LeftOut>) -> Vec<u32> {
    let most = STREAMS_PER_CPU * cpus as u32;
    let least = all.iter().copied().min().unwrap_or(1);
    let kept = |&streams: &u32| effort == Effort::Full || streams <= most || streams == least;
    let rest: Vec<String> =
        all.iter().filter(|streams| !kept(streams)).map(ToString::to_string).collect();
    if !rest.is_empty() {
        let reason = format!(
            "more than {STREAMS_PER_CPU} per worker CPU only wait for each other; --full measures them"
        );
        left_out.push(LeftOut {
            what: format!("{} clients", rest.join(", ")),
            reason: Code::NotAsked.because(reason),
        });
    }
    all.iter().copied().filter(kept).collect()
}

fn bindings(
    comparison: &Comparison,
    machine: &Machine,
    effort: Effort,
) -> Result<Vec<Binding>, Reason> {
    let letters = letters(&comparison.levels);
    let usable = |node: &&Node| node.cpus.intersects(&machine.limits.cpus);
    let nodes: Vec<NodeId> =
        machine.nodes_with_memory().filter(usable).map(|node| node.id).collect();
    if letters.len() > nodes.len() {
        return Err(too_few_nodes(letters.len(), nodes.len(), machine));
    }
    if letters.is_empty() {
        return Ok(in_turn(comparison, vec![Binding::default()]));
    }
    let n = nodes.len();
    let are_few = effort == Effort::Full || n * (n - 1) <= MANY_PAIRS;
    let strides = if letters.len() > 1 && are_few { 1..n } else { 1..2 };
    let bind = |stride: usize, first: usize| -> Option<Binding> {
        let of_letter =
            |(turn, &letter): (usize, &char)| (letter, nodes[(first + turn * stride) % n]);
        let nodes: BTreeMap<char, NodeId> = letters.iter().enumerate().map(of_letter).collect();
        let different: BTreeSet<&NodeId> = nodes.values().collect();
        (different.len() == letters.len()).then_some(Binding { nodes, turned: false })
    };
    let all = strides.flat_map(|stride| (0..n).filter_map(move |first| bind(stride, first)));
    Ok(in_turn(comparison, all.collect()))
}

/// Alternates which threads or cores stay unused: CPU 0 may serve interrupts, and CPUs may differ
/// in speed.
fn in_turn(comparison: &Comparison, mut bindings: Vec<Binding>) -> Vec<Binding> {
    if comparison.levels.iter().any(|level| level.siblings == Some(false) || level.cores.is_some())
    {
        if let [only] = bindings.as_slice() {
            bindings.push(only.clone());
        }
        bindings.iter_mut().skip(1).step_by(2).for_each(|binding| binding.turned = true);
    }
    bindings
}

fn letters(levels: &[Level]) -> BTreeSet<char> {
    let spots = levels.iter().flat_map(|level| {
        let Level { data, workers, log_writer, client, postmaster, parallel_workers, .. } = level;
        [*data, *workers, *log_writer, *client, *postmaster, *parallel_workers]
    });
    let letter = |spot| match spot {
        Some(Spot::Node(letter)) => Some(letter),
        _ => None,
    };
    spots.filter_map(letter).collect()
}
