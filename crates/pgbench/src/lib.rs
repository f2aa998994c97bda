//! Scripts in the format of PostgreSQL's `pgbench`, so that a workload that people have is driven as
//! it stands.
//!
//! Pure: a text goes in and steps come out. Whoever takes the steps speaks with the database, waits,
//! and hands back the answers that the script asks for. `script.rs` is the way in, `walk.rs` the way
//! through; `expression.rs` is what stands behind `\set` and `\if`.
//!
//! A command reaches the server as from `pgbench -M prepared` of version 15 or later. What differs:
//!
//! - A variable's name in quotes or in a comment stays as it is. pgbench numbers it there too, and
//!   the server refuses the call. Where the script itself sets the variable, its name in quotes is
//!   an error: `-M simple` would put the value there, and silence would change the workload.
//! - NULL is sent as NULL, where pgbench sends the four letters; a variable that nothing has set is
//!   an error, where pgbench sends NULL.
//! - `\shell`, `\setshell` and `\;` are refused while the script is read, and so are quotes, comments
//!   and parentheses without an end.
//! - A semicolon within `BEGIN ATOMIC … END` of a function's definition ends a command.
//! - `debug()` returns its argument and prints nothing.
//! - Random numbers have the same distributions, in another order; `permute` shuffles otherwise.

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
