//! Simulated machines whose starts differ.

use fastrand::Rng;

use super::super::noise::{heavy, normal};

/// The luck of a start, of the logarithm of throughput.
#[derive(Clone, Copy)]
pub enum Luck {
    Normal(f64),
    /// Student's t with three degrees, of this standard deviation.
    Heavy(f64),
    /// Skewed, of this standard deviation.
    Lognormal(f64),
    Uniform(f64),
    /// This share of the starts is slower by this much; the rest differs a little, too.
    Kinds(f64, f64),
}

/// The standard deviation of starts of one kind.
const REST: f64 = 0.005;

impl Luck {
    pub fn draw(self, rng: &mut Rng) -> f64 {
        match self {
            Self::Normal(deviation) => deviation * normal(rng),
            Self::Heavy(deviation) => deviation * heavy(rng),
            Self::Lognormal(deviation) => {
                let [mean, spread] = [0.5_f64.exp(), (1.0_f64.exp() * 1.0_f64.exp_m1()).sqrt()];
                deviation * (normal(rng).exp() - mean) / spread
            }
            Self::Uniform(deviation) => deviation * (rng.f64() - 0.5) * 12.0_f64.sqrt(),
            Self::Kinds(share, slower) => {
                let kind = if rng.f64() < share { (1.0 - slower).ln() } else { 0.0 };
                kind + REST * normal(rng)
            }
        }
    }
}

/// A machine that changes by itself while it is measured.
#[derive(Clone, Copy)]
pub struct Drift {
    /// By start.
    pub trend: f64,
    /// The standard deviation of a step.
    pub walk: f64,
    /// What a neighbor takes while it is at work.
    pub neighbor: f64,
}

pub const STEADY: Drift = Drift { trend: 0.0, walk: 0.0, neighbor: 0.0 };
pub const DRIFTING: Drift = Drift { trend: -0.005, walk: 0.01, neighbor: 0.10 };
/// The chance that a neighbor comes or goes between two starts.
const NEIGHBOR_CHANGES: f64 = 0.1;

/// Of a start.
const WINDOWS: f64 = 4.0;

pub struct World {
    pub luck: Luck,
    /// The standard deviation of a window.
    pub window: f64,
    pub drift: Drift,
}

/// Logarithms of the throughput of one start of each variant, and which came first.
pub struct Pair {
    pub a: f64,
    pub b: f64,
    pub b_second: bool,
}

impl Pair {
    pub fn contrast(&self) -> f64 {
        self.b - self.a
    }
}

impl World {
    pub fn new(luck: Luck, window: f64) -> Self {
        Self { luck, window, drift: STEADY }
    }

    fn start(&self, rng: &mut Rng) -> f64 {
        self.luck.draw(rng) + self.window / WINDOWS.sqrt() * normal(rng)
    }

    /// Pairs in turn: each two of them hold A B once and B A once.
    pub fn pairs(&self, pairs: usize, effect: f64, rng: &mut Rng) -> Vec<Pair> {
        let Drift { trend, walk, neighbor } = self.drift;
        let (mut weather, mut is_busy) = (0.0, false);
        let mut first_is_a = false;
        let mut pair = |n: usize| {
            first_is_a = if n.is_multiple_of(2) { rng.bool() } else { !first_is_a };
            let mut start = || {
                weather += trend + walk * normal(rng);
                is_busy ^= rng.f64() < NEIGHBOR_CHANGES;
                let busy = if is_busy { (1.0 - neighbor).ln() } else { 0.0 };
                self.start(rng) + weather + busy
            };
            let [one, other] = [start(), start()];
            let (a, b) = if first_is_a { (one, other) } else { (other, one) };
            Pair { a, b: b + effect, b_second: first_is_a }
        };
        (0..pairs).map(&mut pair).collect()
    }
}

/// What changes by itself between occasions and within them: it is forgotten with this time constant.
#[derive(Clone, Copy)]
pub struct Weather {
    pub deviation: f64,
    pub lasts_s: f64,
}

impl Weather {
    /// At equal distances in time.
    pub fn at(self, times: usize, every_s: f64, rng: &mut Rng) -> Vec<f64> {
        let kept = (-every_s / self.lasts_s).exp();
        let mut now = normal(rng);
        let next = |_| {
            let before = now;
            now = kept * now + (1.0 - kept * kept).sqrt() * normal(rng);
            self.deviation * before
        };
        (0..times).map(next).collect()
    }
}
