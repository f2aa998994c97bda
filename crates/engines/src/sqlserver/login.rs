//! The start of a connection: negotiation of encryption, and the login.

use super::super::server::address::{Address, Place, Secret, Tls};
use super::super::server::ffi::Ticket;
use super::super::server::input::Framing;
use super::super::server::socket::TlsFraming;
use super::super::server::wrong::Wrong;
use super::packet::{self, Packets, Reader, wide};

/// Options of the PRELOGIN message.
const VERSION: u8 = 0;
const ENCRYPTION: u8 = 1;
const END: u8 = 0xff;

mod encryption {
    /// The whole connection, not only the login.
    pub const ON: u8 = 1;
    pub const NOT_SUPPORTED: u8 = 2;
}

pub fn first(address: &Address) -> Vec<u8> {
    // With TLS from the first byte on there is nothing to negotiate.
    let has_nothing_to_ask = address.tls == Tls::Disable || address.tls_at_once.is_some();
    let wanted = if has_nothing_to_ask { encryption::NOT_SUPPORTED } else { encryption::ON };
    // Option, offset and length of each value; then the values.
    let options = [VERSION, 0, 11, 0, 6, ENCRYPTION, 0, 17, 0, 1, END];
    [&options[..], &[0; 6], &[wanted]].concat()
}

/// Fails when the server's answer contradicts `sslmode`.
pub fn is_encrypted(answer: &[u8], wanted: Tls) -> Result<bool, &'static str> {
    let mut options = Reader(answer);
    let says = loop {
        let option = options.integer(1) as u8;
        if option == END || options.0.is_empty() {
            return Err("its first answer says nothing of encryption: is it SQL Server?");
        }
        let place = options.bytes(4);
        if option == ENCRYPTION {
            let at = place.first_chunk().map(|at| usize::from(u16::from_be_bytes(*at)));
            break at.and_then(|at| answer.get(at).copied());
        }
    };
    match says {
        Some(encryption::NOT_SUPPORTED) if wanted > Tls::Prefer => {
            Err("the server has no TLS, and sslmode asks for it")
        }
        Some(encryption::NOT_SUPPORTED) => Ok(false),
        Some(_) if wanted == Tls::Disable => {
            Err("the server demands TLS, and sslmode=disable forbids it")
        }
        Some(_) => Ok(true),
        None => Err("its first answer is cut off"),
    }
}

/// SQL Server 2012 and later.
const TDS_7_4: u32 = 0x7400_0004;
/// The same protocol inside TLS: SQL Server 2022 and later.
const TDS_8_0: u32 = 0x0800_0000;
/// The fixed part of a login.
const FIXED_BYTES: usize = 94;
const DATABASE: usize = 8;
/// An unknown database or language is an error; the server reports SET changes.
const STRICT: u8 = 0xe0;
/// An unknown initial language is an error; ANSI settings, as in ODBC.
const AS_ODBC: u8 = 0x03;

/// Integrated security (Kerberos).
const OF_SYSTEM: u8 = 0x80;

const NO_PASSWORD: &str =
    "no password is known (SQLCMDPASSWORD, or the URL), and for a user of the system's";

/// The next Kerberos token in reply to the server's; empty with a password.
pub fn shown(
    address: &Address,
    ticket: &mut Option<Ticket>,
    by_server: &[u8],
) -> Result<Vec<u8>, Wrong> {
    let (None, Place::Host(host)) = (&address.password, &address.place) else {
        return Ok(Vec::new());
    };
    let shown = Ticket::show(ticket, &format!("MSSQLSvc/{host}:{}", address.port), by_server);
    shown.map_err(|words| format!("{NO_PASSWORD} {words}").into())
}

pub fn login(address: &Address, ticket: &[u8], host: &str, packet_bytes: usize) -> Vec<u8> {
    let is_of_system = !ticket.is_empty();
    let password = address.password.as_ref().map_or("", Secret::reveal);
    let server = match &address.place {
        Place::Host(host) => host,
        Place::Unix(_) => "",
    };
    let hidden = wide(password).into_iter().map(|byte| byte.rotate_left(4) ^ 0xa5).collect();
    let user = if is_of_system { "" } else { &address.user };
    // Application, server, extension, library, language and database.
    let others = ["hopcost", server, "", "hopcost", "", &address.database].map(wide);
    let texts = [wide(host), wide(user), hidden].into_iter().chain(others).map(|text| (text, 2));
    let rest = [ticket, &[], &[]].map(|bytes| (bytes.to_vec(), 1));
    let (mut places, mut values) = (Vec::new(), Vec::new());
    for (n, (value, unit)) in texts.chain(rest).enumerate() {
        let at = FIXED_BYTES + values.len();
        for number in [at, value.len() / unit] {
            places.extend_from_slice(&(number as u16).to_le_bytes());
        }
        if n == DATABASE {
            // The client's ID: a MAC address.
            places.extend_from_slice(&[0; 6]);
        }
        values.extend_from_slice(&value);
    }
    // The ticket's length as four bytes: unused.
    places.extend_from_slice(&[0; 4]);
    let mut message = Vec::new();
    let length = (FIXED_BYTES + values.len()) as u32;
    let version = if address.tls_at_once.is_some() { TDS_8_0 } else { TDS_7_4 };
    for number in [length, version, packet_bytes as u32, 1, std::process::id(), 0] {
        message.extend_from_slice(&number.to_le_bytes());
    }
    let settings = if is_of_system { AS_ODBC | OF_SYSTEM } else { AS_ODBC };
    message.extend_from_slice(&[STRICT, settings, 0, 0]);
    // Time zone and locale.
    message.extend_from_slice(&[0; 8]);
    message.extend_from_slice(&places);
    debug_assert_eq!(message.len(), FIXED_BYTES);
    message.extend_from_slice(&values);
    message
}

/// During the handshake TLS records are wrapped in PRELOGIN packets.
pub const ENVELOPE: TlsFraming = TlsFraming {
    head: |content| packet::head(packet::kind::PRELOGIN, packet::LAST, content),
    content: |head| Packets::read(head).1,
    most_bytes: 4096 - packet::HEAD,
};

#[cfg(test)]
mod tests {
    use super::super::address_of;
    use super::*;

    #[test]
    fn both_sides_agree_on_encryption_or_say_why_not() {
        let answer =
            |says: u8| [&[0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 255][..], &[0; 6], &[says]].concat();
        for (says, wanted, encrypted) in [
            (1, Tls::Prefer, Some(true)),
            (3, Tls::Require, Some(true)),
            (2, Tls::Prefer, Some(false)),
            (2, Tls::Disable, Some(false)),
            (2, Tls::VerifyFull, None),
            (3, Tls::Disable, None),
        ] {
            assert_eq!(is_encrypted(&answer(says), wanted).ok(), encrypted, "{says} {wanted:?}");
        }
        assert!(is_encrypted(b"HTTP/1.1 400", Tls::Prefer).is_err());
    }

    fn text(message: &[u8], number: usize) -> &[u8] {
        let mut places = Reader(&message[36 + 4 * number..]);
        let (at, units) = (places.integer(2) as usize, places.integer(2) as usize);
        &message[at..at + 2 * units]
    }

    #[test]
    fn a_user_of_the_systems_shows_a_ticket_and_no_name() {
        let message = login(&address_of("//me@h/").unwrap(), b"ticket", "here", 4096);
        assert_eq!(message[25], AS_ODBC | OF_SYSTEM);
        let mut places = Reader(&message[36 + 4 * 9 + 6..]);
        let (at, length) = (places.integer(2) as usize, places.integer(2) as usize);
        assert_eq!(&message[at..], b"ticket");
        assert_eq!((text(&message, 1), length), (&b""[..], 6));
    }

    #[test]
    fn a_login_has_its_texts_where_it_says_and_no_password_in_the_clear() {
        let address = address_of("//me:pass@h/db?sslmode=disable").unwrap();
        let message = login(&address, &[], "here", 4096);
        assert_eq!(Reader(&message).integer(4) as usize, message.len());
        let texts = [0, 1, 8].map(|number| packet::narrow(text(&message, number)));
        assert_eq!(texts, ["here", "me", "db"]);
        let hidden = text(&message, 2);
        let shown: Vec<u8> = hidden.iter().map(|byte| (byte ^ 0xa5).rotate_left(4)).collect();
        assert_eq!(packet::narrow(&shown), "pass");
        assert_ne!(hidden, shown);
    }
}
