//! Packets of TDS, encoded and decoded: eight bytes of header, and a part of a message.

use super::super::server::input::Framing;
pub use super::super::server::reader::Reader;

pub mod kind {
    pub const BATCH: u8 = 0x01;
    pub const CALL: u8 = 0x03;
    pub const BULK: u8 = 0x07;
    pub const LOGIN: u8 = 0x10;
    pub const TICKET: u8 = 0x11;
    pub const PRELOGIN: u8 = 0x12;
}

/// Status bit of a message's last packet.
pub const LAST: u8 = 0x01;

pub const HEAD: usize = 8;

/// Type, status (the tag), length; then session, number and window, which are not used.
pub struct Packets;

impl Framing for Packets {
    const HEAD: usize = HEAD;

    #[inline]
    fn read(head: &[u8]) -> (u8, usize) {
        (head[1], usize::from(u16::from_be_bytes([head[2], head[3]])).saturating_sub(HEAD))
    }
}

pub fn head(kind: u8, state: u8, content: usize) -> [u8; HEAD] {
    let [high, low] = ((content + HEAD) as u16).to_be_bytes();
    [kind, state, high, low, 0, 0, 1, 0]
}

pub fn put(out: &mut Vec<u8>, kind: u8, most: usize, message: &[u8]) {
    let mut pieces = message.chunks(most - HEAD).peekable();
    while let Some(piece) = pieces.next() {
        let state = if pieces.peek().is_none() { LAST } else { 0 };
        out.extend_from_slice(&head(kind, state, piece.len()));
        out.extend_from_slice(piece);
    }
}

impl Reader<'_> {
    /// Text after its count of UTF-16 units, which takes `bytes_of_length` bytes.
    pub fn wide_text(&mut self, bytes_of_length: usize) -> String {
        let characters = self.integer(bytes_of_length) as usize;
        narrow(self.bytes(2 * characters))
    }
}

pub fn narrow(wide: &[u8]) -> String {
    let units = wide.as_chunks::<2>().0.iter().map(|pair| u16::from_le_bytes(*pair));
    char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

pub fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Returns the count of UTF-16 units.
pub fn put_wide(out: &mut Vec<u8>, text: &str) -> usize {
    let before = out.len();
    text.encode_utf16().for_each(|unit| out.extend_from_slice(&unit.to_le_bytes()));
    (out.len() - before) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_cut_into_packets_and_the_last_says_so() {
        let mut out = Vec::new();
        put(&mut out, kind::BATCH, 12, b"123456789");
        let mut rest = out.as_slice();
        let mut seen = Vec::new();
        while !rest.is_empty() {
            let (state, length) = Packets::read(&rest[..HEAD]);
            seen.push((rest[0], state, &rest[HEAD..HEAD + length]));
            rest = &rest[HEAD + length..];
        }
        assert_eq!(seen, [(1, 0, &b"1234"[..]), (1, 0, b"5678"), (1, LAST, b"9")]);
    }

    #[test]
    fn text_goes_there_and_back() {
        let mut out = vec![4];
        assert_eq!(put_wide(&mut out, "a–𝄞"), 4);
        assert_eq!(Reader(&out).wide_text(1), "a–𝄞");
    }
}
