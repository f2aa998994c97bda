//! Response time distributions: a row of bars per variant, and a verdict.

use std::fmt::Write as _;

use hopcost_core::{Arm, Details};

use super::ink::Ink;
use super::wrap::pad;
use crate::words::figure;

const BARS: [char; 9] = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Wider ranges merge pairs of columns.
const MOST_COLUMNS: usize = 48;

pub fn times(details: &Details) -> String {
    let mut out = String::new();
    for spread in &details.spreads {
        let of_point = |arm: &&Arm| arm.streams == spread.streams && !arm.times.is_empty();
        let arms: Vec<&Arm> = details.arms.iter().filter(of_point).collect();
        let tested = arms.iter().copied().find(|arm| arm.level == spread.level);
        if let (Some(baseline), Some(tested)) = (arms.first(), tested) {
            out.push_str(&drawn(&[baseline, tested]));
        }
    }
    out
}

/// On a common logarithmic axis.
fn drawn(arms: &[&Arm]) -> String {
    let ends = |end: fn(f64, f64) -> f64, from| {
        arms.iter().flat_map(|arm| &arm.times).map(|(ms, _)| *ms).fold(from, end)
    };
    let (first, last) = (ends(f64::min, f64::MAX), ends(f64::max, 0.0));
    let per_octave = steps_per_octave(arms);
    let steps = ((last / first).log2() * per_octave).round() as usize + 1;
    let together = steps.div_ceil(MOST_COLUMNS);
    let width = arms.iter().map(|arm| arm.level.chars().count()).max().unwrap_or(0).max(9);
    let mut out = String::new();
    for arm in arms {
        let mut shares = vec![0.0; steps.div_ceil(together)];
        for (ms, share) in &arm.times {
            let step = ((ms / first).log2() * per_octave).round() as usize;
            shares[step / together] += share;
        }
        let row = format!("  {}  {}  {}", pad(&arm.level, width), bars(&shares), modes(arm));
        let _ = writeln!(out, "{}", row.trim_end());
    }
    let ends = format!("{} ms", figure(first));
    let gap = steps.div_ceil(together).saturating_sub(ends.chars().count()).max(2);
    let scale = format!("{ends}{}{} ms", " ".repeat(gap), figure(last));
    let _ = writeln!(out, "  {}  {}", " ".repeat(width), Ink::Faint.on(&scale));
    out
}

/// Of the histogram: its bins are contiguous.
fn steps_per_octave(arms: &[&Arm]) -> f64 {
    let pair = arms.iter().find_map(|arm| arm.times.first_chunk::<2>());
    pair.map_or(1.0, |[(low, _), (high, _)]| 1.0 / (high / low).log2())
}

fn bars(shares: &[f64]) -> String {
    let most = shares.iter().copied().fold(0.0, f64::max);
    let bar = |share: &f64| match *share {
        0.0 => BARS[0],
        share => BARS[((share / most * 8.0).ceil() as usize).clamp(1, 8)],
    };
    shares.iter().map(bar).collect()
}

/// `2 modes: 1.2 ms (80%), 3.6 ms (20%)`.
fn modes(arm: &Arm) -> String {
    if arm.modes.len() < 2 {
        return String::new();
    }
    let mode = |(ms, share): &(f64, f64)| format!("{} ms ({:.0}%)", figure(*ms), 100.0 * share);
    let each: Vec<String> = arm.modes.iter().map(mode).collect();
    format!("{} modes: {}", each.len(), each.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;
    use hopcost_core::{Code, Known, PointSpread, Verdict};

    #[test]
    fn both_modes_are_seen_and_named() {
        let sample = Sample::compared("x", Verdict::Cost, 0.1, 0.01);
        let mut details = sample.result.details.unwrap();
        let steps = |shares: &[f64]| -> Vec<(f64, f64)> {
            let at = |n| 2_f64.powi(i32::try_from(n).unwrap());
            shares.iter().enumerate().map(|(n, share)| (at(n), *share)).collect()
        };
        details.arms[2].times = steps(&[0.5, 0.5]);
        details.arms[3].times = steps(&[0.4, 0.4, 0.0, 0.2]);
        details.arms[3].modes = vec![(1.5, 0.8), (12.0, 0.2)];
        details.spreads = vec![PointSpread {
            streams: 2,
            level: "far".into(),
            verdict: Verdict::Cost,
            reason: Code::NotMeasured.because("response times lie farther apart"),
            ratio: Known::Is(crate::sample::estimate(4.0, 0.5)),
        }];
        let text = times(&details);
        assert!(text.contains("near       ██··\n"), "{text}");
        let far = "far        ██·▄  2 modes: 1.50 ms (80%), 12.0 ms (20%)";
        assert!(text.contains(far) && text.contains("1.00 ms  8.00 ms"), "{text}");
        let words = crate::words::spread(&details.spreads[0], "near");
        assert!(words.contains("4.00 times that of near (3.50 … 4.50)"), "{text}");
        details.spreads.clear();
        assert_eq!(times(&details), "");
    }
}
