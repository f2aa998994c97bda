//! The way to a server and back: a Unix socket, TCP, or TLS over it.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use bytes::BytesMut;
use hopcost_sys::readiness;
use postgres_protocol::message::frontend;

use super::address::{Address, Place, Tls};
use super::tls::{self, Encrypted};

/// A connection's socket.
pub enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
    Encrypted(Box<Encrypted>),
}

/// Nobody waits longer to be let in.
const CONNECTING: Duration = Duration::from_secs(10);

impl Stream {
    pub fn open(address: &Address) -> Result<Self, String> {
        let words = |error: io::Error| error.to_string();
        match &address.place {
            Place::Directory(directory) => {
                let path = directory.join(format!(".s.PGSQL.{}", address.port));
                let socket = UnixStream::connect(&path);
                socket.map(Self::Unix).map_err(|error| format!("{}: {error}", path.display()))
            }
            Place::Host(host) => {
                let socket = TcpStream::connect((host.as_str(), address.port)).map_err(words)?;
                socket.set_nodelay(true).map_err(words)?;
                Self::secured(socket, host, address)
            }
        }
    }

    fn secured(mut socket: TcpStream, host: &str, address: &Address) -> Result<Self, String> {
        if address.tls == Tls::Disable {
            return Ok(Self::Tcp(socket));
        }
        let words = |error: io::Error| error.to_string();
        let mut question = BytesMut::new();
        frontend::ssl_request(&mut question);
        let mut answer = [0];
        socket.set_read_timeout(Some(CONNECTING)).map_err(words)?;
        socket.write_all(&question).and_then(|()| socket.read_exact(&mut answer)).map_err(words)?;
        socket.set_read_timeout(None).map_err(words)?;
        match (&answer, address.tls) {
            (b"S", _) => tls::over(socket, host, address)
                .map(|encrypted| Self::Encrypted(Box::new(encrypted)))
                .map_err(|error| format!("TLS: {error}")),
            (_, Tls::Prefer) => Ok(Self::Tcp(socket)),
            _ => Err("the server has no TLS, and sslmode asks for it".to_owned()),
        }
    }

    pub fn socket(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(socket) => socket.as_fd(),
            Self::Tcp(socket) => socket.as_fd(),
            Self::Encrypted(stream) => stream.sock.as_fd(),
        }
    }

    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Encrypted(stream) => stream.read(buffer),
            plain => readiness::receive(plain.socket(), buffer),
        }
    }

    pub fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        if let Self::Encrypted(stream) = self {
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
