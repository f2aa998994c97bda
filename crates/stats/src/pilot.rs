//! Chooses the window length from a pilot run of the baseline.
//!
//! Method: mock ABBA blocks of window W and guard G are cut from the pilot's throughput. With
//! disturbances at rate d, the best length minimizes `sd(y)² · 4 (W + G) · exp(4 W d)`.

use crate::contrast::Block;
use crate::sample::deviation;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    pub seconds: f64,
    /// Of block contrasts at this length.
    pub deviation: f64,
}

/// The spread of fewer mock blocks is too uncertain.
const LEAST_BLOCKS: usize = 5;

/// The best multiple of the sample length, in seconds; `disturbances` are per second. `None` if the
/// pilot is too short.
pub fn choose_window(
    rates: &[f64],
    sample_seconds: f64,
    guard_seconds: f64,
    [shortest, longest]: [f64; 2],
    disturbances: f64,
) -> Option<Window> {
    let guard = (guard_seconds / sample_seconds).round() as usize;
    let mut best: Option<(f64, Window)> = None;
    let mut samples = (shortest / sample_seconds).ceil().max(1.0) as usize;
    while samples as f64 * sample_seconds <= longest {
        if let Some(deviation) = spread_of_blocks(rates, samples, guard) {
            let seconds = samples as f64 * sample_seconds;
            let spoilt = (4.0 * seconds * disturbances).exp();
            let price = deviation.powi(2) * 4.0 * (seconds + guard_seconds) * spoilt;
            if best.is_none_or(|(least, _)| price < least) {
                best = Some((price, Window { seconds, deviation }));
            }
        }
        samples = (samples as f64 * 1.25).ceil() as usize;
    }
    best.map(|(_, window)| window)
}

/// Without a pilot, for noise that longer windows average out: minimizes
/// `(W + G) · exp(4 W d) / W`. Infinite without disturbances.
pub fn window_between(disturbances: f64, guard_seconds: f64) -> f64 {
    let guard = guard_seconds;
    f64::midpoint(-guard, (guard * guard + guard / disturbances).sqrt())
}

/// Blocks start at several offsets to make more of a short pilot.
fn spread_of_blocks(rates: &[f64], samples: usize, guard: usize) -> Option<f64> {
    let pitch = samples + guard;
    let mut contrasts = Vec::new();
    for start in (0..4 * pitch).step_by(pitch) {
        for block in rates.get(start..)?.chunks_exact(4 * pitch) {
            let window = |n: usize| {
                let from = n * pitch + guard;
                block[from..from + samples].iter().sum::<f64>() / samples as f64
            };
            let block = Block { a: [window(0), window(3)], b: [window(1), window(2)] };
            contrasts.extend(block.contrast());
        }
    }
    // Blocks from the four offsets overlap: they count as a quarter each.
    (contrasts.len() >= 4 * LEAST_BLOCKS).then(|| deviation(&contrasts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_noise_asks_for_no_longer_window_than_its_guards_deserve() {
        let mut rng = fastrand::Rng::with_seed(5);
        let rates: Vec<f64> = (0..3000).map(|_| 100.0 + rng.f64()).collect();
        let free = choose_window(&rates, 0.1, 0.0, [0.1, 8.0], 0.0).unwrap();
        let dear = choose_window(&rates, 0.1, 2.0, [0.1, 8.0], 0.0).unwrap();
        assert!(dear.seconds > free.seconds, "{dear:?} after {free:?}");
    }

    #[test]
    fn disturbances_ask_for_windows_that_fit_between_them() {
        let mut rng = fastrand::Rng::with_seed(5);
        let rates: Vec<f64> = (0..3000).map(|_| 100.0 + rng.f64()).collect();
        let seconds = |disturbances| {
            choose_window(&rates, 0.1, 0.5, [0.1, 8.0], disturbances).unwrap().seconds
        };
        let (quiet, restless, wild) = (seconds(0.0), seconds(0.3), seconds(1e6));
        assert!(wild < restless && restless < quiet, "{wild} {restless} {quiet}");
        assert!((wild - 0.1).abs() < 1e-9, "{wild}");
    }

    #[test]
    fn a_window_between_disturbances_costs_least() {
        for (disturbances, guard) in [(0.1, 0.05), (1.0, 0.05), (5.0, 0.06), (20.0, 0.5)] {
            let price = |w: f64| (w + guard) * (4.0 * w * disturbances).exp() / w;
            let best = window_between(disturbances, guard);
            assert!(price(best) < price(best * 0.9) && price(best) < price(best * 1.1), "{best}");
        }
        assert!(window_between(0.0, 0.05).is_infinite());
    }

    #[test]
    fn drift_asks_for_short_windows() {
        let rates: Vec<f64> = (0..3000)
            .map(|n| 100.0 + 5.0 * (f64::from(n) * 0.1 / 20.0 * std::f64::consts::TAU).sin())
            .collect();
        assert!(choose_window(&rates, 0.1, 0.1, [0.1, 8.0], 0.0).unwrap().seconds < 1.0);
    }

    #[test]
    fn a_short_pilot_chooses_nothing() {
        assert_eq!(choose_window(&[1.0; 10], 0.1, 0.1, [0.1, 8.0], 0.0), None);
    }
}
