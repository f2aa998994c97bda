//! The transport below TLS, and error messages for any connection.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hopcost_sys::clock;

pub struct Socket {
    pub tcp: Arc<TcpStream>,
    /// The deadline of the handshake.
    pub until: Option<Instant>,
    /// The framing during the handshake, if the protocol has one.
    pub envelope: Option<Packed>,
}

/// How a protocol frames TLS records during the handshake.
#[derive(Clone, Copy)]
pub struct TlsFraming {
    pub head: fn(usize) -> [u8; ENVELOPE_HEAD],
    pub content: fn(&[u8; ENVELOPE_HEAD]) -> usize,
    pub most_bytes: usize,
}

pub const ENVELOPE_HEAD: usize = 8;

/// A framing, and the unread bytes of the current frame.
pub struct Packed {
    pub envelope: TlsFraming,
    pub left: usize,
}

pub fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(clock::now());
    if left.is_zero() { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(left) }
}

impl Socket {
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

pub fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof => {
            "the server has closed the connection".to_owned()
        }
        io::ErrorKind::ConnectionReset => {
            "the connection was reset, by the server's host or by something on the way: look into the \
             server's log, and the network between"
                .to_owned()
        }
        io::ErrorKind::TimedOut => {
            "the server's host gives no sign of life: it is down, or the way there is cut".to_owned()
        }
        io::ErrorKind::WouldBlock => {
            "the server does not answer, though its host is there: see whether it hangs, or what blocks the network \
             between"
                .to_owned()
        }
        _ => format!("the connection to the server: {error}"),
    }
}
