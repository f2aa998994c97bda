//! libduckdb, found and loaded when it is needed, and the part of its C interface that hopcost uses.
//!
//! Everything unsafe about DuckDB is here: the functions below take and give what is safe to have.
#![allow(unsafe_code)] // the library speaks C

mod error;
mod profile;

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Arc;

use libloading::Library;

use super::super::interface::interface;
use super::super::server::with_literals;

pub use error::DuckDbError;

/// Its number for a success.
const SUCCESS: u32 = 0;
/// The oldest that has all that is asked of it.
const OLDEST: [u32; 2] = [1, 1];

/// A handle of the library's.
type Handle = *mut c_void;

/// The rows of an answer, by value in some of its functions.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawRows {
    columns: u64,
    rows: u64,
    changed: u64,
    deprecated: Handle,
    error: *mut c_char,
    data: Handle,
}

impl RawRows {
    const EMPTY: Self = Self {
        columns: 0,
        rows: 0,
        changed: 0,
        deprecated: ptr::null_mut(),
        error: ptr::null_mut(),
        data: ptr::null_mut(),
    };
}

interface! {
    duckdb_library_version() -> *const c_char;
    duckdb_create_config(*mut Handle) -> u32;
    duckdb_set_config(Handle, *const c_char, *const c_char) -> u32;
    duckdb_destroy_config(*mut Handle);
    duckdb_open_ext(*const c_char, *mut Handle, Handle, *mut *mut c_char) -> u32;
    duckdb_close(*mut Handle);
    duckdb_free(*mut c_void);
    duckdb_connect(Handle, *mut Handle) -> u32;
    duckdb_disconnect(*mut Handle);
    duckdb_query(Handle, *const c_char, *mut RawRows) -> u32;
    duckdb_destroy_result(*mut RawRows);
    duckdb_result_error(*mut RawRows) -> *const c_char;
    duckdb_rows_changed(*mut RawRows) -> u64;
    duckdb_column_count(*mut RawRows) -> u64;
    duckdb_column_type(*mut RawRows, u64) -> u32;
    duckdb_result_return_type(RawRows) -> u32;
    duckdb_fetch_chunk(RawRows) -> Handle;
    duckdb_destroy_data_chunk(*mut Handle);
    duckdb_data_chunk_get_size(Handle) -> u64;
    duckdb_data_chunk_get_vector(Handle, u64) -> Handle;
    duckdb_vector_get_data(Handle) -> *mut c_void;
    duckdb_vector_get_validity(Handle) -> *mut u64;
    duckdb_prepare(Handle, *const c_char, *mut Handle) -> u32;
    duckdb_prepare_error(Handle) -> *const c_char;
    duckdb_destroy_prepare(*mut Handle);
    duckdb_nparams(Handle) -> u64;
    duckdb_param_type(Handle, u64) -> u32;
    duckdb_bind_int64(Handle, u64, i64) -> u32;
    duckdb_bind_timestamp(Handle, u64, i64) -> u32;
    duckdb_execute_prepared(Handle, *mut RawRows) -> u32;
    duckdb_appender_create(Handle, *const c_char, *const c_char, *mut Handle) -> u32;
    duckdb_appender_error(Handle) -> *const c_char;
    duckdb_appender_end_row(Handle) -> u32;
    duckdb_appender_close(Handle) -> u32;
    duckdb_appender_destroy(*mut Handle) -> u32;
    duckdb_append_int16(Handle, i16) -> u32;
    duckdb_append_int32(Handle, i32) -> u32;
    duckdb_append_int64(Handle, i64) -> u32;
    duckdb_append_timestamp(Handle, i64) -> u32;
    duckdb_append_varchar_length(Handle, *const c_char, u64) -> u32;
    duckdb_append_null(Handle) -> u32;
    duckdb_get_profiling_info(Handle) -> Handle;
    duckdb_profiling_info_get_metrics(Handle) -> Handle;
    duckdb_profiling_info_get_child_count(Handle) -> u64;
    duckdb_profiling_info_get_child(Handle, u64) -> Handle;
    duckdb_get_map_size(Handle) -> u64;
    duckdb_get_map_key(Handle, u64) -> Handle;
    duckdb_get_map_value(Handle, u64) -> Handle;
    duckdb_get_varchar(Handle) -> *mut c_char;
    duckdb_destroy_value(*mut Handle);
}

/// The library, loaded.
#[derive(Clone)]
pub struct DuckDb {
    interface: Arc<Interface>,
    /// Its version, such as `v1.4.1`.
    pub version: String,
}

/// Where it is looked for, where nobody says where it is.
const USUAL: [&str; 4] = ["/usr/lib/x86_64-linux-gnu", "/usr/local/lib", "/usr/lib64", "/usr/lib"];

impl DuckDb {
    /// The one of this name, or the one in a usual place.
    pub fn load(given: Option<&Path>) -> Result<Self, DuckDbError> {
        let path = match given {
            Some(path) if path.is_file() => path.to_owned(),
            Some(path) => return Err(format!("{}: there is no such file", path.display()).into()),
            None => usual().ok_or(MISSING)?,
        };
        let wrong = |why: &dyn std::fmt::Display| {
            DuckDbError::from(format!(
                "{}: it is not a libduckdb that hopcost can use: {why}",
                path.display()
            ))
        };
        // SAFETY: a library may do anything when it is loaded; this one the user has chosen, or the system's
        // administrator has installed.
        let library = unsafe { Library::new(&path) }.map_err(|error| wrong(&error))?;
        let interface = Interface::of(library).map_err(|error| {
            wrong(&format!("{error}; {}.{} and later have all of it", OLDEST[0], OLDEST[1]))
        })?;
        // SAFETY: it takes nothing, and gives a text that lives as long as the library.
        let version = unsafe { text((interface.duckdb_library_version)()) };
        Ok(Self { interface: Arc::new(interface), version })
    }

    /// An empty database in memory.
    pub fn open(&self, settings: &[(&str, String)]) -> Result<Database, DuckDbError> {
        let api = &*self.interface;
        let (mut config, mut database, mut error) =
            (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        // SAFETY: the pointers are to places of ours; names and values end with a zero and outlive the call.
        unsafe {
            (api.duckdb_create_config)(&raw mut config);
            for (name, value) in settings {
                let (c_name, c_value) = (ended(name)?, ended(value)?);
                if (api.duckdb_set_config)(config, c_name.as_ptr(), c_value.as_ptr()) != SUCCESS {
                    (api.duckdb_destroy_config)(&raw mut config);
                    let version = &self.version;
                    return Err(
                        format!("DuckDB {version} takes no setting {name} = {value}").into()
                    );
                }
            }
            let opened = (api.duckdb_open_ext)(
                c":memory:".as_ptr(),
                &raw mut database,
                config,
                &raw mut error,
            );
            (api.duckdb_destroy_config)(&raw mut config);
            if opened != SUCCESS {
                let words = text(error);
                (api.duckdb_free)(error.cast());
                return Err(words.into());
            }
        }
        Ok(Database { api: Arc::clone(&self.interface), handle: database })
    }
}

const MISSING: &str = "\
    libduckdb.so was not found: install Debian's libduckdb or DuckDB's own, or name its file, as \
    --duckdb-lib FILE";

fn usual() -> Option<PathBuf> {
    let given = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    let given = given.split(':').filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let mut directories = given.chain(USUAL.iter().map(PathBuf::from));
    directories.find_map(|dir| newest_in(&dir))
}

/// `libduckdb.so`, or the one with the highest number behind it.
fn newest_in(directory: &Path) -> Option<PathBuf> {
    let plain = directory.join("libduckdb.so");
    if plain.exists() {
        return Some(plain);
    }
    let entries = directory.read_dir().ok()?.flatten().map(|entry| entry.path());
    let is_it = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libduckdb.so."))
    };
    entries.filter(is_it).max()
}

/// # Safety
/// Nothing, or a text that ends with a zero.
unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return "it gives no reason".to_owned();
    }
    // SAFETY: by this function's own contract.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

fn ended(text: &str) -> Result<CString, DuckDbError> {
    CString::new(text).map_err(|_| "a text with a zero in it".into())
}

/// A database.
pub struct Database {
    api: Arc<Interface>,
    handle: Handle,
}

// SAFETY: DuckDB's databases may be used from any thread.
unsafe impl Send for Database {}
// SAFETY: and from several at once.
unsafe impl Sync for Database {}

impl Database {
    /// A connection to it.
    pub fn connect(&self) -> Result<Connection, DuckDbError> {
        let mut handle = ptr::null_mut();
        // SAFETY: the database is open, and the place is ours.
        let connected = unsafe { (self.api.duckdb_connect)(self.handle, &raw mut handle) };
        if connected != SUCCESS {
            return Err("DuckDB lets nobody in".into());
        }
        Ok(Connection { api: Arc::clone(&self.api), handle })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // SAFETY: it is open; connections keep what they need of it themselves.
        unsafe { (self.api.duckdb_close)(&raw mut self.handle) };
    }
}

/// A connection. It belongs to one thread at a time.
pub struct Connection {
    api: Arc<Interface>,
    handle: Handle,
}

// SAFETY: DuckDB's connections may go from thread to thread.
unsafe impl Send for Connection {}

impl Connection {
    /// Asks in words: the rows.
    pub fn query(&self, sql: &str) -> Result<Rows, DuckDbError> {
        let sql = ended(sql)?;
        let mut raw = RawRows::EMPTY;
        // SAFETY: the connection is open, the text ends with a zero, the place is ours.
        let done = unsafe { (self.api.duckdb_query)(self.handle, sql.as_ptr(), &raw mut raw) };
        Rows::of(&self.api, raw, done)
    }

    /// Has a statement compiled.
    pub fn prepare(&self, sql: &str) -> Result<Prepared, DuckDbError> {
        let sql = ended(sql)?;
        let mut handle = ptr::null_mut();
        // SAFETY: as above; a statement that failed still has its error.
        unsafe {
            let done = (self.api.duckdb_prepare)(self.handle, sql.as_ptr(), &raw mut handle);
            if done != SUCCESS {
                let words = text((self.api.duckdb_prepare_error)(handle));
                (self.api.duckdb_destroy_prepare)(&raw mut handle);
                return Err(words.into());
            }
            let arguments = (self.api.duckdb_nparams)(handle);
            let kinds = (1..=arguments).map(|n| (self.api.duckdb_param_type)(handle, n)).collect();
            Ok(Prepared { api: Arc::clone(&self.api), handle, kinds })
        }
    }

    /// Begins to append rows to a table.
    pub fn append(&self, table: &str) -> Result<Appender, DuckDbError> {
        let name = ended(table)?;
        let mut handle = ptr::null_mut();
        // SAFETY: as above; no schema stands for the usual one.
        unsafe {
            let create = self.api.duckdb_appender_create;
            if create(self.handle, ptr::null(), name.as_ptr(), &raw mut handle) != SUCCESS {
                let words = text((self.api.duckdb_appender_error)(handle));
                (self.api.duckdb_appender_destroy)(&raw mut handle);
                return Err(words.into());
            }
        }
        Ok(Appender { api: Arc::clone(&self.api), handle, is_wrong: false })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: it is open.
        unsafe { (self.api.duckdb_disconnect)(&raw mut self.handle) };
    }
}

/// A statement that is compiled.
pub struct Prepared {
    api: Arc<Interface>,
    handle: Handle,
    /// What its arguments are.
    kinds: Vec<u32>,
}

impl Prepared {
    /// How many arguments it takes.
    pub fn arguments(&self) -> usize {
        self.kinds.len()
    }

    /// The same in words, with these arguments in it.
    pub fn example(&self, sql: &str, arguments: &[i64]) -> String {
        let literal = |(kind, value): (&u32, &i64)| {
            if *kind == kind::TIMESTAMP {
                format!("make_timestamp({value})")
            } else {
                value.to_string()
            }
        };
        with_literals(sql, self.kinds.iter().zip(arguments).map(literal))
    }

    /// Carries it out.
    pub fn execute(&mut self, arguments: &[i64]) -> Result<Rows, DuckDbError> {
        let mut raw = RawRows::EMPTY;
        // SAFETY: the statement is compiled, its arguments are counted from 1, the place is ours.
        let done = unsafe {
            for ((n, kind), value) in (1..).zip(&self.kinds).zip(arguments) {
                let bind = if *kind == kind::TIMESTAMP {
                    self.api.duckdb_bind_timestamp
                } else {
                    self.api.duckdb_bind_int64
                };
                if bind(self.handle, n, *value) != SUCCESS {
                    return Err(text((self.api.duckdb_prepare_error)(self.handle)).into());
                }
            }
            (self.api.duckdb_execute_prepared)(self.handle, &raw mut raw)
        };
        Rows::of(&self.api, raw, done)
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // SAFETY: it is compiled.
        unsafe { (self.api.duckdb_destroy_prepare)(&raw mut self.handle) };
    }
}

/// What its types are called in C.
mod kind {
    pub const BOOLEAN: u32 = 1;
    pub const TINYINT: u32 = 2;
    pub const SMALLINT: u32 = 3;
    pub const INTEGER: u32 = 4;
    pub const BIGINT: u32 = 5;
    pub const TIMESTAMP: u32 = 12;
    pub const HUGEINT: u32 = 16;
    pub const VARCHAR: u32 = 17;
}

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    Null,
    /// A whole number, or microseconds since 1970.
    Integer(i64),
    Text(&'a str),
}

/// The rows of an answer.
pub struct Rows {
    api: Arc<Interface>,
    raw: RawRows,
    kinds: Vec<u32>,
}

impl Rows {
    fn of(api: &Arc<Interface>, raw: RawRows, done: u32) -> Result<Self, DuckDbError> {
        let mut rows = Self { api: Arc::clone(api), raw, kinds: Vec::new() };
        // SAFETY: the answer is the library's own, and is given back when this is dropped.
        unsafe {
            if done != SUCCESS {
                return Err(text((api.duckdb_result_error)(&raw mut rows.raw)).into());
            }
            let columns = (api.duckdb_column_count)(&raw mut rows.raw);
            rows.kinds =
                (0..columns).map(|n| (api.duckdb_column_type)(&raw mut rows.raw, n)).collect();
        }
        Ok(rows)
    }

    /// How many rows were changed, where it has none of its own.
    pub fn changed(&mut self) -> Option<u64> {
        const CHANGED: u32 = 1;
        // SAFETY: the answer is there.
        unsafe {
            let is_count = (self.api.duckdb_result_return_type)(self.raw) == CHANGED;
            is_count.then(|| (self.api.duckdb_rows_changed)(&raw mut self.raw))
        }
    }

    /// Each row's values.
    pub fn each(
        &mut self,
        mut take: impl FnMut(&[Value<'_>]) -> Result<(), DuckDbError>,
    ) -> Result<(), DuckDbError> {
        let mut values = Vec::with_capacity(self.kinds.len());
        loop {
            // SAFETY: the answer is there, and what it gives is given back below.
            let mut chunk = unsafe { (self.api.duckdb_fetch_chunk)(self.raw) };
            if chunk.is_null() {
                return Ok(());
            }
            let taken = self.rows_of(chunk, &mut values, &mut take);
            // SAFETY: it is not used any more.
            unsafe { (self.api.duckdb_destroy_data_chunk)(&raw mut chunk) };
            taken?;
        }
    }

    fn rows_of(
        &self,
        chunk: Handle,
        values: &mut Vec<Value<'_>>,
        take: &mut impl FnMut(&[Value<'_>]) -> Result<(), DuckDbError>,
    ) -> Result<(), DuckDbError> {
        // SAFETY: the chunk is there until its rows are taken, and the number of its vectors is that of the
        // columns.
        let (rows, vectors): (u64, Vec<(*const c_void, *const u64)>) = unsafe {
            let vector = |n: usize| {
                let vector = (self.api.duckdb_data_chunk_get_vector)(chunk, n as u64);
                let data = (self.api.duckdb_vector_get_data)(vector).cast_const();
                (data, (self.api.duckdb_vector_get_validity)(vector).cast_const())
            };
            let vectors = (0..self.kinds.len()).map(vector).collect();
            ((self.api.duckdb_data_chunk_get_size)(chunk), vectors)
        };
        for row in 0..rows as usize {
            values.clear();
            for (kind, (data, validity)) in self.kinds.iter().zip(&vectors) {
                // SAFETY: the vector has as many values of this type as the chunk has rows.
                values.push(unsafe { value(*kind, *data, *validity, row) }?);
            }
            take(values)?;
        }
        Ok(())
    }
}

/// # Safety
/// A vector's data and validity, of this type and with more than so many rows; the text lives as long as it does.
unsafe fn value<'a>(
    kind: u32,
    data: *const c_void,
    validity: *const u64,
    row: usize,
) -> Result<Value<'a>, DuckDbError> {
    // SAFETY: by this function's own contract, here and below.
    let is_there = validity.is_null() || unsafe { *validity.add(row / 64) } >> (row % 64) & 1 == 1;
    if !is_there {
        return Ok(Value::Null);
    }
    // SAFETY: the type says what lies there.
    Ok(unsafe {
        match kind {
            kind::BOOLEAN => Value::Integer((*data.cast::<u8>().add(row)).into()),
            kind::TINYINT => Value::Integer((*data.cast::<i8>().add(row)).into()),
            kind::SMALLINT => Value::Integer((*data.cast::<i16>().add(row)).into()),
            kind::INTEGER => Value::Integer((*data.cast::<i32>().add(row)).into()),
            kind::BIGINT | kind::TIMESTAMP => Value::Integer(*data.cast::<i64>().add(row)),
            kind::HUGEINT => {
                let [low, high] = *data.cast::<[u64; 2]>().add(row);
                let whole = (i128::from(high.cast_signed()) << 64) | i128::from(low);
                let small = i64::try_from(whole).map_err(|_| "a number beyond 64 bits")?;
                Value::Integer(small)
            }
            kind::VARCHAR => {
                let place = data.cast::<u8>().add(16 * row);
                let length = place.cast::<u32>().read_unaligned() as usize;
                // What is short lies in place, what is long elsewhere.
                let start = if length <= 12 {
                    place.add(4)
                } else {
                    place.add(8).cast::<*const u8>().read_unaligned()
                };
                let bytes = std::slice::from_raw_parts(start, length);
                Value::Text(std::str::from_utf8(bytes).map_err(|_| "a text is no UTF-8")?)
            }
            other => return Err(format!("the type {other} is not known here").into()),
        }
    })
}

impl Drop for Rows {
    fn drop(&mut self) {
        // SAFETY: the answer is the library's own, and nothing refers to it any more.
        unsafe { (self.api.duckdb_destroy_result)(&raw mut self.raw) };
    }
}

/// Appends rows to a table, value by value.
pub struct Appender {
    api: Arc<Interface>,
    handle: Handle,
    is_wrong: bool,
}

impl Appender {
    /// A whole number of so many bytes.
    pub fn integer(&mut self, value: i64, bytes: u8) {
        // SAFETY: the appender is open, here and below.
        let done = unsafe {
            match bytes {
                0..=2 => (self.api.duckdb_append_int16)(self.handle, value as i16),
                3..=4 => (self.api.duckdb_append_int32)(self.handle, value as i32),
                _ => (self.api.duckdb_append_int64)(self.handle, value),
            }
        };
        self.is_wrong |= done != SUCCESS;
    }

    /// Microseconds since 1970.
    pub fn timestamp(&mut self, us: i64) {
        // SAFETY: as above.
        let done = unsafe { (self.api.duckdb_append_timestamp)(self.handle, us) };
        self.is_wrong |= done != SUCCESS;
    }

    /// Characters.
    pub fn text(&mut self, text: &str) {
        let (start, length) = (text.as_ptr().cast(), text.len() as u64);
        // SAFETY: as above; the text has so many bytes.
        let done = unsafe { (self.api.duckdb_append_varchar_length)(self.handle, start, length) };
        self.is_wrong |= done != SUCCESS;
    }

    /// Nothing.
    pub fn null(&mut self) {
        // SAFETY: as above.
        let done = unsafe { (self.api.duckdb_append_null)(self.handle) };
        self.is_wrong |= done != SUCCESS;
    }

    /// That was a row.
    pub fn end_row(&mut self) -> Result<(), DuckDbError> {
        // SAFETY: as above.
        let done = unsafe { (self.api.duckdb_appender_end_row)(self.handle) };
        self.is_wrong |= done != SUCCESS;
        if self.is_wrong { Err(self.error()) } else { Ok(()) }
    }

    /// That was all.
    pub fn end(self) -> Result<(), DuckDbError> {
        // SAFETY: as above.
        let done = unsafe { (self.api.duckdb_appender_close)(self.handle) };
        if done == SUCCESS { Ok(()) } else { Err(self.error()) }
    }

    fn error(&self) -> DuckDbError {
        // SAFETY: as above; the text lives as long as the appender.
        unsafe { text((self.api.duckdb_appender_error)(self.handle)) }.into()
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        // SAFETY: it is open, and not used any more.
        unsafe { (self.api.duckdb_appender_destroy)(&raw mut self.handle) };
    }
}
