//! Observations beside a measurement, if they explain something.

use std::collections::BTreeMap;

use hopcost_core::{Arm, Details, gauge};

use crate::words::{figure, plural};

pub fn facts_observed(details: &Details) -> Vec<(&'static str, String)> {
    let mut facts: Vec<_> = workers(details).into_iter().map(|text| ("workers", text)).collect();
    let found =
        [("switches", switches(details)), ("memory", memory(details)), ("log", log(details))];
    facts.extend(found.into_iter().filter_map(|(name, text)| Some((name, text?))));
    facts
}

/// Context switches, if there is at least one per call and they may explain its time.
fn switches(details: &Details) -> Option<String> {
    let window_s = details.window_s + details.guard_s;
    let at = |arm: &Arm| {
        let found = arm.observed.iter().find(|o| o.is(gauge::CONTEXT_SWITCHES))?;
        let calls = arm.calls as f64 / arm.windows as f64;
        (found.value > calls)
            .then(|| format!("{} a second at {}", figure(found.value / window_s), arm.level))
    };
    let each: Vec<String> = details.arms.iter().filter_map(at).collect();
    (!each.is_empty()).then(|| each.join(", "))
}

/// The cost of page faults, if each call had at least one: kernel time for them, and TLB
/// shootdowns. Of the variant with the most.
fn memory(details: &Details) -> Option<String> {
    let window_s = details.window_s + details.guard_s;
    let of_arm = |arm: &Arm| {
        let sum =
            |gauge| -> f64 { arm.observed.iter().filter(|o| o.is(gauge)).map(|o| o.value).sum() };
        let [program, kernel] = [gauge::WORKER_PROGRAM_MS, gauge::WORKER_KERNEL_MS].map(sum);
        let faults = sum(gauge::WORKER_PAGE_FAULTS);
        let is_much = faults >= arm.calls as f64 / arm.windows as f64 && kernel > 0.0;
        is_much.then(|| (kernel / (program + kernel), faults, sum(gauge::TLB_SHOOTDOWNS)))
    };
    let arms = details.arms.iter().filter_map(|arm| Some((arm, of_arm(arm)?)));
    let (arm, (share, faults, forgotten)) = arms.max_by(|(_, a), (_, b)| a.0.total_cmp(&b.0))?;
    Some(format!(
        "{:.0}% of the workers' time is the kernel's{}, {} page faults and {} shoot-downs a second at {} \
         with {}",
        100.0 * share,
        doors(arm),
        figure(faults / window_s),
        figure(forgotten / window_s),
        arm.level,
        plural(arm.streams as usize, "client"),
    ))
}

/// The most frequent kernel entry points by samples.
fn doors(arm: &Arm) -> String {
    const MOST: usize = 3;
    let samples = || arm.observed.iter().filter(|o| o.is(gauge::KERNEL_SAMPLES));
    let all: f64 = samples().map(|door| door.value).sum();
    let mut doors: Vec<_> = samples().filter(|door| door.value > 0.05 * all).collect();
    doors.sort_by(|a, b| b.value.total_cmp(&a.value));
    let words = doors.iter().take(MOST);
    let words: Vec<String> =
        words.map(|door| format!("{} {:.0}%", door.of, 100.0 * door.value / all)).collect();
    if words.is_empty() { String::new() } else { format!(" ({} of it)", words.join(", ")) }
}

/// Log bytes written and flush time, if the database wrote any.
fn log(details: &Details) -> Option<String> {
    let window_s = details.window_s + details.guard_s;
    let at = |arm: &Arm| {
        let mean = |gauge| {
            let found = arm.observed.iter().find(|o| o.is(gauge) && o.of.is_empty())?;
            Some(found.value)
        };
        let kib = mean(gauge::WAL_BYTES)? / 1024.0;
        let flushes = mean(gauge::LOG_FLUSHES).filter(|flushes| *flushes > 0.0);
        let flush = flushes
            .zip(mean(gauge::LOG_FLUSH_MS))
            .map_or(String::new(), |(count, ms)| format!(", {} ms a flush", figure(ms / count)));
        (kib >= 1.0)
            .then(|| format!("{} KiB a second{flush} at {}", figure(kib / window_s), arm.level))
    };
    let each: Vec<String> = details.arms.iter().filter_map(at).collect();
    (!each.is_empty()).then(|| each.join("; "))
}

pub fn cpu(arm: &Arm) -> String {
    let of_cpus = |gauge| -> f64 {
        let all = arm.observed.iter().filter(|o| o.is(gauge) && o.of.starts_with("cpu"));
        all.map(|observation| observation.value).sum()
    };
    let busy = of_cpus(gauge::CPU_USER_MS) + of_cpus(gauge::CPU_SYSTEM_MS);
    let all = busy + of_cpus(gauge::CPU_IDLE_MS) + of_cpus(gauge::CPU_STEAL_MS);
    if all > 0.0 { format!("{:.0}%", 100.0 * busy / all) } else { "–".to_owned() }
}

/// Samples of workers by the leader's node, then by the worker's.
type Looks = BTreeMap<String, Vec<(String, f64)>>;

/// One line per variant with workers: `leader at 1 client: with the session on node 0, 54% on node
/// 0, 46% on node 1`.
fn workers(details: &Details) -> Vec<String> {
    details.arms.iter().filter_map(workers_of).collect()
}

fn workers_of(arm: &Arm) -> Option<String> {
    let each: Vec<String> = looks(arm)
        .into_iter()
        .filter_map(|(leader, by_node)| {
            let all: f64 = by_node.iter().map(|(_, looks)| looks).sum();
            let share = |(node, looks): &(String, f64)| {
                format!("{:.0}% on node {node}", 100.0 * looks / all)
            };
            let shares: Vec<String> = by_node.iter().map(share).collect();
            let beside = match leader.as_str() {
                "" => String::new(),
                node => format!("with the session on node {node}, "),
            };
            (all > 0.0).then(|| format!("{beside}{}", shares.join(", ")))
        })
        .collect();
    let streams = plural(arm.streams as usize, "client");
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
        assert!(workers(&details).is_empty(), "nobody worked in parallel");
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
        let told = workers(&details);
        assert!(
            told[0].ends_with(": with the session on node 0, 75% on node 0, 25% on node 1"),
            "{told:?}"
        );
        assert!(told[1].ends_with(": 50% on node 0, 50% on node 1"), "{told:?}");
    }
}
