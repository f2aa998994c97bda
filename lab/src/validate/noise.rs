//! Noise in throughput, without any effect: synthetic and recorded.

use fastrand::Rng;

pub const SAMPLE_SECONDS: f64 = 0.5;

/// Components of synthetic noise, as shares of throughput.
#[derive(Clone, Copy, Debug)]
pub struct Weather {
    pub name: &'static str,
    /// Independent from second to second.
    white: f64,
    /// Correlated from second to second by 0.95.
    sticky: f64,
    /// A random walk's standard deviation after ten minutes.
    walk: f64,
    /// The standard deviation of a linear drift over ten minutes.
    drift: f64,
    /// The share lost in a checkpoint of 6 s every 120 s.
    checkpoint: f64,
}

pub const NOISY: Weather = Weather {
    name: "noisy",
    white: 0.02,
    sticky: 0.015,
    walk: 0.01,
    drift: 0.02,
    checkpoint: 0.10,
};
pub const QUIET: Weather = Weather {
    name: "quiet",
    white: 0.01,
    sticky: 0.0075,
    walk: 0.005,
    drift: 0.01,
    checkpoint: 0.05,
};

const STICKINESS_OF_A_SECOND: f64 = 0.95;
const TEN_MINUTES: f64 = 600.0;
const CHECKPOINT_EVERY: f64 = 120.0;
const CHECKPOINT_LASTS: f64 = 6.0;

impl Weather {
    /// The logarithm of the throughput, sample by sample.
    pub fn trace(&self, samples: usize, rng: &mut Rng) -> Vec<f64> {
        let dt = SAMPLE_SECONDS;
        let stickiness = STICKINESS_OF_A_SECOND.powf(dt);
        let push = self.sticky * (1.0 - stickiness.powi(2)).sqrt();
        let slope = self.drift * normal(rng) / TEN_MINUTES * dt;
        let stride = self.walk * (dt / TEN_MINUTES).sqrt();
        let phase = rng.f64() * CHECKPOINT_EVERY;
        let (mut sticky, mut walk) = (self.sticky * normal(rng), 0.0);
        let sample = |n: usize| {
            sticky = stickiness * sticky + push * normal(rng);
            walk += stride * normal(rng);
            let at = (n as f64 * dt + phase) % CHECKPOINT_EVERY;
            let dip = if at < CHECKPOINT_LASTS { (1.0 - self.checkpoint).ln() } else { 0.0 };
            self.white / dt.sqrt() * normal(rng) + sticky + walk + slope * n as f64 + dip
        };
        (0..samples).map(sample).collect()
    }
}

/// Pieces of a recorded trace in random order.
pub fn resample(recorded: &[f64], samples: usize, rng: &mut Rng) -> Vec<f64> {
    const PIECE_SECONDS: f64 = 60.0;
    let piece = ((PIECE_SECONDS / SAMPLE_SECONDS) as usize).min(recorded.len());
    let mut trace = Vec::with_capacity(samples + piece);
    while trace.len() < samples {
        let from = rng.usize(..=recorded.len() - piece);
        trace.extend_from_slice(&recorded[from..from + piece]);
    }
    trace.truncate(samples);
    trace
}

/// A standard normal number (G. E. P. Box and M. E. Muller, 1958).
pub fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.f64()).cos()
}

/// Student's t with three degrees of freedom, scaled to a standard deviation of one.
pub fn heavy(rng: &mut Rng) -> f64 {
    let squares: f64 = (0..3).map(|_| normal(rng).powi(2)).sum();
    normal(rng) / (squares / 3.0).sqrt() / 3.0_f64.sqrt()
}

/// One in twenty is five times as far out.
pub fn contaminated(rng: &mut Rng) -> f64 {
    let scale = if rng.u32(..20) == 0 { 5.0 } else { 1.0 };
    scale * normal(rng)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deviation(values: &[f64]) -> f64 {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
    }

    #[test]
    fn noise_is_as_large_as_it_says() {
        let mut rng = Rng::with_seed(1);
        let of = |noise: fn(&mut Rng) -> f64, rng: &mut Rng| {
            deviation(&(0..200_000).map(|_| noise(rng)).collect::<Vec<_>>())
        };
        assert!((of(normal, &mut rng) - 1.0).abs() < 0.02);
        assert!((of(heavy, &mut rng) - 1.0).abs() < 0.2);
        assert!((of(contaminated, &mut rng) - 2.2_f64.sqrt()).abs() < 0.05);
        let white = Weather { sticky: 0.0, walk: 0.0, drift: 0.0, checkpoint: 0.0, ..NOISY };
        let seconds: Vec<f64> = white
            .trace(40_000, &mut rng)
            .chunks_exact(2)
            .map(|pair| f64::midpoint(pair[0], pair[1]))
            .collect();
        assert!((deviation(&seconds) - 0.02).abs() < 0.001, "2 % from second to second");
    }

    #[test]
    fn pieces_come_from_the_recording() {
        let recorded: Vec<f64> = (0..1000).map(f64::from).collect();
        let trace = resample(&recorded, 500, &mut Rng::with_seed(2));
        assert_eq!(trace.len(), 500);
        assert!(trace.windows(2).filter(|pair| (pair[1] - pair[0] - 1.0).abs() > 0.5).count() <= 4);
    }
}
