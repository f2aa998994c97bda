//! Charts: each a pure function from results to one SVG, or the reason why there is none.
//!
//! RULE: no bar without its interval, no bar axis that does not begin at zero, no second axis. Each
//! has real text, a title and a description. Colors are CSS classes, so that the page's style sets
//! them for light, dark and print. A new chart is a file here and a line below.

mod axis;
mod contrasts;
mod cpu_heat;
mod curve;
mod effect;
mod law;
mod looks;
mod lookups;
mod matrix;
mod starts;
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
pub use starts::starts;
pub use streams::streams;
pub use times::times;
