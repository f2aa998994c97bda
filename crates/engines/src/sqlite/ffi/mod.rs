//! SQLite's C interface where safe bindings are not enough.
//!
//! It has a VFS, statements that keep their connection alive, and text that is bound without a
//! copy. What this module exports is safe to use in any order.
#![allow(unsafe_code)]

mod connection;
mod debt;
mod trace;
mod vfs;

use std::ffi::{CStr, c_int};
use std::sync::OnceLock;

use rusqlite::ffi;

pub use connection::{Connection, Inserter, Packed, SqliteError, Statement, Value};
pub use debt::PaidBy;
pub use trace::{Event, Traced, Wanted};
pub use vfs::shelve;

/// Switches off SQLite's memory statistics: by default every allocation of every thread takes one
/// mutex, which would be measured. SQLite accepts this only before its first use.
pub fn prepare() {
    static ONCE: OnceLock<c_int> = OnceLock::new();
    // SAFETY: this option takes one int. SQLite that is already in use refuses the call and changes
    // nothing; the once keeps two threads from calling it together.
    ONCE.get_or_init(|| unsafe {
        ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, c_int::from(false))
    });
}

/// Did [`prepare`] come before SQLite's first use? Asks SQLite itself.
pub fn is_prepared() -> bool {
    const BYTES: c_int = 64;
    // SAFETY: the allocation is freed at once; SQLite initializes itself if necessary.
    unsafe {
        let memory = ffi::sqlite3_malloc(BYTES);
        let accounted = ffi::sqlite3_memory_used();
        ffi::sqlite3_free(memory);
        !memory.is_null() && accounted == 0
    }
}

pub fn version() -> String {
    // SAFETY: a constant NUL-terminated text of SQLite.
    unsafe { CStr::from_ptr(ffi::sqlite3_libversion()) }.to_string_lossy().into_owned()
}
