//! A TCP proxy between a test and its server, which can fail.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::Duration;

pub struct Proxy {
    port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// Number of resets; each cuts off the earlier clients.
    resets: AtomicUsize,
    is_silent: AtomicBool,
    /// What each client has sent, if that is recorded.
    sent: Option<Mutex<Vec<Sent>>>,
}

#[derive(Clone, Debug, Default)]
struct Sent {
    bytes: Vec<u8>,
    is_over: bool,
}

const LOOK: Duration = Duration::from_millis(2);

impl Proxy {
    pub fn before(server: PathBuf) -> Self {
        Self::with(server, State::default())
    }

    /// The same, recording what clients send.
    pub fn that_listens_in(server: PathBuf) -> Self {
        Self::with(server, State { sent: Some(Mutex::default()), ..State::default() })
    }

    fn with(server: PathBuf, state: State) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(state);
        let of_all = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (state, server) = (Arc::clone(&of_all), server.clone());
                let number = state.note(None, |_| ());
                std::thread::spawn(move || {
                    state.serve(&client, &server, number);
                    // Unread bytes turn the close into a reset.
                    drop(client);
                });
            }
        });
        Self { port, state }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn clients(&self) -> usize {
        self.state.sent().len()
    }

    /// All that a client sent; waits until it disconnects.
    pub fn sent_by(&self, client: usize) -> Vec<u8> {
        loop {
            match self.state.sent().get(client) {
                Some(Sent { bytes, is_over: true }) => return bytes.clone(),
                _ => sleep(LOOK),
            }
        }
    }

    /// Ends all connections with a TCP reset, during their next request.
    pub fn reset(&self) {
        self.state.resets.fetch_add(1, Ordering::SeqCst);
    }

    pub fn be_silent(&self, is_silent: bool) {
        self.state.is_silent.store(is_silent, Ordering::SeqCst);
    }
}

impl State {
    fn sent(&self) -> Vec<Sent> {
        self.sent.as_ref().map_or_else(Vec::new, |sent| {
            sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
        })
    }

    /// Updates a client's record, or adds one; returns its index.
    fn note(&self, client: Option<usize>, note: impl FnOnce(&mut Sent)) -> usize {
        let Some(sent) = &self.sent else { return 0 };
        let mut sent = sent.lock().unwrap_or_else(PoisonError::into_inner);
        let client = client.unwrap_or_else(|| {
            sent.push(Sent::default());
            sent.len() - 1
        });
        note(&mut sent[client]);
        client
    }

    fn serve(&self, client: &TcpStream, server: &Path, number: usize) {
        let begun = self.resets.load(Ordering::SeqCst);
        self.wait();
        let Ok(server) = UnixStream::connect(server) else { return };
        client.set_nodelay(true).unwrap();
        let _ = std::thread::scope(|scope| {
            scope.spawn(|| {
                let _ = self.hand_on(&server, client);
                let _ = client.shutdown(Shutdown::Read);
            });
            let ended = self.take_from(client, &server, begun, number);
            self.note(Some(number), |sent| sent.is_over = true);
            let _ = server.shutdown(Shutdown::Both);
            ended
        });
    }

    fn take_from(
        &self,
        client: &TcpStream,
        mut server: &UnixStream,
        begun: usize,
        number: usize,
    ) -> std::io::Result<()> {
        let mut buffer = vec![0; 1 << 16];
        while client.peek(&mut buffer)? > 0 {
            self.wait();
            if self.resets.load(Ordering::SeqCst) > begun {
                return Ok(());
            }
            let count = (&mut &*client).read(&mut buffer)?;
            self.note(Some(number), |sent| sent.bytes.extend_from_slice(&buffer[..count]));
            server.write_all(&buffer[..count])?;
        }
        Ok(())
    }

    fn hand_on(&self, mut server: &UnixStream, mut client: &TcpStream) -> std::io::Result<()> {
        let mut buffer = vec![0; 1 << 16];
        loop {
            let count = server.read(&mut buffer)?;
            self.wait();
            if count == 0 {
                return Ok(());
            }
            client.write_all(&buffer[..count])?;
        }
    }

    fn wait(&self) {
        while self.is_silent.load(Ordering::SeqCst) {
            sleep(LOOK);
        }
    }
}
