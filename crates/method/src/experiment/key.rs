//! A key of an experiment file, in words.

#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its table and its name; the user chooses `NAME` and `LEVEL`.
    pub path: &'static str,
    pub says: &'static str,
}

pub const fn key(path: &'static str, says: &'static str) -> Key {
    Key { path, says }
}
