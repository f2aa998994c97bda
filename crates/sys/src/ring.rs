//! I/O of many connections of one thread through io_uring, by one system call.
//!
//! Method: sends and receives are queued, and the call that waits submits the queue. Sends complete
//! before it returns, so they share one buffer; each receive has its own.
//!
//! Limits: Linux 6.1 or later, if io_uring is permitted; one receive at a time per connection. A
//! socket that does not take a send at once is treated as lost: here each is empty by then, since
//! every earlier send was answered. The kernel counts a thread that waits here as waiting for a
//! disk.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use io_uring::types::{CancelBuilder, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, SubmissionQueue, opcode, squeue};

/// Most answers are shorter; a longer one comes in parts of this size.
pub const ROOM_BYTES: usize = 2 << 10;

/// Connections are known by position. It must be used on the thread that made it.
pub struct Ring {
    queues: IoUring,
    connections: Vec<RingConnection>,
    /// Receive buffers, by position.
    rooms: Vec<[u8; ROOM_BYTES]>,
    /// Receives in flight.
    pending: usize,
    out: Vec<u8>,
    asked: Vec<SendRequest>,
    /// What the kernel was handed last.
    sent: Vec<u8>,
    came: Vec<Completion>,
    /// Connections whose send failed; they are shut down, so that the receive ends, too.
    lost: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct RingConnection {
    is_waiting: bool,
    /// Error of its send; 0 for none.
    failed: i32,
}

struct SendRequest {
    place: u32,
    end: usize,
}

/// `result` is a number of bytes, or of an error below zero.
struct Completion {
    place: usize,
    result: i32,
}

/// A queue entry's number has its kind in the lowest bits, and the position above.
const RECEIVE: u64 = 0;
const SEND: u64 = 1;
const SHUTDOWN: u64 = 2;
const KIND_BITS: u32 = 2;

/// Per connection: send, receive and shutdown.
const ENTRIES: usize = 3;
/// Do not try to receive before something has come (`IORING_RECVSEND_POLL_FIRST`).
const POLL_FIRST: u16 = 1;
/// Send all of it, or fail.
const AT_ONCE: libc::c_int = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT | libc::MSG_WAITALL;

const CANCELLATION: Duration = Duration::from_secs(1);

impl Ring {
    pub fn of<'a>(sockets: impl IntoIterator<Item = BorrowedFd<'a>>) -> io::Result<Self> {
        let sockets: Vec<_> = sockets.into_iter().map(|socket| socket.as_raw_fd()).collect();
        let count = sockets.len();
        let entries = u32::try_from(ENTRIES * count.max(1)).unwrap_or(u32::MAX);
        let queues = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_submit_all()
            .build(entries)?;
        // Registered files stay open as long as the ring, whatever becomes of these numbers.
        queues.submitter().register_files(&sockets)?;
        Ok(Self {
            queues,
            connections: vec![RingConnection::default(); count],
            rooms: vec![[0; ROOM_BYTES]; count],
            pending: 0,
            out: Vec::new(),
            asked: Vec::with_capacity(count),
            sent: Vec::new(),
            came: Vec::with_capacity(count),
            lost: Vec::new(),
        })
    }

    /// Takes what is sent next; [`Self::expect`] chooses the connection.
    pub fn out(&mut self) -> &mut Vec<u8> {
        self.out.truncate(self.asked.last().map_or(0, |last| last.end));
        &mut self.out
    }

    /// Sends what was put into `out` since, with the next wait, and receives what comes.
    pub fn expect(&mut self, place: usize) {
        let line = &mut self.connections[place];
        assert!(!line.is_waiting, "one receive at a time for each connection");
        line.is_waiting = true;
        self.asked.push(SendRequest { place: place as u32, end: self.out.len() });
    }

    /// Sends what is queued and waits until something comes or `most` passes; returns on how many
    /// connections something has come.
    pub fn wait(&mut self, most: Option<Duration>) -> io::Result<usize> {
        self.came.clear();
        self.queue();
        self.enter(most)?;
        Ok(self.came.len())
    }

    /// Position and bytes of the nth connection on which something has come, no bytes if its other
    /// end is gone; and the buffer for the [next send](Self::out).
    pub fn came(&mut self, n: usize) -> (usize, io::Result<&[u8]>, &mut Vec<u8>) {
        let Completion { place, result } = self.came[n];
        let failed = self.connections[place].failed;
        let bytes = match usize::try_from(result) {
            // The error of the send is more specific than an empty receive.
            Ok(0) if failed != 0 => Err(io::Error::from_raw_os_error(failed)),
            // SAFETY: the room is there, the kernel has filled so much of it, and has no receive in hand that
            // would write to it before the next wait, which begins by forgetting what has come.
            Ok(count) => Ok(unsafe {
                std::slice::from_raw_parts(self.rooms.as_ptr().add(place).cast(), count)
            }),
            Err(_) => Err(io::Error::from_raw_os_error(-result)),
        };
        self.out.truncate(self.asked.last().map_or(0, |last| last.end));
        (place, bytes, &mut self.out)
    }

    fn queue(&mut self) {
        let mut queue = self.queues.submission();
        // What the kernel has not taken yet must stay where it is.
        if !queue.is_empty() {
            return;
        }
        mem::swap(&mut self.out, &mut self.sent);
        self.out.clear();
        let mut begin = 0;
        for SendRequest { place, end } in self.asked.drain(..) {
            let bytes = self.sent.get(begin..end).unwrap_or_default();
            begin = end;
            if !bytes.is_empty() {
                let send = opcode::Send::new(Fixed(place), bytes.as_ptr(), bytes.len() as u32);
                let send = send.flags(AT_ONCE).build().flags(squeue::Flags::SKIP_SUCCESS);
                // SAFETY: the bytes stay where they are until the queue is empty again, and by then they
                // are sent.
                unsafe { put(&mut queue, send, SEND, place) };
            }
            // SAFETY: the place is one of `connections`, of which there are as many as rooms.
            let room = unsafe { self.rooms.as_mut_ptr().add(place as usize) };
            let receive = opcode::Recv::new(Fixed(place), room.cast(), ROOM_BYTES as u32);
            // SAFETY: the room lasts until nothing is pending, and nobody looks into it before this ends.
            unsafe { put(&mut queue, receive.ioprio(POLL_FIRST).build(), RECEIVE, place) };
            self.pending += 1;
        }
        for place in self.lost.drain(..) {
            let end = opcode::Shutdown::new(Fixed(place), libc::SHUT_RDWR).build();
            // SAFETY: it takes no pointer.
            unsafe { put(&mut queue, end, SHUTDOWN, place) };
        }
    }

    fn enter(&mut self, most: Option<Duration>) -> io::Result<()> {
        let limit = most.map(Timespec::from);
        loop {
            let entered = match &limit {
                None => self.queues.submit_and_wait(1),
                Some(limit) => {
                    let limited = SubmitArgs::new().timespec(limit);
                    self.queues.submitter().submit_with_args(1, &limited)
                }
            };
            if let Err(error) = entered
                && !is_passing(&error)
            {
                return Err(error);
            }
            if self.queues.submission().is_empty() {
                break;
            }
        }
        for told in self.queues.completion() {
            let place = (told.user_data() >> KIND_BITS) as usize;
            match told.user_data() & ((1 << KIND_BITS) - 1) {
                RECEIVE => {
                    self.connections[place].is_waiting = false;
                    self.pending -= 1;
                    self.came.push(Completion { place, result: told.result() });
                }
                SEND => {
                    // A partial send is no better than none.
                    let error = if told.result() < 0 { -told.result() } else { libc::EAGAIN };
                    self.connections[place].failed = error;
                    self.lost.push(place as u32);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Drop for Ring {
    /// What comes from now on is for other readers.
    fn drop(&mut self) {
        while self.pending > 0 {
            let before = self.pending;
            let limit = Some(Timespec::from(CANCELLATION));
            // If nothing is left to cancel, all has ended and waits to be collected.
            let _ = self.queues.submitter().register_sync_cancel(limit, CancelBuilder::any());
            if self.enter(Some(CANCELLATION)).is_err() || self.pending == before {
                // The kernel may still write to or read from these.
                mem::forget(mem::take(&mut self.rooms));
                mem::forget(mem::take(&mut self.sent));
                return;
            }
        }
    }
}

/// Puts an entry into the queue.
///
/// # Safety
/// What the entry points to must stay valid until the kernel is done with it.
unsafe fn put(queue: &mut SubmissionQueue<'_>, entry: squeue::Entry, kind: u64, place: u32) {
    let entry = entry.user_data(u64::from(place) << KIND_BITS | kind);
    // SAFETY: the caller's.
    let put = unsafe { queue.push(&entry) };
    put.expect("the queue has room for all entries of each connection");
}

/// Nothing has come, or not all could be submitted yet.
fn is_passing(error: &io::Error) -> bool {
    let passing = [libc::ETIME, libc::EINTR, libc::EAGAIN, libc::EBUSY];
    error.raw_os_error().is_some_and(|error| passing.contains(&error))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    const SOON: Option<Duration> = Some(Duration::from_millis(20));

    fn ring(count: usize) -> (Vec<UnixStream>, Vec<UnixStream>, Ring) {
        let (ours, theirs): (Vec<_>, Vec<_>) =
            (0..count).map(|_| UnixStream::pair().unwrap()).unzip();
        let ring = Ring::of(ours.iter().map(AsFd::as_fd)).unwrap();
        (ours, theirs, ring)
    }

    fn ask(ring: &mut Ring, place: usize, bytes: &[u8]) {
        ring.out().extend_from_slice(bytes);
        ring.expect(place);
    }

    /// Position, and the bytes or the number of an error.
    type Answer = (usize, Result<Vec<u8>, Option<i32>>);

    fn answers(ring: &mut Ring, count: usize) -> Vec<Answer> {
        let mut all = Vec::new();
        while all.len() < count {
            for n in 0..ring.wait(None).unwrap() {
                let (place, bytes, _) = ring.came(n);
                all.push((place, bytes.map(<[u8]>::to_vec).map_err(|error| error.raw_os_error())));
            }
        }
        all.sort();
        all
    }

    #[test]
    fn each_connection_sends_its_own_and_takes_its_own() {
        let (_ours, mut theirs, mut ring) = ring(3);
        for (place, words) in [(2, "two"), (0, "zero")] {
            ask(&mut ring, place, words.as_bytes());
        }
        ring.out().extend_from_slice(b"of nobody");
        assert_eq!(ring.wait(SOON).unwrap(), 0);
        for (place, words) in [(0, "zero"), (2, "two")] {
            let mut came = [0; 64];
            let count = theirs[place].read(&mut came).unwrap();
            assert_eq!(&came[..count], words.as_bytes());
            theirs[place].write_all(&came[..count]).unwrap();
        }
        theirs[1].write_all(b"unasked").unwrap();
        let told = |words: &str| Ok(words.as_bytes().to_vec());
        assert_eq!(answers(&mut ring, 2), [(0, told("zero")), (2, told("two"))]);
        // A connection that sends nothing receives; what has no room comes next.
        ask(&mut ring, 1, b"");
        assert_eq!(answers(&mut ring, 1), [(1, told("unasked"))]);
        theirs[1].write_all(&[7; ROOM_BYTES + 1]).unwrap();
        ask(&mut ring, 1, b"");
        assert_eq!(answers(&mut ring, 1), [(1, Ok(vec![7; ROOM_BYTES]))]);
        ask(&mut ring, 1, b"");
        assert_eq!(answers(&mut ring, 1), [(1, Ok(vec![7]))]);
    }

    #[test]
    fn one_that_is_gone_or_takes_nothing_is_told() {
        let (ours, mut theirs, mut ring) = ring(3);
        ask(&mut ring, 1, b"a question");
        ask(&mut ring, 2, &vec![1; 1 << 20]);
        // If the other end is gone, the send fails; a full socket counts as lost.
        drop(theirs.remove(0));
        ask(&mut ring, 0, b"a question");
        let lost = [(0, Err(Some(libc::EPIPE))), (2, Err(Some(libc::EAGAIN)))];
        assert_eq!(answers(&mut ring, 2), lost);
        ours[1].shutdown(std::net::Shutdown::Both).unwrap();
        assert_eq!(answers(&mut ring, 1), [(1, Ok(Vec::new()))]);
    }

    #[test]
    fn what_comes_after_its_end_is_the_connections_own() {
        let (mut ours, mut theirs, mut ring) = ring(40);
        for place in 0..40 {
            ask(&mut ring, place, b"?");
        }
        assert_eq!(ring.wait(SOON).unwrap(), 0);
        assert_eq!(ring.pending, 40);
        drop(ring);
        for (ours, theirs) in ours.iter_mut().zip(&mut theirs) {
            theirs.write_all(b"!").unwrap();
            let mut came = [0];
            ours.read_exact(&mut came).unwrap();
            assert_eq!(&came, b"!");
        }
    }
}
