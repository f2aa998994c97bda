//! The fitted Universal Scalability Law: `X(N) = λN / (1 + σ(N−1) + κN(N−1))`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::known::Known;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contention {
    /// σ: clients wait for each other.
    pub sigma: f64,
    /// κ: each pair of clients has to agree.
    pub kappa: f64,
}

impl Contention {
    /// Factor by which a client among `streams` is slower than alone.
    pub fn slowed(self, streams: f64) -> f64 {
        1.0 + self.sigma * (streams - 1.0) + self.kappa * streams * (streams - 1.0)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalingLaw {
    pub lambda: Estimate,
    pub sigma: Estimate,
    pub kappa: Estimate,
    pub peak: Known<Estimate>,
    /// Largest deviation of a throughput from the law, as a share.
    pub worst_miss: f64,
}

impl ScalingLaw {
    pub fn rate(&self, streams: f64) -> f64 {
        let [lambda, sigma, kappa] = [self.lambda, self.sigma, self.kappa].map(|of| of.point);
        lambda * streams / Contention { sigma, kappa }.slowed(streams)
    }
}

impl fmt::Display for ScalingLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lambda, sigma, kappa, peak, worst_miss } = self;
        let percents = |of: &Estimate| [of.point, of.low, of.high].map(|share| 100.0 * share);
        write!(
            f,
            "one stream does λ {:.0} ({:.0} … {:.0})",
            lambda.point, lambda.low, lambda.high
        )?;
        let [point, low, high] = percents(sigma);
        write!(f, ", σ {point:.2}% waits in line ({low:.2} … {high:.2})")?;
        let [point, low, high] = percents(kappa);
        write!(f, ", κ {point:.3}% for each pair to agree ({low:.3} … {high:.3})")?;
        write!(f, "; no rate is more than {:.1}% from this curve; ", 100.0 * worst_miss)?;
        match peak {
            Known::Is(at) => {
                let Estimate { point, low, high, .. } = at;
                write!(f, "it turns down at {point:.1} streams ({low:.1} … {high:.1})")
            }
            Known::Missing(reason) => {
                write!(f, "where it turns down is not told, because {reason}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Code;

    #[test]
    fn it_is_told_with_what_is_not_known() {
        let of = |point: f64| {
            let (low, high) = (0.9 * point, 1.1 * point);
            Estimate { point, low, high, level: 0.95, n: 48, n_effective: 6.0 }
        };
        let mut law = ScalingLaw {
            lambda: of(1000.0),
            sigma: of(0.05),
            kappa: of(0.01),
            peak: Known::Is(of(9.7)),
            worst_miss: 0.012,
        };
        assert!((law.rate(2.0) - 2000.0 / 1.07).abs() < 1e-9);
        assert_eq!(
            law.to_string(),
            "one stream does λ 1000 (900 … 1100), σ 5.00% waits in line (4.50 … 5.50), κ 1.000% for \
             each pair to agree (0.900 … 1.100); no rate is more than 1.2% from this curve; it \
             turns down at 9.7 streams (8.7 … 10.7)"
        );
        law.peak = Known::missing(Code::TooFew, "κ may be zero");
        assert!(law.to_string().ends_with("is not told, because κ may be zero"));
    }
}
