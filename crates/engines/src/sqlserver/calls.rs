//! Prepared statements of SQL Server: packets built beforehand, and the digest of an answer.
//!
//! Method: statements are prepared once (`sp_prepare`); a call (`sp_execute`) writes its arguments
//! into a prebuilt packet. Values are parsed in place. `MAXDOP` is 1 unless the experiment says
//! otherwise.
//!
//! Limits: arguments are integers and timestamps.

use hopcost_core::{Answer, Dataset, Row, Statement, TargetError};

use super::super::server::call::{Answers, Argument as _, Prepared};
use super::super::server::compared_with;
use super::super::server::copy::Asked;
use super::super::server::filling::Filler;
use super::super::server::wire::{Wire as _, WireError};
use super::packet::{HEAD, kind, put_wide};
use super::schema;
use super::tokens::Piece;
use super::types::Argument;
use super::wire::{Wire, call, headers, procedure};

pub type Call = Prepared<Argument, Counted>;

/// Set for natively compiled procedures, which report no row count: one row is assumed.
pub struct Counted(bool);

pub const INSERT_ROW: &str = "EXEC insert_row ?, ?, ?, ?, ?, ?";
/// How each column of a row in a memory table follows from one of three numbers.
const OF_A_ROW: [(Argument, usize); 6] = [
    (Argument::Identifier, 0),
    (Argument::Moment, 1),
    (Argument::Digits, 2),
    (Argument::Small(0), 2),
    (Argument::Small(1), 2),
    (Argument::Small(2), 2),
];

pub struct RenderedStatement {
    pub sql: String,
    pub declared: String,
    arguments: Vec<(Argument, usize)>,
}

impl RenderedStatement {
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

pub fn of(wire: &mut Wire, statement: &Statement, asked: &Asked<'_>) -> Result<Call, TargetError> {
    let spoken = match asked.filler {
        Some(filler) if filler.is_load() => return Ok(load(wire, statement.name, filler)),
        Some(filler) if filler.table().columns.len() == OF_A_ROW.len() => {
            RenderedStatement::with(INSERT_ROW, OF_A_ROW.to_vec())
        }
        _ => {
            let dop = asked.variant.parallel.map_or(1, |parallel| parallel.dop);
            RenderedStatement::of(statement, asked.dataset, dop)
        }
    };
    prepare(wire, statement.name, &spoken, Counted(asked.filler.is_some()))
}

fn load(wire: &Wire, name: &'static str, filler: &Filler) -> Call {
    let mut message = headers();
    put_wide(&mut message, &schema::load_into(filler.table(), filler.name()));
    let packet = wire.packets(kind::BATCH, &message);
    Call::new(name, packet, Vec::new(), Counted(false)).loading(filler.rows())
}

fn prepare(
    wire: &mut Wire,
    name: &'static str,
    spoken: &RenderedStatement,
    counted: Counted,
) -> Result<Call, TargetError> {
    let refused = |error: &dyn std::fmt::Display| {
        TargetError::Failed(format!("SQL Server does not take the statement '{name}': {error}"))
    };
    let number = wire.prepare(&spoken.declared, &spoken.sql).map_err(|error| refused(&error))?;
    let mut message = call(procedure::EXECUTE);
    message.extend_from_slice(&[0, 0]);
    let place = Argument::Integer(4).make_room(&mut message);
    let start = message.len() - place;
    let put = Argument::Integer(4).put(number.into(), &mut message[start..]);
    put.map_err(|error| refused(&error))?;
    let mut arguments = Vec::new();
    for (argument, from) in &spoken.arguments {
        message.extend_from_slice(&[0, 0]);
        let length = argument.make_room(&mut message);
        let end = message.len() + HEAD;
        arguments.push((*argument, *from, end - length..end));
    }
    // The arguments are far shorter than a packet: their places are in the first one.
    Ok(Call::new(name, wire.packets(kind::CALL, &message), arguments, counted))
}

impl Answers<Wire> for Counted {
    fn answer(&mut self, wire: &mut Wire) -> Result<Answer, WireError> {
        let (mut answer, mut row) = (Answer::default(), Row::new());
        wire.until_done(|piece| {
            match piece {
                Piece::Row => row = Row::new(),
                Piece::Value(value) => row = value.add_to(row)?,
                Piece::RowEnds => answer.add(row),
                Piece::Changed(count) => {
                    answer = Answer::of(Row::new().integer(count.cast_signed()));
                }
                Piece::Returned(_) => {}
            }
            Ok(())
        })?;
        if answer.rows == 0 && self.0 {
            answer = Answer::of(Row::new().integer(1));
        }
        Ok(answer)
    }

    fn hand_over(wire: &mut Wire, rows: &[u8]) -> Result<(), WireError> {
        wire.drain()?;
        let packets = wire.packets(kind::BULK, rows);
        wire.send(&packets)
    }
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
        let spoken = RenderedStatement::of(&statement, tran_stats, 4);
        assert!(
            spoken.sql.ends_with(">= @p1 AND users = @p2 OPTION (RECOMPILE, MAXDOP 4)"),
            "{}",
            spoken.sql
        );
        assert_eq!(spoken.declared, "@p1 datetime2(6), @p2 int");
        let insert = Statement { sql: "INSERT INTO t (n) VALUES (?)", arguments: 1, ..statement };
        let spoken = RenderedStatement::of(&insert, None, 1);
        assert_eq!(spoken.sql, "INSERT INTO t (n) VALUES (@p1)");
        assert_eq!(spoken.declared, "@p1 bigint");
    }
}
