//! Keys of hosts and runs that stay the same when a store is copied. Nothing is random.

use ring::digest::{Context, SHA256};

/// The first half of a SHA-256: enough without an adversary.
pub type Key = [u8; 16];

/// Includes the lengths, so that the boundaries of parts are unambiguous.
pub fn of_parts(parts: &[&[u8]]) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part);
    }
    let mut digest = [0; 32];
    digest.copy_from_slice(context.finish().as_ref());
    digest
}

pub fn key(parts: &[&[u8]]) -> Key {
    let mut key = [0; 16];
    key.copy_from_slice(&of_parts(parts)[..16]);
    key
}

/// The machine id itself is not stored.
pub fn host_key(machine_id: &str) -> Key {
    key(&[b"hopcost host 1", machine_id.trim().as_bytes()])
}

/// A run without a number, from an older version.
#[derive(Debug)]
pub struct Older {
    pub host: Option<String>,
    pub machine: String,
    pub number: i64,
    pub begun_s: i64,
    pub experiment: String,
    pub seed: i64,
}

impl Older {
    pub fn uid(&self) -> Key {
        key(&[
            b"hopcost run 0",
            self.host.as_deref().unwrap_or_default().as_bytes(),
            self.machine.as_bytes(),
            &self.number.to_be_bytes(),
            &self.begun_s.to_be_bytes(),
            self.experiment.as_bytes(),
            &self.seed.to_be_bytes(),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_apart_and_white_space_around_an_id_is_not() {
        assert_ne!(of_parts(&[b"ab", b"c"]), of_parts(&[b"a", b"bc"]));
        assert_eq!(host_key("abc\n"), host_key("abc"));
        assert_ne!(host_key("abc"), host_key("abd"));
    }
}
