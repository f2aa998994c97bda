//! What a person sees: text for the terminal, drawings for a page.
//!
//! Everything here turns values into text and nothing else; who prints it decides whether colours
//! stay. RULE: no bar without its interval, no colour that carries a meaning alone.

mod day;
mod layout;
mod number;
pub mod svg;
pub mod text;

pub use number::{bytes, plural};
