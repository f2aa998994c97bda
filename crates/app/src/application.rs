//! What the use cases share.

use std::process::ExitCode;

use crate::Dirs;

/// If this process was started to host a database library, serves as that host and returns its exit
/// code. Call it first in `main`, before any thread starts.
pub fn hosted_process() -> Option<ExitCode> {
    hopcost_engines::hosted_process()
}

#[derive(Clone, Debug)]
pub struct App {
    pub(crate) dirs: Dirs,
}

impl App {
    /// Call it before a store is opened: SQLite must be configured before its first use.
    pub fn new(dirs: Dirs) -> Self {
        hopcost_engines::sqlite::prepare();
        Self { dirs }
    }
}
