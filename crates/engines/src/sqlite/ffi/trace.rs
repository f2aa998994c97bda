//! SQLite's trace hook: events of each statement while it runs.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::rc::Rc;

use rusqlite::ffi;

use super::connection::{Connection, Handle, SqliteError};

#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    Begins(&'a CStr),
    Row,
    /// It has ended; its text and its nanoseconds.
    Ended(&'a CStr, u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Ends,
    All,
}

type Sink = Box<dyn FnMut(Event<'_>)>;

/// Traces a connection until it is dropped.
pub struct Traced {
    connection: Rc<Handle>,
    /// The hook's context: a box that only this value frees.
    sink: *mut Sink,
}

impl Connection {
    pub fn trace(
        &self,
        wanted: Wanted,
        sink: impl FnMut(Event<'_>) + 'static,
    ) -> Result<Traced, SqliteError> {
        let events = match wanted {
            Wanted::Ends => ffi::SQLITE_TRACE_PROFILE,
            Wanted::All => {
                ffi::SQLITE_TRACE_STMT | ffi::SQLITE_TRACE_ROW | ffi::SQLITE_TRACE_PROFILE
            }
        };
        let sink: *mut Sink = Box::into_raw(Box::new(Box::new(sink)));
        let traced = Traced { connection: Rc::clone(self.handle()), sink };
        let db = traced.connection.as_ptr();
        // SAFETY: the connection is open; `traced` keeps it and the sink until it takes both back.
        let code = unsafe { ffi::sqlite3_trace_v2(db, events, Some(told), sink.cast()) };
        traced.connection.check(code).map(|()| traced)
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        // SAFETY: the connection is open. Once the hook is off SQLite does not use the sink, which
        // was made by `Box::into_raw` and is ours alone again.
        unsafe {
            ffi::sqlite3_trace_v2(self.connection.as_ptr(), 0, None, ptr::null_mut());
            drop(Box::from_raw(self.sink));
        }
    }
}

unsafe extern "C" fn told(
    kind: c_uint,
    sink: *mut c_void,
    statement: *mut c_void,
    what: *mut c_void,
) -> c_int {
    // SAFETY: `sink` is that of a live `Traced`, on the thread of its connection, and a sink does
    // not use the connection: there is no other reference now.
    let sink = unsafe { &mut *sink.cast::<Sink>() };
    let event = match kind {
        // SAFETY: SQLite passes the statement's NUL-terminated text, valid during the call.
        ffi::SQLITE_TRACE_STMT => Event::Begins(unsafe { CStr::from_ptr(what.cast::<c_char>()) }),
        // SAFETY: for this event SQLite passes the statement and 64-bit nanoseconds; a statement's
        // text lasts as long as the statement.
        ffi::SQLITE_TRACE_PROFILE => unsafe {
            let text = CStr::from_ptr(ffi::sqlite3_sql(statement.cast()));
            Event::Ended(text, (*what.cast::<i64>()).unsigned_abs())
        },
        _ => Event::Row,
    };
    // A panic must not unwind through C. One here would be a bug, and the missing line refuses the
    // verdict.
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| sink(event)));
    0
}
