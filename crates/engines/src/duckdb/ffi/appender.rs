//! Appends rows to a table value by value.

use std::{iter, ptr};

use hopcost_core::{Column, Kind, RowSink};

use super::super::super::hosted::{self, LibraryError, LibraryResult};
use super::api::{Handle, Interface, SUCCESS, ended, text};
use super::connection::Connection;

pub struct Appender {
    api: &'static Interface,
    handle: Handle,
    columns: &'static [Column],
    at: usize,
    padded: String,
    is_wrong: bool,
}

impl Appender {
    pub fn to(
        connection: &Connection,
        columns: &'static [Column],
        table: &str,
    ) -> LibraryResult<Self> {
        let api = connection.api;
        let name = ended(table)?;
        let mut handle = ptr::null_mut();
        // SAFETY: the connection is open, the name is NUL-terminated, `handle` is ours. A null
        // schema means the default one; an appender that failed still has its error.
        let done = unsafe {
            let create = api.duckdb_appender_create;
            create(connection.handle, ptr::null(), name.as_ptr(), &raw mut handle)
        };
        let appender = Self { api, handle, columns, at: 0, padded: String::new(), is_wrong: false };
        if done == SUCCESS { Ok(appender) } else { Err(appender.error()) }
    }

    fn put(&mut self, done: u32) {
        self.is_wrong |= done != SUCCESS;
        self.at += 1;
    }

    fn error(&self) -> LibraryError {
        // SAFETY: the text lives as long as the appender.
        unsafe { text((self.api.duckdb_appender_error)(self.handle)) }.into()
    }
}

impl RowSink for Appender {
    fn integer(&mut self, value: i64) {
        // SAFETY: the appender is open, here and below.
        let done = unsafe {
            match self.columns[self.at].kind {
                Kind::Integer(0..=2) => (self.api.duckdb_append_int16)(self.handle, value as i16),
                Kind::Integer(3..=4) => (self.api.duckdb_append_int32)(self.handle, value as i32),
                _ => (self.api.duckdb_append_int64)(self.handle, value),
            }
        };
        self.put(done);
    }

    fn text(&mut self, value: &str) {
        let mut text = value;
        if let Kind::Padded(width) = self.columns[self.at].kind {
            self.padded.clear();
            self.padded.push_str(value);
            let blanks = usize::from(width).saturating_sub(value.len());
            self.padded.extend(iter::repeat_n(' ', blanks));
            text = &self.padded;
        }
        let (start, length) = (text.as_ptr().cast(), text.len() as u64);
        // SAFETY: as above; the text has `length` bytes.
        let done = unsafe { (self.api.duckdb_append_varchar_length)(self.handle, start, length) };
        self.put(done);
    }

    fn timestamp_us(&mut self, value: i64) {
        // SAFETY: as above.
        let done = unsafe { (self.api.duckdb_append_timestamp)(self.handle, value) };
        self.put(done);
    }

    fn null(&mut self) {
        // SAFETY: as above.
        let done = unsafe { (self.api.duckdb_append_null)(self.handle) };
        self.put(done);
    }
}

impl hosted::Appender for Appender {
    fn end_row(&mut self) -> LibraryResult<()> {
        // SAFETY: as above.
        let done = unsafe { (self.api.duckdb_appender_end_row)(self.handle) };
        self.put(done);
        self.at = 0;
        if self.is_wrong { Err(self.error()) } else { Ok(()) }
    }

    fn end(self: Box<Self>) -> LibraryResult<()> {
        // SAFETY: as above.
        let done = unsafe { (self.api.duckdb_appender_close)(self.handle) };
        if done == SUCCESS { Ok(()) } else { Err(self.error()) }
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        // SAFETY: the library made it, and it is not used again.
        unsafe { (self.api.duckdb_appender_destroy)(&raw mut self.handle) };
    }
}
