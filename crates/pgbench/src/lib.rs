//! Scripts in the format of PostgreSQL's `pgbench`.
//!
//! Pure: `script.rs` reads a text, `walk.rs` returns its steps. The caller talks to the database,
//! waits, and passes back the answers that the script needs.
//!
//! A command reaches the server as from `pgbench -M prepared` of version 15 or later. Differences:
//!
//! - A variable's name in quotes or comments stays as it is; pgbench numbers it, and the server
//!   refuses the call. If the script sets that variable, its name in quotes is an error, because
//!   `-M simple` would insert the value.
//! - NULL is sent as NULL, where pgbench sends the four letters. An unset variable is an error,
//!   where pgbench sends NULL.
//! - `\shell`, `\setshell`, `\;`, and unterminated quotes, comments and parentheses are refused.
//! - A semicolon in `BEGIN ATOMIC … END` ends a command.
//! - `debug()` prints nothing.
//! - Random numbers have the same distributions, but other values; so has `permute`.

mod arguments;
mod builtin;
mod cursor;
mod expression;
mod functions;
mod grammar;
mod hashes;
mod names;
mod order;
mod place;
mod random;
mod reader;
mod script;
mod session;
mod sql;
mod value;
mod walk;
mod wrong;

pub use arguments::{UnreadableDefinition, UnreadableWeight, name_and_value, name_and_weight};
pub use builtin::{BUILTINS, Builtin, builtin};
pub use order::Pipeline;
pub use place::{Place, RunError, ScriptError};
pub use script::Script;
pub use session::{Parameter, Session, presets};
pub use value::Value;
pub use walk::{Step, Walk};
pub use wrong::ValueError;

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod tests;
