//! How what the streams of one thread send gets on its way, and how it is noticed what comes back.
//!
//! Method: if they are few, each sends for itself, and a [`Poller`] says for whom something has come. If they
//! are many, a [`Ring`] sends and receives for all of them, because most of what a call then costs the client
//! is system calls. If the kernel has no ring, or a connection cannot leave that to others, the poller remains.

use std::io;
use std::time::Duration;

use hopcost_core::{Mail, Remote};
use hopcost_sys::readiness::Poller;
use hopcost_sys::ring::Ring;

/// A ring saves nothing for fewer streams.
const MANY: usize = 32;

/// Sends and waits for the streams of a thread, each known by its place.
pub enum Courier {
    /// Each stream sends for itself; with the streams for which something has come.
    Each(Poller, Vec<usize>),
    /// The ring sends for all of them.
    All(Box<Ring>),
}

impl Courier {
    pub fn of(remotes: &[&mut dyn Remote]) -> io::Result<Self> {
        let sockets = || remotes.iter().map(|remote| remote.socket());
        if remotes.len() >= MANY
            && remotes.iter().all(|remote| remote.takes_mail())
            && let Ok(ring) = Ring::of(sockets())
        {
            return Ok(Self::All(Box::new(ring)));
        }
        Ok(Self::Each(Poller::of(sockets())?, Vec::new()))
    }

    /// For a stream that goes on although nothing has come for it.
    pub fn mail(&mut self) -> Mail<'_> {
        match self {
            Self::Each(..) => Mail::default(),
            Self::All(ring) => Mail { out: Some(ring.out()), came: None },
        }
    }

    /// Is called when a stream has sent something and waits for the answer.
    pub fn expect(&mut self, stream: usize) {
        if let Self::All(ring) = self {
            ring.expect(stream);
        }
    }

    /// Waits until something has come, at most for `most`; returns for how many streams.
    pub fn wait(&mut self, most: Option<Duration>) -> io::Result<usize> {
        match self {
            Self::Each(poller, ready) => {
                ready.clear();
                ready.extend(poller.wait(most)?);
                Ok(ready.len())
            }
            Self::All(ring) => ring.wait(most),
        }
    }

    /// The n-th stream for which something has come, and what.
    pub fn arrival(&mut self, n: usize) -> (usize, Mail<'_>) {
        match self {
            Self::Each(_, ready) => (ready[n], Mail::default()),
            Self::All(ring) => {
                let (stream, came, out) = ring.came(n);
                (stream, Mail { out: Some(out), came: Some(came) })
            }
        }
    }
}
