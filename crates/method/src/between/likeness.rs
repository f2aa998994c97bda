//! Whether two figures are different, equivalent, or neither for sure.

use hopcost_core::{self as core, Between, Code, Estimate, Known, Likeness};
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
    /// Of two figures, each with what it knows of occasions.
    pub fn ratio(
        &mut self,
        a: (&Estimate, Option<&core::Occasion>),
        b: (&Estimate, Option<&core::Occasion>),
        disturbed: [f64; 2],
    ) -> Known<(Estimate, Likeness)> {
        let of_disturbed = disturbed.map(|share| OF_DISTURBED * share);
        let of_occasions = [a.1, b.1].map(|of| of.map_or(OF_FIGURES.spread, |of| of.sd));
        let squares = of_disturbed.iter().chain(&of_occasions).map(|share| share.powi(2));
        let spread = (squares.sum::<f64>() / 2.0).sqrt();
        // The starts of an occasion are independent.
        let shared = if a.1.and(b.1).is_some() { 0.0 } else { OF_FIGURES.shared };
        let [a, b] =
            [a, b].map(|(estimate, of)| of.map_or(*estimate, |of| of.in_this_hour(*estimate)));
        let apart = log_ratio_of(&a, &b, Occasion { spread, shared });
        self.judge([&a, &b], apart, MARGIN.ln_1p(), f64::exp)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_occasions_differ_by_is_used_once() {
        let occasion = core::Occasion { this_hour: [99.0, 101.0], sd: 0.02, learned_from: Some(7) };
        let estimate = |point: f64, half: f64| Estimate {
            point,
            low: point - half,
            high: point + half,
            level: 0.95,
            n: 60,
            n_effective: 8.0,
        };
        let ratio = |b: f64, of: Option<&core::Occasion>, half: f64| {
            let judged = Judge::default().ratio(
                (&estimate(100.0, half), of),
                (&estimate(b, half), of),
                [0.0, 0.0],
            );
            judged.ok().unwrap().0
        };
        let known = ratio(100.0, Some(&occasion), 9.0);
        assert!((0.93..0.95).contains(&known.low), "two hours that differ by 2%: {known:?}");
        let unknown = ratio(100.0, None, 1.0);
        assert!(unknown.low > known.low, "{unknown:?}");
    }
}
