//! What the use cases share.

use crate::Dirs;

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
