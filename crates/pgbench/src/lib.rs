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

mod builtin;
mod cursor;
mod expression;
mod functions;
mod grammar;
mod hashes;
mod names;
mod place;
mod random;
mod reader;
mod script;
mod session;
mod sql;
mod value;
mod walk;
mod wrong;

pub use builtin::{BUILTINS, Builtin, builtin};
pub use place::{Place, RunError, ScriptError};
pub use script::Script;
pub use session::{Parameter, Session, presets};
pub use value::Value;
pub use walk::{Pipeline, Step, Walk};
pub use wrong::ValueError;

/// The largest weight that pgbench takes.
const MOST_WEIGHT: u32 = i32::MAX.cast_unsigned();

/// A weight that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' behind '@' is no weight: write NAME@2, with a whole number up to {most}", most = MOST_WEIGHT)]
pub struct UnreadableWeight(String);

/// The name and the weight of `NAME@WEIGHT`; the weight is 1 where there is none.
///
/// A name that has an `@` itself needs its weight behind it.
pub fn name_and_weight(argument: &str) -> Result<(&str, u32), UnreadableWeight> {
    let Some((name, weight)) = argument.rsplit_once('@') else { return Ok((argument, 1)) };
    let digits_only = weight.bytes().all(|byte| byte.is_ascii_digit());
    match weight.parse() {
        Ok(number) if digits_only && number <= MOST_WEIGHT => Ok((name, number)),
        _ => Err(UnreadableWeight(weight.to_owned())),
    }
}

/// A definition that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableDefinition {
    /// It has no value.
    #[error("write NAME=VALUE")]
    NoValue,
    /// No variable can be called that.
    #[error("'{0}' is no name of a variable: {NAMES}")]
    NoName(String),
}

/// What names variables can have.
const NAMES: &str = "letters, digits and _, and no digit first";

/// The name and the value of `NAME=VALUE`, as `pgbench -D` takes it; the value is any text.
pub fn name_and_value(argument: &str) -> Result<(&str, &str), UnreadableDefinition> {
    let (name, value) = argument.split_once('=').ok_or(UnreadableDefinition::NoValue)?;
    if cursor::is_name(name) {
        return Ok((name, value));
    }
    Err(UnreadableDefinition::NoName(name.to_owned()))
}

#[cfg(test)]
mod tests;
