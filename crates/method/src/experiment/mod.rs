//! Reads an experiment file. Errors name the position and the remedy.

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
