//! Views: terminal text, drawings and the HTML page.
//!
//! Pure functions from values to text; the caller decides about colors. RULE: no bar without its
//! interval, and no meaning by color alone.

mod charts;
pub mod format;
mod layout;
pub mod page;
#[cfg(test)]
mod sample;
mod series;
mod story;
pub mod svg;
pub mod text;
mod words;
mod xml;

pub use format::{Canvas, FORMATS, Format, Shared, SharedRun, Shown};
pub use story::absence;
pub use story::findings::{Sentences, sentences};
pub use story::verdict::{figure_found, found};
pub use words::{bytes, change, count, day, figure, plural, sentence, verdict_in_words};
pub use xml::plain;
