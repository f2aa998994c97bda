//! From block contrasts to a verdict.
//!
//! Method: a run stops when its interval is narrow enough or its budget is spent. Stopping on
//! significance would bias the estimate outwards.

use fastrand::Rng;
use hopcost_core::{Estimate, Reason, Verdict};

use crate::contrast::cost_interval;
use crate::correlation::independent;
use crate::looks::Looks;
use crate::objection;
use crate::sample::{around, deviation, mean};

#[derive(Clone, Debug)]
pub struct Goal {
    pub looks: Looks,
    /// A share of throughput.
    pub half_width: f64,
    /// Smaller costs and gains count as no difference; a share of throughput.
    pub margin: f64,
    /// Of the randomization test.
    pub seed: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The cost of B, a share of throughput.
    pub cost: Estimate,
    pub is_narrow: bool,
    pub blocks_needed: usize,
}

/// Half the width of a repeated interval, for projections.
const PROJECTED_ERRORS: f64 = 2.6;

pub fn blocks_needed(deviation: f64, half_width: f64) -> usize {
    (PROJECTED_ERRORS * deviation / half_width).powi(2).ceil() as usize
}

impl Goal {
    /// `None` if this number of blocks is no look.
    pub fn look(&self, contrasts: &[f64]) -> Option<Standing> {
        let units = independent(contrasts);
        let errors = self.looks.half_width_in_errors(contrasts.len(), units.len())?;
        let deviation = deviation(&units);
        let half = errors * deviation / (units.len() as f64).sqrt();
        let level = self.looks.level();
        let contrast = around(mean(contrasts), half, level, [contrasts.len(), units.len()]);
        let merged = contrasts.len() / units.len();
        Some(Standing {
            cost: cost_interval(&contrast),
            is_narrow: half <= self.half_width,
            blocks_needed: blocks_needed(deviation, self.half_width) * merged,
        })
    }

    /// With its number of blocks.
    pub fn last_look(&self, contrasts: &[f64]) -> Option<(usize, Standing)> {
        (0..=contrasts.len()).rev().find_map(|n| Some((n, self.look(&contrasts[..n])?)))
    }

    pub fn judge(&self, contrasts: &[f64], standing: &Standing) -> Result<Verdict, Reason> {
        let units = independent(contrasts);
        if let Some(reason) = objection::halves_disagree(&units) {
            return Err(reason);
        }
        let verdict = classify(&standing.cost, self.margin);
        if matches!(verdict, Verdict::Cost | Verdict::Gain) {
            let explained = objection::chance_explains(&units, &mut Rng::with_seed(self.seed));
            if let Some(reason) = explained {
                return Err(reason);
            }
        }
        Ok(verdict)
    }
}

fn classify(cost: &Estimate, margin: f64) -> Verdict {
    if cost.low > 0.0 {
        Verdict::Cost
    } else if cost.high < 0.0 {
        Verdict::Gain
    } else if cost.low >= -margin && cost.high <= margin {
        Verdict::Equivalent
    } else {
        Verdict::Inconclusive
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::noise;

    fn goal(most: usize) -> Goal {
        Goal { looks: Looks::up_to(most, 0.95), half_width: 0.01, margin: 0.03, seed: 1 }
    }

    fn contrasts(n: usize, mean: f64, deviation: f64) -> Vec<f64> {
        let mut rng = Rng::with_seed(n as u64);
        (0..n).map(|_| mean + deviation * noise(&mut rng)).collect()
    }

    fn verdict(contrasts: &[f64]) -> Result<Verdict, Reason> {
        let goal = goal(contrasts.len());
        goal.judge(contrasts, &goal.look(contrasts).unwrap())
    }

    #[test]
    fn each_verdict_is_reached_by_what_deserves_it() {
        assert_eq!(verdict(&contrasts(16, -0.10, 0.02)), Ok(Verdict::Cost));
        assert_eq!(verdict(&contrasts(16, 0.10, 0.02)), Ok(Verdict::Gain));
        assert_eq!(verdict(&contrasts(16, 0.0, 0.01)), Ok(Verdict::Equivalent));
        assert_eq!(verdict(&contrasts(16, 0.0, 0.2)), Ok(Verdict::Inconclusive));
    }

    #[test]
    fn a_noisy_comparison_says_how_much_more_it_needs() {
        let contrasts = contrasts(16, 0.0, 0.05);
        let standing = goal(16).look(&contrasts).unwrap();
        assert!(!standing.is_narrow);
        // (2.6 · 0.05 / 0.01)² = 169, with the uncertainty of a spread from 16 blocks.
        assert!((90..300).contains(&standing.blocks_needed), "{}", standing.blocks_needed);
    }

    #[test]
    fn an_effect_that_changes_on_the_way_is_refused() {
        let mut changing = contrasts(10, -0.10, 0.005);
        changing.extend(contrasts(10, -0.02, 0.005));
        assert!(verdict(&changing).unwrap_err().as_str().contains("changed during the run"));
    }
}
