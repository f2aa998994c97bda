//! The application: what its use cases share.

use std::process::ExitCode;

use crate::Dirs;

/// Serves as the process that hosts a library, if this is one: it has been started by another that does. To be asked
/// first of all, before there is another thread.
pub fn hosted_process() -> Option<ExitCode> {
    hopcost_engines::hosted_process()
}

/// Everything hopcost can do here: each use case is a file of its own.
#[derive(Clone, Debug)]
pub struct App {
    pub(crate) dirs: Dirs,
}

impl App {
    /// With these directories. To be made before a store is opened: SQLite is readied only before its first use.
    pub fn new(dirs: Dirs) -> Self {
        hopcost_engines::sqlite::prepare();
        Self { dirs }
    }
}
