//! Drawings as self-contained SVG with real text, light or dark.

mod machine;

pub use machine::{machine, overview, subtitle};
