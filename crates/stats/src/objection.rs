//! Objections to a verdict from the blocks themselves.
//!
//! Method: the halves of the blocks must agree (Welch's t at 1%), and the observed mean must be
//! unlikely with random signs (R. A. Fisher's randomization test, exact for few blocks).

use fastrand::Rng;
use hopcost_core::{Code, Reason};

use crate::looks::student_p;
use crate::sample::{degrees_of_sum, deviation, mean};

const HALVES_DISAGREE_AT: f64 = 0.01;
/// An effect this likely by chance is none.
const CHANCE_EXPLAINS_AT: f64 = 0.2;
const MOST_EXACT: usize = 12;
const FLIPS: usize = 4000;

pub fn halves_disagree(contrasts: &[f64]) -> Option<Reason> {
    let (first, second) = contrasts.split_at(contrasts.len() / 2);
    if first.len() < 4 {
        return None;
    }
    let error = |half: &[f64]| deviation(half).powi(2) / half.len() as f64;
    let (e1, e2) = (error(first), error(second));
    let difference = mean(second) - mean(first);
    let degrees = degrees_of_sum([e1, e2], [first, second].map(|half| (half.len() - 1) as f64));
    let p = student_p(degrees.floor() as usize, difference / (e1 + e2).sqrt());
    (p < HALVES_DISAGREE_AT).then(|| {
        Code::HalvesDisagree.because(format!(
            "the effect changed during the run: {:+.1}% in the first half of the blocks, {:+.1}% in \
             the second (p = {p:.4})",
            100.0 * mean(first).exp_m1(),
            100.0 * mean(second).exp_m1(),
        ))
    })
}

/// Of the A/A check.
const PLACEBO_AT: f64 = 0.001;
const LEAST_PLACEBOS: usize = 4;

/// Whether contrasts of equal variants are. Fewer than four are not tested.
pub fn consistent_with_zero(contrasts: &[f64]) -> bool {
    let error = deviation(contrasts) / (contrasts.len() as f64).sqrt();
    contrasts.len() < LEAST_PLACEBOS
        || student_p(contrasts.len() - 1, mean(contrasts) / error) >= PLACEBO_AT
}

pub fn chance_explains(contrasts: &[f64], rng: &mut Rng) -> Option<Reason> {
    let p = sign_flip_p(contrasts, rng);
    (p > CHANCE_EXPLAINS_AT).then(|| {
        Code::ByChance.because(format!(
            "chance alone shows as much: random signs do in {:.0}% of cases",
            100.0 * p
        ))
    })
}

fn sign_flip_p(contrasts: &[f64], rng: &mut Rng) -> f64 {
    let observed = contrasts.iter().sum::<f64>().abs() * (1.0 - 1e-12);
    let as_far = |signs: &mut dyn FnMut(usize) -> bool| {
        let sum: f64 =
            contrasts.iter().enumerate().map(|(n, y)| if signs(n) { *y } else { -y }).sum();
        sum.abs() >= observed
    };
    if contrasts.len() <= MOST_EXACT {
        let ways = 1_usize << contrasts.len();
        let far = (0..ways).filter(|way| as_far(&mut |n| way >> n & 1 == 1)).count();
        return far as f64 / ways as f64;
    }
    let far = (0..FLIPS).filter(|_| as_far(&mut |_| rng.bool())).count();
    (far + 1) as f64 / (FLIPS + 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::noise;

    #[test]
    fn the_exact_test_counts_all_signs() {
        let p = sign_flip_p(&[1.0, 1.0, 1.0, 1.0], &mut Rng::with_seed(1));
        assert!((p - 2.0 / 16.0).abs() < 1e-12, "{p}");
    }

    #[test]
    fn equals_that_differ_are_noticed() {
        assert!(consistent_with_zero(&[0.01, -0.012, 0.004, -0.003]));
        assert!(!consistent_with_zero(&[0.05, 0.051, 0.049, 0.0505, 0.0495]));
        assert!(consistent_with_zero(&[0.05, 0.05]), "two blocks say nothing");
    }

    #[test]
    fn noise_is_explained_by_chance_and_an_effect_is_not() {
        let mut rng = Rng::with_seed(7);
        let noise: Vec<f64> = (0..20).map(|n| if n % 2 == 0 { 0.01 } else { -0.01 }).collect();
        let said = chance_explains(&noise, &mut rng).unwrap();
        assert_eq!(said.code(), Code::ByChance);
        let effect: Vec<f64> = noise.iter().map(|y| y + 0.02).collect();
        assert!(chance_explains(&effect, &mut rng).is_none());
    }

    #[test]
    fn halves_that_differ_are_named_and_equal_ones_rarely() {
        let step: Vec<f64> =
            (0..16).map(|n| f64::from(n / 8) * 0.05 + f64::from(n % 3) * 0.001).collect();
        let said = halves_disagree(&step).unwrap();
        assert_eq!(said.code(), Code::HalvesDisagree);
        assert!(said.as_str().contains("+0.1% in the first half"), "{said}");
        let mut rng = Rng::with_seed(3);
        let runs = 4000;
        let alarms = (0..runs)
            .filter(|_| {
                let noise: Vec<f64> = (0..16).map(|_| noise(&mut rng)).collect();
                halves_disagree(&noise).is_some()
            })
            .count();
        assert!((10..80).contains(&alarms), "{alarms} of {runs} at 1%");
    }
}
