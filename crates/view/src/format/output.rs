//! Interface of an output format.

use hopcost_core::Between;

use crate::page::Page;

pub enum Shown<'a> {
    Report(&'a Page<'a>),
    Between(&'a Between),
}

#[derive(Clone, Copy, Debug)]
pub struct Canvas {
    pub columns: usize,
}

#[derive(Clone, Copy, Debug)]
pub struct Format {
    pub name: &'static str,
    pub about: &'static str,
    pub media: &'static str,
    pub of: fn(&Shown<'_>, Canvas) -> String,
}
