//! The connection to a hosting process.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;

use hopcost_core::{Answer, CallError};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::super::server::address::Wait;
use super::super::server::channel::Channel;
use super::super::server::socket::words;
use super::super::server::stream::Stream;
use super::protocol::{self, ANSWER, ERROR, QUESTION, Question, REPLY, Tagged};

pub struct Wire {
    pub channel: Channel<Tagged>,
    name: &'static str,
}

impl Wire {
    pub fn connect(name: &'static str, socket: &Path) -> io::Result<Self> {
        let stream = Stream::over(UnixStream::connect(socket)?);
        Ok(Self { channel: Channel::new(stream, Wait::Receive), name })
    }

    pub fn lost(&self, error: &io::Error) -> CallError {
        CallError::Lost(format!("{}'s process: {}", self.name, words(error)))
    }

    pub fn send(&mut self, messages: &[u8]) -> Result<(), CallError> {
        self.channel.write_all(messages).map_err(|error| self.lost(&error))
    }

    pub fn ask<T: DeserializeOwned>(&mut self, question: &Question) -> Result<T, CallError> {
        let mut message = Vec::new();
        protocol::put(&mut message, QUESTION, json!(question).to_string().as_bytes());
        self.send(&message)?;
        self.reply()
    }

    pub fn reply<T: DeserializeOwned>(&mut self) -> Result<T, CallError> {
        self.next(REPLY, |content| serde_json::from_slice(content).ok())
    }

    pub fn answer(&mut self) -> Result<Answer, CallError> {
        self.next(ANSWER, protocol::answer)
    }

    fn next<T>(&mut self, tag: u8, read: impl FnOnce(&[u8]) -> Option<T>) -> Result<T, CallError> {
        let message = self.channel.next().map_err(|error| self.lost(&error))?;
        let content = self.channel.body(&message);
        let said = match message.tag {
            ERROR => Err(CallError::Failed(String::from_utf8_lossy(content).into_owned())),
            other => read(content)
                .filter(|_| other == tag)
                .ok_or_else(|| CallError::Lost(format!("{}'s process answers oddly", self.name))),
        };
        self.channel.lend();
        said
    }
}
