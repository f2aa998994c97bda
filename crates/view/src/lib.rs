//! What a person sees: text for the terminal, drawings, and the page.
//!
//! Everything here turns values into text and nothing else; who prints it decides whether colours
//! stay. RULE: no bar without its interval, no colour that carries a meaning alone.

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

pub use format::{Canvas, FORMATS, Format, Shown};
pub use story::absence::advice;
pub use story::findings::{Sentences, sentences};
pub use words::{bytes, count, figure, plural};
pub use xml::plain;
