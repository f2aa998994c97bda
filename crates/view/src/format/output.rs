//! What every output is told, and what it tells of itself.

use hopcost_core::Between;

use crate::page::Page;

/// What there is to show.
pub enum Shown<'a> {
    Report(&'a Page<'a>),
    Between(&'a Between),
}

/// What it is shown on.
#[derive(Clone, Copy, Debug)]
pub struct Canvas {
    pub columns: usize,
}

/// One way to show it.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// As `--format` takes it.
    pub name: &'static str,
    pub about: &'static str,
    /// Its media type.
    pub media: &'static str,
    pub of: fn(&Shown<'_>, Canvas) -> String,
}
