//! The transport to a server: a Unix socket, TCP, or TLS over TCP.

use std::cell::Cell;
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use hopcost_sys::{clock, liveness, readiness};

use super::address::{Address, Place};
use super::socket::{Packed, Socket, TlsFraming, left, limit, words};
use super::tls::{self, Encrypted};
use super::wrong::Wrong;

pub struct Stream {
    way: Way,
    /// The deadline for logging in; `None` once logged in.
    until: Cell<Option<Instant>>,
}

enum Way {
    Unix(Arc<UnixStream>),
    Tcp(Arc<TcpStream>),
    Encrypted(Box<Encrypted>),
}

/// A host that does not respond for this long is taken as gone.
const SILENCE: Duration = Duration::from_secs(30);

pub enum CloseHandle {
    Unix(Weak<UnixStream>),
    Tcp(Weak<TcpStream>),
}

impl CloseHandle {
    pub fn hang_up(&self) {
        let _ = match self {
            Self::Unix(line) => line.upgrade().map(|line| line.shutdown(Shutdown::Both)),
            Self::Tcp(line) => line.upgrade().map(|line| line.shutdown(Shutdown::Both)),
        };
    }
}

impl Stream {
    /// Connects unencrypted; `socket_of` maps the address to the Unix socket's file. All waiting
    /// until `limit` is called counts against the address's time limit.
    pub fn open(
        address: &Address,
        socket_of: impl FnOnce(&Path) -> PathBuf,
    ) -> Result<Self, Wrong> {
        let said = |error: io::Error| words(&error);
        let until = clock::now() + address.patience;
        let way = match &address.place {
            Place::Unix(named) => {
                let path = socket_of(named);
                let socket = UnixStream::connect(&path);
                let socket = socket.map_err(|error| format!("{}: {error}", path.display()))?;
                Way::Unix(Arc::new(socket))
            }
            Place::Host(host) => {
                let socket = reached(host, address.port, until).map_err(said)?;
                socket.set_nodelay(true).map_err(said)?;
                liveness::notice_death(socket.as_fd(), SILENCE).map_err(said)?;
                Way::Tcp(Arc::new(socket))
            }
        };
        way.limit(Some(address.patience)).map_err(said)?;
        Ok(Self { way, until: Cell::new(Some(until)) })
    }

    pub fn over(socket: UnixStream) -> Self {
        Self { way: Way::Unix(Arc::new(socket)), until: Cell::new(None) }
    }

    pub fn encrypted(&self, address: &Address) -> Result<Self, Wrong> {
        self.encrypted_in(address, None)
    }

    pub fn encrypted_in(
        &self,
        address: &Address,
        envelope: Option<TlsFraming>,
    ) -> Result<Self, Wrong> {
        let (Way::Tcp(socket), Place::Host(host)) = (&self.way, &address.place) else {
            return Err("only what goes over the network is encrypted".into());
        };
        let envelope = envelope.map(|envelope| Packed { envelope, left: 0 });
        let socket = Socket { tcp: Arc::clone(socket), until: self.until.get(), envelope };
        let mut encrypted =
            tls::over(socket, host, address).map_err(|error| format!("TLS: {error}"))?;
        (encrypted.sock.envelope, encrypted.sock.until) = (None, None);
        Ok(Self { way: Way::Encrypted(Box::new(encrypted)), until: self.until.clone() })
    }

    /// Limits how long each read or write waits; `None` is no limit.
    pub fn limit(&self, most: Option<Duration>) -> io::Result<()> {
        self.until.set(None);
        self.way.limit(most)
    }

    pub fn is_entering(&self) -> bool {
        self.until.get().is_some()
    }

    pub fn is_encrypted(&self) -> bool {
        matches!(self.way, Way::Encrypted(_))
    }

    pub fn line(&self) -> CloseHandle {
        match &self.way {
            Way::Unix(socket) => CloseHandle::Unix(Arc::downgrade(socket)),
            Way::Tcp(socket) => CloseHandle::Tcp(Arc::downgrade(socket)),
            Way::Encrypted(stream) => CloseHandle::Tcp(Arc::downgrade(&stream.sock.tcp)),
        }
    }

    pub fn socket(&self) -> BorrowedFd<'_> {
        match &self.way {
            Way::Unix(socket) => socket.as_fd(),
            Way::Tcp(socket) => socket.as_fd(),
            Way::Encrypted(stream) => stream.sock.tcp.as_fd(),
        }
    }

    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(until) = self.until.get() {
            self.way.limit(Some(left(until)?))?;
        }
        match &mut self.way {
            Way::Encrypted(stream) => stream.read(buffer),
            _ => readiness::receive(self.socket(), buffer),
        }
    }

    pub fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        if let Way::Encrypted(stream) = &mut self.way {
            return stream.write_all(bytes).and_then(|()| stream.flush());
        }
        while !bytes.is_empty() {
            match readiness::send(self.socket(), bytes) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Way {
    fn limit(&self, most: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Unix(socket) => {
                socket.set_read_timeout(most).and_then(|()| socket.set_write_timeout(most))
            }
            Self::Tcp(socket) => limit(socket, most),
            Self::Encrypted(stream) => limit(&stream.sock.tcp, most),
        }
    }
}

fn reached(host: &str, port: u16, until: Instant) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for place in (host, port).to_socket_addrs()? {
        match left(until).and_then(|left| TcpStream::connect_timeout(&place, left)) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}
