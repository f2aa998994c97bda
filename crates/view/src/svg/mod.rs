//! Drawings as SVG: real text, no scripts, nothing from outside, light and dark by the reader's
//! preference.

mod machine;

pub use machine::{machine, overview, subtitle};
