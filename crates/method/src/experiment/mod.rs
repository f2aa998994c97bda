//! Reads an experiment from its file, with errors that point at the place and say what to do.

mod advice;
mod file;
mod find;
mod flaw;
mod format;
mod key;
mod level;
mod names;
mod read;

pub use flaw::FileError;
pub use format::keys;
pub use names::Vocabulary;
pub use read::read;
