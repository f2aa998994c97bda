//! What tells hosts and runs apart wherever their stores are copied to. Nothing in it is random.

use ring::digest::{Context, SHA256};

/// The first half of a SHA-256: enough for what nobody forges.
pub type Key = [u8; 16];

/// Lengths are a part of it, so that parts cannot be mistaken for one another.
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

/// The machine id itself is not kept.
pub fn host_key(machine_id: &str) -> Key {
    key(&[b"hopcost host 1", machine_id.trim().as_bytes()])
}

/// A run that is older than numbers of its own.
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
    /// The same in each copy of the file.
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
