//! Output formats. A new format is a file here and a line in [`FORMATS`].

mod card;
mod csv;
mod html;
mod json;
mod markdown;
mod openmetrics;
mod output;
mod share;
pub mod terminal;

pub use csv::FORMAT as CSV;
pub use html::FORMAT as HTML;
pub use json::FORMAT as JSON;
pub use markdown::FORMAT as MARKDOWN;
pub use output::{Canvas, Format, Shown};
pub use share::{Shared, SharedRun};
pub use terminal::FORMAT as TERMINAL;

pub const FORMATS: &[Format] = &[
    terminal::FORMAT,
    json::FORMAT,
    csv::FORMAT,
    markdown::FORMAT,
    html::FORMAT,
    card::FORMAT,
    openmetrics::FORMAT,
    share::FORMAT,
];

pub fn named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}
