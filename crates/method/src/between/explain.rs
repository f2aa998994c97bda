//! Explains a difference between machines by rules on which figures differ.
//!
//! Method: node bandwidth, node latency and the scores are each lower, higher, alike or unknown.
//! The first rule that fits is reported, as a suspicion. Limits: only measured causes are found.

use std::collections::{BTreeMap, BTreeSet};

use hopcost_core::{
    Between, CellPair, DistanceClass, Estimate, Likeness, NodeId, Place, ScorePair, Unit,
};

use super::headline::{best_known, change, is_faster, named};

/// The likeliest first; empty if nothing differs.
pub fn explained_by(between: &Between) -> Vec<String> {
    if between.likenesses().all(|likeness| likeness != Likeness::Different) {
        return Vec::new();
    }
    let sight = Sight::of(between);
    let mut said: Vec<String> =
        [Who::B, Who::A].iter().filter_map(|who| sight.bandwidth(*who)).collect();
    if said.is_empty() {
        said.extend([Who::B, Who::A].iter().filter_map(|who| sight.latency(*who)));
    }
    said.extend(sight.rest());
    said.extend(scores(between));
    said.extend(traits(between));
    if said.is_empty() {
        said.push("nothing that was measured or is known of the two explains it".to_owned());
    }
    said
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    A,
    B,
}

impl Who {
    fn name(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
        }
    }

    fn over_the_other(self, ratio: &Estimate) -> Estimate {
        match self {
            Self::B => *ratio,
            Self::A => {
                let [point, low, high] = [ratio.point, ratio.high, ratio.low].map(f64::recip);
                Estimate { point, low, high, ..*ratio }
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Tendency<'a> {
    /// All cells that differ are worse on this machine; with the best known of them.
    Worse(Who, &'a CellPair),
    Mixed,
    Alike,
    /// None is different, and not all are equivalent.
    Untold,
    Unmeasured,
}

impl<'a> Tendency<'a> {
    fn of(cells: &[&'a CellPair]) -> Self {
        let different: Vec<&CellPair> =
            cells.iter().copied().filter(|pair| pair.likeness == Likeness::Different).collect();
        let worse_on_a = different.iter().filter(|pair| is_faster(&pair.ratio, pair.unit)).count();
        match best_known(different.iter().copied()) {
            Some(best_known) if worse_on_a == 0 => Self::Worse(Who::B, best_known),
            Some(best_known) if worse_on_a == different.len() => Self::Worse(Who::A, best_known),
            Some(_) => Self::Mixed,
            None if cells.is_empty() => Self::Unmeasured,
            None if cells.iter().all(|pair| pair.likeness == Likeness::Equivalent) => Self::Alike,
            None => Self::Untold,
        }
    }

    fn is_worse(self, on: Who) -> bool {
        matches!(self, Self::Worse(who, _) if who == on)
    }

    fn of_latency(self, whose: &str) -> String {
        match self {
            Self::Worse(who, pair) => {
                let change = change(&who.over_the_other(&pair.ratio));
                format!("{whose} latency {change} on {}", who.name())
            }
            Self::Mixed => format!("{whose} latency differing both ways"),
            Self::Alike => format!("{whose} latency alike"),
            Self::Untold => format!("{whose} latency not told apart"),
            Self::Unmeasured => format!("{whose} latency not measured on both"),
        }
    }
}

struct Sight<'a> {
    bandwidth: BTreeMap<NodeId, Vec<&'a CellPair>>,
    latency: BTreeMap<NodeId, Vec<&'a CellPair>>,
    rest: BTreeMap<&'a str, Vec<&'a CellPair>>,
}

impl<'a> Sight<'a> {
    fn of(between: &'a Between) -> Self {
        let mut sight =
            Self { bandwidth: BTreeMap::new(), latency: BTreeMap::new(), rest: BTreeMap::new() };
        for pair in &between.cells {
            match (pair.unit, &pair.column) {
                (Unit::GigabytesPerSecond, Place::Node(node)) => {
                    sight.bandwidth.entry(*node).or_default().push(pair);
                }
                (Unit::Nanoseconds, Place::Node(node)) => {
                    sight.latency.entry(*node).or_default().push(pair);
                }
                _ => sight.rest.entry(pair.probe.as_ref()).or_default().push(pair),
            }
        }
        sight
    }

    fn latency_of<'s>(&'s self, nodes: impl IntoIterator<Item = &'s NodeId>) -> Tendency<'a> {
        let of = |node| self.latency.get(node).into_iter().flatten().copied();
        Tendency::of(&nodes.into_iter().flat_map(of).collect::<Vec<_>>())
    }

    fn bandwidth(&self, on: Who) -> Option<String> {
        let lower: BTreeSet<NodeId> = worse_nodes(&self.bandwidth, on);
        let of_lower = lower.iter().flat_map(|node| &self.bandwidth[node]).copied();
        let different = of_lower.filter(|pair| pair.likeness == Likeness::Different);
        let best_known = best_known(different)?;
        let others: Vec<&CellPair> = self
            .bandwidth
            .iter()
            .filter(|(node, _)| !lower.contains(node))
            .flat_map(|(_, cells)| cells.iter().copied())
            .collect();
        let others = match Tendency::of(&others) {
            Tendency::Unmeasured if lower.len() == 1 => "it is the only node that both have",
            Tendency::Unmeasured => "of all nodes that both have",
            Tendency::Alike => "other nodes alike",
            Tendency::Untold => "no difference told at other nodes",
            Tendency::Worse(..) | Tendency::Mixed => "other nodes not lower",
        };
        let latency = self.latency_of(&lower);
        let suspect = match (latency.is_worse(on), lower.len() == self.bandwidth.len()) {
            (true, _) => "slower memory, or a longer way to it",
            (false, true) => "a memory module or channel, or slower memory",
            (false, false) => "a memory module or channel there",
        };
        Some(format!(
            "bandwidth of {} is {} on {}, {}, {others}: suspect {suspect}",
            nodes(&lower),
            change(&on.over_the_other(&best_known.ratio)),
            on.name(),
            latency.of_latency("its")
        ))
    }

    /// Only checked when bandwidth shows nothing.
    fn latency(&self, on: Who) -> Option<String> {
        let higher = worse_nodes(&self.latency, on);
        let Tendency::Worse(_, best_known) = self.latency_of(&higher) else { return None };
        let is_far = |pair: &&CellPair| {
            pair.class.get().is_some_and(|class| *class > DistanceClass::SameNode)
        };
        let (far, near): (Vec<_>, Vec<_>) =
            self.latency.values().flatten().copied().partition(is_far);
        let (near, far) = (Tendency::of(&near), Tendency::of(&far));
        let (place, suspect) = if far.is_worse(on) && !near.is_worse(on) {
            ("between nodes".to_owned(), "what connects the sockets, or its frequency")
        } else if higher.len() == self.latency.len() {
            ("everywhere".to_owned(), "the frequency of processor or fabric, or slower memory")
        } else {
            (format!("at {}", nodes(&higher)), "the memory there, or the frequency of that socket")
        };
        Some(format!(
            "latency on {}, {place}, is {} where it is best known: suspect {suspect}",
            on.name(),
            change(&on.over_the_other(&best_known.ratio))
        ))
    }

    fn rest(&self) -> Vec<String> {
        let said = |cells: &Vec<&CellPair>| match Tendency::of(cells) {
            Tendency::Worse(who, pair) => {
                Some(format!("{} is slower on {}: {}", named(pair), who.name(), {
                    change(&who.over_the_other(&pair.ratio))
                }))
            }
            _ => None,
        };
        self.rest.values().filter_map(said).collect()
    }
}

fn worse_nodes(cells: &BTreeMap<NodeId, Vec<&CellPair>>, on: Who) -> BTreeSet<NodeId> {
    let is_worse = |cells: &Vec<&CellPair>| Tendency::of(cells).is_worse(on);
    cells.iter().filter(|(_, cells)| is_worse(cells)).map(|(node, _)| *node).collect()
}

fn nodes(nodes: &BTreeSet<NodeId>) -> String {
    let numbers: Vec<String> = nodes.iter().map(ToString::to_string).collect();
    match &numbers[..] {
        [one] => format!("node {one}"),
        many => format!("nodes {}", many.join(", ")),
    }
}

fn scores(between: &Between) -> Option<String> {
    let is_different = |pair: &&ScorePair| pair.likeness == Likeness::Different;
    let different = between.scores.iter().filter(is_different).count();
    if different == 0 {
        return None;
    }
    if between.cells.is_empty() {
        return Some(
            "no figure of the hardware is there on both: run access-cost on both, so that more can \
             be told"
                .to_owned(),
        );
    }
    let alike = between.cells.iter().all(|pair| pair.likeness != Likeness::Different);
    alike.then(|| {
        format!(
            "the hardware shows no difference in {} figures: suspect the frequency of CPUs, other load \
             or settings",
            between.cells.len()
        )
    })
}

fn traits(between: &Between) -> Option<String> {
    let differ = between.traits.iter().filter(|it| !it.same).filter_map(|it| {
        let (a, b) = (it.a.get()?, it.b.get()?);
        Some(format!("{} ({a} / {b})", it.what))
    });
    let differ: Vec<String> = differ.collect();
    (!differ.is_empty())
        .then(|| format!("the two differ before anything is measured: {}", differ.join(", ")))
}
