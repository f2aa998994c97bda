//! What a person sees: text for the terminal, drawings, and the page.
//!
//! Everything here turns values into text and nothing else; who prints it decides whether colours
//! stay. RULE: no bar without its interval, no colour that carries a meaning alone.

mod absence;
mod charts;
mod csv;
mod findings;
mod html;
mod layout;
mod markdown;
pub mod page;
mod parallel;
#[cfg(test)]
mod sample;
mod series;
pub mod svg;
pub mod text;
mod words;
mod xml;

pub use absence::advice;
pub use csv::csv;
pub use findings::{Sentences, sentences};
pub use html::html;
pub use markdown::markdown;
pub use words::{bytes, count, figure, plural};
