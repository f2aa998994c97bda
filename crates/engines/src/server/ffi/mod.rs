//! Kerberos authentication with libgssapi_krb5, which is loaded when a server asks for it.
//!
//! Method: the library takes the ticket that `kinit` or a key table left, makes the tokens for the
//! server, and checks those of the server. hopcost handles no secret.
#![allow(unsafe_code)] // the library speaks C

use std::ffi::c_void;
use std::ptr;

use libloading::Library;

use super::super::interface::interface;
use super::wrong::Wrong;

type Handle = *mut c_void;

/// `gss_buffer_desc`: the library's bytes or ours.
#[repr(C)]
struct Bytes {
    length: usize,
    value: *mut c_void,
}

/// `gss_OID_desc`: an object identifier.
#[repr(C)]
struct Kind {
    length: u32,
    bytes: *const c_void,
}

const NONE: Bytes = Bytes { length: 0, value: ptr::null_mut() };

interface! {
    struct Interface;
    gss_import_name(*mut u32, *const Bytes, *const Kind, *mut Handle) -> u32;
    gss_release_name(*mut u32, *mut Handle) -> u32;
    gss_init_sec_context(
        *mut u32,
        Handle,
        *mut Handle,
        Handle,
        *const Kind,
        u32,
        u32,
        Handle,
        *const Bytes,
        *mut *const Kind,
        *mut Bytes,
        *mut u32,
        *mut u32
    ) -> u32;
    gss_delete_sec_context(*mut u32, *mut Handle, *mut Bytes) -> u32;
    gss_release_buffer(*mut u32, *mut Bytes) -> u32;
    gss_display_status(*mut u32, u32, i32, *const Kind, *mut u32, *mut Bytes) -> u32;
}

const LIBRARIES: [&str; 2] = ["libgssapi_krb5.so.2", "libgssapi.so.3"];
const MISSING: &str = "\
    no ticket of Kerberos' can be shown, as libgssapi_krb5.so.2 is not here: it comes with Debian's \
    libgssapi-krb5-2 and Red Hat's krb5-libs";
const NO_TICKET: &str = "'klist' shows which tickets there are, and 'kinit' gets one";

/// Kerberos, 1.2.840.113554.1.2.2.
const KERBEROS: Kind = kind(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02");
/// `service@host`, 1.2.840.113554.1.2.1.4.
const SERVICE: Kind = kind(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x04");
/// `service/host:port`, a Kerberos principal, 1.2.840.113554.1.2.2.1.
const PRINCIPAL: Kind = kind(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01");

const fn kind(bytes: &'static [u8]) -> Kind {
    Kind { length: bytes.len() as u32, bytes: bytes.as_ptr().cast() }
}

const MUTUAL: u32 = 2;
/// These bits of a status are errors.
const ERRORS: u32 = 0xffff_0000;
/// Which component's message `gss_display_status` returns.
const OF_LIBRARY: i32 = 1;
const OF_KERBEROS: i32 = 2;

pub struct Ticket {
    api: Interface,
    server: Handle,
    context: Handle,
}

impl Ticket {
    pub fn show(
        ticket: &mut Option<Self>,
        server: &str,
        by_server: &[u8],
    ) -> Result<Vec<u8>, Wrong> {
        let ticket = match ticket {
            Some(ticket) => ticket,
            none => none.insert(Self::to(server)?),
        };
        ticket.shown(by_server)
    }

    /// `server` is `service/host:port` or `service@host`.
    fn to(server: &str) -> Result<Self, Wrong> {
        // SAFETY: loading a library runs its code; these are the system's own.
        let found = LIBRARIES.iter().find_map(|name| unsafe { Library::new(name) }.ok());
        let api = Interface::of(found.ok_or(MISSING)?).map_err(|error| error.to_string())?;
        let mut ticket = Self { api, server: ptr::null_mut(), context: ptr::null_mut() };
        let (mut minor, name) = (0, lent(server.as_bytes()));
        let kind = if server.contains('@') { &SERVICE } else { &PRINCIPAL };
        // SAFETY: all pointers are to values that outlive the call, which copies the name.
        let major = unsafe {
            (ticket.api.gss_import_name)(
                &raw mut minor,
                &raw const name,
                kind,
                &raw mut ticket.server,
            )
        };
        if major & ERRORS == 0 { Ok(ticket) } else { Err(ticket.words(major, minor).into()) }
    }

    /// `by_server` is empty for the first token; the last answer is empty.
    fn shown(&mut self, by_server: &[u8]) -> Result<Vec<u8>, Wrong> {
        let (mut minor, heard, mut said) = (0, lent(by_server), NONE);
        // SAFETY: all pointers are to values that outlive the call; optional ones are null.
        let major = unsafe {
            (self.api.gss_init_sec_context)(
                &raw mut minor,
                ptr::null_mut(),
                &raw mut self.context,
                self.server,
                &KERBEROS,
                MUTUAL,
                0,
                ptr::null_mut(),
                &raw const heard,
                ptr::null_mut(),
                &raw mut said,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        let said = self.taken(said);
        if major & ERRORS == 0 { Ok(said) } else { Err(self.words(major, minor).into()) }
    }

    fn taken(&self, mut bytes: Bytes) -> Vec<u8> {
        if bytes.value.is_null() {
            return Vec::new();
        }
        let mut minor = 0;
        // SAFETY: the library returned `length` bytes, which are not used after their release.
        unsafe {
            let copy = std::slice::from_raw_parts(bytes.value.cast::<u8>(), bytes.length).to_vec();
            (self.api.gss_release_buffer)(&raw mut minor, &raw mut bytes);
            copy
        }
    }

    fn words(&self, major: u32, minor: u32) -> String {
        let words = [(major, OF_LIBRARY), (minor, OF_KERBEROS)].map(|(code, of)| {
            let (mut ignored, mut next, mut text) = (0, 0, NONE);
            // SAFETY: all pointers are to values that outlive the call.
            unsafe {
                (self.api.gss_display_status)(
                    &raw mut ignored,
                    code,
                    of,
                    &KERBEROS,
                    &raw mut next,
                    &raw mut text,
                );
            }
            String::from_utf8_lossy(&self.taken(text)).trim_end_matches('.').to_owned()
        });
        format!("Kerberos: {}; {NO_TICKET}", words.join(": "))
    }
}

fn lent(bytes: &[u8]) -> Bytes {
    Bytes { length: bytes.len(), value: bytes.as_ptr().cast_mut().cast() }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: the library made both, or they are null; neither is used again.
        unsafe {
            (self.api.gss_delete_sec_context)(
                &raw mut minor,
                &raw mut self.context,
                ptr::null_mut(),
            );
            (self.api.gss_release_name)(&raw mut minor, &raw mut self.server);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_no_ticket_is_told_so() {
        // No realm knows this host.
        let words = Ticket::show(&mut None, "hopcost@nowhere.invalid", &[]);
        let words = words.unwrap_err();
        let words = words.to_string();
        assert!(words.contains("kinit") || words == MISSING, "{words}");
    }
}
