//! Fits the law with intervals, and finds where throughput peaks.

use fastrand::Rng;
use hopcost_core::{Code, Estimate, Known, Reason, ScalingLaw};
use serde::{Deserialize, Serialize};

use super::curve::{Curve, Seen};
use super::equations::PARAMETERS;
use super::law::Law;
use crate::apart::log_error;
use crate::looks::student_quantile;
use crate::quantile::{quantile, sorted};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    pub streams: u32,
    pub rate: Estimate,
}

/// The last client count at which each client has a place of the same kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boundary {
    pub streams: u32,
    /// What is used up, e.g. "cores".
    pub of: String,
}

/// Fewer client counts do not show a peak.
const LEAST_LEVELS: usize = 6;

/// The law has three parameters.
pub const LEAST_FOR_A_LAW: usize = 3;

const LEVEL: f64 = 0.95;
const DRAWS: usize = 999;

pub fn fit(rates: &[Rate], boundaries: &[Boundary], seed: u64) -> Known<ScalingLaw> {
    if rates.len() < LEAST_FOR_A_LAW {
        return Known::missing(
            Code::NoFit,
            format!(
                "there are rates at {} numbers of streams, and a law of three parameters needs three",
                rates.len()
            ),
        );
    }
    let Some(seen) = rates.iter().map(seen).collect::<Option<Vec<Seen>>>() else {
        return Known::missing(
            Code::TooFew,
            "of some number of streams there is no rate with an error",
        );
    };
    let best = Curve::fitted(&seen, None);
    let widening = best.left_over(&seen, LEAST_FOR_A_LAW).max(1.0).sqrt();
    let mut rng = Rng::with_seed(seed);
    let drawn: Vec<Law> = (0..DRAWS)
        .map(|_| {
            let again = seen.iter().map(|it| it.drawn(&best.law, widening, &mut rng));
            Curve::fitted(&again.collect::<Vec<_>>(), None).law
        })
        .collect();
    let estimate = |of: fn(&Law) -> f64| {
        let values = sorted(&drawn.iter().map(of).collect::<Vec<f64>>());
        let end = |share| quantile(&values, share).unwrap_or(f64::NAN);
        let (low, high) = (end((1.0 - LEVEL) / 2.0), end(f64::midpoint(1.0, LEVEL)));
        let n = rates.iter().map(|of| of.rate.n).sum();
        let n_effective = rates.len() as f64;
        Estimate { point: of(&best.law), low, high, level: LEVEL, n, n_effective }
    };
    let kappa = estimate(|law| law.kappa);
    let untold = untold(&seen, &best, &kappa, boundaries);
    let miss = |it: &Seen| (it.log_rate - best.log_rate(it.streams)).exp_m1().abs();
    Known::Is(ScalingLaw {
        lambda: estimate(|law| law.lambda),
        sigma: estimate(|law| law.sigma),
        kappa,
        peak: untold.map_or_else(|| Known::Is(estimate(Law::peak)), Known::Missing),
        worst_miss: seen.iter().map(miss).fold(0.0, f64::max),
    })
}

fn seen(rate: &Rate) -> Option<Seen> {
    let (error, degrees) = log_error(&rate.rate)?;
    let streams = f64::from(rate.streams);
    let is_there = error > 0.0 && streams >= 1.0;
    let log_rate = rate.rate.point.ln();
    is_there.then_some(Seen { streams, log_rate, error, degrees })
}

fn untold(
    seen: &[Seen],
    best: &Curve,
    kappa: &Estimate,
    boundaries: &[Boundary],
) -> Option<Reason> {
    if seen.len() < LEAST_LEVELS {
        let levels = seen.len();
        return Some(Code::TooFew.because(format!(
            "{levels} numbers of streams were measured, and {LEAST_LEVELS} tell"
        )));
    }
    if let Some(bend) = bend_among(best, boundaries, seen) {
        return Some(Code::NoFit.because(format!(
            "the curve bends at {} streams, where the {} end: what comes then is not the law of \
                 what was before",
            bend.streams, bend.of
        )));
    }
    if kappa.low <= 0.0 {
        return Some(Code::NoFit.because("κ may be zero: nothing was seen that turns it down"));
    }
    let (peak, most) = (best.law.peak(), seen.iter().map(|it| it.streams).fold(f64::MIN, f64::max));
    (most < peak).then(|| {
        Code::TooFew.because(format!(
            "it is at about {peak:.0} clients, and at most {most:.0} were measured"
        ))
    })
}

/// The best-fitting bend, if it improves on the residuals beyond chance.
fn bend_among<'b>(
    curve: &Curve,
    boundaries: &'b [Boundary],
    seen: &[Seen],
) -> Option<&'b Boundary> {
    let degrees = seen.iter().map(|it| it.degrees).fold(f64::MAX, f64::min).max(1.0);
    // Bonferroni over the boundaries.
    let error = (1.0 - LEVEL) / boundaries.len().max(1) as f64;
    let surely = student_quantile(degrees as usize, error / 2.0).powi(2);
    let gains = boundaries.iter().filter_map(|end| Some((end, gain_of(curve, end, seen)?)));
    let best = gains.max_by(|(_, a), (_, b)| a.total_cmp(b));
    best.filter(|(_, gain)| *gain > surely).map(|(end, _)| end)
}

/// Relative to the residuals. `None` without two rates before the bend, one beyond it, and more
/// than parameters.
fn gain_of(curve: &Curve, boundary: &Boundary, seen: &[Seen]) -> Option<f64> {
    let at = f64::from(boundary.streams);
    let before = seen.iter().filter(|it| it.streams <= at).count();
    if before < 2 || before == seen.len() || seen.len() <= PARAMETERS {
        return None;
    }
    let bent = Curve::fitted(seen, Some(at));
    let gained = curve.chi_squared(seen) - bent.chi_squared(seen);
    Some(gained / bent.left_over(seen, PARAMETERS).max(1.0))
}
