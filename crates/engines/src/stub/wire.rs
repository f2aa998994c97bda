//! The stub's protocol: four bytes of length, one of type, and the body.

use std::ops::Range;

use hopcost_core::Rows;
use rusqlite::types::Value;

use super::super::server::address::Address;
use super::super::server::channel::Channel;
use super::super::server::input::Framing;
use super::super::server::reader::Reader;
use super::super::server::wire::{self, ServerError, Wire as _, WireError};

pub struct Messages;

impl Framing for Messages {
    const HEAD: usize = 5;

    fn read(head: &[u8]) -> (u8, usize) {
        (head[4], u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize)
    }
}

pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32).to_le_bytes()[..], &[kind], body].concat()
}

pub fn insert_into(name: &str, rows: &[u8]) -> Vec<u8> {
    message(b'Q', &[b"INSERT INTO ", name.as_bytes(), b" VALUES ", rows].concat())
}

/// A message that runs a statement, and where its arguments go.
pub fn execute(number: u32, arguments: usize) -> (Vec<u8>, Vec<Range<usize>>) {
    let body = [&number.to_le_bytes()[..], &vec![0; 8 * arguments]].concat();
    let head = Messages::HEAD + 4;
    let places = (0..arguments).map(|n| head + 8 * n..head + 8 * (n + 1));
    (message(b'X', &body), places.collect())
}

fn values(body: &[u8]) -> Vec<Value> {
    let mut reader = Reader(body);
    let mut values = Vec::new();
    while !reader.0.is_empty() {
        values.push(match reader.integer(1) as u8 {
            b'i' => Value::Integer(reader.integer(8).cast_signed()),
            b't' => {
                let length = reader.integer(4) as usize;
                Value::Text(String::from_utf8_lossy(reader.bytes(length)).into_owned())
            }
            _ => Value::Null,
        });
    }
    values
}

fn words(value: Value) -> Option<String> {
    match value {
        Value::Integer(value) => Some(value.to_string()),
        Value::Text(text) => Some(text),
        _ => None,
    }
}

pub struct Wire {
    channel: Channel<Messages>,
    number: u32,
}

impl Wire {
    pub fn number_for(&mut self, message: &[u8]) -> Result<u32, WireError> {
        self.send(message)?;
        let number = self.until_done(|_| {})?;
        Ok(number.and_then(|number| number.try_into().ok()).unwrap_or(0))
    }

    /// Reads until the server is ready; returns the number that it sent, if any.
    pub fn until_done(
        &mut self,
        mut take: impl FnMut(Vec<Value>),
    ) -> Result<Option<i64>, WireError> {
        let (mut number, mut wrong) = (None, None);
        loop {
            let next = self.channel.next()?;
            let body = self.channel.body(&next);
            match next.tag {
                b'R' => take(values(body)),
                b'C' => number = Some(Reader(body).integer(8).cast_signed()),
                b'E' => wrong = Some(ServerError::of(String::from_utf8_lossy(body))),
                _ => break,
            }
        }
        self.channel.lend();
        wrong.map_or(Ok(number), |wrong| Err(WireError::Server(wrong)))
    }
}

impl wire::Wire for Wire {
    type Framing = Messages;

    fn connect(address: &Address) -> Result<Self, WireError> {
        let enter = || {
            let mut wire = Self { channel: Channel::open(address)?, number: 0 };
            wire.number = wire.number_for(&message(b'H', address.user.as_bytes()))?;
            wire.limit(None)?;
            Ok(wire)
        };
        enter().map_err(|error: WireError| error.at(address))
    }

    fn channel(&self) -> &Channel<Messages> {
        &self.channel
    }

    fn channel_mut(&mut self) -> &mut Channel<Messages> {
        &mut self.channel
    }

    fn number(&self) -> u32 {
        self.number
    }

    fn version(&self) -> &'static str {
        "1.0"
    }

    fn query(&mut self, sql: &str) -> Result<Rows, WireError> {
        self.send(&message(b'Q', sql.as_bytes()))?;
        let mut rows = Rows::new();
        self.until_done(|row| rows.push(row.into_iter().map(words).collect()))?;
        Ok(rows)
    }

    fn drain(&mut self) -> Result<(), WireError> {
        self.until_done(|_| {}).map(drop)
    }
}
