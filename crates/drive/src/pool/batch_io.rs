//! Sends and receives for the clients of one thread.
//!
//! Method: many clients share a [`Ring`], because most of a call's cost is system calls. Otherwise,
//! or if the kernel or a connection does not support it, a [`Poller`] waits for all.

use std::io;
use std::time::Duration;

use hopcost_core::{Mail, Remote};
use hopcost_sys::readiness::Poller;
use hopcost_sys::ring::Ring;

const MANY: usize = 32;

pub enum Courier {
    /// With the clients that have data to read.
    Each(Poller, Vec<usize>),
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

    /// For a client that continues without received data.
    pub fn mail(&mut self) -> Mail<'_> {
        match self {
            Self::Each(..) => Mail::default(),
            Self::All(ring) => Mail { out: Some(ring.out()), came: None },
        }
    }

    /// After sending, when an answer is expected.
    pub fn expect(&mut self, stream: usize) {
        if let Self::All(ring) = self {
            ring.expect(stream);
        }
    }

    /// Returns the number of clients with data.
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
