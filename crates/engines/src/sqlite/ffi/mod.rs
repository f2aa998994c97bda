//! SQLite's C interface, where the target needs what no safe binding offers: a VFS of its own,
//! statements that keep their connection alive, and text that is bound without a copy.
//!
//! RULE: outside of `hopcost_sys` the only folder with `unsafe`. What it gives to the rest of the
//! target is safe to use in any order.
#![allow(unsafe_code)]

mod connection;
mod trace;
mod vfs;

use std::ffi::{CStr, c_int};
use std::sync::OnceLock;

use rusqlite::ffi;

pub use connection::{Connection, Inserter, Packed, SqliteError, Statement, Value};
pub use trace::{Event, Traced, Wanted};
pub use vfs::shelve;

/// Switches off SQLite's account of its memory: its default takes one mutex for every allocation of
/// all threads, which would measure that mutex. SQLite accepts it only before its first use.
pub fn prepare() {
    static ONCE: OnceLock<c_int> = OnceLock::new();
    // SAFETY: this option takes one int. SQLite that is in use already refuses the call and changes
    // nothing; the once keeps two threads from making it together.
    ONCE.get_or_init(|| unsafe {
        ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, c_int::from(false))
    });
}

/// Did [`prepare`] come before SQLite's first use? Asked of SQLite itself.
pub fn is_prepared() -> bool {
    const BYTES: c_int = 64;
    // SAFETY: an allocation that is given back at once; SQLite initialises itself where needed.
    unsafe {
        let memory = ffi::sqlite3_malloc(BYTES);
        let accounted = ffi::sqlite3_memory_used();
        ffi::sqlite3_free(memory);
        !memory.is_null() && accounted == 0
    }
}

/// The version of the SQLite that is built in.
pub fn version() -> String {
    // SAFETY: a constant text of SQLite's, ended by a NUL.
    unsafe { CStr::from_ptr(ffi::sqlite3_libversion()) }.to_string_lossy().into_owned()
}
