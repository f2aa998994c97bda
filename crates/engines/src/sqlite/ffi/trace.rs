//! What SQLite tells of each statement while it runs.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::rc::Rc;

use rusqlite::ffi;

use super::connection::{Connection, Handle, SqliteError};

/// Something that a statement did.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// It begins; its text.
    Begins(&'a CStr),
    /// It has a row.
    Row,
    /// It has ended, after so many nanoseconds; its text.
    Ended(&'a CStr, u64),
}

/// Which of them are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The ends alone.
    Ends,
    All,
}

type Sink = Box<dyn FnMut(Event<'_>)>;

/// A connection that tells what its statements do, until this is dropped.
pub struct Traced {
    connection: Rc<Handle>,
    /// What SQLite calls with: a box of ours, given up by nobody else.
    sink: *mut Sink,
}

impl Connection {
    /// Has each event told to a sink.
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
        // SAFETY: the connection is open, and `traced` keeps it and the sink until it takes the sink back.
        let code = unsafe { ffi::sqlite3_trace_v2(db, events, Some(told), sink.cast()) };
        traced.connection.check(code).map(|()| traced)
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        // SAFETY: the connection is open; from here on SQLite tells nothing, and the sink, which was made by
        // `Box::into_raw`, is ours alone again.
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
    // SAFETY: `sink` is that of a `Traced` which is not dropped yet, on the thread that the connection belongs to,
    // and a sink makes no use of the connection: nobody else has it at this moment.
    let sink = unsafe { &mut *sink.cast::<Sink>() };
    let event = match kind {
        // SAFETY: SQLite says that this is the statement's text, ended by a NUL, which lasts during the call.
        ffi::SQLITE_TRACE_STMT => Event::Begins(unsafe { CStr::from_ptr(what.cast::<c_char>()) }),
        // SAFETY: SQLite says that these are the statement and a number of nanoseconds in 64 bits; a statement's
        // text lasts as long as it does.
        ffi::SQLITE_TRACE_PROFILE => unsafe {
            let text = CStr::from_ptr(ffi::sqlite3_sql(statement.cast()));
            Event::Ended(text, (*what.cast::<i64>()).unsigned_abs())
        },
        _ => Event::Row,
    };
    // It is called by C, through which a panic must not go; one here would be a fault of ours, and the missing
    // line refuses the verdict.
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| sink(event)));
    0
}
