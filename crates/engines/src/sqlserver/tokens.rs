//! Parses the tokens of an answer: columns, rows, counts, errors, and what the server reports of
//! itself.

use super::super::server::wire::ServerError;
use super::super::server::wrong::Wrong;
use super::packet::Reader;
use super::types::{Type, Value};

/// Errors of this class and above end the connection.
const FATAL: u8 = 20;

pub mod token {
    pub const RETURN_STATUS: u8 = 0x79;
    pub const COLUMNS: u8 = 0x81;
    pub const TABLE_NAME: u8 = 0xa4;
    pub const COLUMN_INFO: u8 = 0xa5;
    pub const ORDER: u8 = 0xa9;
    pub const ERROR: u8 = 0xaa;
    pub const INFO: u8 = 0xab;
    pub const RETURN_VALUE: u8 = 0xac;
    pub const LOGIN_ACK: u8 = 0xad;
    pub const FEATURES: u8 = 0xae;
    pub const ROW: u8 = 0xd1;
    pub const ROW_WITH_MISSING: u8 = 0xd2;
    pub const ENVIRONMENT: u8 = 0xe3;
    pub const TICKET: u8 = 0xed;
    pub const DONE: u8 = 0xfd;
    pub const DONE_IN_PROCEDURE: u8 = 0xff;
}

const CUT_OFF: &str = "the server's answer ends within a row";
/// The column count of an answer without rows.
const NO_COLUMNS: u16 = u16::MAX;
/// Status bit: the row count is valid.
pub const COUNTED: u16 = 0x10;

pub enum Piece<'a> {
    Row,
    Value(Value<'a>),
    RowEnds,
    /// Affected rows of a statement without rows.
    Changed(u64),
    /// An output parameter.
    Returned(Value<'a>),
}

#[derive(Default)]
pub struct ServerInfo {
    columns: Vec<Type>,
    /// The next count is that of these rows.
    has_rows: bool,
    pub packet_bytes: Option<usize>,
    pub collation: [u8; 5],
    pub program: String,
    pub ticket: Option<Vec<u8>>,
}

impl ServerInfo {
    /// Returns the first error of the server or of `take`.
    #[inline]
    pub fn take(
        &mut self,
        answer: &[u8],
        take: &mut impl FnMut(Piece<'_>) -> Result<(), Wrong>,
    ) -> Result<(), ServerError> {
        let mut reader = Reader(answer);
        let mut wrong = None;
        while !reader.0.is_empty() {
            let outcome = self.one(&mut reader, &mut |piece| match wrong {
                None => take(piece),
                Some(_) => Ok(()),
            });
            match outcome {
                Ok(None) => {}
                Ok(Some(error)) => {
                    wrong.get_or_insert(error);
                }
                Err(words) => return Err(wrong.unwrap_or(ServerError::of(words))),
            }
        }
        wrong.map_or(Ok(()), Err)
    }

    #[inline]
    fn one(
        &mut self,
        reader: &mut Reader<'_>,
        take: &mut impl FnMut(Piece<'_>) -> Result<(), Wrong>,
    ) -> Result<Option<ServerError>, Wrong> {
        match reader.integer(1) as u8 {
            token::ROW => self.row(reader, &[], take)?,
            token::ROW_WITH_MISSING => {
                let length = self.columns.len().div_ceil(8);
                let missing = reader.bytes(length);
                if missing.len() < length {
                    return Err(CUT_OFF.into());
                }
                self.row(reader, missing, take)?;
            }
            token::COLUMNS => self.describe(reader)?,
            token::DONE..=token::DONE_IN_PROCEDURE => {
                let state = reader.integer(2) as u16;
                reader.bytes(2);
                let count = reader.integer(8);
                if state & COUNTED != 0 && !std::mem::take(&mut self.has_rows) {
                    take(Piece::Changed(count))?;
                }
            }
            token::RETURN_STATUS => _ = reader.bytes(4),
            token::RETURN_VALUE => {
                reader.bytes(2);
                reader.wide_text(1);
                reader.bytes(1 + 4 + 2);
                let kind = Type::read(reader)?;
                take(Piece::Returned(kind.value(reader)?))?;
            }
            token::ERROR => {
                let mut body = part(reader);
                let number = body.integer(4) as u32;
                body.bytes(1);
                let class = body.integer(1) as u8;
                let message = body.wide_text(2);
                let code = format!("error {}", number.cast_signed());
                let is_fatal = class >= FATAL;
                return Ok(Some(ServerError { code, message, is_fatal, ..ServerError::default() }));
            }
            token::LOGIN_ACK => {
                let mut body = part(reader);
                body.bytes(5);
                self.program = body.wide_text(1);
            }
            token::TICKET => self.ticket = Some(part(reader).0.to_vec()),
            token::ENVIRONMENT => self.environment(part(reader)),
            token::FEATURES => features(reader),
            token::INFO | token::ORDER | token::TABLE_NAME | token::COLUMN_INFO => _ = part(reader),
            other => {
                let words =
                    format!("the server's answer has a part {other:#04x}, which is not known here");
                return Err(words.into());
            }
        }
        Ok(None)
    }

    #[inline]
    fn row(
        &mut self,
        reader: &mut Reader<'_>,
        missing: &[u8],
        take: &mut impl FnMut(Piece<'_>) -> Result<(), Wrong>,
    ) -> Result<(), Wrong> {
        self.has_rows = true;
        take(Piece::Row)?;
        for (n, kind) in self.columns.iter().enumerate() {
            let is_missing = missing.get(n / 8).is_some_and(|byte| byte >> (n % 8) & 1 == 1);
            if !is_missing && reader.0.is_empty() {
                return Err(CUT_OFF.into());
            }
            let value = if is_missing { Value::Null } else { kind.value(reader)? };
            take(Piece::Value(value))?;
        }
        take(Piece::RowEnds)
    }

    fn describe(&mut self, reader: &mut Reader<'_>) -> Result<(), Wrong> {
        let count = reader.integer(2) as u16;
        self.columns.clear();
        self.has_rows = count != NO_COLUMNS;
        if count == NO_COLUMNS {
            return Ok(());
        }
        for n in 0..count {
            reader.bytes(4 + 2);
            let kind = Type::read(reader).map_err(|words| format!("column {}: {words}", n + 1))?;
            self.columns.push(kind);
            let name = reader.integer(1) as usize;
            reader.bytes(2 * name);
        }
        Ok(())
    }

    fn environment(&mut self, mut body: Reader<'_>) {
        const PACKET_BYTES: u64 = 4;
        const COLLATION: u64 = 7;
        match body.integer(1) {
            PACKET_BYTES => self.packet_bytes = body.wide_text(1).parse().ok(),
            COLLATION if body.integer(1) == 5 => {
                if let Ok(collation) = body.bytes(5).try_into() {
                    self.collation = collation;
                }
            }
            _ => {}
        }
    }
}

fn part<'a>(reader: &mut Reader<'a>) -> Reader<'a> {
    let length = reader.integer(2) as usize;
    Reader(reader.bytes(length))
}

/// Feature acknowledgements: number, length, data.
fn features(reader: &mut Reader<'_>) {
    const END: u64 = 0xff;
    while !reader.0.is_empty() && reader.integer(1) != END {
        let length = reader.integer(4) as usize;
        reader.bytes(length);
    }
}
