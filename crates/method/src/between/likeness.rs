//! Whether two figures are different, equivalent, or neither for sure.

use hopcost_core::{Between, Code, Estimate, Known, Likeness};
use hopcost_stats::{Apart, Occasion, difference_of, holm, log_ratio_of};

/// Smaller differences do not matter; a share of a figure or of throughput.
pub const MARGIN: f64 = 0.03;
/// Variation of a figure between occasions on one machine, measured in 40 runs of two probes on a
/// two-CPU guest with concurrent compilations; 1% without them.
pub const OF_FIGURES: Occasion = Occasion { spread: 0.008, shared: 0.25 };
/// The same for a cost, whose variants are measured side by side: shared disturbance cancels.
const OF_COSTS: Occasion = Occasion { spread: 0.008, shared: 0.0 };
/// Extra error per dropped share of a probe's samples: with half of them dropped, the rest was up
/// to 30% off.
const OF_DISTURBED: f64 = 0.4;
/// Probability of calling any pair different if the two machines are alike.
pub const ERROR: f64 = 0.05;
const LEVEL: f64 = 0.95;
/// An interval of a lower level comes from too few samples to count.
const LEAST_LEVEL: f64 = 0.949;

#[derive(Default)]
pub struct Judge {
    /// The p-value of each pair.
    ps: Vec<f64>,
}

impl Judge {
    pub fn ratio(
        &mut self,
        a: &Estimate,
        b: &Estimate,
        disturbed: [f64; 2],
    ) -> Known<(Estimate, Likeness)> {
        let squares: f64 = disturbed.iter().map(|share| (OF_DISTURBED * share).powi(2)).sum();
        let spread = root_of_squares(OF_FIGURES.spread, (squares / 2.0).sqrt());
        let apart = log_ratio_of(a, b, Occasion { spread, ..OF_FIGURES });
        self.judge([a, b], apart, MARGIN.ln_1p(), f64::exp)
    }

    pub fn difference(&mut self, a: &Estimate, b: &Estimate) -> Known<(Estimate, Likeness)> {
        self.judge([a, b], difference_of(a, b, OF_COSTS), MARGIN, |share| share)
    }

    fn judge(
        &mut self,
        sides: [&Estimate; 2],
        apart: Option<Apart>,
        margin: f64,
        back: fn(f64) -> f64,
    ) -> Known<(Estimate, Likeness)> {
        let few = sides.iter().any(|estimate| estimate.level < LEAST_LEVEL);
        let Some(apart) = apart.filter(|_| !few) else {
            return Known::missing(Code::TooFew, "too little was measured for an interval on both");
        };
        self.ps.push(apart.p_beyond(margin));
        let [low, high] = apart.interval(LEVEL);
        let is_within = -margin <= low && high <= margin;
        let estimate = Estimate {
            point: back(apart.point),
            low: back(low),
            high: back(high),
            level: LEVEL,
            n: sides[0].n + sides[1].n,
            n_effective: sides[0].n_effective + sides[1].n_effective,
        };
        let likeness = if is_within { Likeness::Equivalent } else { Likeness::Inconclusive };
        Known::Is((estimate, likeness))
    }

    pub fn tell_different(&self, between: &mut Between) {
        let cells = between.cells.iter_mut().map(|pair| &mut pair.likeness);
        let scores = between.scores.iter_mut().map(|pair| &mut pair.likeness);
        let effects = between.effects.iter_mut().map(|pair| &mut pair.likeness);
        let all = cells.chain(scores).chain(effects);
        for (likeness, is_different) in all.zip(holm(&self.ps, ERROR)) {
            if is_different {
                *likeness = Likeness::Different;
            }
        }
    }
}

/// `f64::hypot` would need glibc 2.35. Squares of shares do not overflow.
fn root_of_squares(a: f64, b: f64) -> f64 {
    (a * a + b * b).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_of_squares_is_exact_to_the_last_digit_but_one() {
        for (a, b, c) in [(3.0, 4.0, 5.0), (5.0, 12.0, 13.0), (20.0, 21.0, 29.0), (9.0, 40.0, 41.0)]
        {
            for scale in [1.0, 1e-3, 7e-9, 1e-100, 3e100] {
                let found = root_of_squares(scale * a, scale * b) / (scale * c);
                assert!((found - 1.0).abs() <= 2.0 * f64::EPSILON, "{a}, {b} at {scale}: {found}");
            }
        }
        for share in [0.0, 1e-12, 0.004, 1.0] {
            assert!((root_of_squares(share, 0.0) - share).abs() <= f64::EPSILON * share);
            let twice = root_of_squares(share, share);
            assert!((twice - 2f64.sqrt() * share).abs() <= 2.0 * f64::EPSILON * twice);
        }
    }
}
