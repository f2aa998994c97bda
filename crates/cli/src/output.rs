//! Where text goes: colours stay on a terminal and go elsewhere (and with `NO_COLOR`).

use std::io::{self, Write};

use serde::Serialize;

use crate::exit::Failure;

/// Columns where the terminal does not tell: a pipe, a file.
const DEFAULT_COLUMNS: usize = 80;

/// Prints text.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Prints a value as JSON.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// Says something beside the output.
pub fn remark(text: &str) {
    // Nobody is left to tell when this fails.
    let _ = writeln!(anstream::stderr(), "hopcost: {text}");
}

/// Says why a command failed.
pub fn complain(failure: &Failure) {
    remark(&failure.to_string());
}

/// How wide the terminal is.
pub fn columns() -> usize {
    terminal_size::terminal_size().map_or(DEFAULT_COLUMNS, |(width, _)| usize::from(width.0))
}
