//! How throughput grows with the number of streams, and where it turns down: N. J. Gunther's Universal
//! Scalability Law, `X(N) = λN / (1 + σ(N−1) + κN(N−1))`.
//!
//! Method: `N / X` is a polynomial in λ, σ and κ, whose least squares are the first guess. It is refined by
//! Gauss and Newton's steps on the logarithms of the rates, each weighted by one over its squared standard
//! error, with σ and κ not below zero. Intervals come from rates that are drawn again and again from their
//! own errors around the law and fitted likewise, the same from the same seed. What the law leaves over
//! beyond these errors widens them: it knows as little of the next rate as of these.
//! The place at which throughput turns down, `sqrt((1−σ) / κ)`, is only told if it was seen: by six numbers
//! of streams or more that reach beyond it, with a κ that is surely not zero, and by a curve without a bend
//! at the end of cores or sockets.
//!
//! Limits: the law knows one kind of place for streams. Streams beyond the last core share cores, and
//! that is a bend and no crosstalk; so λ, σ and κ describe such a curve, and explain nothing.

mod curve;
mod equations;
mod fit;
mod law;
#[cfg(test)]
mod tests;

pub use fit::{Boundary, LEAST_FOR_A_LAW, Rate, fit};
