//! The figures that a verdict is based on, as reported.

use std::collections::{BTreeMap, BTreeSet};

use hopcost_core::{
    Arm, BlockRecord, CostSoFar, Details, Estimate, Gauge, KindsOfStarts, Lookups, NodeId,
    Observation, Phase, PointCost, Response, StartsFound, Window, gauge,
};
use hopcost_stats::starts::NoKinds;
use hopcost_stats::{cost, cost_interval, starts};

use super::case::{self, Case, Circumstances, Finding};
use crate::plan::Point;
use crate::schedule::{CompleteUnit, LEVEL, Schedule, contrast, contrasts, log_rate};

/// Random arrivals alone vary about as much.
const SERVED: f64 = 0.8;

impl Case<'_> {
    pub(super) fn details(&self, schedule: &Schedule<'_>, findings: &[Finding]) -> Details {
        let (mut blocks, mut dropped) = (BTreeMap::new(), BTreeMap::new());
        for block in self.blocks {
            let phase = format!("{:?}", block.trial.phase).to_lowercase();
            *blocks.entry(phase).or_default() += 1;
            if let Some(disturbed) = block.disturbed() {
                *dropped.entry(disturbed).or_default() += 1;
            }
        }
        let mut notes = self.circumstances.notes.clone();
        notes.extend(self.long_disagrees(findings));
        notes.extend(self.overloaded());
        notes.extend(self.contention());
        notes.extend(self.comparison.is_score().then(|| self.highest_use()).flatten());
        Details {
            identity: self.circumstances.identity.clone(),
            bindings: self.plan.bindings.iter().map(describe).collect(),
            window_s: self.pace.window_s,
            guard_s: self.pace.guard_s,
            blocks,
            dropped,
            starts: self.starts(schedule, findings),
            scores: Vec::new(),
            contended: self.circumstances.contended,
            points: self.points(schedule, findings),
            spreads: self.spreads(schedule, findings),
            scaling: self.scaling(),
            arms: self.arms(&self.counted(schedule, findings)),
            tier: self.tier(),
            proved_by: self.proved_by(),
            placebo: self.placebo_estimate(),
            harness_ns_per_call: self.circumstances.harness_ns_per_call,
            plans: self.circumstances.plans.clone(),
            left_out: self
                .plan
                .left_out
                .iter()
                .map(|left_out| format!("{}: {}", left_out.what, left_out.reason))
                .collect(),
            notes,
        }
    }

    fn contention(&self) -> Option<String> {
        let Circumstances { measured_again, contended, .. } = self.circumstances;
        let again = match measured_again {
            0 => return None,
            1 => "one start was".to_owned(),
            again => format!("{again} starts were"),
        };
        let kept = match contended {
            0 => String::new(),
            kept => format!(", and {kept} of those that count were like that, too"),
        };
        Some(format!("{again} measured again because others used more than 5% of a CPU{kept}"))
    }

    /// Of the first reported point.
    fn starts(&self, schedule: &Schedule<'_>, findings: &[Finding]) -> Option<StartsFound> {
        let finding = findings.first()?;
        let by_start = schedule.by_start(self.blocks, finding.point);
        let by_start: Vec<Vec<f64>> = by_start.iter().map(|units| contrasts(units)).collect();
        let parts = starts::parts(&by_start)?;
        let means = contrasts(&schedule.values(self.blocks, finding.point));
        let goal = self.pace.goal(findings.len());
        let errors = goal.looks.half_width_in_errors(finding.units, finding.units)?;
        let twice = 2 * finding.units;
        let with_twice = self.pace.goal_with(twice as u64, findings.len());
        let with_twice = with_twice.looks.half_width_in_errors(twice, twice);
        let measured = &means[..finding.units];
        let (kinds, changed_after) = match self.kinds(schedule, finding.point, &means) {
            Ok(kinds) => (Some(kinds), None),
            Err(NoKinds::ChangedAfter(starts)) => (None, Some(starts as u64)),
            Err(NoKinds::NotSeen) => (None, None),
        };
        Some(StartsFound {
            n: means.len() as u64,
            units: self.pace.starts?.units,
            sd_start: parts.tau,
            sd_start_seen: parts.tau_seen,
            sd_unit: parts.sigma,
            sees: starts::sees(measured, errors)?,
            sees_with_twice: with_twice.and_then(|it| starts::sees_with(twice, measured, it)),
            costs: means.into_iter().map(cost).collect(),
            kinds,
            changed_after,
        })
    }

    /// By the throughput of the baseline. `of_starts` are the contrasts of starts.
    fn kinds(
        &self,
        schedule: &Schedule<'_>,
        point: Point,
        of_starts: &[f64],
    ) -> Result<KindsOfStarts, NoKinds> {
        let rates = contrasts(&schedule.values_by(log_rate, self.blocks, point));
        let in_time: Vec<(usize, usize)> = (0..rates.len()).map(|start| (0, start)).collect();
        let found = starts::two_kinds(&[rates], &in_time)?;
        let slow = found.slow.into_iter().next().unwrap_or_default();
        let of = |kind: bool| {
            let of_kind = of_starts.iter().zip(&slow).filter(|(_, slow)| **slow == kind);
            let of_kind: Vec<f64> = of_kind.map(|(contrast, _)| *contrast).collect();
            starts::across(&of_kind, LEVEL).as_ref().map(cost_interval).ok_or(NoKinds::NotSeen)
        };
        let costs = [of(false)?, of(true)?];
        Ok(KindsOfStarts { slow, slower: cost(found.step), costs })
    }

    pub(super) fn points(&self, schedule: &Schedule<'_>, findings: &[Finding]) -> Vec<PointCost> {
        let mut points = Vec::new();
        if let Some(found) = schedule.worst(self.blocks) {
            for (n, point) in self.plan.points.iter().enumerate() {
                let contrasts = schedule.contrasts(self.blocks, Phase::Search, *point);
                let Some(cost) = hopcost_stats::simple_cost(&contrasts) else { continue };
                points.push(PointCost {
                    streams: point.streams,
                    level: self.plan.levels[point.level].clone(),
                    cost,
                    exploratory: true,
                    may_be_worst: n == found.worst || found.not_excluded.contains(&n),
                    looks: Vec::new(),
                });
            }
        }
        for finding in findings {
            let Some(standing) = &finding.standing else { continue };
            points.push(PointCost {
                streams: finding.point.streams,
                level: self.plan.levels[finding.point.level].clone(),
                cost: standing.cost,
                exploratory: false,
                may_be_worst: true,
                looks: self.looks(schedule, finding.point, findings.len()),
            });
        }
        points
    }

    pub(super) fn looks(
        &self,
        schedule: &Schedule<'_>,
        point: Point,
        comparisons: usize,
    ) -> Vec<CostSoFar> {
        let units = schedule.values(self.blocks, point);
        let contrasts = contrasts(&units);
        let goal = self.pace.goal(comparisons);
        // Blocks are timed from the first one on; the verdict came right after the last one.
        let end_s = self.blocks.iter().map(BlockRecord::end_s).fold(0.0, f64::max);
        let before_s = (self.circumstances.seconds - end_s).max(0.0);
        let look = |(n, unit): (usize, &CompleteUnit)| {
            let cost = goal.look(&contrasts[..=n])?.cost;
            Some(CostSoFar { after_s: before_s + unit.end_s, cost })
        };
        units.iter().enumerate().filter_map(look).collect()
    }

    fn arms(&self, counted: &BTreeSet<u64>) -> Vec<Arm> {
        let streams: BTreeSet<u32> = self.plan.points.iter().map(|point| point.streams).collect();
        let levels = 0..self.plan.levels.len();
        let each =
            streams.iter().flat_map(|&streams| levels.clone().map(move |level| (streams, level)));
        each.filter_map(|(streams, level)| self.arm(streams, level, counted)).collect()
    }

    fn arm(&self, streams: u32, level: usize, counted: &BTreeSet<u64>) -> Option<Arm> {
        let is_counted = |block: &BlockRecord| counted.contains(&block.trial.number);
        let windows = self.windows_of(level, Some(streams));
        let windows: Vec<&Window> =
            windows.filter(|(block, _)| is_counted(block)).map(|(_, window)| window).collect();
        let latency = case::latency(windows.iter().copied());
        let (mean, deviation) = latency.mean_and_deviation_ns()?;
        let quantile = |share| latency.quantile_ns(share).unwrap_or(f64::NAN);
        let latency_ns = [mean, deviation, quantile(0.5), quantile(0.95), quantile(0.99)];
        let [times, modes] = self.distribution(&latency);
        // A target may know which pages were read, but not how often.
        let knows = |which: fn(&Lookups) -> &BTreeMap<NodeId, u64>| {
            self.stands_on_one_node(level)
                && windows.iter().all(|window| window.lookups.is_some())
                && windows.iter().any(|window| {
                    window.lookups.as_ref().is_some_and(|lookups| !which(lookups).is_empty())
                })
        };
        let sides =
            self.lookups(level, |block| block.trial.streams == streams && is_counted(block));
        let rate = windows.iter().map(|window| window.rate).sum::<f64>() / windows.len() as f64;
        Some(Arm {
            level: self.plan.levels[level].clone(),
            streams,
            windows: windows.len() as u64,
            calls: windows.iter().map(|window| window.calls).sum(),
            errors: windows.iter().map(|window| window.errors).sum(),
            first_error: windows.iter().find_map(|window| window.first_error.clone()),
            response: self.response(rate),
            latency_ms: Some(latency_ns.map(|ns| ns / 1e6)),
            times,
            modes,
            acquisitions: knows(|lookups| &lookups.acquisitions).then_some(sides.acquisitions),
            distinct_pages: knows(|lookups| &lookups.distinct_pages).then_some(sides.pages),
            observed: means(&windows),
        })
    }

    pub(super) fn response(&self, calls_per_s: f64) -> f64 {
        match self.comparison.response {
            Response::CallsPerSecond => calls_per_s,
            Response::QueriesPerHour => {
                calls_per_s * 3600.0 / self.circumstances.calls_per_query.max(1) as f64
            }
        }
    }

    pub(super) fn placebo_estimate(&self) -> Option<Estimate> {
        let contrasts = self.placebo();
        // The interval of two or three blocks is meaningless.
        (contrasts.len() >= 4).then(|| hopcost_stats::simple_cost(&contrasts)).flatten()
    }

    /// Calls queue without end, and those never sent have no latency.
    pub(super) fn overloaded(&self) -> Option<String> {
        let asked = self.comparison.load.open?.calls_per_s;
        let slowest = self.windows().map(|window| window.rate).min_by(f64::total_cmp)?;
        (slowest < SERVED * asked).then(|| {
            format!(
                "{asked:.0} calls a second were due, and in one window {slowest:.0} were answered: the target is \
                 overloaded, and its response times grow with the window"
            )
        })
    }

    fn highest_use(&self) -> Option<String> {
        let mean = |of_cpus: &BTreeMap<String, f64>| {
            of_cpus.values().sum::<f64>() / of_cpus.len().max(1) as f64
        };
        let all = self.windows().map(busy_shares);
        let highest = all.max_by(|a, b| mean(a).total_cmp(&mean(b)))?;
        let mean = mean(&highest);
        let mut of_cpus: Vec<(&String, &f64)> = highest.iter().collect();
        of_cpus.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        let told = |(cpu, share): &(&String, &f64)| format!("{cpu} {:.0}%", 100.0 * **share);
        let (busiest, idlest) = (of_cpus.first()?, of_cpus.last()?);
        let shares: Vec<f64> = of_cpus.iter().map(|(_, share)| **share).collect();
        let told = if of_cpus.len() <= 8 {
            let each: Vec<String> = of_cpus.iter().map(told).collect();
            format!("CPU use in the busiest window: {}", each.join(", "))
        } else {
            format!(
                "CPU use in the busiest window: {:.0}% of all {}; busiest {}, idlest {}",
                100.0 * mean,
                of_cpus.len(),
                told(busiest),
                told(idlest)
            )
        };
        Some(told + &unfilled(mean, &shares))
    }

    /// A long block shows slow effects that short blocks cannot.
    pub(super) fn long_disagrees(&self, findings: &[Finding]) -> Option<String> {
        let long = self.blocks.iter().find(|block| block.trial.phase == Phase::Long)?;
        let found = cost(contrast(long)?);
        let of_short = findings.first()?.standing.as_ref()?.cost;
        // About three standard errors of a single short block.
        let half = (of_short.high - of_short.low) * (of_short.n_effective.sqrt() / 2.0);
        let seconds = self.pace.long_s?;
        Some(if (found - of_short.point).abs() <= half {
            format!(
                "one block of windows of {seconds:.0} s agrees: {:+.1}% throughput",
                -100.0 * found
            )
        } else {
            format!(
                "one block of windows of {seconds:.0} s disagrees: {:+.1}% throughput. There is a slow \
                 effect: run it again with longer windows, --set window={seconds:.0}s",
                -100.0 * found
            )
        })
    }

    /// The injected cost. If CPU counts are compared, sibling threads would not slow each other
    /// without it.
    pub(super) fn planted(&self, reported: &[Point]) -> Option<f64> {
        let point = reported.first()?;
        let fresh = self.blocks.iter().filter(|block| {
            let trial = &block.trial;
            let is_fresh = trial.phase == Phase::Fresh && block.disturbed().is_none();
            is_fresh && Point::of(trial) == *point
        });
        let varies = self.comparison.levels.iter().any(|level| level.siblings.is_some());
        let hands = |block: &BlockRecord, level: usize| {
            let workers = &self.plan.placements[block.trial.binding][level].settings.workers;
            workers.len().min(point.streams as usize) as f64
        };
        let log_left = |block: &BlockRecord| -> f64 {
            let of = |window: &Window| {
                let left = (1.0 - window.planted).ln() / 2.0;
                if window.tested { left } else { -left }
            };
            let left: f64 = block.windows.iter().map(of).sum();
            left + if varies { (hands(block, point.level) / hands(block, 0)).ln() } else { 0.0 }
        };
        let all: Vec<f64> = fresh.map(log_left).collect();
        // Avoids a negative zero.
        (!all.is_empty()).then(|| cost(all.iter().sum::<f64>() / all.len() as f64) + 0.0)
    }
}

/// The load fills the machine.
const FULL: f64 = 0.9;
/// The CPU is idle below this.
const IDLE: f64 = 0.1;

fn unfilled(mean: f64, shares: &[f64]) -> String {
    if mean >= FULL {
        return String::new();
    }
    let idle = shares.iter().filter(|share| **share < IDLE).count();
    let idle = match idle {
        0 => String::new(),
        idle if 2 * idle >= shares.len() => format!("; {idle} of them were idle, half or more"),
        idle => format!("; {idle} of them were idle"),
    };
    format!(
        ". This load used {:.0}% of {} CPUs{idle}. The score is the limit of the load, not of the machine",
        100.0 * mean,
        shares.len()
    )
}

fn busy_shares(window: &Window) -> BTreeMap<String, f64> {
    let mut times: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for observation in window.observations.iter().filter(|o| o.of.starts_with("cpu")) {
        let is_one_of = |gauges: [&Gauge; 2]| gauges.iter().any(|gauge| observation.is(gauge));
        let is_busy = is_one_of([gauge::CPU_USER_MS, gauge::CPU_SYSTEM_MS]);
        let is_other = is_one_of([gauge::CPU_IDLE_MS, gauge::CPU_STEAL_MS]);
        if is_busy || is_other {
            let (busy, all) = times.entry(&observation.of).or_default();
            *busy += if is_busy { observation.value } else { 0.0 };
            *all += observation.value;
        }
    }
    let share = |(cpu, (busy, all)): (&str, (f64, f64))| (cpu.to_owned(), busy / all);
    times.into_iter().filter(|(_, (_, all))| *all > 0.0).map(share).collect()
}

fn describe(binding: &hopcost_core::Binding) -> String {
    let nodes = binding.nodes.iter().map(|(letter, node)| format!("{letter} = node {node}"));
    let turned = binding.turned.then(|| "the last threads and cores".to_owned());
    nodes.chain(turned).collect::<Vec<_>>().join(", ")
}

fn means(windows: &[&Window]) -> Vec<Observation> {
    let mut sums: BTreeMap<(&str, &str), (f64, u64)> = BTreeMap::new();
    for observation in windows.iter().flat_map(|window| &window.observations) {
        let sum = sums.entry((&observation.metric, &observation.of)).or_default();
        *sum = (sum.0 + observation.value, sum.1 + 1);
    }
    sums.into_iter()
        .map(|((metric, of), (sum, n))| Observation {
            metric: metric.to_owned().into(),
            of: of.to_owned(),
            value: sum / n as f64,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_was_not_filled_is_named_with_its_idle_cpus() {
        assert_eq!(unfilled(0.95, &[0.9, 1.0]), "");
        let half = [[0.97; 40], [0.02; 40]].concat();
        let said = unfilled(0.495, &half);
        assert!(said.contains("50% of 80 CPUs; 40 of them were idle, half or more"), "{said}");
        assert!(unfilled(0.61, &[0.61; 80]).contains("61% of 80 CPUs. The score"));
    }
}
