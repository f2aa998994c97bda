//! A network between a test and its server, which can be cut.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// Hands on what comes over TCP to a Unix socket, and back.
pub struct Proxy {
    port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// How often everything was reset; who came before that is cut off.
    resets: AtomicUsize,
    /// Does nothing pass any more, in either direction?
    is_silent: AtomicBool,
}

const LOOK: Duration = Duration::from_millis(2);

impl Proxy {
    /// Before the server with this socket.
    pub fn before(server: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::<State>::default();
        let of_all = Arc::clone(&state);
        // It lasts as long as the test's process.
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (state, server) = (Arc::clone(&of_all), server.clone());
                std::thread::spawn(move || {
                    state.serve(&client, &server);
                    // What has come and was not read makes this a reset.
                    drop(client);
                });
            }
        });
        Self { port, state }
    }

    /// Where to reach the server through it, on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// All connections that there are end with a reset (RST), in the middle of what is asked next.
    pub fn reset(&self) {
        self.state.resets.fetch_add(1, Ordering::SeqCst);
    }

    /// From here on nothing passes, and nobody is told; or again everything.
    pub fn be_silent(&self, is_silent: bool) {
        self.state.is_silent.store(is_silent, Ordering::SeqCst);
    }
}

impl State {
    fn serve(&self, client: &TcpStream, server: &Path) {
        let begun = self.resets.load(Ordering::SeqCst);
        self.wait();
        let Ok(server) = UnixStream::connect(server) else { return };
        client.set_nodelay(true).unwrap();
        let _ = std::thread::scope(|scope| {
            scope.spawn(|| {
                let _ = self.hand_on(&server, client);
                // Whoever asks next is told.
                let _ = client.shutdown(Shutdown::Read);
            });
            let ended = self.take_from(client, &server, begun);
            let _ = server.shutdown(Shutdown::Both);
            ended
        });
    }

    /// From the client to the server.
    fn take_from(
        &self,
        client: &TcpStream,
        mut server: &UnixStream,
        begun: usize,
    ) -> std::io::Result<()> {
        let mut buffer = vec![0; 1 << 16];
        while client.peek(&mut buffer)? > 0 {
            self.wait();
            if self.resets.load(Ordering::SeqCst) > begun {
                return Ok(());
            }
            let count = (&mut &*client).read(&mut buffer)?;
            server.write_all(&buffer[..count])?;
        }
        Ok(())
    }

    /// From the server to the client.
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
