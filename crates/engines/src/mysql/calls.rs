//! Prepared statements of MySQL: packets built beforehand, and the digest of an answer.
//!
//! Method: statements are prepared once; a call writes binary arguments into a prebuilt packet.
//! Rows are parsed in place; column descriptions, which the server repeats, only when they change.
//!
//! Limits: arguments are integers and timestamps. `recompile` is ignored, as no plans are cached.

use hopcost_core::{Answer, Row, Statement, TargetError};

use super::super::server::call::{Answers, Placed, Prepared};
use super::super::server::copy::Asked;
use super::super::server::filling::Filler;
use super::super::server::wire::{Wire as _, WireError};
use super::packet::{self, Reader};
use super::schema;
use super::types::{Argument, Type, arguments};
use super::wire::{Compiled, EXECUTE, Piece, QUERY, Wire};

pub type Call = Prepared<Argument, Columns>;

#[derive(Default)]
pub struct Columns {
    described: Vec<Vec<u8>>,
    types: Vec<Type>,
}

/// How each column of a row in a memory table follows from one of three numbers.
const OF_A_ROW: [(Argument, usize); 6] = [
    (Argument::Identifier, 0),
    (Argument::DateTime, 1),
    (Argument::Digits, 2),
    (Argument::Small(0), 2),
    (Argument::Small(1), 2),
    (Argument::Small(2), 2),
];

pub fn of(wire: &mut Wire, statement: &Statement, asked: &Asked<'_>) -> Result<Call, TargetError> {
    let Statement { name, sql, .. } = *statement;
    match asked.filler {
        Some(filler) if filler.is_load() => Ok(load(name, filler)),
        Some(filler) if filler.table().columns.len() == OF_A_ROW.len() => {
            let sql = format!("INSERT INTO `{}` VALUES (?, ?, ?, ?, ?, ?)", filler.name());
            prepare(wire, name, &sql, &OF_A_ROW)
        }
        _ => {
            let wanted = arguments(sql, asked.dataset).into_iter().enumerate();
            let wanted: Vec<_> = wanted.map(|(n, argument)| (argument, n)).collect();
            prepare(wire, name, sql, &wanted)
        }
    }
}

fn prepare(
    wire: &mut Wire,
    name: &'static str,
    sql: &str,
    wanted: &[(Argument, usize)],
) -> Result<Call, TargetError> {
    let server = if wire.is_mariadb() { "MariaDB" } else { "MySQL" };
    let refused = |error: &dyn std::fmt::Display| {
        TargetError::Failed(format!("{server} does not take the statement '{name}': {error}"))
    };
    let prepared = wire.prepare(sql).map_err(|error| refused(&error))?;
    if prepared.arguments != wanted.len() {
        let (count, wanted) = (prepared.arguments, wanted.len());
        return Err(refused(&format!("it takes {count} arguments, and not {wanted}")));
    }
    let (packet, arguments) = execute(prepared, wanted);
    Ok(Call::new(name, packet, arguments, Columns::default()))
}

fn load(name: &'static str, filler: &Filler) -> Call {
    let mut packet = Vec::new();
    packet::put(&mut packet, 0, |out| {
        out.push(QUERY);
        out.extend_from_slice(schema::load_into(filler.table(), filler.name()).as_bytes());
    });
    Call::new(name, packet, Vec::new(), Columns::default()).loading(filler.rows())
}

impl Answers<Wire> for Columns {
    fn answer(&mut self, wire: &mut Wire) -> Result<Answer, WireError> {
        let Self { described, types } = self;
        let mut answer = Answer::default();
        let mut column = 0;
        wire.until_done(|piece| {
            match piece {
                Piece::Column(description) => {
                    if described.get(column).is_none_or(|known| known != description) {
                        let kind = Type::of(description)?;
                        described.truncate(column);
                        types.truncate(column);
                        described.push(description.to_vec());
                        types.push(kind);
                    }
                    column += 1;
                }
                Piece::Row(body) => answer.add(row(types, body)?),
                Piece::Changed(count) => {
                    answer = Answer::of(Row::new().integer(count.cast_signed()));
                }
            }
            Ok(())
        })?;
        Ok(answer)
    }

    fn hand_over(wire: &mut Wire, rows: &[u8]) -> Result<(), WireError> {
        let number = wire.load_begins()?;
        let mut packets = Vec::new();
        let next = schema::put_lines(rows, &mut packets, number);
        packet::put(&mut packets, next, |_| {});
        wire.send(&packets)
    }
}

fn execute(prepared: Compiled, wanted: &[(Argument, usize)]) -> (Vec<u8>, Vec<Placed<Argument>>) {
    let (mut packet, mut arguments) = (Vec::new(), Vec::new());
    packet::put(&mut packet, 0, |out| {
        out.push(EXECUTE);
        out.extend_from_slice(&prepared.number.to_le_bytes());
        // Flags: no cursor; iteration count: 1.
        out.extend_from_slice(&[0, 1, 0, 0, 0]);
        if wanted.is_empty() {
            return;
        }
        out.resize(out.len() + wanted.len().div_ceil(8), 0);
        out.push(1);
        for (argument, _) in wanted {
            out.extend_from_slice(&[argument.code(), 0]);
        }
        for (argument, from) in wanted {
            let start = out.len();
            out.resize(start + argument.bytes(), 0);
            arguments.push((*argument, *from, start..out.len()));
        }
    });
    (packet, arguments)
}

/// A binary row: a NULL bitmap with an offset of two bits, then the values that are not NULL.
#[inline]
fn row(types: &[Type], body: &[u8]) -> Result<Row, String> {
    let mut reader = Reader(body);
    reader.bytes(1);
    let missing = reader.bytes((types.len() + 2).div_ceil(8));
    let mut row = Row::new();
    for (n, kind) in types.iter().enumerate() {
        let is_missing =
            missing.get((n + 2) / 8).is_some_and(|byte| byte >> ((n + 2) % 8) & 1 == 1);
        row = if is_missing { row.null() } else { kind.add_to(row, &mut reader)? };
    }
    Ok(row)
}
