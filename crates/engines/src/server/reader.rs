//! Reads a message's fields, little-endian.

/// What is left of it. Beyond the end it reads zeros and empty texts, which no server sends.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    #[inline]
    pub fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (head, tail) = self.0.split_at(count.min(self.0.len()));
        self.0 = tail;
        head
    }

    #[inline]
    pub fn integer(&mut self, bytes: usize) -> u64 {
        let mut eight = [0; 8];
        let taken = self.bytes(bytes.min(8));
        eight[..taken.len()].copy_from_slice(taken);
        u64::from_le_bytes(eight)
    }
}
