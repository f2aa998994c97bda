//! The law's formula.

use hopcost_core::Contention;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    pub lambda: f64,
    pub sigma: f64,
    pub kappa: f64,
}

impl Law {
    pub fn rate(&self, streams: f64) -> f64 {
        self.lambda * streams / self.denominator(streams)
    }

    /// Infinite if throughput never falls.
    pub fn peak(&self) -> f64 {
        ((1.0 - self.sigma).max(0.0) / self.kappa).sqrt().max(1.0)
    }

    pub fn denominator(&self, streams: f64) -> f64 {
        Contention { sigma: self.sigma, kappa: self.kappa }.slowed(streams)
    }
}
