//! Packets of MySQL's protocol, encoded and decoded.

use super::super::server::input::Framing;
pub use super::super::server::reader::Reader;

/// Three bytes of length, and a sequence number.
pub struct Packets;

impl Framing for Packets {
    const HEAD: usize = 4;

    #[inline]
    fn read(head: &[u8]) -> (u8, usize) {
        (head[3], u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize)
    }
}

/// Payloads of this length or more span packets, which is not supported.
pub const MOST_BYTES: usize = (1 << 24) - 1;

pub fn put(out: &mut Vec<u8>, number: u8, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0, 0, 0, number]);
    fill(out);
    let length = (out.len() - start - 4) as u32;
    out[start..start + 3].copy_from_slice(&length.to_le_bytes()[..3]);
}

impl<'a> Reader<'a> {
    /// Length-encoded integer; `None` for NULL.
    #[inline]
    pub fn length(&mut self) -> Option<usize> {
        match self.integer(1) {
            0xfb => None,
            0xfc => Some(self.integer(2) as usize),
            0xfd => Some(self.integer(3) as usize),
            0xfe => Some(self.integer(8) as usize),
            short => Some(short as usize),
        }
    }

    /// Length-encoded string; `None` for NULL.
    #[inline]
    pub fn text(&mut self) -> Option<&'a [u8]> {
        let length = self.length()?;
        Some(self.bytes(length))
    }

    pub fn ended_by_zero(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        let text = self.bytes(end);
        self.bytes(1);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_read_again() {
        let long = vec![b'x'; 300];
        let mut out = Vec::new();
        put(&mut out, 3, |out| {
            out.extend_from_slice(b"\x05short\xfc\x2c\x01");
            out.extend_from_slice(&long);
            out.extend_from_slice(b"name\0\xfb");
            out.extend_from_slice(&0xdead_beef_u32.to_le_bytes());
        });
        let (number, length) = Packets::read(&out[..4]);
        assert_eq!((number, length), (3, out.len() - 4));
        let mut reader = Reader(&out[4..]);
        assert_eq!(reader.text(), Some(&b"short"[..]));
        assert_eq!(reader.text(), Some(&long[..]));
        assert_eq!(reader.ended_by_zero(), b"name");
        assert_eq!(reader.text(), None);
        assert_eq!(reader.integer(4), 0xdead_beef);
        assert_eq!((reader.integer(8), reader.text()), (0, Some(&b""[..])));
    }
}
