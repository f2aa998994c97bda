//! Generated data cached on disk, with a seal that detects damage.
//!
//! A file's seal is a line with its name, length, checksum and a digest of the intended content:
//! the schema and sampled rows, so that a file of an older generator is rejected. The checksum has
//! eight multiplying lanes; it detects accidents quickly, and is not cryptographic.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cached {
    pub path: PathBuf,
    pub length: u64,
    pub sum: u64,
    pub content: u64,
}

#[derive(Debug)]
pub enum Unreadable {
    Damaged(String),
    System(io::Error),
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// Bytes read at a time: they fit the second-level cache while they are summed.
const CHUNK: usize = 1 << 20;

impl Cached {
    pub fn seal(path: &Path, content: u64) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut sum = Sum::default();
        let mut chunk = vec![0; CHUNK];
        let mut length = 0;
        loop {
            let got = read_fully(&mut file, &mut chunk)?;
            if got == 0 {
                break;
            }
            sum.add(&chunk[..got]);
            length += got as u64;
        }
        Ok(Self { path: path.to_owned(), length, sum: sum.finish(), content })
    }

    /// Writes the seal beside the file, which must have its final name.
    pub fn write(&self) -> io::Result<()> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let (length, sum, content) = (self.length, self.sum, self.content);
        let path = seal_of(&self.path);
        let fresh = path.with_extension(format!("{}.tmp", std::process::id()));
        fs::write(&fresh, format!("{name} {length} {sum:016x} {content:016x}\n"))?;
        fs::rename(&fresh, &path)
    }

    /// The file of an earlier run, whose bytes are still to be checked; `None` if there is none.
    pub fn find(path: &Path, content: u64) -> Result<Option<Self>, Unreadable> {
        let length = match fs::metadata(path) {
            Ok(metadata) => metadata.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let damaged = |how: &str| Err(Unreadable::Damaged(how.to_owned()));
        let Ok(seal) = fs::read_to_string(seal_of(path)) else { return damaged("no seal") };
        let Some(sealed) = Self::read_seal(path, &seal) else { return damaged("a broken seal") };
        if sealed.content != content {
            return damaged("what another version generated");
        }
        if sealed.length != length {
            return damaged(&format!("length {length} instead of {}", sealed.length));
        }
        Ok(Some(sealed))
    }

    fn read_seal(path: &Path, seal: &str) -> Option<Self> {
        let words: Vec<&str> = seal.split_whitespace().collect();
        let [name, length, sum, content] = words.try_into().ok()?;
        if path.file_name()?.to_str()? != name {
            return None;
        }
        Some(Self {
            path: path.to_owned(),
            length: length.parse().ok()?,
            sum: u64::from_str_radix(sum, 16).ok()?,
            content: u64::from_str_radix(content, 16).ok()?,
        })
    }

    /// Reads the file into memory of its length and verifies the checksum.
    pub fn read_into(&self, memory: &mut [u8]) -> Result<(), Unreadable> {
        let mut file = File::open(&self.path)?;
        let mut sum = Sum::default();
        for chunk in memory.chunks_mut(CHUNK) {
            let got = read_fully(&mut file, chunk)?;
            if got < chunk.len() {
                return Err(Unreadable::Damaged("its end is missing".to_owned()));
            }
            sum.add(chunk);
        }
        let found = sum.finish();
        if found == self.sum {
            return Ok(());
        }
        let how = format!("checksum {found:016x} instead of {:016x}", self.sum);
        Err(Unreadable::Damaged(how))
    }
}

pub fn seal_of(path: &Path) -> PathBuf {
    path.with_extension("seal")
}

fn read_fully(file: &mut File, chunk: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < chunk.len() {
        match file.read(&mut chunk[got..]) {
            Ok(0) => break,
            Ok(bytes) => got += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

/// Independent lanes, so that no multiplication waits for the one before.
const LANES: usize = 8;
/// The fractional part of the square root of two: odd, with well mixed bits.
const FACTOR: u64 = 0x6a09_e667_f3bc_c909;

/// A checksum of bytes. Each addition but the last must be a multiple of 64 bytes.
#[derive(Clone, Debug)]
pub struct Sum {
    lanes: [u64; LANES],
    length: u64,
}

impl Default for Sum {
    fn default() -> Self {
        Self { lanes: std::array::from_fn(|lane| FACTOR.rotate_left(lane as u32)), length: 0 }
    }
}

impl Sum {
    pub fn add(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        let (blocks, rest) = bytes.as_chunks::<{ 8 * LANES }>();
        let mut lanes = self.lanes;
        for block in blocks {
            mix(&mut lanes, block);
        }
        if !rest.is_empty() {
            let mut block = [0; 8 * LANES];
            block[..rest.len()].copy_from_slice(rest);
            mix(&mut lanes, &block);
        }
        self.lanes = lanes;
    }

    pub fn finish(&self) -> u64 {
        let joined = self.lanes.iter().fold(self.length, |sum, lane| one(sum, *lane));
        one(joined ^ (joined >> 32), self.length)
    }
}

#[inline]
fn mix(lanes: &mut [u64; LANES], block: &[u8; 8 * LANES]) {
    let (words, _) = block.as_chunks::<8>();
    for (lane, word) in lanes.iter_mut().zip(words) {
        *lane = one(*lane, u64::from_le_bytes(*word));
    }
}

/// One step: from one state, different words give different states.
const fn one(state: u64, word: u64) -> u64 {
    (state ^ word).wrapping_mul(FACTOR).rotate_left(31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(bytes: &[u8]) -> u64 {
        let mut sum = Sum::default();
        sum.add(bytes);
        sum.finish()
    }

    #[test]
    fn every_bit_place_and_length_counts() {
        let bytes: Vec<u8> = (0..200_u8).collect();
        let right = sum(&bytes);
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut wrong = bytes.clone();
                wrong[at] ^= 1 << bit;
                assert_ne!(sum(&wrong), right, "bit {bit} of byte {at}");
            }
        }
        let mut swapped = bytes.clone();
        swapped.swap(0, 64);
        assert_ne!(sum(&swapped), right);
        assert_ne!(sum(&[0; 63]), sum(&[0; 64]));
        let mut parts = Sum::default();
        parts.add(&bytes[..128]);
        parts.add(&bytes[128..]);
        assert_eq!(parts.finish(), right);
    }

    #[test]
    fn a_file_is_what_its_seal_says_or_is_told_from_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("some.sqlite");
        assert!(matches!(Cached::find(&path, 7), Ok(None)));
        fs::write(&path, [5; 3000]).unwrap();
        let how = |content| match Cached::find(&path, content) {
            Err(Unreadable::Damaged(how)) => how,
            other => panic!("{other:?}"),
        };
        assert_eq!(how(7), "no seal");
        let sealed = Cached::seal(&path, 7).unwrap();
        sealed.write().unwrap();
        assert_eq!(Cached::find(&path, 7).unwrap(), Some(sealed.clone()));
        assert!(sealed.read_into(&mut [0; 3000]).is_ok());
        assert_eq!(how(8), "what another version generated");
        let mut bytes = [5; 3000];
        bytes[2999] = 6;
        fs::write(&path, bytes).unwrap();
        let error = sealed.read_into(&mut [0; 3000]);
        assert!(matches!(error, Err(Unreadable::Damaged(how)) if how.starts_with("checksum ")));
        fs::write(&path, [5; 12]).unwrap();
        assert_eq!(how(7), "length 12 instead of 3000");
    }
}
