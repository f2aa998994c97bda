//! A connection to a server: TDS 7.4 on a blocking socket.
//!
//! Method: what is sent is put together once and written by one call; an answer is read into one buffer and
//! taken apart where it lies, or put together first where it came in several packets. No runtime, no thread of
//! its own: who calls waits.
//!
//! Limits: one statement at a time, no transactions of ours; a login by name and password, as SQL Server has
//! them itself, or by a ticket of Kerberos'; TLS within the protocol is 1.2, around it (TDS 8) the newest.

use hopcost_core::{Reason, Rows};

use super::super::server::address::Address;
use super::super::server::channel::Channel;
use super::super::server::stream::Stream;
use super::super::server::wire::{self, ServerError, Wire as _, WireError};
use super::super::server::wrong::Wrong;
use super::login;
use super::packet::{self, LAST, Packets, kind, put_wide};
use super::scripts;
use super::tokens::{Piece, ServerInfo};
use super::types::code;

/// What a user of the system's shows next, after what the server has shown.
pub type Show<'a> = dyn FnMut(&[u8]) -> Result<Vec<u8>, Wrong> + 'a;

/// A connection, ready for questions.
pub struct Wire {
    channel: Channel<Packets>,
    out: Vec<u8>,
    /// An answer of several packets, put together.
    answer: Vec<u8>,
    told: ServerInfo,
    packet_bytes: usize,
    /// The server's own number for it.
    number: u32,
    /// What the server says of itself: `16.0.4135.4`.
    version: String,
}

/// What we ask for, and what it is until the server agrees.
const PACKET_BYTES: usize = 16 << 10;
const FIRST_PACKET_BYTES: usize = 4096;
/// What stands before each question: how long it is, and that no transaction is open.
const HEADERS: [u8; 22] = [22, 0, 0, 0, 18, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];
/// Text that is longer comes in pieces.
const MOST_TEXT_BYTES: usize = 8000;

/// The server's own procedures that we call, by the numbers that the protocol has for them.
pub mod procedure {
    pub const PREPARE: u16 = 11;
    pub const EXECUTE: u16 = 12;
}

impl Wire {
    /// Connects, and is let in, with what is to be shown.
    pub fn connect_with(address: &Address, show: &mut Show<'_>) -> Result<Self, WireError> {
        let mut enter = || {
            let mut wire = Self {
                channel: Channel::open(address)?,
                out: Vec::new(),
                answer: Vec::new(),
                told: ServerInfo::default(),
                packet_bytes: FIRST_PACKET_BYTES,
                number: 0,
                version: String::new(),
            };
            wire.agree(address)?;
            wire.be_let_in(address, show)?;
            wire.limit(None)?;
            Ok(wire)
        };
        enter().map_err(|error: WireError| error.at(address))
    }

    /// What is encrypted.
    fn agree(&mut self, address: &Address) -> Result<(), WireError> {
        if address.tls_at_once.is_some() {
            self.channel.go_on(|stream| stream.encrypted(address))?;
        }
        self.tell(kind::PRELOGIN, &login::first(address))?;
        let answer = self.message(|_, answer| answer.to_vec())?;
        let lost = |words: &str| WireError::Lost(words.to_owned());
        if address.tls_at_once.is_none()
            && login::is_encrypted(&answer, address.tls).map_err(lost)?
        {
            let over = |stream: &Stream| stream.encrypted_in(address, Some(login::ENVELOPE));
            self.channel.go_on(over)?;
        }
        Ok(())
    }

    fn be_let_in(&mut self, address: &Address, show: &mut Show<'_>) -> Result<(), WireError> {
        // It is shown to who looks who is connected.
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let shown = show(&[])?;
        self.tell(kind::LOGIN, &login::login(address, &shown, host.trim(), PACKET_BYTES))?;
        loop {
            self.until_done(|_| Ok(()))?;
            let Some(by_server) = self.told.ticket.take() else { break };
            let shown = show(&by_server)?;
            if !shown.is_empty() {
                self.tell(kind::TICKET, &shown)?;
            } else if !self.told.program.is_empty() {
                break;
            }
        }
        if self.told.program.is_empty() {
            let words = "it let us in without a word: is it SQL Server?";
            return Err(WireError::Lost(words.to_owned()));
        }
        self.packet_bytes = self.told.packet_bytes.unwrap_or(FIRST_PACKET_BYTES);
        let version = "SELECT CAST(SERVERPROPERTY('ProductVersion') AS varchar(60)), @@SPID";
        let row = self.query(version)?.into_iter().next().unwrap_or_default();
        let mut values = row.into_iter().map(Option::unwrap_or_default);
        self.version = values.next().unwrap_or_default();
        self.number = values.next().and_then(|number| number.parse().ok()).unwrap_or(0);
        Ok(())
    }

    /// How text is ordered on the server, in its words for it.
    pub fn collation(&self) -> [u8; 5] {
        self.told.collation
    }

    /// The statement of this name, for this server's version.
    pub fn script(&self, name: &str) -> Result<&'static str, WireError> {
        let told = |reason: Reason| WireError::Server(ServerError::of(reason.to_string()));
        scripts::sql(name, &self.version).map_err(told)
    }

    /// Says what is known by this name.
    pub fn say(&mut self, name: &str) -> Result<Rows, WireError> {
        self.query(self.script(name)?)
    }

    /// The same, for the first value that it answers.
    pub fn value_of(&mut self, name: &str) -> Result<Option<String>, WireError> {
        self.value(self.script(name)?)
    }

    /// Has a statement compiled: its number.
    pub fn prepare(&mut self, declared: &str, sql: &str) -> Result<u32, WireError> {
        let mut message = call(procedure::PREPARE);
        // The first argument is where the number goes: by reference, four bytes, none yet.
        message.extend_from_slice(&[0, 1, code::INTEGER, 4, 0]);
        for text in [declared, sql] {
            message.extend_from_slice(&[0, 0]);
            put_text(&mut message, text);
        }
        self.tell(kind::CALL, &message)?;
        let mut number = None;
        self.until_done(|piece| {
            if let Piece::Returned(value) = piece {
                number = value.words().and_then(|words| words.parse().ok());
            }
            Ok(())
        })?;
        let none = || WireError::Lost("the server gives no number for a statement".to_owned());
        number.ok_or_else(none)
    }

    /// Hands rows over, for which the server has been made ready by a question.
    pub fn load(&mut self, message: &[u8]) -> Result<u64, WireError> {
        self.tell(kind::BULK, message)?;
        let mut count = 0;
        self.until_done(|piece| {
            if let Piece::Changed(rows) = piece {
                count = rows;
            }
            Ok(())
        })?;
        Ok(count)
    }

    /// The packets of a message.
    pub fn packets(&self, kind: u8, message: &[u8]) -> Vec<u8> {
        let mut packets = Vec::new();
        packet::put(&mut packets, kind, self.packet_bytes, message);
        packets
    }

    fn tell(&mut self, kind: u8, message: &[u8]) -> Result<(), WireError> {
        self.out.clear();
        packet::put(&mut self.out, kind, self.packet_bytes, message);
        let out = std::mem::take(&mut self.out);
        let sent = self.send(&out);
        self.out = out;
        sent
    }

    /// Takes an answer, to its end.
    #[inline]
    pub fn until_done(
        &mut self,
        mut take: impl FnMut(Piece<'_>) -> Result<(), Wrong>,
    ) -> Result<(), WireError> {
        self.message(|told, answer| told.take(answer, &mut take))?.map_err(|said| {
            if said.is_fatal {
                WireError::Lost(format!("the server ended the connection: {said}"))
            } else {
                WireError::Server(said)
            }
        })
    }

    /// All of a message, where it lies if it came in one packet.
    #[inline]
    fn message<T>(
        &mut self,
        take: impl FnOnce(&mut ServerInfo, &[u8]) -> T,
    ) -> Result<T, WireError> {
        self.answer.clear();
        let taken = loop {
            let packet = self.channel.next()?;
            let body = self.channel.body(&packet);
            let is_last = packet.tag & LAST != 0;
            if is_last && self.answer.is_empty() {
                break take(&mut self.told, body);
            }
            self.answer.extend_from_slice(body);
            if is_last {
                break take(&mut self.told, &self.answer);
            }
        };
        self.channel.lend();
        Ok(taken)
    }
}

impl wire::Wire for Wire {
    type Framing = Packets;

    fn connect(address: &Address) -> Result<Self, WireError> {
        let mut ticket = None;
        Self::connect_with(address, &mut |by_server| login::shown(address, &mut ticket, by_server))
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

    /// Of several answers, the rows of all.
    fn query(&mut self, sql: &str) -> Result<Rows, WireError> {
        let mut message = headers();
        put_wide(&mut message, sql);
        self.tell(kind::BATCH, &message)?;
        let mut rows = Rows::new();
        self.until_done(|piece| {
            match (piece, rows.last_mut()) {
                (Piece::Row, _) => rows.push(Vec::new()),
                (Piece::Value(value), Some(row)) => row.push(value.words()),
                _ => {}
            }
            Ok(())
        })?;
        Ok(rows)
    }

    fn drain(&mut self) -> Result<(), WireError> {
        self.until_done(|_| Ok(()))
    }
}

/// What stands before each question.
pub fn headers() -> Vec<u8> {
    HEADERS.to_vec()
}

/// How a call of one of the server's own procedures begins.
pub fn call(procedure: u16) -> Vec<u8> {
    let mut message = headers();
    // By its number, not by its name.
    message.extend_from_slice(&[0xff, 0xff]);
    message.extend_from_slice(&procedure.to_le_bytes());
    message.extend_from_slice(&[0, 0]);
    message
}

/// A text with its description.
fn put_text(out: &mut Vec<u8>, text: &str) {
    let mut wide = packet::wide(text);
    let length = wide.len();
    let is_long = length > MOST_TEXT_BYTES;
    let most = if is_long { u16::MAX } else { MOST_TEXT_BYTES as u16 };
    out.push(code::NVARCHAR);
    out.extend_from_slice(&most.to_le_bytes());
    out.extend_from_slice(&[0; 5]);
    if is_long {
        out.extend_from_slice(&(length as u64).to_le_bytes());
        out.extend_from_slice(&(length as u32).to_le_bytes());
        wide.extend_from_slice(&[0; 4]);
    } else {
        out.extend_from_slice(&(length as u16).to_le_bytes());
    }
    out.extend_from_slice(&wide);
}
