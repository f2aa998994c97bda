//! A law with an optional bend, and its fit to rates.

use fastrand::Rng;

use super::equations::{PARAMETERS, Vector, least_squares};
use super::law::Law;

#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub streams: f64,
    pub log_rate: f64,
    pub error: f64,
    pub degrees: f64,
}

impl Seen {
    /// Simulated under the law.
    pub fn drawn(&self, law: &Law, widening: f64, rng: &mut Rng) -> Self {
        let student = normal(rng) / (chi_squared(self.degrees, rng) / self.degrees).sqrt();
        let log_rate = law.rate(self.streams).ln() + widening * self.error * student;
        Self { log_rate, ..*self }
    }
}

/// By Box and Muller.
pub fn normal(rng: &mut Rng) -> f64 {
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos()
}

fn chi_squared(degrees: f64, rng: &mut Rng) -> f64 {
    // Above this, the value is close to its mean.
    const MANY: f64 = 200.0;
    if degrees > MANY {
        return degrees;
    }
    (0..degrees.round().max(1.0) as usize).map(|_| normal(rng).powi(2)).sum()
}

/// With an optional bend.
#[derive(Clone, Copy, Debug)]
pub struct Curve {
    pub law: Law,
    /// The client count of the bend, and the added exponent beyond it.
    bend: Option<(f64, f64)>,
}

impl Curve {
    /// With σ, κ ≥ 0: the best fit with either, both or none held at zero.
    pub fn fitted(seen: &[Seen], bend_at: Option<f64>) -> Self {
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
            if allowed && !no_sigma && !no_kappa {
                break;
            }
        }
        best.map_or_else(|| Self::first_guess(seen, bend_at, [true, false, false, false]), |b| b.1)
    }

    /// Least squares of `N / X = (1 + σ(N−1) + κN(N−1)) / λ`.
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

    pub fn log_rate(&self, streams: f64) -> f64 {
        let bent = self.bend.map_or(0.0, |(at, by)| by * beyond(streams, at));
        self.law.rate(streams).ln() + bent
    }

    /// Derivatives of the log rate, by parameter.
    fn slopes(&self, streams: f64) -> Vector {
        let denominator = self.law.denominator(streams);
        let bend = self.bend.map_or(0.0, |(at, _)| beyond(streams, at));
        [1.0, -(streams - 1.0) / denominator, -streams * (streams - 1.0) / denominator, bend]
    }

    /// Infinite if the law has no rate.
    pub fn chi_squared(&self, seen: &[Seen]) -> f64 {
        let of = |it: &Seen| ((it.log_rate - self.log_rate(it.streams)) / it.error).powi(2);
        let sum: f64 = seen.iter().map(of).sum();
        if sum.is_finite() { sum } else { f64::INFINITY }
    }

    /// Per degree of freedom.
    pub fn left_over(&self, seen: &[Seen], parameters: usize) -> f64 {
        let degrees = seen.len().saturating_sub(parameters);
        if degrees == 0 { 0.0 } else { self.chi_squared(seen) / degrees as f64 }
    }
}

fn beyond(streams: f64, at: f64) -> f64 {
    (streams / at).ln().max(0.0)
}
