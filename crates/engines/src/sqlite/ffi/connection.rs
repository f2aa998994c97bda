//! Connections and statements that own what they need, for one thread each.
//!
//! A statement keeps its connection alive. Text to insert is bound without a copy:
//! [`Inserter::insert`] binds all values of a row before each step, so SQLite never reads a text
//! that is gone.

use std::ffi::{CStr, CString, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::rc::Rc;

use rusqlite::ffi;
use thiserror::Error;

#[derive(Debug, Error)]
#[error("{words}")]
pub struct SqliteError {
    /// The primary result code.
    pub code: c_int,
    words: String,
}

impl SqliteError {
    pub(super) fn new(code: c_int, words: impl Into<String>) -> Self {
        Self { code: code & 0xff, words: words.into() }
    }
}

/// A length or index as a C int. None here comes near the limit; a larger one saturates, and SQLite
/// refuses it or uses less.
pub(super) fn int(number: usize) -> c_int {
    c_int::try_from(number).unwrap_or(c_int::MAX)
}

pub struct Connection(Rc<Handle>);

/// Closed with its last owner.
pub(super) struct Handle(NonNull<ffi::sqlite3>);

impl Handle {
    pub(super) fn as_ptr(&self) -> *mut ffi::sqlite3 {
        self.0.as_ptr()
    }

    pub(super) fn check(&self, code: c_int) -> Result<(), SqliteError> {
        if code == ffi::SQLITE_OK {
            return Ok(());
        }
        // SAFETY: the connection is open; its message lasts until its next call.
        let words = unsafe { CStr::from_ptr(ffi::sqlite3_errmsg(self.as_ptr())) };
        Err(SqliteError::new(code, words.to_string_lossy()))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: no statement of it is left, since each holds a reference to the handle.
        unsafe { ffi::sqlite3_close(self.as_ptr()) };
    }
}

impl Connection {
    pub fn create(path: &Path) -> Result<Self, SqliteError> {
        let flags = ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_CREATE;
        Self::open(path.as_os_str().as_bytes(), flags)
    }

    pub(super) fn open(name: &[u8], flags: c_int) -> Result<Self, SqliteError> {
        let name = CString::new(name)
            .map_err(|_| SqliteError::new(ffi::SQLITE_CANTOPEN, "a path with a NUL in it"))?;
        let mut db = ptr::null_mut();
        let flags = flags | ffi::SQLITE_OPEN_NOMUTEX;
        // SAFETY: the name is NUL-terminated and outlives the call; `db` takes the connection.
        let code = unsafe { ffi::sqlite3_open_v2(name.as_ptr(), &raw mut db, flags, ptr::null()) };
        let Some(db) = NonNull::new(db) else {
            return Err(SqliteError::new(ffi::SQLITE_NOMEM, "no memory for a connection"));
        };
        // A connection that failed to open must be closed too, and has the error.
        let handle = Handle(db);
        handle.check(code)?;
        Ok(Self(Rc::new(handle)))
    }

    pub fn run(&self, sql: &str) -> Result<(), SqliteError> {
        let sql = CString::new(sql)
            .map_err(|_| SqliteError::new(ffi::SQLITE_MISUSE, "a statement with a NUL in it"))?;
        let (db, nobody) = (self.0.as_ptr(), ptr::null_mut());
        // SAFETY: the text is NUL-terminated and outlives the call; there is no callback.
        self.0.check(unsafe { ffi::sqlite3_exec(db, sql.as_ptr(), None, nobody, ptr::null_mut()) })
    }

    pub fn prepare(&self, sql: &str) -> Result<Statement, SqliteError> {
        let mut raw = ptr::null_mut();
        let (text, length) = (sql.as_ptr().cast(), int(sql.len()));
        // SAFETY: text and length describe `sql`; `raw` takes the statement.
        self.0.check(unsafe {
            let rest = ptr::null_mut();
            ffi::sqlite3_prepare_v2(self.0.as_ptr(), text, length, &raw mut raw, rest)
        })?;
        let raw = NonNull::new(raw)
            .ok_or_else(|| SqliteError::new(ffi::SQLITE_MISUSE, "an empty statement"))?;
        Ok(Statement { raw, connection: Rc::clone(&self.0) })
    }

    pub(super) fn handle(&self) -> &Rc<Handle> {
        &self.0
    }

    /// The VFS's file of the main database.
    pub(super) fn file(&self) -> *mut ffi::sqlite3_file {
        let mut file = ptr::null_mut::<ffi::sqlite3_file>();
        let into = (&raw mut file).cast();
        // SAFETY: this control writes one pointer, which `file` takes.
        unsafe {
            ffi::sqlite3_file_control(
                self.0.as_ptr(),
                c"main".as_ptr(),
                ffi::SQLITE_FCNTL_FILE_POINTER,
                into,
            )
        };
        file
    }
}

pub struct Statement {
    raw: NonNull<ffi::sqlite3_stmt>,
    connection: Rc<Handle>,
}

/// A value of the current row, valid until the next step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    Null,
    Integer(i64),
    Text(&'a [u8]),
    /// The name of a type that no workload uses.
    Other(&'static str),
}

impl Statement {
    pub fn parameters(&self) -> usize {
        // SAFETY: the statement is prepared.
        let count = unsafe { ffi::sqlite3_bind_parameter_count(self.raw.as_ptr()) };
        count.unsigned_abs() as usize
    }

    /// `n` counts from 0.
    pub fn bind(&mut self, n: usize, value: i64) -> Result<(), SqliteError> {
        // SAFETY: the statement is prepared; SQLite returns an error for an index out of range.
        let code = unsafe { ffi::sqlite3_bind_int64(self.raw.as_ptr(), int(n + 1), value) };
        self.connection.check(code)
    }

    fn bind_null(&mut self, n: usize) -> Result<(), SqliteError> {
        // SAFETY: the statement is prepared; SQLite returns an error for an index out of range.
        let code = unsafe { ffi::sqlite3_bind_null(self.raw.as_ptr(), int(n + 1)) };
        self.connection.check(code)
    }

    pub fn step(&mut self) -> Result<bool, SqliteError> {
        // SAFETY: the statement is prepared, and its connection belongs to this thread.
        match unsafe { ffi::sqlite3_step(self.raw.as_ptr()) } {
            ffi::SQLITE_ROW => Ok(true),
            ffi::SQLITE_DONE => Ok(false),
            code => self.connection.check(code).map(|()| false),
        }
    }

    pub fn reset(&mut self) {
        // SAFETY: the statement is prepared. The return value repeats the last step's.
        unsafe { ffi::sqlite3_reset(self.raw.as_ptr()) };
    }

    pub fn columns(&self) -> usize {
        // SAFETY: the statement is prepared.
        let count = unsafe { ffi::sqlite3_column_count(self.raw.as_ptr()) };
        count.unsigned_abs() as usize
    }

    pub fn value(&self, column: usize) -> Value<'_> {
        let (raw, column) = (self.raw.as_ptr(), int(column));
        // SAFETY: a column or row that does not exist reads as NULL. A text lasts until the next
        // step or reset, which need the statement exclusively, and the type is not converted.
        unsafe {
            match ffi::sqlite3_column_type(raw, column) {
                ffi::SQLITE_INTEGER => Value::Integer(ffi::sqlite3_column_int64(raw, column)),
                ffi::SQLITE_TEXT => {
                    let text = ffi::sqlite3_column_text(raw, column);
                    let length = ffi::sqlite3_column_bytes(raw, column).unsigned_abs() as usize;
                    if text.is_null() {
                        return Value::Null;
                    }
                    Value::Text(std::slice::from_raw_parts(text, length))
                }
                ffi::SQLITE_NULL => Value::Null,
                ffi::SQLITE_FLOAT => Value::Other("a floating-point number"),
                _ => Value::Other("a blob"),
            }
        }
    }

    /// Binds text without a copy; `n` counts from 0.
    ///
    /// # Safety
    /// The text must last until the statement's next step has ended, and the argument must be bound
    /// again before any later one.
    unsafe fn bind_in_place(&mut self, n: usize, text: &[u8]) -> Result<(), SqliteError> {
        let (start, length) = (text.as_ptr().cast(), int(text.len()));
        // SAFETY: start and length describe the text, which the caller keeps; no destructor.
        let code =
            unsafe { ffi::sqlite3_bind_text(self.raw.as_ptr(), int(n + 1), start, length, None) };
        self.connection.check(code)
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: the statement is prepared and not used again; its connection is still open.
        unsafe { ffi::sqlite3_finalize(self.raw.as_ptr()) };
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packed<'a> {
    Null,
    Integer(i64),
    Text(&'a [u8]),
}

pub struct Inserter {
    statement: Statement,
    parameters: usize,
}

impl Inserter {
    pub fn new(statement: Statement) -> Self {
        Self { parameters: statement.parameters(), statement }
    }

    pub fn insert<'a>(
        &mut self,
        values: &mut impl Iterator<Item = Packed<'a>>,
    ) -> Result<(), SqliteError> {
        for n in 0..self.parameters {
            match values.next() {
                Some(Packed::Null) => self.statement.bind_null(n)?,
                Some(Packed::Integer(value)) => self.statement.bind(n, value)?,
                // SAFETY: the text outlives this function, whose one step comes after all arguments
                // were bound; every later step comes after they were bound again.
                Some(Packed::Text(text)) => unsafe { self.statement.bind_in_place(n, text)? },
                None => {
                    let words = "a row has fewer values than its table has columns";
                    return Err(SqliteError::new(ffi::SQLITE_MISUSE, words));
                }
            }
        }
        let stepped = self.statement.step().map(|_| ());
        self.statement.reset();
        stepped
    }
}
