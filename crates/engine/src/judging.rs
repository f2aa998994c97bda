//! From kept blocks to a verdict. Pure: the same blocks give the same result on any machine.

use std::collections::{BTreeMap, BTreeSet};

use hopcost_core::{
    Arm, BlockRecord, Claim, Comparison, CostSoFar, Details, Estimate, Experiment,
    ExperimentResult, Headline, Histogram, Known, NodeId, Observation, Phase, PointCost, Proved,
    Reason, Response, Unit, Verdict, Window,
};
use hopcost_stats::{Standing, consistent_with_zero, cost};

use crate::plan::{Plan, Point};
use crate::schedule::{CompleteUnit, Pace, Schedule, contrast};

/// What is known of a run beside its blocks. Kept with it.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Circumstances {
    /// The target's URL.
    pub target: String,
    /// The database, with its version.
    pub identity: String,
    /// How it carries its statements out, before the first block.
    pub plans: Vec<String>,
    /// The same after the last one.
    pub plans_after: Vec<String>,
    /// Nanoseconds of a call that are our own.
    pub harness_ns_per_call: f64,
    /// Does the database share our process and its CPUs?
    pub in_process: bool,
    /// Was distance planted?
    pub emulated: bool,
    /// Calls that make one whole query.
    pub calls_per_query: u64,
    /// What else the reader should know.
    pub notes: Vec<String>,
    /// Wall time, preparation included.
    pub seconds: f64,
}

/// What a run was: all that a verdict follows from.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Its comparison.
    pub comparison: &'a Comparison,
    /// What was measured where.
    pub plan: &'a Plan,
    /// How long everything took, and what it was to reach.
    pub pace: &'a Pace,
    /// The blocks.
    pub blocks: &'a [BlockRecord],
    /// What else is known.
    pub circumstances: &'a Circumstances,
}

/// A run with more wrong answers than this measured something else.
const TOLERABLE_ERRORS: f64 = 0.001;
/// In our own process, our share of a call must be smaller.
const TOLERABLE_HARNESS: f64 = 0.05;
/// By Little's law streams = throughput × response time, within this.
const LITTLE_WITHIN: f64 = 0.02;
/// It is only asked where a window holds so many calls one after the other.
const LITTLE_CALLS: f64 = 20.0;

/// An open loop whose rate is served to less than this is overloaded: random arrivals alone vary so much.
const SERVED: f64 = 0.8;

/// What can be claimed in an experiment file.
pub const METRICS: &[&str] = &["local_lookups", "remote_lookups"];

/// The verdict.
pub fn conclude(case: &Case<'_>) -> ExperimentResult {
    let schedule = Schedule::new(case.plan, case.pace, case.comparison.find_worst);
    let reported = schedule.reported(case.blocks);
    let proof = case.proof();
    let findings: Vec<Finding> =
        reported.iter().map(|point| case.find(&schedule, *point, reported.len())).collect();
    // Of several, the clearest: the one whose interval is farthest from no difference.
    let clearest = findings.iter().max_by(|a, b| a.clarity().total_cmp(&b.clarity()));
    let objection = case
        .objection(&proof)
        .or_else(|| findings.iter().find_map(|finding| finding.outcome.as_ref().err().cloned()));
    let (verdict, reason) = match (objection, clearest) {
        (Some(reason), _) => (Verdict::Refused, reason),
        (None, Some(Finding { outcome: Ok(verdict), reason, .. })) => (*verdict, reason.clone()),
        (None, _) => (Verdict::Inconclusive, "there are no blocks".into()),
    };
    let estimate = match clearest
        .and_then(|finding| finding.standing.as_ref().map(|s| (finding, s)))
    {
        Some((finding, standing)) => Known::Is(Headline {
            of: format!("cost of {}", case.name(finding.point)),
            unit: Unit::Fraction,
            estimate: standing.cost,
        }),
        None => Known::Missing(clearest.map_or("there are no blocks".into(), |f| f.reason.clone())),
    };
    let circumstances = case.circumstances;
    ExperimentResult {
        version: 1,
        experiment: case.experiment.name.clone(),
        question: case.experiment.question.clone(),
        target: Known::Is(circumstances.target.clone()),
        verdict,
        reason,
        estimate,
        proof,
        emulated: circumstances.emulated,
        planted: circumstances.emulated.then(|| case.planted(&reported)).flatten(),
        details: Some(case.details(&schedule, &findings)),
        seconds: circumstances.seconds,
    }
}

/// What was found of one point.
struct Finding {
    point: Point,
    standing: Option<Standing>,
    outcome: Result<Verdict, Reason>,
    reason: Reason,
}

impl Finding {
    fn clarity(&self) -> f64 {
        let cost = self.standing.as_ref().map(|standing| standing.cost);
        cost.map_or(f64::NEG_INFINITY, |cost| cost.low.max(-cost.high))
    }
}

impl Case<'_> {
    fn name(&self, point: Point) -> String {
        let level = &self.plan.levels[point.level];
        let streams = if point.streams == 1 { "stream" } else { "streams" };
        format!("{level} over {} at {} {streams}", self.plan.levels[0], point.streams)
    }

    /// A point's verdict, or why there can be none.
    fn find(&self, schedule: &Schedule<'_>, point: Point, comparisons: usize) -> Finding {
        let contrasts = schedule.contrasts(self.blocks, Phase::Fresh, point);
        let goal = self.pace.goal(comparisons);
        let looked =
            (0..=contrasts.len()).rev().find_map(|n| Some((n, goal.look(&contrasts[..n])?)));
        let Some((n, standing)) = looked else {
            let reason = format!(
                "{} of the 8 units of blocks that a first look needs fitted into the budget: \
                 give it more with --budget",
                contrasts.len()
            );
            let (outcome, reason) = (Ok(Verdict::Inconclusive), reason.into());
            return Finding { point, standing: None, outcome, reason };
        };
        let outcome = goal.judge(&contrasts[..n], &standing);
        let reason = match &outcome {
            Ok(verdict) => self.reason(*verdict, &standing, n),
            Err(reason) => reason.clone(),
        };
        Finding { point, standing: Some(standing), outcome, reason }
    }

    fn reason(&self, verdict: Verdict, standing: &Standing, units: usize) -> Reason {
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        let cost = &standing.cost;
        let material = cost.low > self.pace.margin || cost.high < -self.pace.margin;
        match verdict {
            Verdict::Cost | Verdict::Gain if material => {
                format!("the interval lies beyond ±{}", percent(self.pace.margin)).into()
            }
            Verdict::Cost | Verdict::Gain => "the interval excludes zero".into(),
            Verdict::Equivalent => {
                format!("any difference is smaller than {}", percent(self.pace.margin)).into()
            }
            _ => {
                let needed = standing.blocks_needed.max(units + 1);
                let minutes =
                    self.circumstances.seconds / 60.0 * needed as f64 / units.max(1) as f64;
                format!(
                    "the interval holds zero and more than ±{}; some {needed} units of blocks would \
                     decide, instead of {units}: --budget {:.0}m",
                    percent(self.pace.margin),
                    minutes.ceil().max(1.0)
                )
                .into()
            }
        }
    }

    /// Why nothing that was found counts, if that is so.
    fn objection(&self, proof: &[Proved]) -> Option<Reason> {
        let misplaced = self.blocks.iter().find_map(|block| block.objection().cloned());
        misplaced
            .or_else(|| self.wrong_answers())
            .or_else(|| self.unproved(proof))
            .or_else(|| self.changed_plans())
            .or_else(|| self.harness_in_the_way())
            .or_else(|| self.little_disagrees())
            .or_else(|| self.placebo_works())
    }

    fn windows(&self) -> impl Iterator<Item = &Window> {
        self.blocks.iter().flat_map(|block| &block.windows)
    }

    fn wrong_answers(&self) -> Option<Reason> {
        let errors: u64 = self.windows().map(|window| window.errors).sum();
        let calls: u64 = self.windows().map(|window| window.calls).sum();
        let first = self.windows().find_map(|window| window.first_error.as_deref());
        (errors as f64 > TOLERABLE_ERRORS * calls as f64).then(|| {
            let first = first.unwrap_or("no words");
            format!("{errors} of {calls} calls failed or came back wrong, the first: {first}")
                .into()
        })
    }

    fn unproved(&self, proof: &[Proved]) -> Option<Reason> {
        let failed = proof.iter().find(|proved| !proved.holds());
        if let Some(proved) = failed {
            let (found, least) = (100.0 * proved.found, 100.0 * proved.least);
            let claim = &proved.claim;
            return Some(
                format!("{claim}: {found:.1} %, where {least:.0} % were asked for").into(),
            );
        }
        let provable = self.windows().all(|window| window.lookups.is_some());
        let claimed = !self.comparison.claims.is_empty() && !self.blocks.is_empty();
        (claimed && !provable)
            .then(|| "this target cannot tell what it looked up where: nothing is proved".into())
    }

    fn changed_plans(&self) -> Option<Reason> {
        let Circumstances { plans, plans_after, .. } = self.circumstances;
        (!plans_after.is_empty() && plans != plans_after)
            .then(|| "the database changed the way in which it carries a statement out".into())
    }

    fn harness_in_the_way(&self) -> Option<Reason> {
        let latency = self.all_latency();
        let (mean_ns, _) = latency.mean_and_deviation_ns()?;
        let own = self.circumstances.harness_ns_per_call;
        (self.circumstances.in_process && own > TOLERABLE_HARNESS * mean_ns).then(|| {
            format!("{own:.0} ns of each call of {mean_ns:.0} ns are the harness's own").into()
        })
    }

    fn all_latency(&self) -> Histogram {
        let mut latency = Histogram::default();
        for window in self.windows() {
            latency.add(&window.latency);
        }
        latency
    }

    fn little_disagrees(&self) -> Option<Reason> {
        if self.comparison.load.open.is_some() {
            return None;
        }
        let think_s = self.comparison.load.think_s;
        let (mut expected, mut found) = (0.0, 0.0);
        for block in self.blocks {
            for window in &block.windows {
                let (mean_ns, _) = window.latency.mean_and_deviation_ns()?;
                let cycle_s = mean_ns / 1e9 + think_s;
                if cycle_s * LITTLE_CALLS < window.seconds {
                    expected += f64::from(block.trial.streams);
                    found += window.rate * cycle_s;
                }
            }
        }
        let ratio = found / expected;
        (expected > 0.0 && (ratio - 1.0).abs() > LITTLE_WITHIN).then(|| {
            format!(
                "throughput × response time gives {:.1} % of the streams that there were (Little's \
                 law): calls went missing, or time did",
                100.0 * ratio
            )
            .into()
        })
    }

    fn placebo_works(&self) -> Option<Reason> {
        let contrasts = self.placebo();
        (!consistent_with_zero(&contrasts)).then(|| {
            let mean = contrasts.iter().sum::<f64>() / contrasts.len() as f64;
            format!(
                "the baseline costs {:+.1} % over itself, in {} blocks: this machine or this harness \
                 favours an arm",
                100.0 * cost(mean),
                contrasts.len()
            )
            .into()
        })
    }

    fn placebo(&self) -> Vec<f64> {
        let of_phase = |block: &&BlockRecord| block.trial.phase == Phase::Placebo;
        self.blocks.iter().filter(of_phase).filter_map(contrast).collect()
    }

    /// What the claims came to: by acquisitions, and by different pages.
    fn proof(&self) -> Vec<Proved> {
        self.comparison.claims.iter().flat_map(|claim| self.proved(claim)).collect()
    }

    /// The least share that was found in any of the bindings: a claim holds wherever it is made.
    fn proved(&self, claim: &Claim) -> Vec<Proved> {
        let Some(level) = self.plan.levels.iter().position(|level| *level == claim.level) else {
            return Vec::new();
        };
        let local = claim.metric == "local_lookups";
        let share = |[here, there]: [u64; 2]| {
            let wanted = if local { here } else { there };
            (here + there > 0).then(|| wanted as f64 / (here + there) as f64)
        };
        let counts: Vec<Sides> = (0..self.plan.bindings.len())
            .map(|binding| self.lookups(level, None, Some(binding)))
            .collect();
        let least = |of: fn(&Sides) -> [u64; 2]| {
            counts.iter().filter_map(|sides| share(of(sides))).min_by(f64::total_cmp)
        };
        let found = [
            ("acquisitions", least(|sides| sides.acquisitions)),
            ("different pages", least(|sides| sides.pages)),
        ];
        let proved = |(of, found): (&str, Option<f64>)| {
            let claim_text = format!("{} at {}, {of}", claim.metric, claim.level);
            Some(Proved { claim: claim_text, least: claim.least, found: found? })
        };
        found.into_iter().filter_map(proved).collect()
    }

    /// What a level looked up.
    fn lookups(&self, level: usize, streams: Option<u32>, binding: Option<usize>) -> Sides {
        let mut sides = Sides::default();
        let mut pages = BTreeMap::new();
        for (block, window) in self.windows_of(level, streams) {
            if binding.is_some_and(|binding| binding != block.trial.binding) {
                continue;
            }
            let at = self.plan.placements[block.trial.binding][level].at;
            let Some(lookups) = &window.lookups else { continue };
            add_sides(&mut sides.acquisitions, &lookups.acquisitions, at);
            // Different pages are counted from the session's begin: the last window knows all.
            let mut of_window = [0; 2];
            add_sides(&mut of_window, &lookups.distinct_pages, at);
            pages.insert(block.trial.binding, of_window);
        }
        for [here, there] in pages.into_values() {
            sides.pages = [sides.pages[0] + here, sides.pages[1] + there];
        }
        sides
    }

    /// The windows of a level's own crew.
    fn windows_of(
        &self,
        level: usize,
        streams: Option<u32>,
    ) -> impl Iterator<Item = (&BlockRecord, &Window)> {
        self.blocks.iter().flat_map(move |block| {
            let wanted = streams.is_none_or(|streams| streams == block.trial.streams);
            let of_level = move |window: &&Window| {
                wanted
                    && if window.tested {
                        block.trial.level == level && level > 0
                    } else {
                        level == 0
                    }
            };
            block.windows.iter().filter(of_level).map(move |window| (block, window))
        })
    }

    /// What planted distance really took, as the cost that it is.
    fn planted(&self, reported: &[Point]) -> Option<f64> {
        let point = reported.first()?;
        let fresh = self.blocks.iter().filter(|block| {
            let trial = &block.trial;
            trial.phase == Phase::Fresh
                && (trial.streams, trial.level) == (point.streams, point.level)
                && block.disturbed().is_none()
        });
        let log_left = |block: &BlockRecord| -> f64 {
            let of = |window: &Window| {
                let left = (1.0 - window.planted).ln() / 2.0;
                if window.tested { left } else { -left }
            };
            block.windows.iter().map(of).sum()
        };
        let all: Vec<f64> = fresh.map(log_left).collect();
        (!all.is_empty()).then(|| cost(all.iter().sum::<f64>() / all.len() as f64))
    }

    fn details(&self, schedule: &Schedule<'_>, findings: &[Finding]) -> Details {
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
        Details {
            identity: self.circumstances.identity.clone(),
            bindings: self.plan.bindings.iter().map(describe).collect(),
            window_s: self.pace.window_s,
            guard_s: self.pace.guard_s,
            blocks,
            dropped,
            points: self.points(schedule, findings),
            arms: self.arms(),
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

    /// The search's points, then what is reported.
    fn points(&self, schedule: &Schedule<'_>, findings: &[Finding]) -> Vec<PointCost> {
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

    /// How a reported point stood at each look.
    fn looks(&self, schedule: &Schedule<'_>, point: Point, comparisons: usize) -> Vec<CostSoFar> {
        let units = schedule.units(self.blocks, Phase::Fresh, point);
        let contrasts: Vec<f64> = units.iter().map(|unit| unit.contrast).collect();
        let goal = self.pace.goal(comparisons);
        // Blocks are timed from the first one on; the verdict followed the last one at once.
        let end_s = self.blocks.iter().map(BlockRecord::end_s).fold(0.0, f64::max);
        let before_s = (self.circumstances.seconds - end_s).max(0.0);
        let look = |(n, unit): (usize, &CompleteUnit)| {
            let cost = goal.look(&contrasts[..=n])?.cost;
            Some(CostSoFar { after_s: before_s + unit.end_s, cost })
        };
        units.iter().enumerate().filter_map(look).collect()
    }

    fn arms(&self) -> Vec<Arm> {
        let streams: BTreeSet<u32> = self.plan.points.iter().map(|point| point.streams).collect();
        let levels = 0..self.plan.levels.len();
        let each =
            streams.iter().flat_map(|&streams| levels.clone().map(move |level| (streams, level)));
        each.filter_map(|(streams, level)| self.arm(streams, level)).collect()
    }

    fn arm(&self, streams: u32, level: usize) -> Option<Arm> {
        let windows: Vec<&Window> =
            self.windows_of(level, Some(streams)).map(|(_, window)| window).collect();
        let mut latency = Histogram::default();
        for window in &windows {
            latency.add(&window.latency);
        }
        let (mean, deviation) = latency.mean_and_deviation_ns()?;
        let quantile = |share| latency.quantile_ns(share).unwrap_or(f64::NAN);
        let times = [mean, deviation, quantile(0.5), quantile(0.95), quantile(0.99)];
        let counted = windows.iter().all(|window| window.lookups.is_some());
        let sides = self.lookups(level, Some(streams), None);
        let rate = windows.iter().map(|window| window.rate).sum::<f64>() / windows.len() as f64;
        Some(Arm {
            level: self.plan.levels[level].clone(),
            streams,
            windows: windows.len() as u64,
            calls: windows.iter().map(|window| window.calls).sum(),
            errors: windows.iter().map(|window| window.errors).sum(),
            first_error: windows.iter().find_map(|window| window.first_error.clone()),
            response: self.response(rate),
            latency_ms: Some(times.map(|ns| ns / 1e6)),
            acquisitions: counted.then_some(sides.acquisitions),
            distinct_pages: counted.then_some(sides.pages),
            observed: means(&windows),
        })
    }

    fn response(&self, calls_per_s: f64) -> f64 {
        match self.comparison.response {
            Response::CallsPerSecond => calls_per_s,
            Response::QueriesPerHour => {
                calls_per_s * 3600.0 / self.circumstances.calls_per_query.max(1) as f64
            }
        }
    }

    fn placebo_estimate(&self) -> Option<Estimate> {
        let contrasts = self.placebo();
        // Two or three blocks have an interval that says nothing but that.
        (contrasts.len() >= 4).then(|| hopcost_stats::simple_cost(&contrasts)).flatten()
    }

    /// An open loop asks for a rate; what cannot keep up makes its calls wait without end, and those that
    /// were never made have no latency.
    fn overloaded(&self) -> Option<String> {
        let asked = self.comparison.load.open?.calls_per_s;
        let slowest = self.windows().map(|window| window.rate).min_by(f64::total_cmp)?;
        (slowest < SERVED * asked).then(|| {
            format!(
                "the open loop asked for {asked:.0} calls a second, and in some window {slowest:.0} \
                 were served: above its capacity a target's latencies say how long the window was"
            )
        })
    }

    /// One long block shows what short ones cannot: what takes its time to come.
    fn long_disagrees(&self, findings: &[Finding]) -> Option<String> {
        let long = self.blocks.iter().find(|block| block.trial.phase == Phase::Long)?;
        let found = cost(contrast(long)?);
        let of_short = findings.first()?.standing.as_ref()?.cost;
        // One block knows its value to within some three of the short blocks' standard errors.
        let half = (of_short.high - of_short.low) * (of_short.n_effective.sqrt() / 2.0);
        let seconds = self.pace.long_s?;
        Some(if (found - of_short.point).abs() <= half {
            format!("one block of windows of {seconds:.0} s agrees: {:+.1} %", 100.0 * found)
        } else {
            format!(
                "one block of windows of {seconds:.0} s disagrees: {:+.1} %. Something slow is at \
                 work: run it again with longer windows, --set window={seconds:.0}s",
                100.0 * found
            )
        })
    }
}

/// Lookups on the workers' own node, and on others.
#[derive(Clone, Copy, Debug, Default)]
struct Sides {
    acquisitions: [u64; 2],
    pages: [u64; 2],
}

fn add_sides(sides: &mut [u64; 2], by_node: &BTreeMap<NodeId, u64>, at: Option<NodeId>) {
    for (node, count) in by_node {
        sides[usize::from(Some(*node) != at)] += count;
    }
}

fn describe(binding: &hopcost_core::Binding) -> String {
    let nodes = binding.nodes.iter().map(|(letter, node)| format!("{letter} = node {node}"));
    nodes.collect::<Vec<_>>().join(", ")
}

/// The mean over windows of each observation.
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
