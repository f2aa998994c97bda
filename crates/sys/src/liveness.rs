//! Detects that the host at the other end of a TCP connection is gone.
//!
//! Method: the kernel probes an idle connection and ends it without an answer, so no call needs a
//! timer.
//!
//! Limits: a live host whose program hangs still answers.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// Reads end with [timed out](io::ErrorKind::TimedOut) after that long without a sign of life.
pub fn notice_death(socket: BorrowedFd<'_>, silence: Duration) -> io::Result<()> {
    let whole = |number: u128| libc::c_int::try_from(number.max(1)).unwrap_or(libc::c_int::MAX);
    let seconds = u128::from(silence.as_secs());
    set(socket, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1)?;
    // The first probe comes after a third of the time, then several more.
    set(socket, libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, whole(seconds / 3))?;
    set(socket, libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, whole(seconds / 6))?;
    set(socket, libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, whole(silence.as_millis()))
}

fn set(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the pointer and the length describe one whole number that outlives the call.
    let done = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), length)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use super::*;

    /// A connection whose far end drops every packet, as if its host were down.
    fn cut() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        let mut nothing =
            libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: 0 };
        let filter = libc::sock_fprog { len: 1, filter: &raw mut nothing };
        let length = size_of::<libc::sock_fprog>() as libc::socklen_t;
        // SAFETY: the program is one instruction; the kernel copies it before the call returns.
        let done = unsafe {
            libc::setsockopt(
                far.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ATTACH_FILTER,
                (&raw const filter).cast(),
                length,
            )
        };
        assert_eq!(done, 0, "{}", io::Error::last_os_error());
        (near, far)
    }

    /// Set in the test's own network namespace, where its user is root.
    const WITHIN: &str = "HOPCOST_TEST_NETWORK";

    /// An ordinary user may drop packets only in a network namespace of their own.
    fn tried_in_a_network_of_its_own(test: &str) {
        let mut unshare = std::process::Command::new("unshare");
        unshare.args(["--user", "--map-root-user", "--net"]).arg(std::env::current_exe().unwrap());
        let output = unshare.args(["--exact", test]).env(WITHIN, "").output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains("1 passed"), "as root this needs no network of its own: {said}");
    }

    /// A new network namespace has its loopback down.
    fn bring_loopback_up() {
        let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
        // SAFETY: zeroes are a request of no name.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
            *to = from.cast_signed() as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
        // SAFETY: the request is one, and outlives the call.
        let done =
            unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
        assert_eq!(done, 0, "{}", io::Error::last_os_error());
    }

    #[test]
    fn a_host_that_is_gone_is_noticed_by_who_waits_and_by_who_has_asked() {
        if std::env::var_os(WITHIN).is_some() {
            bring_loopback_up();
        } else if !crate::is_root() {
            let name = "a_host_that_is_gone_is_noticed_by_who_waits_and_by_who_has_asked";
            return tried_in_a_network_of_its_own(&format!("liveness::tests::{name}"));
        }
        let wait = |asks: bool| {
            let (mut near, _far) = cut();
            notice_death(near.as_fd(), Duration::from_secs(2)).unwrap();
            if asks {
                near.write_all(b"?").unwrap();
            }
            near.read(&mut [0]).unwrap_err().kind()
        };
        let waits = std::thread::spawn(move || wait(false));
        assert_eq!(wait(true), io::ErrorKind::TimedOut);
        assert_eq!(waits.join().unwrap(), io::ErrorKind::TimedOut);
    }
}
