//! A connection to a server for any protocol: bytes out, messages in.
//!
//! Method: the caller blocks, unless a worker sends and receives for many connections.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::Duration;

use hopcost_sys::readiness::Poller;

use super::address::{Address, Wait};
use super::input::{Framing, Input, Message};
use super::stream::{CloseHandle, Stream};
use super::wrong::Wrong;

pub struct Channel<F> {
    stream: Stream,
    input: Input<F>,
    wait: Wait,
    poller: Option<Poller>,
}

/// Longer messages are sent directly: an empty socket buffer takes this much at once.
const MOST_TAKEN_ALONG: usize = 4 << 10;

/// Most bytes buffered of a message during login.
const MOST_TO_ENTER: usize = 1 << 20;

/// Appends short messages to `out` if there is one. Is anything left to be sent?
pub fn is_left(messages: &[u8], out: Option<&mut Vec<u8>>) -> bool {
    match out.filter(|_| messages.len() <= MOST_TAKEN_ALONG) {
        Some(out) => {
            out.extend_from_slice(messages);
            false
        }
        None => true,
    }
}

impl<F: Framing> Channel<F> {
    pub fn new(stream: Stream, wait: Wait) -> Self {
        Self { stream, input: Input::default(), wait, poller: None }
    }

    /// Connects to a server whose address names the Unix socket's file itself.
    pub fn open(address: &Address) -> Result<Self, Wrong> {
        Ok(Self::new(Stream::open(address, Path::to_path_buf)?, address.wait))
    }

    pub fn go_on(
        &mut self,
        over: impl FnOnce(&Stream) -> Result<Stream, Wrong>,
    ) -> Result<(), Wrong> {
        self.stream = over(&self.stream)?;
        Ok(())
    }

    /// Limits how long each read or write waits; `None` is no limit.
    pub fn limit(&self, most: Option<Duration>) -> io::Result<()> {
        self.stream.limit(most)
    }

    pub fn line(&self) -> CloseHandle {
        self.stream.line()
    }

    /// TLS? Then a worker cannot send and receive for it.
    pub fn is_encrypted(&self) -> bool {
        self.stream.is_encrypted()
    }

    pub fn socket(&self) -> BorrowedFd<'_> {
        self.stream.socket()
    }

    pub fn write_all(&mut self, messages: &[u8]) -> io::Result<()> {
        self.stream.write_all(messages)
    }

    /// Takes bytes that a worker received for it.
    pub fn put_in(&mut self, came: io::Result<&[u8]>) -> io::Result<()> {
        match came {
            Ok([]) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(came) => {
                self.input.put(came);
                Ok(())
            }
            // More may still come.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error),
        }
    }

    #[inline]
    pub fn arrived(&mut self) -> Option<Message> {
        self.input.next()
    }

    #[inline]
    pub fn next(&mut self) -> io::Result<Message> {
        loop {
            if let Some(message) = self.input.next() {
                return Ok(message);
            }
            self.more()?;
        }
    }

    #[inline]
    pub fn body(&self, message: &Message) -> &[u8] {
        self.input.body(message)
    }

    /// Releases an empty buffer to the thread's other connections.
    #[inline]
    pub fn lend(&mut self) {
        self.input.lend();
    }

    pub fn more(&mut self) -> io::Result<()> {
        if self.stream.is_entering() && self.input.waiting() > MOST_TO_ENTER {
            let words = "what answers says far more than a server does before it lets anybody in";
            return Err(io::Error::new(io::ErrorKind::InvalidData, words));
        }
        match self.input.receive(|room| self.stream.read(room)) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => {
                // A late answer would be taken for that of another question.
                self.stream.line().hang_up();
                Err(error)
            }
        }
    }

    /// Waits for an answer by the configured method, if the client has nothing else to do.
    pub fn wait(&mut self) -> io::Result<()> {
        // An encrypted stream may hold decrypted bytes that its socket does not show.
        if self.wait != Wait::Poll || self.is_encrypted() {
            return Ok(());
        }
        let poller = match &mut self.poller {
            Some(poller) => poller,
            none => none.insert(Poller::of([self.stream.socket()])?),
        };
        // A signal may wake it without an answer.
        while poller.wait(None)?.next().is_none() {}
        Ok(())
    }
}
