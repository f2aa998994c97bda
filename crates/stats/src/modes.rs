//! The modes of a distribution.
//!
//! Method: counts of equal (or logarithmic) steps are smoothed over three neighbors. A peak is a
//! mode if the valley towards the next higher peak is below half of it. Modes within three steps
//! are one.

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mode {
    pub at: usize,
    pub share: f64,
}

/// Share of the lower adjacent peak.
const VALLEY: f64 = 0.5;
const LEAST_SHARE: f64 = 0.03;

pub fn modes(counts: &[u64]) -> Vec<Mode> {
    let all: u64 = counts.iter().sum();
    let smooth = smoothed(counts);
    let peaks = peaks(&smooth);
    let mut valleys = vec![0];
    valleys.extend(peaks.windows(2).map(|pair| lowest(&smooth, pair[0], pair[1])));
    valleys.push(counts.len());
    let mode = |(n, peak): (usize, &usize)| {
        let around: u64 = counts[valleys[n]..valleys[n + 1]].iter().sum();
        Mode { at: *peak, share: around as f64 / all as f64 }
    };
    peaks.iter().enumerate().map(mode).filter(|mode| mode.share >= LEAST_SHARE).collect()
}

fn smoothed(counts: &[u64]) -> Vec<f64> {
    let at = |n: Option<usize>| n.and_then(|n| counts.get(n)).map_or(0.0, |count| *count as f64);
    let around = |n: usize| at(n.checked_sub(1)) + 2.0 * at(Some(n)) + at(Some(n + 1));
    (0..counts.len()).map(around).collect()
}

fn peaks(smooth: &[f64]) -> Vec<usize> {
    let mut peaks: Vec<usize> = Vec::new();
    for n in 0..smooth.len() {
        let before = n.checked_sub(1).map_or(0.0, |before| smooth[before]);
        let after = smooth.get(n + 1).copied().unwrap_or(0.0);
        if smooth[n] <= before || smooth[n] < after {
            continue;
        }
        match peaks.last_mut() {
            Some(last) => {
                let valley = smooth[lowest(smooth, *last, n)];
                if valley < VALLEY * smooth[*last].min(smooth[n]) {
                    peaks.push(n);
                } else if smooth[n] > smooth[*last] {
                    *last = n;
                }
            }
            None => peaks.push(n),
        }
    }
    peaks
}

fn lowest(smooth: &[f64], from: usize, to: usize) -> usize {
    (from..to).min_by(|a, b| smooth[*a].total_cmp(&smooth[*b])).unwrap_or(from)
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;

    /// Spread like the sum of three dice.
    fn drawn(around: &[(f64, u64)], seed: u64) -> Vec<u64> {
        let mut dice = Rng::with_seed(seed);
        let mut counts = vec![0; 60];
        for (place, count) in around {
            for _ in 0..*count {
                let off = (0..3).map(|_| dice.f64()).sum::<f64>() - 1.5;
                counts[(place + 3.0 * off) as usize] += 1;
            }
        }
        counts
    }

    #[test]
    fn one_hill_is_one_mode_and_two_are_two() {
        for seed in 0..200 {
            let one = modes(&drawn(&[(20.0, 4000)], seed));
            assert_eq!(one.len(), 1, "{one:?}");
            assert!(one[0].at.abs_diff(20) <= 2 && one[0].share > 0.999, "{one:?}");
            let two = modes(&drawn(&[(20.0, 4000), (35.0, 1000)], seed));
            assert_eq!(two.len(), 2, "{two:?}");
            assert!(two[1].at.abs_diff(35) <= 2, "{two:?}");
            assert!((two[1].share - 0.2).abs() < 0.01, "{two:?}");
        }
    }

    #[test]
    fn a_few_stragglers_are_no_mode() {
        assert_eq!(modes(&drawn(&[(20.0, 4000), (50.0, 20)], 1)).len(), 1);
        assert!(modes(&[]).is_empty());
    }
}
