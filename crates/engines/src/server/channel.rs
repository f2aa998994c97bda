//! A connection's two directions, whatever is said over it: bytes that go, messages that come.
//!
//! Method: who calls waits, unless others send and receive for it. What comes is taken apart where it lies.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::Duration;

use hopcost_sys::readiness::Poller;

use super::address::{Address, Wait};
use super::input::{Framing, Input, Message};
use super::stream::{CloseHandle, Stream};
use super::wrong::Wrong;

/// The way to a server, and what has come from there and is not taken yet.
pub struct Channel<F> {
    stream: Stream,
    input: Input<F>,
    wait: Wait,
    /// By what it waits, once it has.
    poller: Option<Poller>,
}

/// What is longer is sent by itself: a socket that is empty takes this much at once.
const MOST_TAKEN_ALONG: usize = 4 << 10;

/// The most that lies here of a message, as long as we are to be let in.
const MOST_TO_ENTER: usize = 1 << 20;

/// Leaves short messages to who sends for many, where there is one. Are they still to be sent?
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
    /// Over a stream, waiting for answers so.
    pub fn new(stream: Stream, wait: Wait) -> Self {
        Self { stream, input: Input::default(), wait, poller: None }
    }

    /// To a server whose Unix socket is the file that its address names.
    pub fn open(address: &Address) -> Result<Self, Wrong> {
        Ok(Self::new(Stream::open(address, Path::to_path_buf)?, address.wait))
    }

    /// Goes on over another stream, as when both ends begin to encrypt.
    pub fn go_on(
        &mut self,
        over: impl FnOnce(&Stream) -> Result<Stream, Wrong>,
    ) -> Result<(), Wrong> {
        self.stream = over(&self.stream)?;
        Ok(())
    }

    /// From here on nobody waits longer than this for the other end, or as long as it takes.
    pub fn limit(&self, most: Option<Duration>) -> io::Result<()> {
        self.stream.limit(most)
    }

    /// What whoever hangs up has to know.
    pub fn line(&self) -> CloseHandle {
        self.stream.line()
    }

    /// Is it TLS? Then nobody else can send and receive for it.
    pub fn is_encrypted(&self) -> bool {
        self.stream.is_encrypted()
    }

    /// The socket, for whoever waits for several.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.stream.socket()
    }

    /// Sends all of it.
    pub fn write_all(&mut self, messages: &[u8]) -> io::Result<()> {
        self.stream.write_all(messages)
    }

    /// Others have received this for it.
    pub fn put_in(&mut self, came: io::Result<&[u8]>) -> io::Result<()> {
        match came {
            Ok([]) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(came) => {
                self.input.put(came);
                Ok(())
            }
            // It may still come.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The next message, where all of it is here.
    #[inline]
    pub fn arrived(&mut self) -> Option<Message> {
        self.input.next()
    }

    /// The next message, waited for if need be.
    #[inline]
    pub fn next(&mut self) -> io::Result<Message> {
        loop {
            if let Some(message) = self.input.next() {
                return Ok(message);
            }
            self.more()?;
        }
    }

    /// What a message holds.
    #[inline]
    pub fn body(&self, message: &Message) -> &[u8] {
        self.input.body(message)
    }

    /// Lets the thread's other connections have the buffer, where nothing is in it.
    #[inline]
    pub fn lend(&mut self) {
        self.input.lend();
    }

    /// Receives more, waited for if need be.
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
                // What came late would answer another question.
                self.stream.line().hang_up();
                Err(error)
            }
        }
    }

    /// Waits until an answer begins to arrive, by the method that was chosen: that of a thread with nothing
    /// else to do.
    pub fn wait(&mut self) -> io::Result<()> {
        // Something may lie ready within an encrypted stream, where its socket does not show it.
        if self.wait != Wait::Poll || self.is_encrypted() {
            return Ok(());
        }
        let poller = match &mut self.poller {
            Some(poller) => poller,
            none => none.insert(Poller::of([self.stream.socket()])?),
        };
        // A signal is no answer.
        while poller.wait(None)?.next().is_none() {}
        Ok(())
    }
}
