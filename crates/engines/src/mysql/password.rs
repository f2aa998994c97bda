//! MySQL's authentication plugins; the password is sent in the clear only over a protected
//! connection.

use ring::digest;

use super::super::server::address::Secret;

const NATIVE: &str = "mysql_native_password";
const CACHING: &str = "caching_sha2_password";
/// MySQL asks for this one for unknown users too, to hide which users exist.
const SHA_256: &str = "sha256_password";
/// The server asks the kernel for the user at the other end of the Unix socket; nothing is sent.
const BY_THE_HOST: [&str; 2] = ["unix_socket", "auth_socket"];

pub fn is_known(plugin: &str) -> Result<(), String> {
    if [NATIVE, CACHING, SHA_256].contains(&plugin) || BY_THE_HOST.contains(&plugin) {
        return Ok(());
    }
    Err(format!(
        "the server has this user prove itself by '{plugin}', and hopcost knows {NATIVE}, {CACHING}, \
         {SHA_256} and the user of the host: take a user of one of these"
    ))
}

pub fn without_end(challenge: &[u8]) -> &[u8] {
    challenge.strip_suffix(&[0]).unwrap_or(challenge)
}

pub struct Proof<'a> {
    password: Option<&'a Secret>,
    is_safe: bool,
}

const FULL: u8 = 4;
const CACHED: u8 = 3;

const NOT_SAFE: &str = "\
    the server asks for the password in the clear, where others could read it: connect with sslmode=require or through its Unix socket";

impl<'a> Proof<'a> {
    pub fn new(password: Option<&'a Secret>, is_safe: bool) -> Self {
        Self { password, is_safe }
    }

    pub fn answer(&mut self, plugin: &str, challenge: &[u8]) -> Result<Vec<u8>, &'static str> {
        let password = self.password.map_or("", Secret::reveal).as_bytes();
        Ok(match plugin {
            _ if password.is_empty() || BY_THE_HOST.contains(&plugin) => Vec::new(),
            CACHING => {
                let once = sha256(&[password]);
                mixed(&once, &sha256(&[&sha256(&[&once]), challenge]))
            }
            SHA_256 => self.in_the_clear()?,
            _ => {
                let once = sha1(&[password]);
                mixed(&once, &sha1(&[challenge, &sha1(&[&once])]))
            }
        })
    }

    fn in_the_clear(&self) -> Result<Vec<u8>, &'static str> {
        let password = self.password.map_or("", Secret::reveal).as_bytes();
        if self.is_safe { Ok([password, &[0]].concat()) } else { Err(NOT_SAFE) }
    }

    /// The second step of caching_sha2_password.
    pub fn more(&self, asked: &[u8]) -> Result<Option<Vec<u8>>, &'static str> {
        match asked {
            [CACHED] => Ok(None),
            [FULL] => self.in_the_clear().map(Some),
            _ => Err("the server asks for an odd proof"),
        }
    }
}

fn mixed(one: &[u8], other: &[u8]) -> Vec<u8> {
    one.iter().zip(other).map(|(a, b)| a ^ b).collect()
}

fn sha256(parts: &[&[u8]]) -> Vec<u8> {
    digest_of(&digest::SHA256, parts)
}

/// SHA-1 is part of mysql_native_password.
fn sha1(parts: &[&[u8]]) -> Vec<u8> {
    digest_of(&digest::SHA1_FOR_LEGACY_USE_ONLY, parts)
}

fn digest_of(algorithm: &'static digest::Algorithm, parts: &[&[u8]]) -> Vec<u8> {
    let mut context = digest::Context::new(algorithm);
    for part in parts {
        context.update(part);
    }
    context.finish().as_ref().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_sent_of_no_password() {
        let mut proof = Proof::new(None, false);
        assert_eq!(proof.answer(NATIVE, b"12345678901234567890"), Ok(Vec::new()));
        assert_eq!(proof.more(&[CACHED]), Ok(None));
        assert!(proof.more(&[FULL]).is_err());
    }

    #[test]
    fn a_server_that_knows_the_hash_of_the_hash_is_convinced() {
        let (secret, challenge) = (Secret::from("open sesame".to_owned()), [7; 20]);
        let mut proof = Proof::new(Some(&secret), false);
        let known = sha1(&[&sha1(&[b"open sesame"])]);
        let came = proof.answer(NATIVE, &challenge).unwrap();
        assert_eq!(sha1(&[&mixed(&came, &sha1(&[&challenge, &known]))]), known);
        let known = sha256(&[&sha256(&[b"open sesame"])]);
        let came = proof.answer(CACHING, &challenge).unwrap();
        assert_eq!(sha256(&[&mixed(&came, &sha256(&[&known, &challenge]))]), known);
    }

    #[test]
    fn the_password_itself_is_said_only_where_nobody_reads_along() {
        let secret = Secret::from("open sesame".to_owned());
        let answer = |is_safe| Proof::new(Some(&secret), is_safe).answer(SHA_256, &[7; 20]);
        assert_eq!(answer(true).unwrap(), b"open sesame\0");
        assert!(answer(false).unwrap_err().contains("sslmode=require"));
    }
}
