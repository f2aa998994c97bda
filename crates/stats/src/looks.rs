//! Repeated confidence intervals, which stay valid if a run stops early.
//!
//! Method: group-sequential looks with α spending (K. K. G. Lan, D. L. DeMets, "Discrete sequential
//! boundaries for clinical trials", Biometrika 70, 1983) by Pocock's function. The bounds come from
//! numerical integration (P. Armitage, C. K. McPherson, B. C. Rowe, "Repeated significance tests on
//! accumulating data", JRSS A 132, 1969).
//! Limits: blocks must be independent; Student's half-width at the nominal error is an
//! approximation.

use statrs::distribution::{Continuous, ContinuousCDF, Normal, StudentsT};

#[derive(Clone, Debug)]
pub struct Looks {
    level: f64,
    /// Of each look, ascending; the last is the maximum.
    blocks: Vec<usize>,
    /// Two-sided nominal error of each look.
    errors: Vec<f64>,
}

const STEP: usize = 2;

impl Looks {
    /// The spread of fewer blocks is too uncertain.
    pub const FIRST: usize = 8;

    /// From 8 blocks, every second, up to `most`, with a simultaneous confidence of `level`.
    pub fn up_to(most: usize, level: f64) -> Self {
        Self::between(Self::FIRST, most, level)
    }

    pub fn between(first: usize, most: usize, level: f64) -> Self {
        let most = most.max(first);
        let mut blocks: Vec<usize> = (first..most).step_by(STEP).collect();
        blocks.push(most);
        let shares: Vec<f64> = blocks.iter().map(|&n| n as f64 / most as f64).collect();
        let errors = nominal_errors(&shares, 1.0 - level);
        Self { level, blocks, errors }
    }

    pub fn level(&self) -> f64 {
        self.level
    }

    pub fn most(&self) -> usize {
        self.blocks.last().copied().unwrap_or(Self::FIRST)
    }

    /// `independent` is the number of blocks left after merging. `None` if `blocks` is no look.
    pub fn half_width_in_errors(&self, blocks: usize, independent: usize) -> Option<f64> {
        let at = self.blocks.binary_search(&blocks).ok()?;
        Some(student_quantile(independent.checked_sub(1)?, self.errors[at] / 2.0))
    }
}

pub(crate) fn student_quantile(degrees: usize, upper_tail: f64) -> f64 {
    let student = StudentsT::new(0.0, 1.0, degrees.max(1) as f64);
    student.map_or(f64::INFINITY, |student| -student.inverse_cdf(upper_tail))
}

pub(crate) fn student_p(degrees: usize, t: f64) -> f64 {
    let student = StudentsT::new(0.0, 1.0, degrees.max(1) as f64);
    student.map_or(1.0, |student| 2.0 * student.cdf(-t.abs()))
}

/// Two-sided nominal errors that spend Pocock's share by each look.
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

/// The density of a Brownian path at one look, within all bounds so far.
struct Path {
    share: f64,
    /// The density is multiplied by Simpson's weights.
    points: Vec<(f64, f64)>,
}

impl Path {
    fn start() -> Self {
        Self { share: 0.0, points: vec![(0.0, 1.0)] }
    }

    /// The bound that this part of the paths crosses at `share`.
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

    fn within(&self, share: f64, bound: f64) -> Self {
        /// Grid points per standard deviation of a step.
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

    /// Two-sided 5%, five equal looks: the bounds of Lan and DeMets' program (D. M. Reboussin et
    /// al., "Computations for group sequential boundaries using the Lan-DeMets spending function
    /// method", Controlled Clinical Trials 21, 2000).
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
