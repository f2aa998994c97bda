//! A connection to a server, for any protocol.

use std::fmt;
use std::io;
use std::time::Duration;

use hopcost_core::{CallError, Rows, TargetError};
use thiserror::Error;

use super::address::Address;
use super::channel::{self, Channel};
use super::input::Framing;
use super::socket::words;
use super::wrong::Wrong;

#[derive(Debug, Error)]
pub enum WireError {
    /// The server refused; the connection still works.
    #[error("{0}")]
    Server(ServerError),
    #[error("{0}")]
    Lost(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerError {
    /// `SQLSTATE 55P03`, `error 1040`; empty for an error of hopcost.
    pub code: String,
    pub message: String,
    pub more: Vec<String>,
    pub is_fatal: bool,
}

impl ServerError {
    pub fn of(words: impl Into<String>) -> Self {
        Self { message: words.into(), ..Self::default() }
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if !self.code.is_empty() {
            write!(f, " ({})", self.code)?;
        }
        self.more.iter().try_for_each(|more| write!(f, "; {more}"))
    }
}

impl From<io::Error> for WireError {
    fn from(error: io::Error) -> Self {
        Self::Lost(words(&error))
    }
}

impl From<Wrong> for WireError {
    fn from(error: Wrong) -> Self {
        Self::Lost(error.into())
    }
}

impl From<WireError> for TargetError {
    fn from(error: WireError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl WireError {
    pub fn at(self, address: &Address) -> Self {
        Self::Lost(format!("{}:{address}: {self}", address.scheme))
    }

    pub fn of_call(self, name: &str) -> CallError {
        match self {
            Self::Server(said) if !said.is_fatal => CallError::Failed(format!("{name}: {said}")),
            error => CallError::Lost(format!("{name}: {error}")),
        }
    }
}

pub trait Wire: Sized + Send + 'static {
    type Framing: Framing + Send;

    fn connect(address: &Address) -> Result<Self, WireError>;

    fn channel(&self) -> &Channel<Self::Framing>;

    fn channel_mut(&mut self) -> &mut Channel<Self::Framing>;

    fn number(&self) -> u32;

    fn version(&self) -> &str;

    fn query(&mut self, sql: &str) -> Result<Rows, WireError>;

    fn drain(&mut self) -> Result<(), WireError>;

    fn value(&mut self, sql: &str) -> Result<Option<String>, WireError> {
        Ok(self.query(sql)?.into_iter().next().and_then(|row| row.into_iter().next()).flatten())
    }

    /// Limits how long each answer is waited for; `None` is no limit. After a timeout the
    /// connection is lost.
    fn limit(&self, most: Option<Duration>) -> Result<(), WireError> {
        Ok(self.channel().limit(most)?)
    }

    fn send(&mut self, messages: &[u8]) -> Result<(), WireError> {
        let Err(error) = self.channel_mut().write_all(messages) else { return Ok(()) };
        // The server may have sent its reason before it closed.
        self.drain()?;
        Err(error.into())
    }

    /// Sends the messages of a call, or appends them to `out` for a worker to send.
    fn ask(&mut self, messages: &[u8], out: Option<&mut Vec<u8>>) -> Result<(), WireError> {
        if channel::is_left(messages, out) { self.send(messages) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_words_come_with_their_code_and_its_advice() {
        let error = ServerError {
            code: "SQLSTATE 53300".to_owned(),
            message: "sorry, too many clients already".to_owned(),
            more: vec!["try later".to_owned()],
            is_fatal: true,
        };
        let words = "sorry, too many clients already (SQLSTATE 53300); try later";
        assert_eq!(error.to_string(), words);
        assert!(matches!(WireError::Server(error).of_call("one"), CallError::Lost(_)));
        let ours = WireError::Server(ServerError::of("it is odd"));
        assert_eq!(ours.of_call("one"), CallError::Failed("one: it is odd".to_owned()));
    }
}
