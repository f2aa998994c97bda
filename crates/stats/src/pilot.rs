//! How long a window should be, from a pilot run on the baseline alone.
//!
//! Method: the pilot's throughput, in short equal samples, is cut into windows of each candidate
//! length and these into mock blocks A B B A. A budget of time buys `1/(4 (W + G))` blocks a second, of
//! which those are kept that nothing disturbed: `exp(−4 W d)` of them if disturbances come `d` times a
//! second. So the best length makes `sd(y)² · 4 (W + G) · exp(4 W d)` smallest. Short windows see more noise,
//! long ones more drift, and more that spoils them; the balance differs from machine to machine.

use crate::contrast::Block;
use crate::sample::deviation;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    pub seconds: f64,
    /// The standard deviation of block contrasts with such windows.
    pub deviation: f64,
}

/// The spread of fewer mock blocks is not believed.
const LEAST_BLOCKS: usize = 5;

/// The best length among multiples of the sample length, from `shortest` to `longest` seconds, with so
/// many disturbances in a second. None if the pilot is too short.
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

/// The best length in seconds if nothing is known but the disturbances in a second, for noise that longer windows
/// average out: the minimum of `(W + G) · exp(4 W d) / W`. Infinite without disturbances.
pub fn window_between(disturbances: f64, guard_seconds: f64) -> f64 {
    let guard = guard_seconds;
    f64::midpoint(-guard, (guard * guard + guard / disturbances).sqrt())
}

/// The standard deviation of mock contrasts. Blocks are laid from several starts, so that a short pilot
/// tells more.
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
    // Blocks from the four starts overlap: they count as a quarter each.
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
        // A slow wave, 20 s long, as of a machine that warms and cools.
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
