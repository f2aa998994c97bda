//! A statement, ready to be sent, and its answer.
//!
//! Method: each statement is prepared once (`sp_prepare`) and called by its number (`sp_execute`). The packet of
//! a call is put together beforehand, and a call writes its arguments into it. An answer is taken apart where it
//! lies, value by value, into its digest. A statement that is to be compiled anew for each call says so
//! (`OPTION (RECOMPILE)`), and how many workers it may have (`MAXDOP`): one, unless the experiment says otherwise.
//! Rows come one by one by a compiled procedure, or many at once by `INSERT BULK`.
//!
//! Limits: arguments are whole numbers and points in time.

use std::ops::Range;
use std::sync::Arc;

use hopcost_core::{Answer, CallError, Dataset, Row, Statement, TargetError};

use super::super::server::compared_with;
use super::super::server::dialect::{self, Asked};
use super::super::server::filling::Filler;
use super::super::server::wire::{Wire as _, WireError};
use super::packet::{HEAD, kind, put_wide};
use super::schema;
use super::tokens::Piece;
use super::types::Argument;
use super::wire::{Wire, call, headers, procedure};

/// A statement or a load.
pub struct Call {
    name: &'static str,
    /// The packet, with room for the arguments.
    packet: Vec<u8>,
    /// What is written where, from which of the request's numbers.
    arguments: Vec<(Argument, usize, Range<usize>)>,
    after: After,
}

/// What comes of a call besides what the server counts.
enum After {
    Nothing,
    /// One row: a compiled procedure counts none.
    OneRow,
    /// The rows of a load: does the server not have them yet?
    Load(Arc<[u8]>, bool),
}

/// How a row comes into a table in memory.
pub const INSERT_ROW: &str = "EXEC insert_row ?, ?, ?, ?, ?, ?";
/// Of a table in memory a row is made of three numbers: this says how.
const OF_A_ROW: [(Argument, usize); 6] = [
    (Argument::Identifier, 0),
    (Argument::Moment, 1),
    (Argument::Digits, 2),
    (Argument::Small(0), 2),
    (Argument::Small(1), 2),
    (Argument::Small(2), 2),
];

/// A statement in SQL Server's words, and what its arguments are.
pub struct Spoken {
    /// Its text, its arguments @p1, @p2, …
    pub sql: String,
    /// Their declarations.
    pub declared: String,
    arguments: Vec<(Argument, usize)>,
}

impl Spoken {
    /// A workload's statement. `dop` is how many workers may answer it.
    pub fn of(statement: &Statement, dataset: Option<&dyn Dataset>, dop: u32) -> Self {
        let columns = compared_with(statement.sql, dataset);
        let argument = |(n, column): (usize, &Option<_>)| (Argument::of(column.as_ref()), n);
        let arguments = columns.iter().enumerate().map(argument).collect();
        let recompile = if statement.recompile { "RECOMPILE, " } else { "" };
        let hint = if statement.sql.starts_with("SELECT") {
            format!(" OPTION ({recompile}MAXDOP {dop})")
        } else {
            String::new()
        };
        Self::with(&format!("{}{hint}", statement.sql), arguments)
    }

    fn with(sql: &str, arguments: Vec<(Argument, usize)>) -> Self {
        let mut pieces = sql.split('?');
        let first = pieces.next().unwrap_or_default().to_owned();
        let numbered = pieces.enumerate().map(|(n, piece)| format!("@p{}{piece}", n + 1));
        let sql = numbered.fold(first, |sql, piece| sql + &piece);
        let declared = arguments.iter().enumerate();
        let declared =
            declared.map(|(n, (argument, _))| format!("@p{} {}", n + 1, argument.declared()));
        let declared = declared.collect::<Vec<_>>().join(", ");
        Self { sql, declared, arguments }
    }
}

impl Call {
    /// Of a statement, or of what is said instead to fill a table.
    pub fn of(
        wire: &mut Wire,
        statement: &Statement,
        asked: &Asked<'_>,
    ) -> Result<Self, TargetError> {
        let after = if asked.filler.is_some() { After::OneRow } else { After::Nothing };
        let spoken = match asked.filler {
            Some(filler) if filler.is_load() => {
                return Ok(Self::load(wire, statement.name, filler));
            }
            Some(filler) if filler.table().columns.len() == OF_A_ROW.len() => {
                Spoken::with(INSERT_ROW, OF_A_ROW.to_vec())
            }
            _ => {
                let dop = asked.variant.parallel.map_or(1, |parallel| parallel.dop);
                Spoken::of(statement, asked.dataset, dop)
            }
        };
        Self::prepare(wire, statement.name, &spoken, after)
    }

    fn load(wire: &Wire, name: &'static str, filler: &Filler) -> Self {
        let mut message = headers();
        put_wide(&mut message, &schema::load_into(filler.table(), filler.name()));
        let packet = wire.packets(kind::BATCH, &message);
        let after = After::Load(Arc::clone(filler.rows()), false);
        Self { name, packet, arguments: Vec::new(), after }
    }

    fn prepare(
        wire: &mut Wire,
        name: &'static str,
        spoken: &Spoken,
        after: After,
    ) -> Result<Self, TargetError> {
        let number = wire.prepare(&spoken.declared, &spoken.sql).map_err(|error| {
            TargetError::Failed(format!("SQL Server does not take the statement '{name}': {error}"))
        })?;
        let mut message = call(procedure::EXECUTE);
        message.extend_from_slice(&[0, 0]);
        let place = Argument::Integer(4).make_room(&mut message);
        let start = message.len() - place;
        Argument::Integer(4).put(number.into(), &mut message[start..]);
        let mut arguments = Vec::new();
        for (argument, from) in &spoken.arguments {
            message.extend_from_slice(&[0, 0]);
            let length = argument.make_room(&mut message);
            let end = message.len() + HEAD;
            arguments.push((*argument, *from, end - length..end));
        }
        // Four arguments are far shorter than a packet.
        Ok(Self { name, packet: wire.packets(kind::CALL, &message), arguments, after })
    }

    fn answer(&self, wire: &mut Wire) -> Result<Answer, WireError> {
        let (mut answer, mut row) = (Answer::default(), Row::new());
        wire.until_done(|piece| {
            match piece {
                Piece::Row => row = Row::new(),
                Piece::Value(value) => row = value.add_to(row)?,
                Piece::RowEnds => answer.add(row),
                Piece::Changed(count) => {
                    answer = Answer::of(Row::new().integer(count.cast_signed()));
                }
                Piece::Columns | Piece::Returned(_) => {}
            }
            Ok(())
        })?;
        if answer.rows == 0 && matches!(self.after, After::OneRow) {
            answer = Answer::of(Row::new().integer(1));
        }
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
        if let After::Load(_, is_begun) = &mut self.after {
            *is_begun = true;
        }
        wire.ask(&self.packet, out).map_err(|error| error.of_call(self.name))
    }

    fn go_on(
        &mut self,
        wire: &mut Wire,
        _out: Option<&mut Vec<u8>>,
    ) -> Result<Option<Answer>, CallError> {
        if let After::Load(rows, is_begun @ true) = &mut self.after {
            *is_begun = false;
            return match hand_over(wire, rows) {
                Ok(()) => Ok(None),
                Err(error) => Err(error.of_call(self.name)),
            };
        }
        self.answer(wire).map(Some).map_err(|error| error.of_call(self.name))
    }
}

/// Hands the rows of a load over, for which the server is ready now.
fn hand_over(wire: &mut Wire, rows: &[u8]) -> Result<(), WireError> {
    wire.drain()?;
    let packets = wire.packets(kind::BULK, rows);
    wire.send(&packets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopcost_data::datasets::DATASETS;

    #[test]
    fn statements_are_said_with_numbered_arguments_and_hints() {
        let tran_stats = DATASETS.iter().find(|dataset| dataset.name() == "tran_stats").copied();
        let statement = Statement {
            name: "one",
            sql: "SELECT 1 FROM tran_stats AS t WHERE t.tran_begin >= ? AND users = ?",
            arguments: 2,
            recompile: true,
            script: None,
        };
        let spoken = Spoken::of(&statement, tran_stats, 4);
        assert!(
            spoken.sql.ends_with(">= @p1 AND users = @p2 OPTION (RECOMPILE, MAXDOP 4)"),
            "{}",
            spoken.sql
        );
        assert_eq!(spoken.declared, "@p1 datetime2(6), @p2 int");
        let insert = Statement { sql: "INSERT INTO t (n) VALUES (?)", arguments: 1, ..statement };
        let spoken = Spoken::of(&insert, None, 1);
        assert_eq!(spoken.sql, "INSERT INTO t (n) VALUES (@p1)");
        assert_eq!(spoken.declared, "@p1 bigint");
    }
}
