//! Two threads wake each other in turn: the cost of a context switch.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::FromRawFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::futex;
use crate::{clock, quiet};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// As in every mutex and condition variable.
    Futex,
    /// A byte through a pipe, as between a local client and its server.
    Pipe,
}

#[derive(Debug)]
pub struct Table {
    turn: AtomicU32,
    pipes: [(File, File); 2],
}

#[derive(Clone, Copy, Debug)]
pub struct Account {
    pub took: Duration,
    /// Times the kernel switched this side off its CPU: to sleep, or, on a shared CPU, to run the
    /// side that it woke at once.
    pub switches: u64,
}

impl Table {
    pub fn new() -> io::Result<Self> {
        Ok(Self { turn: AtomicU32::new(0), pipes: [pipe()?, pipe()?] })
    }

    /// Plays side 0 or 1. Side 0 begins.
    pub fn play(&self, method: Method, side: usize, trips: u64) -> io::Result<Account> {
        let before = quiet::switches();
        let (result, took) = clock::time(|| match method {
            Method::Futex => {
                (0..trips).for_each(|_| self.futex_trip(side as u32));
                Ok(())
            }
            Method::Pipe => (0..trips).try_for_each(|_| self.pipe_trip(side)),
        });
        result.map(|()| Account { took, switches: quiet::switches() - before })
    }

    fn futex_trip(&self, side: u32) {
        while self.turn.load(Ordering::Acquire) != side {
            futex::wait(&self.turn, 1 - side);
        }
        self.turn.store(1 - side, Ordering::Release);
        futex::wake(&self.turn, 1);
    }

    fn pipe_trip(&self, side: usize) -> io::Result<()> {
        let mut byte = [0];
        if side == 0 {
            (&self.pipes[1].1).write_all(&byte)?;
            (&self.pipes[0].0).read_exact(&mut byte)
        } else {
            (&self.pipes[1].0).read_exact(&mut byte)?;
            (&self.pipes[0].1).write_all(&byte)
        }
    }
}

fn pipe() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: the kernel writes two descriptors into the array.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both descriptors are new and owned by nobody else.
    Ok(unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity;

    #[test]
    fn on_one_cpu_every_trip_is_a_switch() {
        let cpu = affinity::mask().unwrap().first().unwrap();
        for method in [Method::Futex, Method::Pipe] {
            let table = Table::new().unwrap();
            let sides = affinity::crew(&[cpu, cpu], |side| table.play(method, side, 200)).unwrap();
            for side in sides {
                assert!(side.unwrap().switches >= 190, "{method:?}");
            }
        }
    }
}
