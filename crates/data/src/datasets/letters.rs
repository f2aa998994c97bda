//! Texts without heap allocation: making a row must cost less than its insert.

use std::ops::RangeInclusive;

use fastrand::Rng;

pub const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
pub const CAPITALS: &[u8] = LETTERS.split_at(26).0;
pub const DIGITS: &[u8] = LETTERS.split_at(52).1;

#[derive(Clone, Copy, Debug)]
pub struct Letters<const MOST: usize> {
    letters: [u8; MOST],
    length: usize,
}

impl<const MOST: usize> Letters<MOST> {
    pub fn none() -> Self {
        Self { letters: [0; MOST], length: 0 }
    }

    pub fn random(dice: &mut Rng, alphabet: &[u8], lengths: RangeInclusive<usize>) -> Self {
        let mut drawn = Self { letters: [0; MOST], length: dice.usize(lengths) };
        // Sixteen random bits are enough to draw one of about sixty letters.
        for four in drawn.letters[..drawn.length].chunks_mut(4) {
            let mut bits = dice.u64(..);
            for letter in four {
                *letter = alphabet[((bits & 0xffff) as usize * alphabet.len()) >> 16];
                bits >>= 16;
            }
        }
        drawn
    }

    pub fn and_digits(mut self, number: u64, digits: u32) -> Self {
        for place in (0..digits).rev() {
            self.letters[self.length] = DIGITS[(number / 10_u64.pow(place) % 10) as usize];
            self.length += 1;
        }
        self
    }

    pub fn and(mut self, text: &str) -> Self {
        self.letters[self.length..][..text.len()].copy_from_slice(text.as_bytes());
        self.length += text.len();
        self
    }

    pub fn holding(mut self, text: &str, dice: &mut Rng) -> Self {
        let at = dice.usize(0..=self.length - text.len());
        self.letters[at..][..text.len()].copy_from_slice(text.as_bytes());
        self
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.letters[..self.length]).unwrap_or_default()
    }
}
