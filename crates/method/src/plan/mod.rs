//! From an experiment and a machine to what will be measured where. Pure: nothing is touched.
//!
//! Method: `node:A`, `node:B` stand for real nodes in turn. Node i is A and node i + k is B, for each i
//! around the circle, so that every node is as often A as B, and whatever is peculiar to a node ("node
//! 0 owns the disk") cancels; all strides k together are all pairs. One *unit* of the comparison is one
//! block of each binding. A place that is said by its distance is looked for from where the level's
//! workers stand. Workers on several nodes are dealt out to them in turn where a memory policy is what
//! varies, so that few streams stand on all nodes, too.

mod apart;
mod boundaries;
mod cores;

use std::collections::{BTreeMap, BTreeSet};

use hopcost_core::{
    Avoided, Binding, Code, Comparison, CpuId, CpuSet, DataPlacement, DistanceClass, Effort, Known,
    Level, Machine, NodeId, Parallel, Reason, Spot, VariantSettings,
};
use serde::{Deserialize, Serialize};

/// Where one level stands in one binding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// What the database is to know of it.
    #[serde(flatten)]
    pub settings: VariantSettings,
    /// The CPUs that the level could have used, and leaves unused by what it says of siblings and cores.
    #[serde(default, skip_serializing_if = "CpuSet::is_empty")]
    pub spare: CpuSet,
    /// The CPUs of the client.
    pub client: Option<CpuSet>,
}

impl Placement {
    /// The CPUs from which so many streams call.
    pub fn callers(&self, streams: u32) -> CpuSet {
        let workers = self.settings.workers.iter().take(streams as usize);
        self.client.clone().unwrap_or_else(|| workers.copied().collect())
    }
}

/// Something of an experiment that is not measured here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// What.
    pub what: String,
    /// Why not.
    #[serde(flatten)]
    pub reason: Reason,
}

/// One thing to compare with the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Point {
    /// Streams.
    pub streams: u32,
    /// The level, by position.
    pub level: usize,
}

/// What will be measured where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The ways of binding the experiment's symbols.
    pub bindings: Vec<Binding>,
    /// Where each level stands: by binding, then by level.
    pub placements: Vec<Vec<Placement>>,
    /// The levels' names, the baseline first.
    pub levels: Vec<String>,
    /// What is compared. A score has points of level 0 alone: the baseline against itself.
    pub points: Vec<Point>,
    /// What is left out.
    pub left_out: Vec<LeftOut>,
    /// Level by level, up to how many streams each finds a place of the same kind, where it is asked how
    /// throughput grows with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boundaries: Vec<Vec<Boundary>>,
}

/// Up to so many streams a stream more finds a place of the same kind as those before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boundary {
    /// Streams.
    pub streams: u32,
    /// What ends there.
    pub of: String,
}

impl Plan {
    /// The copies of the data that there have to be.
    pub fn homes(&self) -> Vec<DataPlacement> {
        let homes = self.placements.iter().flatten().flat_map(|placed| placed.settings.copies());
        homes.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Is the only level compared with itself?
    pub fn is_score(&self) -> bool {
        self.levels.len() == 1
    }

    /// Is it asked by which law throughput grows with streams?
    pub fn is_of_law(&self) -> bool {
        !self.boundaries.is_empty()
    }

    /// The CPUs that levels leave unused by what they say of siblings and cores, level by level, where there
    /// are any; of several bindings each.
    pub fn spares(&self) -> Vec<(&str, BTreeSet<String>)> {
        let of_level = |(number, level): (usize, _)| {
            let spares = self.placements.iter().map(|levels| &levels[number].spare);
            let texts = spares.filter(|spare| !spare.is_empty()).map(ToString::to_string);
            (String::as_str(level), texts.collect())
        };
        let all = self.levels.iter().enumerate().map(of_level);
        all.filter(|(_, spares): &(_, BTreeSet<_>)| !spares.is_empty()).collect()
    }

    /// Without the ways of binding in which the first threads of cores are unused: CPU 0 cannot be taken off-line.
    pub fn unturned(&mut self) {
        let bindings = std::mem::take(&mut self.bindings).into_iter();
        let both = bindings.zip(std::mem::take(&mut self.placements));
        (self.bindings, self.placements) = both.filter(|(binding, _)| !binding.turned).unzip();
    }

    /// The most streams of any point.
    pub fn most_streams(&self) -> u32 {
        self.points.iter().map(|point| point.streams).max().unwrap_or(1)
    }
}

/// More pairs than this take too long unless all effort is asked for.
const MANY_PAIRS: usize = 12;
/// Without full effort, streams beyond so many per worker CPU are left out.
const STREAMS_PER_CPU: u32 = 2;

/// Binds an experiment to a machine, or says why it does not apply there.
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
        // What streams without a CPU of their own do is a part of the question.
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
    // A score is its only level, compared with itself.
    let tested = if comparison.is_score() { 0..1 } else { 1..levels.len() };
    let points = streams
        .iter()
        .flat_map(|&streams| tested.clone().map(move |level| Point { streams, level }))
        .collect();
    let levels = levels.iter().map(|level| level.name.clone()).collect();
    Ok(Plan { bindings, placements, levels, points, left_out, boundaries })
}

/// Is how many CPUs the workers get a part of what the level says?
fn says_how_many(level: &Level) -> bool {
    level.cpus.is_some() || level.siblings.is_some() || level.cores.is_some()
}

/// All arms get as many CPUs as the smallest has: more hands are another experiment.
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
            what: format!("{} streams", rest.join(", ")),
            reason: Code::NotAsked.because(reason),
        });
    }
    all.iter().copied().filter(kept).collect()
}

/// The ways of giving the experiment's letters to nodes.
fn bindings(
    comparison: &Comparison,
    machine: &Machine,
    effort: Effort,
) -> Result<Vec<Binding>, Reason> {
    let letters = letters(&comparison.levels);
    let nodes: Vec<NodeId> = machine
        .nodes_with_memory()
        .filter(|node| node.cpus.intersects(&machine.limits.cpus))
        .map(|node| node.id)
        .collect();
    if letters.len() > nodes.len() {
        return Err(too_few_nodes(letters.len(), nodes.len(), machine));
    }
    if letters.is_empty() {
        return Ok(in_turn(comparison, vec![Binding::default()]));
    }
    let n = nodes.len();
    let strides = if letters.len() == 1 {
        1..2
    } else if effort == Effort::Full || n * (n - 1) <= MANY_PAIRS {
        1..n
    } else {
        1..2
    };
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

/// Where levels leave threads or cores unused, the first of them and the last in turn: CPU 0 may have interrupts to
/// serve, another one may be slower.
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

fn too_few_nodes(wanted: usize, there: usize, machine: &Machine) -> Reason {
    let nodes = if there == 1 { "node" } else { "nodes" };
    let shared = machine.nodes.iter().any(|node| node.avoided == Some(Avoided::SharedCpus));
    let but = if shared { " that no others claim, too" } else { "" };
    Code::TooFewNodes.because(format!(
        "this machine has {there} memory {nodes} with usable CPUs{but}, and {wanted} are needed: nothing \
         here is remote. Run it on a machine with more, or try the method on an emulated one: \
         --emulate nodes={wanted},remote_ns=80"
    ))
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

/// Where a level stands in one binding, or why it cannot.
fn place(level: &Level, binding: &Binding, machine: &Machine) -> Result<Placement, Reason> {
    let node_of = |letter: &char| binding.nodes.get(letter).copied();
    let at = match &level.workers {
        Some(Spot::Node(letter)) => node_of(letter),
        _ => None,
    };
    let mut workers = match at.and_then(|node| machine.node(node)) {
        Some(node) => machine.in_order_of_use(&node.cpus.intersection(&machine.limits.cpus)),
        None if level.copy.policy.is_some() => on_all_nodes(machine)?,
        None => machine.in_order_of_use(&machine.limits.cpus),
    };
    let mut spare = CpuSet::new();
    if level.siblings.is_some() || level.cores.is_some() {
        let all: CpuSet = workers.into_iter().collect();
        workers = cores::of(level, machine, &all, binding.turned)?;
        spare = all.difference(&workers.iter().copied().collect());
    }
    if let Some(class) = level.apart {
        workers = apart::of(class, machine, &workers.into_iter().collect())?;
    }
    if let Some(cpus) = level.cpus {
        if workers.len() < cpus as usize {
            return Err(Code::TooFewCpus.because(format!(
                "it takes {cpus} CPUs, and {} may be used there",
                workers.len()
            )));
        }
        workers.truncate(cpus as usize);
    }
    let Some(&first) = workers.first() else {
        return Err(Code::TooFewCpus.because("no usable CPU stands there"));
    };
    let home = match &level.data {
        None => None,
        Some(Spot::Node(letter)) => node_of(letter),
        Some(Spot::Away(class)) => Some(memory_away(machine, first, *class)?),
    };
    let cpus = |spot: &Option<Spot>| -> Result<Option<CpuSet>, Reason> {
        Ok(match spot {
            None => None,
            Some(Spot::Node(letter)) => {
                node_of(letter).and_then(|node| machine.node(node)).map(|node| node.cpus.clone())
            }
            Some(Spot::Away(class)) => Some(cpus_away(machine, first, *class)?),
        })
    };
    let (log_writer, client) = (cpus(&level.log_writer)?, cpus(&level.client)?);
    let spare = client.iter().fold(spare, |spare, client| spare.difference(client));
    let of_worker = |cpu: &CpuId| node_with(machine, *cpu);
    let at = at.or_else(|| only_node(machine));
    let at = at.filter(|at| workers.iter().all(|cpu| of_worker(cpu) == Some(*at)));
    let parallel = parallel(level, binding, machine)?;
    let nodes = if at.is_none() { workers.iter().map(of_worker).collect() } else { None };
    let settings = VariantSettings {
        home,
        copy: level.copy,
        workers,
        at,
        nodes: nodes.unwrap_or_default(),
        log_writer,
        parallel,
        session: level.session,
    };
    Ok(Placement { settings, spare, client })
}

/// Who works on a query of a level. More processes than CPUs would only wait for each other.
fn parallel(
    level: &Level,
    binding: &Binding,
    machine: &Machine,
) -> Result<Option<Parallel>, Reason> {
    let Some(dop) = level.dop else { return Ok(None) };
    let cpus = machine.limits.cpus.len();
    if dop as usize > cpus {
        return Err(Code::TooFewCpus
            .because(format!("{dop} processes take {dop} CPUs, and {cpus} may be used here")));
    }
    let node = |spot| match spot {
        Some(Spot::Node(letter)) => binding.nodes.get(&letter).copied(),
        _ => None,
    };
    let (postmaster, workers) = (node(level.postmaster), node(level.parallel_workers));
    Ok(Some(Parallel { dop, postmaster, workers }))
}

/// One CPU of each node in turn. Where there is one node, all policies come to the same.
fn on_all_nodes(machine: &Machine) -> Result<Vec<CpuId>, Reason> {
    let nodes =
        machine.nodes_with_memory().map(|node| node.cpus.intersection(&machine.limits.cpus));
    let nodes: Vec<CpuSet> = nodes.filter(|cpus| !cpus.is_empty()).collect();
    if nodes.len() < 2 {
        return Err(too_few_nodes(2, nodes.len(), machine));
    }
    let of_node = |cpus: &CpuSet| machine.in_order_of_use(cpus).into_iter().enumerate();
    let mut dealt: Vec<(usize, CpuId)> = nodes.iter().flat_map(of_node).collect();
    // The sort keeps the order of the nodes among those of one round.
    dealt.sort_by_key(|(round, _)| *round);
    Ok(dealt.into_iter().map(|(_, cpu)| cpu).collect())
}

/// The node with memory on which a CPU stands, where it does.
fn node_with(machine: &Machine, cpu: CpuId) -> Option<NodeId> {
    machine.nodes_with_memory().find(|node| node.cpus.contains(cpu)).map(|node| node.id)
}

/// Where there is one node, everybody stands on it.
fn only_node(machine: &Machine) -> Option<NodeId> {
    let mut nodes = machine.nodes_with_memory();
    nodes.next().filter(|_| nodes.next().is_none()).map(|node| node.id)
}

fn memory_away(machine: &Machine, from: CpuId, class: DistanceClass) -> Result<NodeId, Reason> {
    let mut nodes = machine.nodes_with_memory().map(|node| node.id);
    let found = nodes.find(|&node| machine.memory_distance(from, node) == Known::Is(class));
    found.ok_or_else(|| absent(machine, class))
}

fn cpus_away(machine: &Machine, from: CpuId, class: DistanceClass) -> Result<CpuSet, Reason> {
    let usable = machine.limits.cpus.iter();
    let found: CpuSet =
        usable.filter(|&cpu| machine.cpu_distance(from, cpu) == Known::Is(class)).collect();
    if found.is_empty() { Err(absent(machine, class)) } else { Ok(found) }
}

fn absent(machine: &Machine, class: DistanceClass) -> Reason {
    let rung = machine.distances.ladder.iter().find(|rung| rung.class == class);
    let why = rung.and_then(|rung| rung.example.reason().cloned());
    why.unwrap_or_else(|| {
        Code::NoSuchDistance.because(format!("nothing is {class} from where the workers stand"))
    })
}
