//! N. J. Gunther's Universal Scalability Law, `X(N) = λN / (1 + σ(N−1) + κN(N−1))`.
//!
//! Method: a least-squares fit of `N / X`, refined by Gauss-Newton steps on the weighted log rates.
//! Intervals come from a seeded parametric bootstrap, widened by the residuals. The peak
//! `sqrt((1−σ) / κ)` is reported only with six client counts or more that extend beyond it, a
//! significant κ, and no bend at the end of cores or sockets.
//! Limits: clients beyond the last core cause a bend, which the parameters do not explain.

mod curve;
mod equations;
mod fit;
mod law;
#[cfg(test)]
mod tests;

pub use fit::{Boundary, LEAST_FOR_A_LAW, Rate, fit};
