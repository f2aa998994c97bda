//! How throughput grows with the number of streams, and where it turns down: N. J. Gunther's Universal
//! Scalability Law, `X(N) = λN / (1 + σ(N−1) + κN(N−1))`.
//!
//! Method: `N / X` is a polynomial in λ, σ and κ, whose least squares are the first guess. It is refined by
//! Gauss and Newton's steps on the logarithms of the rates, each weighted by one over its squared standard
//! error, with σ and κ not below zero. Intervals come from rates that are drawn again and again from their
//! own errors around the law and fitted likewise, the same from the same seed. What the law leaves over
//! beyond these errors widens them: it is as ignorant of the next rate as of these.
//! Where the throughput turns down, `sqrt((1−σ) / κ)`, is only told where it was seen: of six numbers of
//! streams or more, that reach beyond it, with a κ that is surely not zero, and by a curve that has no bend
//! where cores or sockets end.
//!
//! Limits: the law knows one kind of place for streams. What stands beyond the last core shares it, and
//! that is a bend and no crosstalk; so λ, σ and κ describe such a curve, and explain nothing.

use fastrand::Rng;
use hopcost_core::{Code, Contention, Estimate, Known, Reason, ScalingLaw};

use crate::apart::log_error;
use crate::looks::student_quantile;
use crate::quantile::{quantile, sorted};

/// The throughput at a number of streams.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Streams.
    pub streams: u32,
    /// Of all of them together.
    pub rate: Estimate,
}

/// Up to so many streams a stream more finds a place of the same kind as those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boundary<'a> {
    /// Streams.
    pub streams: u32,
    /// What ends there, such as "cores".
    pub of: &'a str,
}

/// The three parameters of a law.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Law {
    lambda: f64,
    sigma: f64,
    kappa: f64,
}

impl Law {
    /// The throughput of so many streams.
    fn rate(&self, streams: f64) -> f64 {
        self.lambda * streams / self.denominator(streams)
    }

    /// The streams at which it is highest; infinite where nothing turns it down.
    fn peak(&self) -> f64 {
        ((1.0 - self.sigma).max(0.0) / self.kappa).sqrt().max(1.0)
    }

    fn denominator(&self, streams: f64) -> f64 {
        Contention { sigma: self.sigma, kappa: self.kappa }.slowed(streams)
    }
}

/// So many numbers of streams have to be there for the place where the throughput turns down.
const LEAST_LEVELS: usize = 6;
/// A law has three parameters.
pub const LEAST_FOR_A_LAW: usize = 3;
const LEVEL: f64 = 0.95;
const DRAWS: usize = 999;

/// The law of some rates.
pub fn fit(rates: &[Rate], boundaries: &[Boundary<'_>], seed: u64) -> Known<ScalingLaw> {
    if rates.len() < LEAST_FOR_A_LAW {
        return Known::missing(
            Code::NoFit,
            format!(
                "there are rates at {} numbers of streams, and a law of three parameters needs three",
                rates.len()
            ),
        );
    }
    let Some(seen) = rates.iter().map(Seen::of).collect::<Option<Vec<Seen>>>() else {
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

/// Why it is not told where the throughput turns down, if it is not.
fn untold(
    seen: &[Seen],
    best: &Curve,
    kappa: &Estimate,
    boundaries: &[Boundary<'_>],
) -> Option<Reason> {
    if seen.len() < LEAST_LEVELS {
        let levels = seen.len();
        return Some(Code::TooFew.because(format!(
            "{levels} numbers of streams were measured, and {LEAST_LEVELS} tell"
        )));
    }
    if let Some(bend) = best.bend_among(boundaries, seen) {
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
            "it lies at some {peak:.0} streams, and {most:.0} were measured at most"
        ))
    })
}

/// A rate as it is fitted.
#[derive(Clone, Copy, Debug)]
struct Seen {
    streams: f64,
    log_rate: f64,
    /// The standard error of the logarithm.
    error: f64,
    /// The degrees of freedom of this error.
    degrees: f64,
}

impl Seen {
    fn of(rate: &Rate) -> Option<Self> {
        let (error, degrees) = log_error(&rate.rate)?;
        let streams = f64::from(rate.streams);
        let is_there = error > 0.0 && streams >= 1.0;
        let log_rate = rate.rate.point.ln();
        is_there.then_some(Self { streams, log_rate, error, degrees })
    }

    /// What might have been seen instead, if the law holds.
    fn drawn(&self, law: &Law, widening: f64, rng: &mut Rng) -> Self {
        let student = normal(rng) / (chi_squared(self.degrees, rng) / self.degrees).sqrt();
        let log_rate = law.rate(self.streams).ln() + widening * self.error * student;
        Self { log_rate, ..*self }
    }
}

/// By Box and Muller.
fn normal(rng: &mut Rng) -> f64 {
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos()
}

fn chi_squared(degrees: f64, rng: &mut Rng) -> f64 {
    // Beyond so many it is as good as its mean.
    const MANY: f64 = 200.0;
    if degrees > MANY {
        return degrees;
    }
    (0..degrees.round().max(1.0) as usize).map(|_| normal(rng).powi(2)).sum()
}

/// A law, and a bend of the curve beyond some number of streams.
#[derive(Clone, Copy, Debug)]
struct Curve {
    law: Law,
    /// Where it bends, and by how much of the logarithm for each doubling of e.
    bend: Option<(f64, f64)>,
}

/// The logarithm of λ, then σ, κ and the bend.
const PARAMETERS: usize = 4;
type Vector = [f64; PARAMETERS];

impl Curve {
    /// The best one with σ and κ not below zero: that of all fits with either, or both, held at zero which
    /// describes the rates best.
    fn fitted(seen: &[Seen], bend_at: Option<f64>) -> Self {
        let holds = [[false, false], [true, false], [false, true], [true, true]];
        let mut best: Option<(f64, Self)> = None;
        for [no_sigma, no_kappa] in holds {
            let free = [true, !no_sigma, !no_kappa, bend_at.is_some()];
            let curve = Self::first_guess(seen, bend_at, free).refined(seen, free);
            let allowed = curve.law.sigma >= 0.0 && curve.law.kappa >= 0.0;
            let chi = curve.chi_squared(seen);
            if allowed && best.is_none_or(|(least, _)| chi < least) {
                best = Some((chi, curve));
            }
            // The best of all is allowed: nothing is better.
            if allowed && !no_sigma && !no_kappa {
                break;
            }
        }
        best.map_or_else(|| Self::first_guess(seen, bend_at, [true, false, false, false]), |b| b.1)
    }

    /// `N / X = (1 + σ(N−1) + κN(N−1)) / λ`, by least squares.
    fn first_guess(seen: &[Seen], bend_at: Option<f64>, free: [bool; PARAMETERS]) -> Self {
        let linear = [free[0], free[1], free[2], false];
        let rows = seen.iter().map(|it| {
            let time = it.streams / it.log_rate.exp();
            let relative = 1.0 / (time * it.error);
            let terms = [1.0, it.streams - 1.0, it.streams * (it.streams - 1.0), 0.0];
            (terms.map(|term| term * relative), 1.0 / it.error)
        });
        let [time, sigma, kappa, _] = least_squares(rows, linear).unwrap_or_default();
        let law = if time > 0.0 {
            Law { lambda: 1.0 / time, sigma: sigma / time, kappa: kappa / time }
        } else {
            let alone = seen.iter().map(|it| it.log_rate.exp() / it.streams).fold(0.0, f64::max);
            Law { lambda: alone, sigma: 0.0, kappa: 0.0 }
        };
        let law = Law { sigma: law.sigma.max(0.0), kappa: law.kappa.max(0.0), ..law };
        Self { law, bend: bend_at.map(|at| (at, 0.0)) }
    }

    fn refined(mut self, seen: &[Seen], free: [bool; PARAMETERS]) -> Self {
        const MOST_STEPS: usize = 50;
        const ENOUGH: f64 = 1e-12;
        let mut chi = self.chi_squared(seen);
        for _ in 0..MOST_STEPS {
            let rows = seen.iter().map(|it| {
                let over = |term: f64| term / it.error;
                let residual = it.log_rate - self.log_rate(it.streams);
                (self.slopes(it.streams).map(over), over(residual))
            });
            let Some(step) = least_squares(rows, free) else { break };
            let Some((better, of_better)) = self.downhill(step, chi, seen) else { break };
            let gained = chi - of_better;
            (self, chi) = (better, of_better);
            if gained <= ENOUGH * (1.0 + chi) {
                break;
            }
        }
        self
    }

    /// As much of a step as makes it better, with what is then left over.
    fn downhill(&self, step: Vector, chi: f64, seen: &[Seen]) -> Option<(Self, f64)> {
        const HALVINGS: i32 = 20;
        (0..HALVINGS).find_map(|halvings| {
            let tried = self.moved(step.map(|of| of * 0.5_f64.powi(halvings)));
            let of_tried = tried.chi_squared(seen);
            (of_tried <= chi).then_some((tried, of_tried))
        })
    }

    fn moved(&self, [log_lambda, sigma, kappa, bend]: Vector) -> Self {
        let law = Law {
            lambda: self.law.lambda * log_lambda.exp(),
            sigma: self.law.sigma + sigma,
            kappa: self.law.kappa + kappa,
        };
        Self { law, bend: self.bend.map(|(at, by)| (at, by + bend)) }
    }

    fn log_rate(&self, streams: f64) -> f64 {
        let bent = self.bend.map_or(0.0, |(at, by)| by * beyond(streams, at));
        self.law.rate(streams).ln() + bent
    }

    /// By how much the logarithm grows with each parameter.
    fn slopes(&self, streams: f64) -> Vector {
        let denominator = self.law.denominator(streams);
        let bend = self.bend.map_or(0.0, |(at, _)| beyond(streams, at));
        [1.0, -(streams - 1.0) / denominator, -streams * (streams - 1.0) / denominator, bend]
    }

    /// Infinite where the law has no rate at all.
    fn chi_squared(&self, seen: &[Seen]) -> f64 {
        let of = |it: &Seen| ((it.log_rate - self.log_rate(it.streams)) / it.error).powi(2);
        let sum: f64 = seen.iter().map(of).sum();
        if sum.is_finite() { sum } else { f64::INFINITY }
    }

    /// What it leaves over, for each degree of freedom.
    fn left_over(&self, seen: &[Seen], parameters: usize) -> f64 {
        let degrees = seen.len().saturating_sub(parameters);
        if degrees == 0 { 0.0 } else { self.chi_squared(seen) / degrees as f64 }
    }

    /// Of these boundaries the one at which a bend describes the rates best, where it does so better than
    /// chance and whatever else is left over explain.
    fn bend_among<'b>(
        &self,
        boundaries: &'b [Boundary<'b>],
        seen: &[Seen],
    ) -> Option<&'b Boundary<'b>> {
        let degrees = seen.iter().map(|it| it.degrees).fold(f64::MAX, f64::min).max(1.0);
        // One of them is taken for a bend by chance as seldom as if it were the only one.
        let error = (1.0 - LEVEL) / boundaries.len().max(1) as f64;
        let surely = student_quantile(degrees as usize, error / 2.0).powi(2);
        let gains = boundaries.iter().filter_map(|end| Some((end, self.gain_of(end, seen)?)));
        let best = gains.max_by(|(_, a), (_, b)| a.total_cmp(b));
        best.filter(|(_, gain)| *gain > surely).map(|(end, _)| end)
    }

    /// What a bend there explains, measured by what it leaves over. None without two rates before it, one
    /// beyond it, and more in all than there are parameters.
    fn gain_of(&self, boundary: &Boundary<'_>, seen: &[Seen]) -> Option<f64> {
        let at = f64::from(boundary.streams);
        let before = seen.iter().filter(|it| it.streams <= at).count();
        if before < 2 || before == seen.len() || seen.len() <= PARAMETERS {
            return None;
        }
        let bent = Self::fitted(seen, Some(at));
        let gained = self.chi_squared(seen) - bent.chi_squared(seen);
        Some(gained / bent.left_over(seen, PARAMETERS).max(1.0))
    }
}

fn beyond(streams: f64, at: f64) -> f64 {
    (streams / at).ln().max(0.0)
}

/// The free unknowns of weighted equations; those that are held stay zero. None where they are not
/// determined.
fn least_squares(
    rows: impl Iterator<Item = (Vector, f64)>,
    free: [bool; PARAMETERS],
) -> Option<Vector> {
    let mut normal = [[0.0; PARAMETERS + 1]; PARAMETERS];
    for (terms, wanted) in rows {
        for (i, equation) in normal.iter_mut().enumerate() {
            for (j, term) in terms.iter().enumerate() {
                equation[j] += terms[i] * term;
            }
            equation[PARAMETERS] += terms[i] * wanted;
        }
    }
    for (i, equation) in normal.iter_mut().enumerate().filter(|(i, _)| !free[*i]) {
        *equation = [0.0; PARAMETERS + 1];
        equation[i] = 1.0;
    }
    for (j, _) in free.iter().enumerate().filter(|(_, free)| !**free) {
        for (_, equation) in normal.iter_mut().enumerate().filter(|(i, _)| *i != j) {
            equation[j] = 0.0;
        }
    }
    solved(normal)
}

/// By Gauss and Jordan's elimination: a matrix of normal equations needs no pivot but its diagonal.
fn solved(mut rows: [[f64; PARAMETERS + 1]; PARAMETERS]) -> Option<Vector> {
    let diagonal: Vector = std::array::from_fn(|i| rows[i][i]);
    for i in 0..PARAMETERS {
        let pivot = rows[i][i];
        // Of what is left of it nothing but rounding may be left.
        if !pivot.is_finite() || pivot <= 1e-14 * diagonal[i] {
            return None;
        }
        let chosen = rows[i].map(|term| term / pivot);
        for (j, row) in rows.iter_mut().enumerate() {
            let times = if i == j { 0.0 } else { row[i] };
            for (term, of_chosen) in row.iter_mut().zip(chosen) {
                *term = if i == j { of_chosen } else { *term - times * of_chosen };
            }
        }
    }
    Some(std::array::from_fn(|i| rows[i][PARAMETERS]))
}

#[cfg(test)]
mod tests;
