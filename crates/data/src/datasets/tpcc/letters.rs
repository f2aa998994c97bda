//! Texts without a heap: a row has to cost less than its insert.

use std::ops::RangeInclusive;

use fastrand::Rng;

/// What random letters are drawn from.
pub const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// What the names of states are drawn from.
pub const CAPITALS: &[u8] = LETTERS.split_at(26).0;
/// What numbers are drawn from.
pub const DIGITS: &[u8] = LETTERS.split_at(52).1;

/// ASCII letters, at most `MOST` of them.
#[derive(Clone, Copy, Debug)]
pub struct Letters<const MOST: usize> {
    letters: [u8; MOST],
    length: usize,
}

impl<const MOST: usize> Letters<MOST> {
    /// None.
    pub fn none() -> Self {
        Self { letters: [0; MOST], length: 0 }
    }

    /// As many random ones of `alphabet` as the dice say.
    pub fn random(dice: &mut Rng, alphabet: &[u8], lengths: RangeInclusive<usize>) -> Self {
        let mut drawn = Self { letters: [0; MOST], length: dice.usize(lengths) };
        // Sixteen random bits are enough for one of some sixty letters.
        for four in drawn.letters[..drawn.length].chunks_mut(4) {
            let mut bits = dice.u64(..);
            for letter in four {
                *letter = alphabet[((bits & 0xffff) as usize * alphabet.len()) >> 16];
                bits >>= 16;
            }
        }
        drawn
    }

    /// With a text more.
    pub fn and(mut self, text: &str) -> Self {
        self.letters[self.length..][..text.len()].copy_from_slice(text.as_bytes());
        self.length += text.len();
        self
    }

    /// With a text in a random place, over what was there.
    pub fn holding(mut self, text: &str, dice: &mut Rng) -> Self {
        let at = dice.usize(0..=self.length - text.len());
        self.letters[at..][..text.len()].copy_from_slice(text.as_bytes());
        self
    }

    /// All of them.
    pub fn as_str(&self) -> &str {
        // They are ASCII.
        std::str::from_utf8(&self.letters[..self.length]).unwrap_or_default()
    }
}
