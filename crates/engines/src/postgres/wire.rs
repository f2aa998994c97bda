//! PostgreSQL's protocol, version 3, on a blocking socket, without a runtime or a thread.
//!
//! Limits: no COPY OUT, notifications or cancellation; authentication by password (SCRAM-SHA-256,
//! MD5, plain), Kerberos or trust.

use std::io;
use std::path::Path;

use bytes::BytesMut;
use hopcost_core::Rows;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256};
use postgres_protocol::message::frontend;

use super::super::server::address::{Address, Place, Secret, Tls};
use super::super::server::channel::Channel;
use super::super::server::ffi::Ticket;
use super::super::server::input::{Framing, Message};
use super::super::server::socket::words;
use super::super::server::stream::Stream;
use super::super::server::wire::{self, ServerError, WireError};
use super::super::server::wrong::Wrong;

/// Error fields: `S` severity, `C` code, `M` message, …, each null-terminated.
fn said(body: &[u8]) -> ServerError {
    let mut error = ServerError::default();
    for field in body.split(|byte| *byte == 0).filter(|field| !field.is_empty()) {
        let text = String::from_utf8_lossy(&field[1..]).into_owned();
        match field[0] {
            b'C' => error.code = format!("SQLSTATE {text}"),
            b'M' => error.message = text,
            b'D' | b'H' if !text.is_empty() => error.more.push(text),
            b'V' => error.is_fatal = text == "FATAL" || text == "PANIC",
            _ => {}
        }
    }
    error
}

#[derive(Default)]
struct Proofs {
    scram: Option<ScramSha256>,
    ticket: Option<Ticket>,
}

impl Proofs {
    fn shown(&mut self, place: &Place, by_server: &[u8]) -> Result<Vec<u8>, Wrong> {
        let Place::Host(host) = place else {
            return Err("the server asks for a ticket, which has no place on a Unix socket".into());
        };
        Ticket::show(&mut self.ticket, &format!("postgres@{host}"), by_server)
    }
}

/// Another backend crashed, and the server restarts all of them.
const CRASH_SHUTDOWN: &str = "SQLSTATE 57P02";

/// A tag, and a length that includes itself.
pub struct Tagged;

impl Framing for Tagged {
    const HEAD: usize = 5;

    #[inline]
    fn read(head: &[u8]) -> (u8, usize) {
        (head[0], (int4(head, 1).max(4) - 4) as usize)
    }
}

pub struct Wire {
    channel: Channel<Tagged>,
    out: BytesMut,
    /// The latest transaction status; `I` for none.
    transaction: u8,
    pid: u32,
    /// For example `15.18 (Debian 15.18-0+deb12u1)`.
    version: String,
}

impl Wire {
    fn be_let_in(&mut self, address: &Address) -> Result<(), WireError> {
        let mut proofs = Proofs::default();
        loop {
            let message = self.channel.next()?;
            let body = self.body(&message).to_vec();
            match message.tag {
                b'R' => self.prove_who_we_are(address, &body, &mut proofs)?,
                b'K' => self.pid = int4(&body, 0).cast_unsigned(),
                b'S' => {
                    let mut words = body.split(|byte| *byte == 0);
                    if words.next() == Some(b"server_version") {
                        let version = words.next().unwrap_or_default();
                        self.version = String::from_utf8_lossy(version).into_owned();
                    }
                }
                b'E' => return Err(WireError::Server(said(&body))),
                b'Z' => return Ok(()),
                _ => {}
            }
        }
    }

    fn prove_who_we_are(
        &mut self,
        address: &Address,
        body: &[u8],
        proofs: &mut Proofs,
    ) -> Result<(), WireError> {
        let lost = |words: &str| WireError::Lost(words.to_owned());
        let password = || {
            let words = "the server asks for a password, and none is known: put it into the password \
                         file, PGPASSWORD or the URL";
            address.password.as_ref().map(Secret::reveal).ok_or_else(|| lost(words))
        };
        let (kind, rest) = (int4(body, 0), body.get(4..).unwrap_or_default());
        match kind {
            0 => return Ok(()),
            3 => frontend::password_message(password()?.as_bytes(), &mut self.out)?,
            5 => {
                let salt = rest.try_into().map_err(|_| lost("an odd salt"))?;
                let hash = md5_hash(address.user.as_bytes(), password()?.as_bytes(), salt);
                frontend::password_message(hash.as_bytes(), &mut self.out)?;
            }
            7..=9 => {
                let shown =
                    proofs.shown(&address.place, rest).map_err(|error| lost(&error.to_string()))?;
                if shown.is_empty() {
                    return Ok(());
                }
                frontend::sasl_response(&shown, &mut self.out)?;
            }
            10 => {
                let start = ScramSha256::new(password()?.as_bytes(), ChannelBinding::unsupported());
                let start = proofs.scram.insert(start);
                frontend::sasl_initial_response("SCRAM-SHA-256", start.message(), &mut self.out)?;
            }
            11 | 12 => {
                let scram = proofs.scram.as_mut().ok_or_else(|| lost("an odd order of proofs"))?;
                if kind == 12 {
                    return scram.finish(rest).map_err(|error| lost(&error.to_string()));
                }
                scram.update(rest).map_err(|error| lost(&error.to_string()))?;
                frontend::sasl_response(scram.message(), &mut self.out)?;
            }
            other => {
                let words = format!(
                    "the server asks for a proof of kind {other}: hopcost knows passwords \
                                     and tickets of Kerberos'"
                );
                return Err(lost(&words));
            }
        }
        self.flush()
    }

    /// Type OIDs of the arguments and of the columns.
    pub fn prepare(&mut self, name: &str, sql: &str) -> Result<[Vec<u32>; 2], WireError> {
        frontend::parse(name, sql, [], &mut self.out)?;
        frontend::describe(b'S', name, &mut self.out)?;
        frontend::sync(&mut self.out);
        self.flush()?;
        let [mut arguments, mut columns] = [Vec::new(), Vec::new()];
        self.until_ready(|tag, body| {
            match tag {
                b't' => {
                    arguments = body
                        .get(2..)
                        .unwrap_or_default()
                        .chunks_exact(4)
                        .map(|oid| oid_at(oid, 0))
                        .collect();
                }
                b'T' => columns = column_types(body),
                _ => {}
            }
            Ok(())
        })?;
        Ok([arguments, columns])
    }

    pub fn copy_in(&mut self, table: &str) -> Result<(), WireError> {
        frontend::query(&copy_into(table), &mut self.out)?;
        self.flush()?;
        loop {
            let message = self.channel.next()?;
            match message.tag {
                b'G' => return Ok(()),
                b'E' => return self.refused(&message),
                _ => {}
            }
        }
    }

    /// Reads a message that arrives during a COPY: an error, or a notice.
    pub fn copy_objection(&mut self) -> Result<(), WireError> {
        let message = self.channel.next()?;
        if message.tag == b'E' { self.refused(&message) } else { Ok(()) }
    }

    fn refused(&mut self, message: &Message) -> Result<(), WireError> {
        let error = said(self.body(message));
        self.until_ready(|_, _| Ok(()))?;
        Err(WireError::Server(error))
    }

    pub fn copy_end(&mut self) -> Result<(), WireError> {
        frontend::copy_done(&mut self.out);
        self.flush()?;
        self.until_ready(|_, _| Ok(()))
    }

    /// Returns a server error only after ReadyForQuery.
    #[inline]
    pub fn until_ready(
        &mut self,
        mut take: impl FnMut(u8, &[u8]) -> Result<(), Wrong>,
    ) -> Result<(), WireError> {
        let mut error = None;
        loop {
            let Some(message) = self.channel.arrived() else {
                // The server's last message explains more than the lost connection.
                let said = |lost| {
                    error.take().map_or(lost, |said: WireError| WireError::Lost(said.to_string()))
                };
                self.channel.more().map_err(WireError::from).map_err(said)?;
                continue;
            };
            let body = self.channel.body(&message);
            match message.tag {
                b'Z' => {
                    self.transaction = body.first().copied().unwrap_or(b'I');
                    self.channel.lend();
                    return error.map_or(Ok(()), Err);
                }
                b'E' => {
                    error.get_or_insert(WireError::Server(said(body)));
                }
                // The reason for a shutdown may come as a notice.
                b'N' => {
                    let said = said(body);
                    if said.code == CRASH_SHUTDOWN {
                        error.get_or_insert(WireError::Server(said));
                    }
                }
                tag if error.is_none() => {
                    if let Err(words) = take(tag, body) {
                        error = Some(WireError::Server(ServerError::of(words)));
                    }
                }
                _ => {}
            }
        }
    }

    /// Major version; 0 when unknown.
    pub fn major(&self) -> u32 {
        let digits = self.version.split(|c: char| !c.is_ascii_digit()).next();
        digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
    }

    pub fn is_in_transaction(&self) -> bool {
        self.transaction != b'I'
    }

    fn body(&self, message: &Message) -> &[u8] {
        self.channel.body(message)
    }

    fn flush(&mut self) -> Result<(), WireError> {
        let written = self.channel.write_all(&self.out);
        self.out.clear();
        Ok(written?)
    }
}

impl wire::Wire for Wire {
    type Framing = Tagged;

    fn connect(address: &Address) -> Result<Self, WireError> {
        let entered = open(address).map_err(WireError::from).and_then(|stream| {
            let mut wire = Self {
                channel: Channel::new(stream, address.wait),
                out: BytesMut::new(),
                transaction: b'I',
                pid: 0,
                version: String::new(),
            };
            let parameters = [
                ("user", address.user.as_str()),
                ("database", &address.database),
                ("client_encoding", "UTF8"),
                ("application_name", "hopcost"),
            ];
            frontend::startup_message(parameters, &mut wire.out)?;
            wire.flush()?;
            wire.be_let_in(address)?;
            wire::Wire::limit(&wire, None)?;
            Ok(wire)
        });
        entered.map_err(|error| error.at(address))
    }

    fn channel(&self) -> &Channel<Tagged> {
        &self.channel
    }

    fn channel_mut(&mut self) -> &mut Channel<Tagged> {
        &mut self.channel
    }

    fn number(&self) -> u32 {
        self.pid
    }

    fn version(&self) -> &str {
        &self.version
    }

    /// Any number of statements. Returns the rows of the last one that has some.
    fn query(&mut self, sql: &str) -> Result<Rows, WireError> {
        frontend::query(sql, &mut self.out)?;
        self.flush()?;
        let mut rows = Rows::new();
        self.until_ready(|tag, body| {
            match tag {
                b'T' => rows.clear(),
                b'D' => rows.push(text_row(body)),
                _ => {}
            }
            Ok(())
        })?;
        Ok(rows)
    }

    fn drain(&mut self) -> Result<(), WireError> {
        self.until_ready(|_, _| Ok(()))
    }
}

pub fn copy_into(name: &str) -> String {
    format!("COPY \"{name}\" FROM STDIN (FORMAT binary)")
}

fn open(address: &Address) -> Result<Stream, Wrong> {
    let socket = |directory: &Path| directory.join(format!(".s.PGSQL.{}", address.port));
    let mut stream = Stream::open(address, socket)?;
    if address.tls == Tls::Disable || matches!(address.place, Place::Unix(_)) {
        return Ok(stream);
    }
    if address.tls_at_once.is_some() {
        return stream.encrypted(address);
    }
    let (mut question, mut answer) = (BytesMut::new(), [0]);
    frontend::ssl_request(&mut question);
    let asked = stream.write_all(&question).and_then(|()| stream.read(&mut answer));
    match (asked.map_err(|error| words(&error))?, answer, address.tls) {
        (0, ..) => Err(words(&io::ErrorKind::UnexpectedEof.into()).into()),
        (_, [b'S'], _) => stream.encrypted(address),
        (_, _, Tls::Prefer) => Ok(stream),
        _ => Err("the server has no TLS, and sslmode asks for it".into()),
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        frontend::terminate(&mut self.out);
        let _ = self.flush();
    }
}

/// Big-endian; 0 beyond the end.
#[inline]
pub fn int4(bytes: &[u8], at: usize) -> i32 {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, i32::from_be_bytes)
}

#[inline]
pub fn int2(bytes: &[u8], at: usize) -> i16 {
    bytes.get(at..at + 2).and_then(|two| two.try_into().ok()).map_or(0, i16::from_be_bytes)
}

fn oid_at(bytes: &[u8], at: usize) -> u32 {
    int4(bytes, at).cast_unsigned()
}

pub fn columns(body: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    let mut rest = body.get(2..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (head, tail) = rest.split_first_chunk::<4>()?;
        let Ok(length) = usize::try_from(i32::from_be_bytes(*head)) else {
            rest = tail;
            return Some(None);
        };
        let (value, tail) = tail.split_at_checked(length)?;
        rest = tail;
        Some(Some(value))
    })
}

fn text_row(body: &[u8]) -> Vec<Option<String>> {
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    columns(body).map(|value| value.map(text)).collect()
}

fn described(body: &[u8]) -> impl Iterator<Item = (&[u8], u32)> {
    let mut rest = body.get(2..).unwrap_or_default();
    std::iter::from_fn(move || {
        let end = rest.iter().position(|byte| *byte == 0)?;
        let column = (&rest[..end], oid_at(rest, end + 7));
        rest = rest.get(end + 19..).unwrap_or_default();
        Some(column)
    })
}

fn column_types(body: &[u8]) -> Vec<u32> {
    described(body).map(|(_, kind)| kind).collect()
}

pub fn column_names(body: &[u8]) -> Vec<String> {
    described(body).map(|(name, _)| String::from_utf8_lossy(name).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::server::foreign;
    use super::super::super::server::wire::Wire as _;
    use super::super::calls;
    use super::*;

    #[test]
    fn a_row_is_its_values_and_null_is_none() {
        let body = [&[0, 3][..], &[0, 0, 0, 2], b"ab", &[255; 4], &[0; 4]].concat();
        assert_eq!(text_row(&body), [Some("ab".to_owned()), None, Some(String::new())]);
    }

    #[test]
    fn the_types_of_columns_are_read() {
        let column =
            |name: &str, oid: u32| [name.as_bytes(), &[0; 7], &oid.to_be_bytes(), &[0; 8]].concat();
        let body = [vec![0, 2], column("id", 23), column("a name", 1042)].concat();
        assert_eq!(column_types(&body), [23, 1042]);
    }

    #[test]
    fn the_servers_words_come_with_their_code_and_its_advice() {
        let body = b"SFATAL\0VFATAL\0C53300\0Msorry, too many clients already\0Htry later\0\0";
        let error = said(body);
        assert!(error.is_fatal);
        let words = "sorry, too many clients already (SQLSTATE 53300); try later";
        assert_eq!(error.to_string(), words);
    }

    fn message(tag: u8, body: &[u8]) -> Vec<u8> {
        [&[tag][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
    }

    /// A login, a query, a prepared statement and its call.
    fn conversation() -> Vec<u8> {
        let row = [&[0, 1, 0, 0, 0, 4][..], &7_i32.to_be_bytes()].concat();
        let described = [&[0, 1][..], b"id\0", &[0; 6], &23_u32.to_be_bytes(), &[0; 8]].concat();
        [
            message(b'R', &[0; 4]),
            message(b'S', b"server_version\x0015.18\0"),
            message(b'K', &[0, 0, 0, 9, 0, 0, 0, 1]),
            message(b'Z', b"I"),
            message(b'T', &described),
            message(b'D', &row),
            message(b'C', b"SELECT 1\0"),
            message(b'Z', b"I"),
            message(b'1', b""),
            message(b't', &[0, 1, 0, 0, 0, 20]),
            message(b'T', &described),
            message(b'Z', b"I"),
            message(b'2', b""),
            message(b'D', &row),
            message(b'E', b"SERROR\0VERROR\0C22012\0Mdivision by zero\0\0"),
            message(b'Z', b"I"),
        ]
        .concat()
    }

    #[test]
    fn whatever_a_server_answers_is_an_answer_or_an_error() {
        foreign::withstands::<Wire>(".s.PGSQL.1", &conversation(), |wire| {
            let _ = wire.query("SELECT 1");
            let call = calls::prepare(wire, 0, &foreign::STATEMENT, None);
            foreign::call(wire, call);
        });
    }

    #[test]
    fn who_lets_nobody_in_is_given_up_in_the_time_that_was_said() {
        foreign::gives_up::<Wire>(".s.PGSQL.1", b"S\0\0\0\x08a\0b\0");
    }
}
