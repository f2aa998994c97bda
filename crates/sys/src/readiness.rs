//! Waiting until a connection has something to read.
//!
//! System calls bypass the C library's wrappers: each of those is a cancellation point, which costs
//! extra work in a program with several threads.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

const SIGNAL_SET_BYTES: usize = 8;
const FOREVER: libc::c_int = -1;
/// A connected socket needs no address.
const NOBODY: usize = 0;

/// Sends what a socket takes at once. A shorter way into the kernel than a write.
pub fn send(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the pointer and the length describe the slice.
    let sent = unsafe {
        libc::syscall(
            libc::SYS_sendto,
            socket.as_raw_fd(),
            bytes.as_ptr(),
            bytes.len(),
            libc::MSG_NOSIGNAL,
            NOBODY,
            0,
        )
    };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Waits if nothing has come; 0 if the other end is gone.
pub fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the pointer and the length describe the slice.
    let got = unsafe {
        libc::syscall(
            libc::SYS_recvfrom,
            socket.as_raw_fd(),
            buffer.as_mut_ptr(),
            buffer.len(),
            0,
            NOBODY,
            NOBODY,
        )
    };
    usize::try_from(got).map_err(|_| io::Error::last_os_error())
}

/// Rounded up, so that what is waited for is really due.
fn milliseconds(most: Duration) -> libc::c_int {
    libc::c_int::try_from(most.as_nanos().div_ceil(1_000_000)).unwrap_or(libc::c_int::MAX)
}

/// The connections of one thread, one or many.
///
/// A thread that waits here before it reads is woken once per answer; one that blocks in a read is,
/// on a Unix socket, also woken when the other end takes what was sent. epoll keeps its
/// registrations, which costs less than `poll` even for one connection.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    events: Vec<libc::epoll_event>,
}

impl Poller {
    pub fn of<'a>(sockets: impl IntoIterator<Item = BorrowedFd<'a>>) -> io::Result<Self> {
        // SAFETY: it takes no pointer.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if epoll < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just opened it for us, and nobody else has it.
        let epoll = unsafe { OwnedFd::from_raw_fd(epoll) };
        let mut count = 0;
        for socket in sockets {
            // Edge-triggered: the next call does not look again at what was reported.
            let events = (libc::EPOLLIN | libc::EPOLLET) as u32;
            let mut event = libc::epoll_event { events, u64: count };
            count += 1;
            // SAFETY: both files are open, and the event outlives the call.
            let added = unsafe {
                libc::epoll_ctl(
                    epoll.as_raw_fd(),
                    libc::EPOLL_CTL_ADD,
                    socket.as_raw_fd(),
                    &raw mut event,
                )
            };
            if added < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        let none = libc::epoll_event { events: 0, u64: 0 };
        Ok(Self { epoll, events: vec![none; count.max(1) as usize] })
    }

    /// Positions of connections where something has come; none if `most` passed first. Each is
    /// reported once, so it has to be read to its end.
    pub fn wait(&mut self, most: Option<Duration>) -> io::Result<impl Iterator<Item = usize>> {
        let length = libc::c_int::try_from(self.events.len()).unwrap_or(libc::c_int::MAX);
        // SAFETY: the pointer and the length describe the vector.
        let ready = unsafe {
            libc::syscall(
                // ARM lacks epoll_wait. Without a signal mask both are the same.
                libc::SYS_epoll_pwait,
                self.epoll.as_raw_fd(),
                self.events.as_mut_ptr(),
                length,
                most.map_or(FOREVER, milliseconds),
                std::ptr::null::<libc::sigset_t>(),
                SIGNAL_SET_BYTES,
            )
        };
        let ready = if ready >= 0 {
            ready.unsigned_abs() as usize
        } else {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
            0
        };
        Ok(self.events[..ready].iter().map(|event| event.u64 as usize))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    const AT_ONCE: Option<Duration> = Some(Duration::ZERO);

    #[test]
    fn only_those_with_something_to_read_are_named() {
        let mut pairs: Vec<_> = (0..3).map(|_| UnixStream::pair().unwrap()).collect();
        let mut poller = Poller::of(pairs.iter().map(|pair| pair.0.as_fd())).unwrap();
        assert_eq!(poller.wait(AT_ONCE).unwrap().count(), 0);
        pairs[1].1.write_all(b"x").unwrap();
        assert_eq!(poller.wait(AT_ONCE).unwrap().collect::<Vec<_>>(), [1]);
        assert_eq!(poller.wait(AT_ONCE).unwrap().count(), 0, "named once");
        let mut buffer = [0; 8];
        assert_eq!(receive(pairs[1].0.as_fd(), &mut buffer).unwrap(), 1);
        assert_eq!(send(pairs[1].1.as_fd(), b"yz").unwrap(), 2);
        // A connection whose other end is gone is readable.
        let (_kept, gone) = pairs.remove(2);
        drop(gone);
        let mut ready: Vec<usize> = poller.wait(AT_ONCE).unwrap().collect();
        ready.sort_unstable();
        assert_eq!(ready, [1, 2]);
    }
}
