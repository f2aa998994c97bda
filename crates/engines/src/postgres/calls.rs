//! Prepared statements and scripts of PostgreSQL: messages built beforehand, and an answer's
//! digest.
//!
//! Method: statements are prepared once; a call writes binary arguments into prebuilt messages
//! (bind, execute, sync). Rows are parsed in place. A load is a single request.
//!
//! Limits: arguments are integers and timestamps.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use bytes::BytesMut;
use hopcost_core::{Answer, CallError, Row, Statement, TargetError};
use hopcost_pgbench::Script;
use postgres_protocol::message::frontend;

use super::super::server::call::{Answers, Prepared};
use super::super::server::dialect;
use super::super::server::filling::Filler;
use super::super::server::wire::WireError;
use super::super::server::with_literals;
use super::script::{Client, Compiled};
use super::types::Type;
use super::wire::{Wire, columns, copy_into};

#[derive(Clone, Copy)]
pub enum Ready {
    Statement(Statement),
    Script(&'static Compiled),
}

impl Ready {
    pub fn of(number: usize, statement: &Statement) -> Result<Self, TargetError> {
        let Some(variables) = statement.script else {
            return Ok(Self::Statement(*statement));
        };
        let script = Script::with(statement.name, statement.sql, variables);
        let script = script.map_err(|error| TargetError::Failed(error.to_string()))?;
        let compiled = Compiled::new(number, script).map_err(TargetError::Failed)?;
        Ok(Self::Script(Box::leak(Box::new(compiled))))
    }

    pub fn script(&self) -> Option<&'static Script> {
        match self {
            Self::Statement(_) => None,
            Self::Script(compiled) => Some(&compiled.script),
        }
    }
}

pub enum Call {
    Statement(Prepared<Type, Columns>),
    Script(&'static Compiled, Rc<RefCell<Client>>),
}

pub struct Columns(Vec<Type>);

pub fn prepare(
    wire: &mut Wire,
    n: usize,
    statement: &Statement,
    filler: Option<&Filler>,
) -> Result<Call, TargetError> {
    let Statement { name, recompile, .. } = *statement;
    let refused = |error: &dyn std::fmt::Display| {
        TargetError::Failed(format!("PostgreSQL does not take the statement '{name}': {error}"))
    };
    if let Some(filler) = filler.filter(|filler| filler.is_load()) {
        let messages = load(filler).map_err(|error| refused(&error))?;
        return Ok(Call::Statement(Prepared::new(name, messages, Vec::new(), Columns(Vec::new()))));
    }
    let sql = numbered(statement.sql);
    let [arguments, columns] = wire.prepare(&name_of(n), &sql).map_err(|error| refused(&error))?;
    let types = |oids: &[u32]| -> Result<Vec<Type>, TargetError> {
        let known = |oid: &u32| {
            Type::of(*oid).ok_or_else(|| refused(&format!("its type {oid} is not known here")))
        };
        oids.iter().map(known).collect()
    };
    if arguments.len() != statement.arguments {
        let (count, wanted) = (arguments.len(), statement.arguments);
        return Err(refused(&format!("it takes {count} arguments, and not {wanted}")));
    }
    let mut messages = BytesMut::new();
    let compiled = if recompile { String::new() } else { name_of(n) };
    let packed = |error: std::io::Error| refused(&error);
    if recompile {
        frontend::parse("", &sql, arguments.iter().copied(), &mut messages).map_err(packed)?;
    }
    let (kinds, columns) = (types(&arguments)?, types(&columns)?);
    let places = bind(&compiled, &kinds, &mut messages).map_err(|error| refused(&error))?;
    frontend::execute("", 0, &mut messages).map_err(packed)?;
    frontend::sync(&mut messages);
    let arguments = kinds.into_iter().zip(places).enumerate();
    let arguments = arguments.map(|(n, (kind, place))| (kind, n, place)).collect();
    Ok(Call::Statement(Prepared::new(name, messages.to_vec(), arguments, Columns(columns))))
}

impl Answers<Wire> for Columns {
    fn answer(&mut self, wire: &mut Wire) -> Result<Answer, WireError> {
        let Self(types) = self;
        let mut answer = Answer::default();
        wire.until_ready(|tag, body| {
            match tag {
                b'D' => answer.add(row(types, body)?),
                b'C' if types.is_empty() => {
                    answer = Answer::of(Row::new().integer(changed(body)));
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(answer)
    }
}

impl dialect::Call<Wire> for Call {
    fn name(&self) -> &'static str {
        match self {
            Self::Statement(prepared) => prepared.name(),
            Self::Script(compiled, _) => compiled.script.name(),
        }
    }

    fn begin(
        &mut self,
        wire: &mut Wire,
        arguments: &[i64; 4],
        out: Option<&mut Vec<u8>>,
    ) -> Result<(), CallError> {
        match self {
            Self::Statement(prepared) => prepared.begin(wire, arguments, out),
            // A script without a statement ends at once.
            Self::Script(compiled, client) => {
                if client.borrow_mut().begin(wire, compiled, out)?.is_none() {
                    return Ok(());
                }
                let words = format!("{}: it asks nothing", compiled.script.name());
                Err(CallError::Failed(words))
            }
        }
    }

    fn go_on(
        &mut self,
        wire: &mut Wire,
        out: Option<&mut Vec<u8>>,
    ) -> Result<Option<Answer>, CallError> {
        match self {
            Self::Statement(prepared) => prepared.go_on(wire, out),
            Self::Script(_, client) => {
                let ended = client.borrow_mut().answered(wire, out)?;
                Ok(ended.map(|rows| Answer { rows, digest: 0 }))
            }
        }
    }

    fn rest(&self) -> Option<Duration> {
        match self {
            Self::Statement(_) => None,
            Self::Script(_, client) => client.borrow().rest(),
        }
    }
}

fn load(filler: &Filler) -> std::io::Result<Vec<u8>> {
    let mut messages = BytesMut::new();
    frontend::query(&copy_into(filler.name()), &mut messages)?;
    messages.extend_from_slice(filler.rows());
    frontend::copy_done(&mut messages);
    Ok(messages.to_vec())
}

pub fn name_of(n: usize) -> String {
    format!("hopcost_{n}")
}

/// `?` becomes `$1`, `$2`, …
pub fn numbered(sql: &str) -> String {
    with_literals(sql, (1..).map(|n: usize| format!("${n}")))
}

fn bind(
    statement: &str,
    types: &[Type],
    messages: &mut BytesMut,
) -> Result<Vec<Range<usize>>, String> {
    let mut lengths = Vec::new();
    for kind in types {
        let bytes = kind.argument_bytes();
        lengths.push(bytes.ok_or("its arguments are no whole numbers and no points in time")?);
    }
    let write = |length: usize, buffer: &mut BytesMut| {
        buffer.extend_from_slice(&[0; 16][..length]);
        Ok(postgres_protocol::IsNull::No)
    };
    frontend::bind("", statement, [1], lengths.iter().copied(), write, [1], messages)
        .map_err(|_| "its arguments cannot be packed")?;
    // The message ends with the count of result formats and one format: four bytes.
    let mut end = messages.len() - 4;
    let mut places = Vec::new();
    for length in lengths.iter().rev() {
        places.push(end - length..end);
        end -= length + 4;
    }
    places.reverse();
    Ok(places)
}

#[inline]
fn row(types: &[Type], body: &[u8]) -> Result<Row, String> {
    let mut row = Row::new();
    for (kind, value) in types.iter().zip(columns(body)) {
        row = kind.add_to(row, value)?;
    }
    Ok(row)
}

/// Affected rows, from a command tag such as `INSERT 0 1`.
fn changed(tag: &[u8]) -> i64 {
    let text = std::str::from_utf8(tag).unwrap_or_default().trim_end_matches('\0');
    text.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_numbered_and_have_their_room() {
        assert_eq!(numbered("a = ? AND b < ?"), "a = $1 AND b < $2");
        assert_eq!(numbered("SELECT 1"), "SELECT 1");
        let mut messages = BytesMut::new();
        frontend::sync(&mut messages);
        let types = [Type::Integer(2), Type::Timestamp, Type::Uuid, Type::Integer(4)];
        let places = bind("s", &types, &mut messages).unwrap();
        assert_eq!(places.iter().map(Range::len).collect::<Vec<_>>(), [2, 8, 16, 4]);
        for place in places {
            let length = [0, 0, 0, place.len() as u8];
            assert_eq!(messages[place.start - 4..place.start], length);
        }
    }

    #[test]
    fn a_change_tells_how_many_rows() {
        assert_eq!([&b"INSERT 0 1\0"[..], b"UPDATE 7\0", b"BEGIN\0"].map(changed), [1, 7, 0]);
    }
}
