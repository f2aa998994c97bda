//! Charts: each a pure function of what was measured to one SVG, or the reason why there is none.
//!
//! RULE: no bar without its interval, no axis under a bar that does not begin at zero, no second
//! axis. Real text, a title and a description in each; colours by class, so that the page's style
//! decides what light, dark and paper look like. A new chart is a file here and a line below.

mod axis;
mod contrasts;
mod cpu_heat;
mod curve;
mod effect;
mod law;
mod looks;
mod lookups;
mod matrix;
mod streams;
mod timeline;
mod times;

pub use axis::{SIGNS, class_of};
pub use contrasts::contrasts;
pub use cpu_heat::cpu_heat;
pub use curve::curve;
pub use effect::{Kind, Row, effect};
pub use law::law;
pub use looks::looks;
pub use lookups::lookups;
pub use matrix::matrix;
pub use streams::streams;
pub use times::times;
