//! A database in memory, connections to it, and prepared statements.

use std::path::Path;
use std::ptr;

use hopcost_core::Answer;

use super::super::super::hosted::{self, LibraryResult};
use super::super::super::server::with_literals;
use super::api::{Handle, Interface, NO_ROWS, SUCCESS, ended, kind, text};
use super::rows::Rows;

pub struct Database {
    api: &'static Interface,
    handle: Handle,
    pub version: String,
}

// SAFETY: a DuckDB database may be used from any thread.
unsafe impl Send for Database {}
// SAFETY: and by several threads at once.
unsafe impl Sync for Database {}

impl Database {
    /// Opens an empty database with `threads = 1`, so that a query runs in the thread that asks.
    pub fn open(library: &Path) -> LibraryResult<Self> {
        let api = Interface::load(library)?;
        let (mut config, mut handle, mut error) =
            (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        // SAFETY: pointers are to our variables; texts are NUL-terminated; the version is static.
        unsafe {
            let version = text((api.duckdb_library_version)());
            (api.duckdb_create_config)(&raw mut config);
            let set = (api.duckdb_set_config)(config, c"threads".as_ptr(), c"1".as_ptr());
            let open = api.duckdb_open_ext;
            let done = open(c":memory:".as_ptr(), &raw mut handle, config, &raw mut error);
            (api.duckdb_destroy_config)(&raw mut config);
            if done != SUCCESS {
                let words = text(error);
                (api.duckdb_free)(error.cast());
                return Err(words.into());
            }
            if set != SUCCESS {
                return Err(format!("DuckDB {version} takes no setting threads = 1").into());
            }
            Ok(Self { api, handle, version })
        }
    }

    pub fn connect(&self) -> LibraryResult<Connection> {
        let mut handle = ptr::null_mut();
        // SAFETY: the database is open, and `handle` is ours.
        if unsafe { (self.api.duckdb_connect)(self.handle, &raw mut handle) } != SUCCESS {
            return Err("DuckDB refused a connection".into());
        }
        Ok(Connection { api: self.api, handle })
    }
}

pub struct Connection {
    pub(super) api: &'static Interface,
    pub(super) handle: Handle,
}

impl Connection {
    pub fn query(&self, sql: &str) -> LibraryResult<Rows> {
        let sql = ended(sql)?;
        let mut raw = NO_ROWS;
        // SAFETY: the connection is open, the text is NUL-terminated, `raw` is ours.
        let done = unsafe { (self.api.duckdb_query)(self.handle, sql.as_ptr(), &raw mut raw) };
        Rows::of(self.api, raw, done)
    }

    pub fn compile(&self, sql: &str) -> LibraryResult<Prepared> {
        let api = self.api;
        let sql = ended(sql)?;
        let mut handle = ptr::null_mut();
        // SAFETY: as above; a statement that failed still has its error.
        unsafe {
            let done = (api.duckdb_prepare)(self.handle, sql.as_ptr(), &raw mut handle);
            let mut prepared = Prepared { api, handle, kinds: Vec::new() };
            if done != SUCCESS {
                return Err(text((api.duckdb_prepare_error)(handle)).into());
            }
            let arguments = 1..=(api.duckdb_nparams)(handle);
            prepared.kinds = arguments.map(|n| (api.duckdb_param_type)(handle, n)).collect();
            Ok(prepared)
        }
    }

    /// The last query's profile in one line; `None` if it was not profiled.
    pub fn profile(&self) -> Option<String> {
        // SAFETY: the connection is open; the profile lives until the next query.
        let root = unsafe { (self.api.duckdb_get_profiling_info)(self.handle) };
        if root.is_null() {
            return None;
        }
        let mut line = String::new();
        // SAFETY: it is the root of the profile.
        unsafe { tell(self.api, root, &mut line) };
        Some(line)
    }
}

/// # Safety
/// `part` is a node of a query profile.
unsafe fn tell(api: &Interface, part: Handle, line: &mut String) {
    // SAFETY: by this function's contract; each value taken is freed.
    unsafe {
        let mut metrics = (api.duckdb_profiling_info_get_metrics)(part);
        let said = (api.duckdb_get_varchar)(metrics);
        line.push_str(&text(said).replace('\n', " "));
        (api.duckdb_free)(said.cast());
        (api.duckdb_destroy_value)(&raw mut metrics);
        for n in 0..(api.duckdb_profiling_info_get_child_count)(part) {
            tell(api, (api.duckdb_profiling_info_get_child)(part, n), line);
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: the connection is open.
        unsafe { (self.api.duckdb_disconnect)(&raw mut self.handle) };
    }
}

pub struct Prepared {
    api: &'static Interface,
    handle: Handle,
    kinds: Vec<u32>,
}

impl Prepared {
    pub fn with_literals(&self, sql: &str, arguments: &[i64]) -> String {
        let literal = |(kind, value): (&u32, &i64)| match *kind {
            kind::TIMESTAMP => format!("make_timestamp({value})"),
            _ => value.to_string(),
        };
        with_literals(sql, self.kinds.iter().zip(arguments).map(literal))
    }
}

impl hosted::Prepared for Prepared {
    fn arguments(&self) -> usize {
        self.kinds.len()
    }

    fn execute(&mut self, arguments: &[i64]) -> LibraryResult<Answer> {
        let mut raw = NO_ROWS;
        // SAFETY: the statement is prepared, arguments count from 1, `raw` is ours.
        let done = unsafe {
            for ((n, kind), value) in (1..).zip(&self.kinds).zip(arguments) {
                let bind = match *kind {
                    kind::TIMESTAMP => self.api.duckdb_bind_timestamp,
                    _ => self.api.duckdb_bind_int64,
                };
                if bind(self.handle, n, *value) != SUCCESS {
                    return Err(text((self.api.duckdb_prepare_error)(self.handle)).into());
                }
            }
            (self.api.duckdb_execute_prepared)(self.handle, &raw mut raw)
        };
        Rows::of(self.api, raw, done)?.answer()
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // SAFETY: the library made it, and it is not used again.
        unsafe { (self.api.duckdb_destroy_prepare)(&raw mut self.handle) };
    }
}
