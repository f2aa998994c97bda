//! Processes that hopcost starts from its own file.

use std::process::ExitCode;

use crate::{figures, run};

/// If this process was started to host a database library, or as one start of a probe or a run, does so and
/// returns its exit code. Call it first in `main`, before any thread starts.
pub fn hosted_process() -> Option<ExitCode> {
    hopcost_engines::hosted_process().or_else(figures::serve_if_asked).or_else(run::serve_if_asked)
}
