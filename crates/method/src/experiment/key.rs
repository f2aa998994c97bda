//! The description of one key of an experiment file.

#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Table and name; `NAME` and `LEVEL` stand for names the user chooses.
    pub path: &'static str,
    pub says: &'static str,
}

pub const fn key(path: &'static str, says: &'static str) -> Key {
    Key { path, says }
}
