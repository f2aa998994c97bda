//! What hopcost does, as a library.
//!
//! RULE: it returns values. It prints nothing, ends no process, and reads no variable of the environment: what it
//! needs of it is handed to it.

pub mod catalogue;
pub mod locate;
pub mod scripts;
