//! Repeated confidence intervals: an interval that stays valid however early one stops.
//!
//! Method: group-sequential looks at the growing number of blocks. The error that all looks together
//! may make is spent as K. K. G. Lan and D. L. DeMets propose ("Discrete sequential boundaries for
//! clinical trials", Biometrika 70, 1983) with the spending function of Pocock's type,
//! `α(t) = α ln(1 + (e − 1) t)` at the share t of the most blocks. The bounds come from numerical
//! integration along the looks (P. Armitage, C. K. McPherson, B. C. Rowe, "Repeated significance
//! tests on accumulating data", JRSS A 132, 1969). Each look's nominal error then gives Student's
//! half-width, because the spread of the blocks has to be estimated too. The intervals hold at all
//! looks at once, so any rule that stops at one of them is valid.
//!
//! Limits: blocks must be independent (see `correlation`); Student's step is an approximation whose
//! coverage the project's own validation measures.

use statrs::distribution::{Continuous, ContinuousCDF, Normal, StudentsT};

/// When the blocks are looked at, and how wide the interval is at each look.
#[derive(Clone, Debug)]
pub struct Looks {
    level: f64,
    /// At each look, ascending; the last is the most that there will be.
    blocks: Vec<usize>,
    /// The two-sided error that each look may make.
    errors: Vec<f64>,
}

const STEP: usize = 2;

impl Looks {
    /// Blocks at the first look: fewer tell little about their own spread.
    pub const FIRST: usize = 8;

    /// Looks at 8 blocks and then every second, up to `most`; together they miss with a probability
    /// of `1 − level` at most.
    pub fn up_to(most: usize, level: f64) -> Self {
        let mut blocks: Vec<usize> = (Self::FIRST..most).step_by(STEP).collect();
        blocks.push(most.max(Self::FIRST));
        let shares: Vec<f64> =
            blocks.iter().map(|&n| n as f64 / most.max(Self::FIRST) as f64).collect();
        let errors = nominal_errors(&shares, 1.0 - level);
        Self { level, blocks, errors }
    }

    /// The confidence of all intervals together.
    pub fn level(&self) -> f64 {
        self.level
    }

    pub fn most(&self) -> usize {
        self.blocks.last().copied().unwrap_or(Self::FIRST)
    }

    /// Half the width of the interval in standard errors, after so many blocks, of which so many are
    /// independent; none if that is no look.
    pub fn half_width_in_errors(&self, blocks: usize, independent: usize) -> Option<f64> {
        let at = self.blocks.binary_search(&blocks).ok()?;
        Some(student_quantile(independent.checked_sub(1)?, self.errors[at] / 2.0))
    }
}

/// The value that Student's t with so many degrees of freedom exceeds with this probability.
pub(crate) fn student_quantile(degrees: usize, upper_tail: f64) -> f64 {
    let student = StudentsT::new(0.0, 1.0, degrees.max(1) as f64);
    student.map_or(f64::INFINITY, |student| -student.inverse_cdf(upper_tail))
}

/// The two-sided probability of Student's t.
pub(crate) fn student_p(degrees: usize, t: f64) -> f64 {
    let student = StudentsT::new(0.0, 1.0, degrees.max(1) as f64);
    student.map_or(1.0, |student| 2.0 * student.cdf(-t.abs()))
}

/// The two-sided nominal error at each look, such that by each look Pocock's share is spent.
fn nominal_errors(shares: &[f64], alpha: f64) -> Vec<f64> {
    let spent = |share: f64| alpha * (share * (std::f64::consts::E - 1.0)).ln_1p();
    let normal = Normal::standard();
    let mut errors = Vec::with_capacity(shares.len());
    let mut path = Path::start();
    let mut before = 0.0;
    for &share in shares {
        let bound = path.bound_that_loses(share, spent(share) - before);
        errors.push(2.0 * normal.cdf(-bound / share.sqrt()));
        path = path.within(share, bound);
        before = spent(share);
    }
    errors
}

/// The density of a Brownian path at one look, of those paths that stayed within all bounds so far.
struct Path {
    share: f64,
    /// Evenly spaced points, with the density times the weights of Simpson's rule.
    points: Vec<(f64, f64)>,
}

impl Path {
    fn start() -> Self {
        Self { share: 0.0, points: vec![(0.0, 1.0)] }
    }

    /// The symmetric bound at `share` that this part of the paths crosses there.
    fn bound_that_loses(&self, share: f64, part: f64) -> f64 {
        let step = (share - self.share).sqrt();
        let normal = Normal::standard();
        let lost = |bound: f64| -> f64 {
            let outside = |&(at, weight): &(f64, f64)| {
                let above = normal.cdf((at - bound) / step);
                weight * (above + normal.cdf((-bound - at) / step))
            };
            self.points.iter().map(outside).sum()
        };
        let (mut low, mut high) = (0.0, 12.0 * share.sqrt());
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if lost(middle) > part { low = middle } else { high = middle }
        }
        f64::midpoint(low, high)
    }

    /// The paths that are within `bound` at `share` as well.
    fn within(&self, share: f64, bound: f64) -> Self {
        /// Grid points to a step's standard deviation, and how many deviations a step can go.
        const FINENESS: f64 = 5.0;
        const REACH: f64 = 7.0;
        let step = (share - self.share).sqrt();
        let halves = (bound / step * FINENESS).ceil().clamp(20.0, 2000.0) as usize;
        let spacing = bound / halves as f64;
        let normal = Normal::standard();
        let density = |to: f64| -> f64 {
            let near = self.points.iter().skip_while(|(at, _)| *at < to - REACH * step);
            let near = near.take_while(|(at, _)| *at <= to + REACH * step);
            near.map(|(at, weight)| weight * normal.pdf((to - at) / step) / step).sum()
        };
        let last = 2 * halves;
        let points = (0..=last).map(|n| {
            let simpson = match n {
                0 => 1.0,
                n if n == last => 1.0,
                n if n % 2 == 1 => 4.0,
                _ => 2.0,
            };
            let at = (n as f64 - halves as f64) * spacing;
            (at, density(at) * simpson * spacing / 3.0)
        });
        Self { share, points: points.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(looks: usize) -> Vec<f64> {
        let shares: Vec<f64> = (1..=looks).map(|k| k as f64 / looks as f64).collect();
        let normal = Normal::standard();
        nominal_errors(&shares, 0.05).iter().map(|p| -normal.inverse_cdf(p / 2.0)).collect()
    }

    /// Two-sided 5 %, five equal looks: the bounds that the program of Lan and DeMets' authors gives
    /// (D. M. Reboussin et al., "Computations for group sequential boundaries using the Lan-DeMets
    /// spending function method", Controlled Clinical Trials 21, 2000).
    #[test]
    fn bounds_agree_with_the_published_ones() {
        for (found, published) in bounds(5).iter().zip([2.438, 2.427, 2.410, 2.397, 2.386]) {
            assert!((found - published).abs() < 0.002, "{found} against {published}");
        }
        assert!((bounds(1)[0] - 1.960).abs() < 0.001, "one look is the ordinary interval");
    }

    #[test]
    fn all_looks_together_miss_as_often_as_they_may() {
        let looks = Looks::up_to(40, 0.95);
        let mut rng = fastrand::Rng::with_seed(1983);
        let runs = 10_000;
        let mut missed = 0;
        for _ in 0..runs {
            let (mut sum, mut squares) = (0.0, 0.0);
            for n in 1..=40_usize {
                let value = normal(&mut rng);
                sum += value;
                squares += value * value;
                let Some(width) = looks.half_width_in_errors(n, n) else { continue };
                let mean = sum / n as f64;
                let variance = (squares - sum * mean) / (n - 1) as f64;
                if mean.abs() > width * (variance / n as f64).sqrt() {
                    missed += 1;
                    break;
                }
            }
        }
        let held = 1.0 - f64::from(missed) / f64::from(runs);
        assert!((0.94..=0.97).contains(&held), "{held}");
    }

    fn normal(rng: &mut fastrand::Rng) -> f64 {
        Normal::standard().inverse_cdf(rng.f64().clamp(1e-15, 1.0 - 1e-15))
    }

    #[test]
    fn a_number_of_blocks_between_looks_has_no_interval() {
        let looks = Looks::up_to(13, 0.95);
        assert_eq!(looks.most(), 13);
        let has = |n| looks.half_width_in_errors(n, n).is_some();
        assert!(has(8) && has(10) && has(12) && has(13) && !has(9) && !has(7) && !has(14));
    }
}
