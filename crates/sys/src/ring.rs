//! What many connections of one thread send and receive, through io_uring: all of it by one call.
//!
//! Method: a send and the receive of its answer are put into a queue for each connection, and the call
//! that waits hands the queue in. A send is made before that call returns, so that what it sends may
//! share one buffer with all others; a receive waits until something comes, in a room of its own. Sends
//! that went well are not told of.
//!
//! Limits: Linux 6.1 and later, where nobody has forbidden it. One receive at a time for each connection.
//! A socket that does not take at once what is sent is taken for lost: here each is empty by then, since
//! an answer has come to all that was sent before. The kernel counts a thread that waits here as one that
//! waits for a disk.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use io_uring::types::{CancelBuilder, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, SubmissionQueue, opcode, squeue};

/// Most answers are shorter; of one that is longer, this much comes first.
pub const ROOM_BYTES: usize = 2 << 10;

/// Connections of one thread, each known by its place. It is used where it was made: elsewhere it waits for
/// nothing.
pub struct Ring {
    queues: IoUring,
    connections: Vec<RingConnection>,
    /// Where the kernel puts what comes, by place.
    rooms: Vec<[u8; ROOM_BYTES]>,
    /// Receives that the kernel has in hand.
    pending: usize,
    out: Vec<u8>,
    asked: Vec<SendRequest>,
    /// What the kernel has been handed last.
    sent: Vec<u8>,
    came: Vec<Completion>,
    /// Whose send has failed: so that the receive ends, too, the connection is shut down.
    lost: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct RingConnection {
    is_waiting: bool,
    /// What its send failed with; 0 for nothing.
    failed: i32,
}

/// A connection whose part of what is to be sent ends at `end`.
struct SendRequest {
    place: u32,
    end: usize,
}

/// A receive that has ended, with so many bytes or the number of an error, below zero.
struct Completion {
    place: usize,
    result: i32,
}

/// What an entry of the queue is about stands in the lowest bits of its number, and its place above.
const RECEIVE: u64 = 0;
const SEND: u64 = 1;
const SHUTDOWN: u64 = 2;
const KIND_BITS: u32 = 2;

/// Of each connection: a send, a receive, and the end of one that could not send.
const ENTRIES: usize = 3;
/// A receive need not be tried before something has come (`IORING_RECVSEND_POLL_FIRST`).
const POLL_FIRST: u16 = 1;
/// All of it, or it has failed.
const AT_ONCE: libc::c_int = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT | libc::MSG_WAITALL;

/// The kernel gives back at once what it is told to give up.
const CANCELLATION: Duration = Duration::from_secs(1);

impl Ring {
    /// Of these connections, each known by its place.
    pub fn of<'a>(sockets: impl IntoIterator<Item = BorrowedFd<'a>>) -> io::Result<Self> {
        let sockets: Vec<_> = sockets.into_iter().map(|socket| socket.as_raw_fd()).collect();
        let count = sockets.len();
        let entries = u32::try_from(ENTRIES * count.max(1)).unwrap_or(u32::MAX);
        let queues = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_submit_all()
            .build(entries)?;
        // They stay open as long as the ring does, whatever becomes of these numbers.
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

    /// Takes what is to be sent next: of one connection, until [it is said](Self::expect) of which.
    pub fn out(&mut self) -> &mut Vec<u8> {
        self.out.truncate(self.asked.last().map_or(0, |last| last.end));
        &mut self.out
    }

    /// What was put into `out` since is sent on the connection at this place, by the next wait; from then
    /// on what comes is received.
    pub fn expect(&mut self, place: usize) {
        let line = &mut self.connections[place];
        assert!(!line.is_waiting, "one receive at a time for each connection");
        line.is_waiting = true;
        self.asked.push(SendRequest { place: place as u32, end: self.out.len() });
    }

    /// Sends what is to be sent, and waits until something has come on some connection, or `most` went by;
    /// on how many it has.
    pub fn wait(&mut self, most: Option<Duration>) -> io::Result<usize> {
        self.came.clear();
        self.queue();
        self.enter(most)?;
        Ok(self.came.len())
    }

    /// The connection of the nth on which something has come; the bytes, none where its other end is gone;
    /// and what takes [what is to be sent next](Self::out).
    pub fn came(&mut self, n: usize) -> (usize, io::Result<&[u8]>, &mut Vec<u8>) {
        let Completion { place, result } = self.came[n];
        let failed = self.connections[place].failed;
        let bytes = match usize::try_from(result) {
            // Why nothing could be sent says more than that nothing comes.
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
        // What the kernel has not taken yet is still to be read where it is.
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

    /// Hands the queue in, waits, and takes what the kernel tells.
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
                    // A part of it is no better than nothing.
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
    /// What comes from now on is for others.
    fn drop(&mut self) {
        while self.pending > 0 {
            let before = self.pending;
            let limit = Some(Timespec::from(CANCELLATION));
            // Where nothing is left to be given up, all has ended, and waits to be told.
            let _ = self.queues.submitter().register_sync_cancel(limit, CancelBuilder::any());
            if self.enter(Some(CANCELLATION)).is_err() || self.pending == before {
                // The kernel may still write there, or read.
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
/// What the entry points to has to be there until the kernel is done with it.
unsafe fn put(queue: &mut SubmissionQueue<'_>, entry: squeue::Entry, kind: u64, place: u32) {
    let entry = entry.user_data(u64::from(place) << KIND_BITS | kind);
    // SAFETY: the caller's.
    let put = unsafe { queue.push(&entry) };
    put.expect("the queue has room for all entries of each connection");
}

/// Nothing went wrong but that nothing has come, or not all could be handed in yet.
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

    /// Our ends, their other ends, and the ring.
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

    /// A place, and what came there or the number of an error.
    type Answer = (usize, Result<Vec<u8>, Option<i32>>);

    /// All that comes, by place, until so many have answered.
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
        // One that sends nothing takes what has come, and what has no room comes next.
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
        // Whose other end is gone cannot send; whose socket is full is lost.
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
