//! What lies below an encrypted connection, and what goes wrong on any.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hopcost_sys::clock;

/// What lies below an encrypted connection.
pub struct Socket {
    pub tcp: Arc<TcpStream>,
    /// Until when both ends have to agree on how they encrypt.
    pub until: Option<Instant>,
    /// As long as both ends agree on how they encrypt, where the protocol packs that.
    pub envelope: Option<Packed>,
}

/// How a protocol packs what TLS says while both ends agree on it.
#[derive(Clone, Copy)]
pub struct TlsFraming {
    /// What stands before so many bytes.
    pub head: fn(usize) -> [u8; ENVELOPE_HEAD],
    /// How many bytes come after it.
    pub content: fn(&[u8; ENVELOPE_HEAD]) -> usize,
    pub most_bytes: usize,
}

/// The bytes before a packed content.
pub const ENVELOPE_HEAD: usize = 8;

/// An envelope, and what is left to read of the one that has come.
pub struct Packed {
    pub envelope: TlsFraming,
    pub left: usize,
}

/// What is left of the time until then; an error once it is over.
pub fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(clock::now());
    if left.is_zero() { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(left) }
}

impl Socket {
    /// Does the protocol pack what is said?
    pub fn is_packed(&self) -> bool {
        self.envelope.is_some()
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut tcp = &*self.tcp;
        if let Some(until) = self.until {
            limit(tcp, Some(left(until)?))?;
        }
        let Some(Packed { envelope, left }) = &mut self.envelope else { return tcp.read(buffer) };
        while *left == 0 {
            let mut head = [0; ENVELOPE_HEAD];
            tcp.read_exact(&mut head)?;
            *left = (envelope.content)(&head);
        }
        let most = buffer.len().min(*left);
        let count = tcp.read(&mut buffer[..most])?;
        *left -= count;
        Ok(count)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut tcp = &*self.tcp;
        let Some(Packed { envelope, .. }) = &self.envelope else { return tcp.write(bytes) };
        let piece = &bytes[..bytes.len().min(envelope.most_bytes)];
        tcp.write_all(&[&(envelope.head)(piece.len())[..], piece].concat())?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub fn limit(socket: &TcpStream, most: Option<Duration>) -> io::Result<()> {
    socket.set_read_timeout(most).and_then(|()| socket.set_write_timeout(most))
}

/// What went wrong with a connection, and where to look.
pub fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof => {
            "the server has closed the connection".to_owned()
        }
        io::ErrorKind::ConnectionReset => {
            "the connection was reset, by the server's host or by something on the way: look into the \
             server's log, and at what stands between"
                .to_owned()
        }
        io::ErrorKind::TimedOut => {
            "the server's host gives no sign of life: it is down, or the way there is cut".to_owned()
        }
        io::ErrorKind::WouldBlock => {
            "the server does not answer, though its host is there: look whether it hangs, or what stands \
             between"
                .to_owned()
        }
        _ => format!("the connection to the server: {error}"),
    }
}
