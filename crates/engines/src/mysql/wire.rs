//! MySQL's client protocol, version 10, on a blocking socket, without a runtime or a thread.
//!
//! Limits: no compression, cursors, multiple results or packets of 16 MB. On an unprotected
//! connection caching_sha2_password works only for users in the server's cache.

use std::path::Path;

use hopcost_core::Rows;

use super::super::server::address::{Address, Place, Tls};
use super::super::server::channel::Channel;
use super::super::server::stream::Stream;
use super::super::server::wire::{self, ServerError, WireError};
use super::super::server::wrong::Wrong;
use super::packet::{self, Packets, Reader};
use super::password::{self, Proof};

fn said(body: &[u8]) -> ServerError {
    let mut reader = Reader(body.get(1..).unwrap_or_default());
    let number = reader.integer(2);
    // The SQLSTATE marker: `#HY000`.
    let text = reader.0.strip_prefix(b"#").map_or(reader.0, |rest| rest.get(5..).unwrap_or(&[]));
    let code = if number == 0 { String::new() } else { format!("error {number}") };
    let message = String::from_utf8_lossy(text).into_owned();
    ServerError { code, message, ..ServerError::default() }
}

mod capability {
    pub const LONG_PASSWORD: u32 = 1;
    pub const LONG_FLAG: u32 = 1 << 2;
    pub const WITH_DATABASE: u32 = 1 << 3;
    pub const LOCAL_FILES: u32 = 1 << 7;
    pub const PROTOCOL_41: u32 = 1 << 9;
    pub const TLS: u32 = 1 << 11;
    pub const TRANSACTIONS: u32 = 1 << 13;
    pub const SECURE_CONNECTION: u32 = 1 << 15;
    pub const PLUGIN_AUTH: u32 = 1 << 19;
    pub const DEPRECATE_EOF: u32 = 1 << 24;
    pub const WANTED: u32 = LONG_PASSWORD
        | LONG_FLAG
        | LOCAL_FILES
        | PROTOCOL_41
        | TRANSACTIONS
        | SECURE_CONNECTION
        | PLUGIN_AUTH
        | DEPRECATE_EOF;
}

pub const UTF8MB4_BIN: u8 = 46;

mod command {
    pub const QUIT: u8 = 0x01;
    pub const QUERY: u8 = 0x03;
    pub const PREPARE: u8 = 0x16;
    pub const EXECUTE: u8 = 0x17;
}

pub use command::{EXECUTE, QUERY};

const OK: u8 = 0x00;
const MORE: u8 = 0x01;
const LOCAL_FILE: u8 = 0xfb;
const END: u8 = 0xfe;
const ERROR: u8 = 0xff;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compiled {
    pub number: u32,
    pub arguments: usize,
}

pub struct Wire {
    channel: Channel<Packets>,
    out: Vec<u8>,
    at: At,
    pub number: u32,
    /// For example `10.11.14-MariaDB-0+deb12u2`.
    pub version: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Beginning,
    /// This many column descriptions, then rows.
    Columns(usize),
    Rows,
}

pub enum Piece<'a> {
    Column(&'a [u8]),
    Row(&'a [u8]),
    /// Affected rows of an answer without rows.
    Changed(u64),
}

impl Wire {
    pub fn is_mariadb(&self) -> bool {
        self.version.contains("MariaDB")
    }

    pub fn kill(&mut self, which: &str) -> Result<(), WireError> {
        let who = format!("SELECT ID FROM information_schema.PROCESSLIST WHERE {which}");
        for number in wire::Wire::query(self, &who)?.into_iter().flatten().flatten() {
            let _ = wire::Wire::query(self, &format!("KILL {number}"));
        }
        Ok(())
    }

    fn be_let_in(&mut self, address: &Address) -> Result<(), WireError> {
        let greeting = self.packet()?;
        if greeting.first() == Some(&ERROR) {
            return Err(WireError::Server(said(&greeting)));
        }
        let Greeting { number, version, challenge, plugin, can } = Greeting::parse(&greeting);
        (self.number, self.version) = (number, version);
        let with_database = if address.database.is_empty() { 0 } else { capability::WITH_DATABASE };
        let mut wanted = capability::WANTED | with_database;
        let mut next = 1;
        let is_remote = matches!(address.place, Place::Host(_));
        if is_remote && address.tls != Tls::Disable {
            if can & capability::TLS != 0 {
                wanted |= capability::TLS;
                packet::put(&mut self.out, next, |out| hello(out, wanted));
                self.flush()?;
                self.channel.go_on(|stream| stream.encrypted(address))?;
                next += 1;
            } else if address.tls > Tls::Prefer {
                let words = "the server has no TLS, and sslmode asks for it";
                return Err(WireError::Lost(words.to_owned()));
            }
        }
        let is_safe = !is_remote || self.channel.is_encrypted();
        let mut proof = Proof::new(address.password.as_ref(), is_safe);
        let lost = |words: &str| WireError::Lost(words.to_owned());
        let answer = proof.answer(&plugin, &challenge).map_err(lost)?;
        packet::put(&mut self.out, next, |out| {
            hello(out, wanted);
            out.extend_from_slice(address.user.as_bytes());
            out.push(0);
            out.push(answer.len() as u8);
            out.extend_from_slice(&answer);
            if with_database != 0 {
                out.extend_from_slice(address.database.as_bytes());
                out.push(0);
            }
            out.extend_from_slice(plugin.as_bytes());
            out.push(0);
        });
        self.flush()?;
        self.prove_who_we_are(&mut proof)
    }

    fn prove_who_we_are(&mut self, proof: &mut Proof<'_>) -> Result<(), WireError> {
        let lost = |words: &str| WireError::Lost(words.to_owned());
        loop {
            let message = self.channel.next()?;
            let (number, body) = (message.tag, self.channel.body(&message).to_vec());
            let answer = match body.first() {
                Some(&OK) => return Ok(()),
                Some(&ERROR) => return Err(WireError::Server(said(&body))),
                // An authentication switch request.
                Some(&END) => {
                    let mut reader = Reader(&body[1..]);
                    let plugin = String::from_utf8_lossy(reader.ended_by_zero()).into_owned();
                    password::is_known(&plugin).map_err(|words| lost(&words))?;
                    let answer = proof.answer(&plugin, password::without_end(reader.0));
                    Some(answer.map_err(lost)?)
                }
                Some(&MORE) => proof.more(&body[1..]).map_err(lost)?,
                _ => return Err(lost("an odd order of proofs")),
            };
            if let Some(answer) = answer {
                packet::put(&mut self.out, number.wrapping_add(1), |out| {
                    out.extend_from_slice(&answer);
                });
                self.flush()?;
            }
        }
    }

    pub fn prepare(&mut self, sql: &str) -> Result<Compiled, WireError> {
        self.begin(command::PREPARE, sql)?;
        let first = self.packet()?;
        if first.first() == Some(&ERROR) {
            return Err(WireError::Server(said(&first)));
        }
        let mut reader = Reader(first.get(1..).unwrap_or_default());
        let number = reader.integer(4) as u32;
        let [columns, arguments] = [(); 2].map(|()| reader.integer(2) as usize);
        for _ in 0..columns + arguments {
            self.packet()?;
        }
        Ok(Compiled { number, arguments })
    }

    /// Returns the sequence number for the first packet of rows.
    pub fn load(&mut self, sql: &str) -> Result<u8, WireError> {
        self.begin(QUERY, sql)?;
        self.load_begins()
    }

    /// The same, when the statement has been sent already.
    pub fn load_begins(&mut self) -> Result<u8, WireError> {
        let message = self.channel.next()?;
        let body = self.channel.body(&message);
        match body.first() {
            Some(&LOCAL_FILE) => Ok(message.tag.wrapping_add(1)),
            Some(&ERROR) => Err(WireError::Server(said(body))),
            _ => Err(WireError::Lost("the server does not ask for the rows".to_owned())),
        }
    }

    pub fn load_end(&mut self, number: u8) -> Result<(), WireError> {
        packet::put(&mut self.out, number, |_| {});
        self.flush()?;
        self.until_done(|_| Ok(()))
    }

    fn begin(&mut self, command: u8, text: &str) -> Result<(), WireError> {
        packet::put(&mut self.out, 0, |out| {
            out.push(command);
            out.extend_from_slice(text.as_bytes());
        });
        self.flush()
    }

    #[inline]
    pub fn until_done(
        &mut self,
        mut take: impl FnMut(Piece<'_>) -> Result<(), Wrong>,
    ) -> Result<(), WireError> {
        let mut wrong = None;
        loop {
            let Some(message) = self.channel.arrived() else {
                self.channel.more()?;
                continue;
            };
            let body = self.channel.body(&message);
            let piece = match (self.at, body.first().copied().unwrap_or(ERROR)) {
                (_, ERROR) => {
                    self.at = At::Beginning;
                    let said = said(body);
                    self.channel.lend();
                    return Err(WireError::Server(said));
                }
                (At::Beginning, OK) => Some(Piece::Changed(changed(body))),
                (At::Beginning, _) => {
                    self.at = At::Columns(Reader(body).length().unwrap_or(0));
                    continue;
                }
                (At::Columns(left), _) => {
                    self.at = if left > 1 { At::Columns(left - 1) } else { At::Rows };
                    Some(Piece::Column(body))
                }
                // The first byte of a row of 16 MB could be 0xfe too.
                (At::Rows, END) if body.len() < packet::MOST_BYTES => None,
                (At::Rows, _) => Some(Piece::Row(body)),
            };
            let is_over = matches!(piece, None | Some(Piece::Changed(_)));
            if let (Some(piece), None) = (piece, &wrong)
                && let Err(words) = take(piece)
            {
                wrong = Some(words);
            }
            if is_over {
                self.at = At::Beginning;
                self.channel.lend();
                let told = |words| Err(WireError::Server(ServerError::of(words)));
                return wrong.map_or(Ok(()), told);
            }
        }
    }

    fn flush(&mut self) -> Result<(), WireError> {
        let written = self.channel.write_all(&self.out);
        self.out.clear();
        Ok(written?)
    }

    fn packet(&mut self) -> Result<Vec<u8>, WireError> {
        let message = self.channel.next()?;
        Ok(self.channel.body(&message).to_vec())
    }
}

impl wire::Wire for Wire {
    type Framing = Packets;

    fn connect(address: &Address) -> Result<Self, WireError> {
        let entered = Stream::open(address, Path::to_path_buf).map_err(WireError::from);
        let entered = entered.and_then(|stream| {
            let mut wire = Self {
                channel: Channel::new(stream, address.wait),
                out: Vec::new(),
                at: At::Beginning,
                number: 0,
                version: String::new(),
            };
            wire.be_let_in(address)?;
            wire::Wire::limit(&wire, None)?;
            Ok(wire)
        });
        entered.map_err(|error| error.at(address))
    }

    fn channel(&self) -> &Channel<Packets> {
        &self.channel
    }

    fn channel_mut(&mut self) -> &mut Channel<Packets> {
        &mut self.channel
    }

    fn number(&self) -> u32 {
        self.number
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn query(&mut self, sql: &str) -> Result<Rows, WireError> {
        self.begin(QUERY, sql)?;
        let mut rows = Rows::new();
        self.until_done(|piece| {
            if let Piece::Row(row) = piece {
                rows.push(text_row(row));
            }
            Ok(())
        })?;
        Ok(rows)
    }

    fn drain(&mut self) -> Result<(), WireError> {
        self.until_done(|_| Ok(()))
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        packet::put(&mut self.out, 0, |out| out.push(command::QUIT));
        let _ = self.flush();
    }
}

struct Greeting {
    number: u32,
    version: String,
    challenge: Vec<u8>,
    plugin: String,
    can: u32,
}

impl Greeting {
    fn parse(body: &[u8]) -> Self {
        let mut reader = Reader(body.get(1..).unwrap_or_default());
        // MariaDB prepends this so that old programs take it for MySQL 5.5.
        let version = String::from_utf8_lossy(reader.ended_by_zero()).into_owned();
        let version = version.strip_prefix("5.5.5-").map_or(version.clone(), str::to_owned);
        let number = reader.integer(4) as u32;
        let mut challenge = reader.bytes(8).to_vec();
        reader.bytes(1);
        let low = reader.integer(2) as u32;
        reader.bytes(3);
        let can = low | (reader.integer(2) as u32) << 16;
        let length = (reader.integer(1) as usize).max(21) - 8;
        reader.bytes(10);
        challenge.extend_from_slice(password::without_end(reader.bytes(length)));
        let plugin = String::from_utf8_lossy(reader.ended_by_zero()).into_owned();
        Self { number, version, challenge, plugin, can }
    }
}

fn hello(out: &mut Vec<u8>, wanted: u32) {
    out.extend_from_slice(&wanted.to_le_bytes());
    out.extend_from_slice(&(1_u32 << 24).to_le_bytes());
    out.push(UTF8MB4_BIN);
    out.extend_from_slice(&[0; 23]);
}

fn changed(body: &[u8]) -> u64 {
    Reader(body.get(1..).unwrap_or_default()).length().unwrap_or(0) as u64
}

fn text_row(body: &[u8]) -> Vec<Option<String>> {
    let mut reader = Reader(body);
    let mut row = Vec::new();
    while !reader.0.is_empty() {
        row.push(reader.text().map(|text| String::from_utf8_lossy(text).into_owned()));
    }
    row
}

#[cfg(test)]
mod tests {
    use super::super::super::server::foreign;
    use super::super::super::server::wire::Wire as _;
    use super::super::calls;
    use super::*;

    const GREETING: &[u8] =
        b"\x0a5.5.5-10.11.14-MariaDB\0\x07\0\0\x0012345678\0\xff\xf7\x2e\x02\0\xff\x81\x15\
        \0\0\0\0\0\0\0\0\0\0abcdefghijkl\0mysql_native_password\0";

    #[test]
    fn a_greeting_tells_who_speaks_and_what_is_to_be_proved() {
        let Greeting { number, version, challenge, plugin, can } = Greeting::parse(GREETING);
        assert_eq!((number, version.as_str()), (7, "10.11.14-MariaDB"));
        assert_eq!(challenge, b"12345678abcdefghijkl");
        assert_eq!(plugin, "mysql_native_password");
        assert_eq!(can, 0x81ff_f7ff);
    }

    #[test]
    fn the_servers_words_come_with_their_number() {
        let error = said(b"\xff\x10\x04#08004Too many connections");
        assert_eq!(error.to_string(), "Too many connections (error 1040)");
        let error = said(b"\xff\x10\x04no state");
        assert_eq!(error.to_string(), "no state (error 1040)");
    }

    #[test]
    fn a_row_is_its_values_and_null_is_none() {
        let row = text_row(b"\x02ab\xfb\x00");
        assert_eq!(row, [Some("ab".to_owned()), None, Some(String::new())]);
    }

    fn message(number: u8, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        packet::put(&mut out, number, |out| out.extend_from_slice(body));
        out
    }

    /// A login, a query, a prepared statement and its call.
    fn conversation() -> Vec<u8> {
        let column = [&b"\x03def\x00\x00\x00\x02id\x02id\x0c"[..], &[46, 0, 80, 0, 0, 0]].concat();
        let padded = [&column[..], &[254, 0, 0, 0, 0, 0]].concat();
        let number = [&column[..], &[8, 0, 0, 0, 0, 0]].concat();
        let ended = [END, 0, 0, 2, 0, 0, 0];
        [
            message(0, GREETING),
            message(2, &[OK, 0, 0, 2, 0, 0, 0]),
            message(1, &[1]),
            message(2, &padded),
            message(3, b"\x02ab"),
            message(4, &ended),
            message(1, &[OK, 1, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0]),
            message(2, &number),
            message(3, &padded),
            message(4, &number),
            message(1, &[2]),
            message(2, &padded),
            message(3, &number),
            message(4, b"\x00\x00\x02ab\x07\x00\x00\x00\x00\x00\x00\x00"),
            message(5, &ended),
        ]
        .concat()
    }

    #[test]
    fn whatever_a_server_answers_is_an_answer_or_an_error() {
        let variant = hopcost_core::VariantSettings::default();
        foreign::withstands::<Wire>("socket", &conversation(), |wire| {
            let _ = wire.query("SELECT 1");
            let call = calls::of(wire, &foreign::STATEMENT, &foreign::asked(&variant));
            foreign::call(wire, call);
            let _ = wire.load("LOAD DATA");
        });
    }

    #[test]
    fn who_lets_nobody_in_is_given_up_in_the_time_that_was_said() {
        foreign::gives_up::<Wire>("socket", b"\x01\0\0\x02\x01");
    }
}
