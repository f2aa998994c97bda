//! A statement, ready to be sent, and its answer.
//!
//! Method: each statement is prepared once, arguments and answers are binary. The packet of a call is put together
//! beforehand, and a call writes its arguments into it. An answer is taken apart where it lies, row by row, into its
//! digest; the descriptions of its columns, which the server repeats with each, are read again only where they have
//! changed. A load is a `LOAD DATA LOCAL`, whose rows the server asks for once it has read the statement.
//!
//! Limits: arguments are whole numbers and points in time. A statement that is to be compiled anew for each call is
//! not: these servers keep no plans, and make one each time anyway.

use std::ops::Range;
use std::sync::Arc;

use hopcost_core::{Answer, CallError, Row, Statement, TargetError};

use super::super::server::dialect::{self, Asked};
use super::packet::{self, Reader};
use super::schema;
use super::types::{Argument, Type, arguments};
use super::wire::{EXECUTE, Piece, Prepared, QUERY, Wire};
use crate::server::filling::Filler;
use crate::server::wire::{Wire as _, WireError};

/// A statement or a load.
pub struct Call {
    name: &'static str,
    /// The packet, with room for the arguments.
    packet: Vec<u8>,
    /// What is written where, from which of the request's numbers.
    arguments: Vec<Written>,
    /// The descriptions of its columns as they came last, and what they say.
    described: Vec<Vec<u8>>,
    columns: Vec<Type>,
    /// The rows of a load: has the server been asked to take them, and does not have them yet?
    load: Option<(Arc<[u8]>, bool)>,
}

/// An argument, from which of the request's numbers, and where in the packet.
type Written = (Argument, usize, Range<usize>);

/// Of a table in memory a row is made of three numbers: this says how.
const OF_A_ROW: [(Argument, usize); 6] = [
    (Argument::Identifier, 0),
    (Argument::DateTime, 1),
    (Argument::Digits, 2),
    (Argument::Small(0), 2),
    (Argument::Small(1), 2),
    (Argument::Small(2), 2),
];

impl Call {
    /// Of a statement, or of what is said instead to fill a table.
    pub fn of(
        wire: &mut Wire,
        statement: &Statement,
        asked: &Asked<'_>,
    ) -> Result<Self, TargetError> {
        let Statement { name, sql, .. } = *statement;
        match asked.filler {
            Some(filler) if filler.is_load() => Ok(Self::load(name, filler)),
            Some(filler) if filler.table().columns.len() == OF_A_ROW.len() => {
                let sql = format!("INSERT INTO `{}` VALUES (?, ?, ?, ?, ?, ?)", filler.name());
                Self::prepare(wire, name, &sql, &OF_A_ROW)
            }
            _ => {
                let wanted = arguments(sql, asked.dataset).into_iter().enumerate();
                let wanted: Vec<_> = wanted.map(|(n, argument)| (argument, n)).collect();
                Self::prepare(wire, name, sql, &wanted)
            }
        }
    }

    fn prepare(
        wire: &mut Wire,
        name: &'static str,
        sql: &str,
        wanted: &[(Argument, usize)],
    ) -> Result<Self, TargetError> {
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
        let (described, columns) = (Vec::new(), Vec::new());
        Ok(Self { name, packet, arguments, described, columns, load: None })
    }

    fn load(name: &'static str, filler: &Filler) -> Self {
        let mut packet = Vec::new();
        packet::put(&mut packet, 0, |out| {
            out.push(QUERY);
            out.extend_from_slice(schema::load_into(filler.table(), filler.name()).as_bytes());
        });
        let (arguments, described, columns) = (Vec::new(), Vec::new(), Vec::new());
        let load = Some((Arc::clone(filler.rows()), false));
        Self { name, packet, arguments, described, columns, load }
    }

    fn answer(&mut self, wire: &mut Wire) -> Result<Answer, WireError> {
        let Self { described, columns, .. } = self;
        let mut answer = Answer::default();
        let mut column = 0;
        wire.until_done(|piece| {
            match piece {
                Piece::Column(description) => {
                    if described.get(column).is_none_or(|known| known != description) {
                        let kind = Type::of(description)?;
                        described.truncate(column);
                        columns.truncate(column);
                        described.push(description.to_vec());
                        columns.push(kind);
                    }
                    column += 1;
                }
                Piece::Row(body) => answer.add(row(columns, body)?),
                Piece::Changed(count) => {
                    answer = Answer::of(Row::new().integer(count.cast_signed()));
                }
            }
            Ok(())
        })?;
        Ok(answer)
    }
}

impl dialect::Call<Wire> for Call {
    fn name(&self) -> &'static str {
        self.name
    }

    fn begin(
        &mut self,
        wire: &mut Wire,
        numbers: &[i64; 4],
        out: Option<&mut Vec<u8>>,
    ) -> Result<(), CallError> {
        for (argument, from, place) in &self.arguments {
            argument.put(numbers[*from], &mut self.packet[place.clone()]);
        }
        if let Some((_, is_begun)) = &mut self.load {
            *is_begun = true;
        }
        wire.ask(&self.packet, out).map_err(|error| error.of_call(self.name))
    }

    fn go_on(
        &mut self,
        wire: &mut Wire,
        _out: Option<&mut Vec<u8>>,
    ) -> Result<Option<Answer>, CallError> {
        if let Some((rows, is_begun @ true)) = &mut self.load {
            *is_begun = false;
            return match hand_over(wire, rows) {
                Ok(()) => Ok(None),
                Err(error) => Err(error.of_call(self.name)),
            };
        }
        self.answer(wire).map(Some).map_err(|error| error.of_call(self.name))
    }
}

/// Hands the rows of a load over, which the server asks for now.
fn hand_over(wire: &mut Wire, rows: &[u8]) -> Result<(), WireError> {
    let number = wire.load_begins()?;
    let mut packets = Vec::new();
    let next = schema::put_lines(rows, &mut packets, number);
    packet::put(&mut packets, next, |_| {});
    wire.send(&packets)
}

/// The packet that has a statement carried out, with room for its arguments, and where that is.
fn execute(prepared: Prepared, wanted: &[(Argument, usize)]) -> (Vec<u8>, Vec<Written>) {
    let (mut packet, mut arguments) = (Vec::new(), Vec::new());
    packet::put(&mut packet, 0, |out| {
        out.push(EXECUTE);
        out.extend_from_slice(&prepared.number.to_le_bytes());
        // No cursor, carried out once.
        out.extend_from_slice(&[0, 1, 0, 0, 0]);
        if wanted.is_empty() {
            return;
        }
        out.resize(out.len() + wanted.len().div_ceil(8), 0);
        // Their types follow.
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

/// A row: which of its values are missing, bit by bit after two that mean nothing, then those that are there.
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
