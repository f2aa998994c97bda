//! TDS 7.4 on a blocking socket, without a runtime or a thread.
//!
//! Limits: no transactions; login by SQL Server's own users or Kerberos; TLS within the protocol is
//! 1.2, around it (TDS 8) the newest.

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

pub type Show<'a> = dyn FnMut(&[u8]) -> Result<Vec<u8>, Wrong> + 'a;

pub struct Wire {
    channel: Channel<Packets>,
    out: Vec<u8>,
    answer: Vec<u8>,
    told: ServerInfo,
    packet_bytes: usize,
    /// The session's ID, `@@SPID`.
    number: u32,
    version: String,
}

/// Requested; `FIRST_PACKET_BYTES` holds until the server agrees.
const PACKET_BYTES: usize = 16 << 10;
const FIRST_PACKET_BYTES: usize = 4096;
/// Precedes each request: total length, and a header that says that no transaction is open.
const HEADERS: [u8; 22] = [22, 0, 0, 0, 18, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];
/// Longer text is sent in pieces.
const MOST_TEXT_BYTES: usize = 8000;

pub mod procedure {
    pub const PREPARE: u16 = 11;
    pub const EXECUTE: u16 = 12;
}

impl Wire {
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
        // Shown in the server's list of sessions.
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

    /// As the server encodes it.
    pub fn collation(&self) -> [u8; 5] {
        self.told.collation
    }

    pub fn script(&self, name: &str) -> Result<&'static str, WireError> {
        let told = |reason: Reason| WireError::Server(ServerError::of(reason.to_string()));
        scripts::sql(name, &self.version).map_err(told)
    }

    pub fn say(&mut self, name: &str) -> Result<Rows, WireError> {
        self.query(self.script(name)?)
    }

    pub fn value_of(&mut self, name: &str) -> Result<Option<String>, WireError> {
        self.value(self.script(name)?)
    }

    pub fn prepare(&mut self, declared: &str, sql: &str) -> Result<u32, WireError> {
        let mut message = call(procedure::PREPARE);
        // First argument: the handle, an output parameter, four bytes, NULL.
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

    /// Returns the count of rows that the server took.
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

    /// In place when the message is one packet.
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

    /// The rows of all results.
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

pub fn headers() -> Vec<u8> {
    HEADERS.to_vec()
}

pub fn call(procedure: u16) -> Vec<u8> {
    let mut message = headers();
    message.extend_from_slice(&[0xff, 0xff]);
    message.extend_from_slice(&procedure.to_le_bytes());
    message.extend_from_slice(&[0, 0]);
    message
}

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
