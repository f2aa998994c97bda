//! A receive buffer that messages are decoded from in place.
//!
//! Method: connections that a worker receives for share one buffer per thread, which a connection
//! holds while it has undecoded bytes. With hundreds of connections taking turns, a buffer of each
//! would be out of the caches when its turn comes.

use std::cell::Cell;
use std::io;
use std::marker::PhantomData;
use std::mem;
use std::ops::Range;

pub trait Framing {
    const HEAD: usize;

    fn read(head: &[u8]) -> (u8, usize);
}

pub struct Message {
    /// Its type or sequence number.
    pub tag: u8,
    body: Range<usize>,
}

pub struct Input<F> {
    framing: PhantomData<F>,
    buffer: Vec<u8>,
    from: usize,
    to: usize,
    /// Does a worker receive for it?
    is_shared: bool,
}

const BUFFER_BYTES: usize = 32 << 10;

thread_local! {
    /// The shared buffer, while no connection holds it.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl<F> Default for Input<F> {
    fn default() -> Self {
        Self { framing: PhantomData, buffer: Vec::new(), from: 0, to: 0, is_shared: false }
    }
}

impl<F: Framing> Input<F> {
    #[inline]
    pub fn next(&mut self) -> Option<Message> {
        let there = &self.buffer[self.from..self.to];
        let (head, rest) = there.split_at_checked(F::HEAD)?;
        let (tag, length) = F::read(head);
        if rest.len() < length {
            return None;
        }
        let start = self.from + F::HEAD;
        let body = start..start + length;
        self.from = body.end;
        Some(Message { tag, body })
    }

    pub fn waiting(&self) -> usize {
        self.to - self.from
    }

    #[inline]
    pub fn body(&self, message: &Message) -> &[u8] {
        &self.buffer[message.body.clone()]
    }

    #[inline]
    pub fn receive(
        &mut self,
        from: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let count = from(self.room())?;
        self.to += count;
        Ok(count)
    }

    pub fn put(&mut self, came: &[u8]) {
        self.is_shared = true;
        for piece in came.chunks(BUFFER_BYTES / 2) {
            self.room()[..piece.len()].copy_from_slice(piece);
            self.to += piece.len();
        }
    }

    /// Releases an empty buffer to the thread's other connections.
    #[inline]
    pub fn lend(&mut self) {
        if self.from == self.to && self.is_shared {
            (self.from, self.to) = (0, 0);
            SPARE.set(mem::take(&mut self.buffer));
        }
    }

    /// Free space: half a buffer at least.
    #[inline]
    fn room(&mut self) -> &mut [u8] {
        if self.from == self.to {
            (self.from, self.to) = (0, 0);
        }
        if self.buffer.len() - self.to < BUFFER_BYTES / 2 {
            self.make_room();
        }
        &mut self.buffer[self.to..]
    }

    #[cold]
    fn make_room(&mut self) {
        if self.buffer.is_empty() && self.is_shared {
            self.buffer = SPARE.take();
        }
        self.buffer.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        if self.buffer.len() - self.to < BUFFER_BYTES / 2 {
            self.buffer.resize(self.buffer.len().max(BUFFER_BYTES / 2) * 2, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Tagged;

    impl Framing for Tagged {
        const HEAD: usize = 5;

        fn read(head: &[u8]) -> (u8, usize) {
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
            (head[0], length as usize - 4)
        }
    }

    fn message(tag: u8, body: &[u8]) -> Vec<u8> {
        let length = i32::try_from(body.len() + 4).unwrap().to_be_bytes();
        [&[tag][..], &length, body].concat()
    }

    #[test]
    fn messages_are_taken_apart_however_they_arrive() {
        let long = vec![7; 3 * BUFFER_BYTES];
        let stream = [message(b'C', b"SELECT 1\0"), message(b'D', &long), message(b'Z', b"I")];
        let stream = stream.concat();
        for piece in [1, 5, 4096, stream.len()] {
            let (mut input, mut seen) = (Input::<Tagged>::default(), Vec::new());
            for (n, bytes) in stream.chunks(piece).enumerate() {
                if n % 2 == 0 {
                    input.put(bytes);
                } else {
                    let mut rest = bytes;
                    while !rest.is_empty() {
                        input.receive(|room| io::Read::read(&mut rest, room)).unwrap();
                    }
                }
                while let Some(message) = input.next() {
                    seen.push((message.tag, input.body(&message).to_vec()));
                }
            }
            let told =
                [(b'C', b"SELECT 1\0".to_vec()), (b'D', long.clone()), (b'Z', b"I".to_vec())];
            assert!(seen == told, "in pieces of {piece}");
        }
    }

    #[test]
    fn a_buffer_with_something_in_it_is_not_lent() {
        let (mut one, mut other) = (Input::<Tagged>::default(), Input::<Tagged>::default());
        one.put(&message(b'C', b"one"));
        one.lend();
        other.put(&message(b'D', b"other"));
        let (first, second) = (one.next().unwrap(), other.next().unwrap());
        assert_eq!((one.body(&first), other.body(&second)), (&b"one"[..], &b"other"[..]));
        one.lend();
        assert!(one.buffer.is_empty() && one.next().is_none());
        let lent = SPARE.take();
        assert!(!lent.is_empty());
        SPARE.set(lent);
        one.put(&message(b'Z', b"I"));
        assert!(SPARE.take().is_empty(), "it has it again");
    }
}
