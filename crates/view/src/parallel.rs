//! Where parallel workers ran, by the node of the session that they worked for.

use std::collections::BTreeMap;

use hopcost_core::{Arm, Details, gauge};

use crate::words::plural;

/// Looks that found a worker: by the leader's node, then by the worker's.
type Looks = BTreeMap<String, Vec<(String, f64)>>;

/// One line for each level that had any: `leader at 1 stream: with the session on node 0, 54 % on node 0,
/// 46 % on node 1`.
pub fn lines(details: &Details) -> Vec<String> {
    details.arms.iter().filter_map(line).collect()
}

fn line(arm: &Arm) -> Option<String> {
    let each: Vec<String> = looks(arm)
        .into_iter()
        .filter_map(|(leader, by_node)| {
            let all: f64 = by_node.iter().map(|(_, looks)| looks).sum();
            let share = |(node, looks): &(String, f64)| {
                format!("{:.0} % on node {node}", 100.0 * looks / all)
            };
            let shares: Vec<String> = by_node.iter().map(share).collect();
            let beside = match leader.as_str() {
                "" => String::new(),
                node => format!("with the session on node {node}, "),
            };
            (all > 0.0).then(|| format!("{beside}{}", shares.join(", ")))
        })
        .collect();
    let streams = plural(arm.streams as usize, "stream");
    (!each.is_empty()).then(|| format!("{} at {streams}: {}", arm.level, each.join("; ")))
}

fn looks(arm: &Arm) -> Looks {
    let mut looks = Looks::new();
    for seen in arm.observed.iter().filter(|seen| seen.is(gauge::PARALLEL_WORKER_SAMPLES)) {
        let Some(place) = seen.of.strip_prefix("node ") else { continue };
        let (node, leader) = place.split_once(", leader on node ").unwrap_or((place, ""));
        looks.entry(leader.to_owned()).or_default().push((node.to_owned(), seen.value));
    }
    looks
}

#[cfg(test)]
mod tests {
    use hopcost_core::{Observation, Verdict};

    use super::*;
    use crate::sample::Sample;

    #[test]
    fn shares_are_told_by_the_node_of_the_session() {
        let mut details =
            Sample::compared("x", Verdict::Cost, 0.1, 0.01).result.details.expect("a comparison");
        assert!(lines(&details).is_empty(), "nobody worked in parallel");
        let seen = |of: &str, value| Observation {
            metric: gauge::PARALLEL_WORKER_SAMPLES.name.into(),
            of: of.into(),
            value,
        };
        details.arms[0].observed = vec![
            seen("cpu 0, leader on node 0", 3.0),
            seen("node 0, leader on node 0", 3.0),
            seen("node 0, leader on node 1", 0.0),
            seen("node 1, leader on node 0", 1.0),
            seen("node 1, leader on node 1", 0.0),
        ];
        details.arms[1].observed = vec![seen("node 0", 2.0), seen("node 1", 2.0)];
        let told = lines(&details);
        assert!(
            told[0].ends_with(": with the session on node 0, 75 % on node 0, 25 % on node 1"),
            "{told:?}"
        );
        assert!(told[1].ends_with(": 50 % on node 0, 50 % on node 1"), "{told:?}");
    }
}
