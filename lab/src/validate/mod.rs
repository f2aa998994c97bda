//! `cargo lab validate`: tests of the statistics by simulation.
//!
//! Thousands of comparisons with known noise and a known effect are judged by the production code.
//! Counted are the interval's coverage, false verdicts, and the time to see an effect. The tables
//! go into docs/method/methodology.md.

mod compare;
mod ended;
mod group;
mod live;
mod noise;
mod planted;
mod rivals;
mod slowdown;
pub mod starts;
mod tables;
mod trace;

use fastrand::Rng;
use hopcost_core::Verdict;
use hopcost_stats::{Block, Goal, Looks};

pub use ended::{Ended, figures, ns_for, ran};
pub use live::{Part, run as run_live};
use noise::{NOISY, QUIET, SAMPLE_SECONDS, Weather};
pub use tables::run;
pub use trace::record;

const WINDOW_SECONDS: f64 = 2.0;
const GUARD_SECONDS: f64 = 0.5;
const BLOCK_SECONDS: f64 = 4.0 * (WINDOW_SECONDS + GUARD_SECONDS);
const BUDGET_SECONDS: f64 = 480.0;
const MOST_BLOCKS: usize = (BUDGET_SECONDS / BLOCK_SECONDS) as usize;
const LEVEL: f64 = 0.95;
const HALF_WIDTH: f64 = 0.01;
const MARGIN: f64 = 0.03;

#[derive(Clone)]
enum Noise {
    /// Independent contrasts, of the standard deviation below.
    Contrasts(&'static str, fn(&mut Rng) -> f64),
    Weather(Weather),
    Recorded(Vec<f64>),
}

const CONTRAST_DEVIATION: f64 = 0.015;

impl Noise {
    fn all(recorded: Vec<f64>) -> Vec<Self> {
        vec![
            Self::Contrasts("independent, normal", noise::normal),
            Self::Contrasts("independent, heavy tails (t, 3 degrees)", noise::heavy),
            Self::Contrasts("independent, 5 % contaminated", noise::contaminated),
            Self::Weather(QUIET),
            Self::Weather(NOISY),
            Self::Recorded(recorded),
        ]
    }

    fn name(&self) -> String {
        match self {
            Self::Contrasts(name, _) => (*name).to_owned(),
            Self::Weather(weather) => format!("windows on a {} machine", weather.name),
            Self::Recorded(_) => "windows on a recorded machine".to_owned(),
        }
    }

    /// As many contrasts as the budget allows, with `effect` as the logarithm of B's throughput.
    fn contrasts(&self, effect: f64, rng: &mut Rng) -> Vec<f64> {
        let samples = (BUDGET_SECONDS / SAMPLE_SECONDS) as usize;
        match self {
            Self::Contrasts(_, draw) => {
                (0..MOST_BLOCKS).map(|_| effect + CONTRAST_DEVIATION * draw(rng)).collect()
            }
            Self::Weather(weather) => cut(&weather.trace(samples, rng), effect, rng),
            Self::Recorded(trace) => cut(&noise::resample(trace, samples, rng), effect, rng),
        }
    }
}

/// Into blocks of windows in random order, B slowed by the effect.
fn cut(trace: &[f64], effect: f64, rng: &mut Rng) -> Vec<f64> {
    let [window, guard] =
        [WINDOW_SECONDS, GUARD_SECONDS].map(|seconds| (seconds / SAMPLE_SECONDS) as usize);
    let blocks = trace.chunks_exact(4 * (window + guard));
    let contrast = |samples: &[f64]| {
        let rate = |n: usize| {
            let from = n * (window + guard) + guard;
            samples[from..from + window].iter().map(|log| log.exp()).sum::<f64>() / window as f64
        };
        let (outer, inner) = ([rate(0), rate(3)], [rate(1), rate(2)]);
        let slowed = |rates: [f64; 2]| rates.map(|rate| rate * effect.exp());
        let block = if rng.bool() {
            Block { a: outer, b: slowed(inner) }
        } else {
            Block { a: inner, b: slowed(outer) }
        };
        block.contrast()
    };
    blocks.filter_map(contrast).collect()
}

struct Outcome {
    covered: bool,
    /// Did the intervals at all looks, also after the stop?
    covered_always: bool,
    /// At the stop; `None` if it was refused.
    verdict: Option<Verdict>,
    cost: Option<f64>,
    blocks: usize,
    seen_after: Option<usize>,
}

fn goal(seed: u64) -> Goal {
    let looks = Looks::up_to(MOST_BLOCKS, LEVEL);
    Goal { looks, half_width: HALF_WIDTH, margin: MARGIN, seed }
}

/// `cost` is the true cost, as a share of throughput.
fn simulate(noise: &Noise, cost: f64, goal: &Goal, seed: u64) -> Outcome {
    let mut rng = Rng::with_seed(seed);
    let contrasts = noise.contrasts((-cost).ln_1p(), &mut rng);
    let (mut stop, mut covered_always, mut seen_after) = (None, true, None);
    for n in 1..=contrasts.len() {
        let Some(standing) = goal.look(&contrasts[..n]) else { continue };
        let covers = standing.cost.low <= cost && cost <= standing.cost.high;
        covered_always &= covers;
        if seen_after.is_none() && (standing.cost.low > 0.0 || standing.cost.high < 0.0) {
            seen_after = Some(n);
        }
        if stop.is_none() && (standing.is_narrow || n == contrasts.len()) {
            let verdict = goal.judge(&contrasts[..n], &standing).ok();
            stop = Some((covers, verdict, Some(standing.cost.point), n));
        }
    }
    let (covered, verdict, cost, blocks) = stop.unwrap_or((false, None, None, 0));
    Outcome { covered, covered_always, verdict, cost, blocks, seen_after }
}

fn simulate_many(noise: &Noise, cost: f64, runs: usize) -> Vec<Outcome> {
    let goal = goal(1);
    in_parallel(runs, |run| simulate(noise, cost, &goal, run as u64))
}

fn in_parallel<T: Send>(runs: usize, run: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = |thread: usize| (thread..runs).step_by(threads).map(&run);
    std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..threads).map(|n| scope.spawn(move || share(n).collect::<Vec<_>>())).collect();
        let join = |worker: std::thread::ScopedJoinHandle<'_, Vec<T>>| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().flat_map(join).collect()
    })
}

fn share(outcomes: &[Outcome], holds: impl Fn(&Outcome) -> bool) -> f64 {
    outcomes.iter().filter(|outcome| holds(outcome)).count() as f64 / outcomes.len().max(1) as f64
}

fn takes_nothing_for_something(outcome: &Outcome) -> bool {
    matches!(outcome.verdict, Some(Verdict::Cost | Verdict::Gain))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The short form of the validation, with tolerances for fewer runs.
    #[test]
    fn the_method_keeps_its_promises() {
        let recorded = trace::read().unwrap();
        for noise in Noise::all(recorded) {
            let runs = 1500;
            let planted = simulate_many(&noise, 0.03, runs);
            let covered = share(&planted, |outcome| outcome.covered);
            assert!(covered >= 0.925, "{}: {covered} covered", noise.name());
            let empty = simulate_many(&noise, 0.0, runs);
            let wrong = share(&empty, takes_nothing_for_something);
            assert!(wrong <= 0.06, "{}: {wrong} false verdicts", noise.name());
        }
    }

    #[test]
    fn a_planted_cost_is_seen() {
        let outcomes = simulate_many(&Noise::Weather(QUIET), 0.05, 300);
        assert!(share(&outcomes, |outcome| outcome.verdict == Some(Verdict::Cost)) > 0.95);
    }

    #[test]
    fn the_effect_is_planted_in_b_alone() {
        let contrasts = cut(&vec![0.0; 200], (-0.1_f64).ln_1p(), &mut Rng::with_seed(1));
        assert!(contrasts.len() == 10);
        assert!(contrasts.iter().all(|y| (y - 0.9_f64.ln()).abs() < 1e-12));
    }
}
