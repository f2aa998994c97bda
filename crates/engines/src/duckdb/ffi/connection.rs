//! The library with a database in memory, connections to it, and statements that they have compiled.

use std::path::Path;
use std::ptr;

use hopcost_core::Answer;

use super::super::super::hosted::{self, LibraryResult};
use super::super::super::server::with_literals;
use super::api::{Handle, Interface, NO_ROWS, SUCCESS, ended, kind, text};
use super::rows::Rows;

/// It is there as long as the process.
pub struct Database {
    api: &'static Interface,
    handle: Handle,
    /// The library's, such as `v1.4.1`.
    pub version: String,
}

// SAFETY: DuckDB's databases may be used from any thread.
unsafe impl Send for Database {}
// SAFETY: and from several at once.
unsafe impl Sync for Database {}

impl Database {
    /// An empty one, in which who asks works: a query's place is its session's.
    pub fn open(library: &Path) -> LibraryResult<Self> {
        let api = Interface::load(library)?;
        let (mut config, mut handle, mut error) =
            (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        // SAFETY: the pointers are to places of ours; the texts end with a zero; the version lives as long as the library.
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
        // SAFETY: the database is open, and the place is ours.
        if unsafe { (self.api.duckdb_connect)(self.handle, &raw mut handle) } != SUCCESS {
            return Err("DuckDB lets nobody in".into());
        }
        Ok(Connection { api: self.api, handle })
    }
}

/// A connection. It belongs to the thread that made it.
pub struct Connection {
    pub(super) api: &'static Interface,
    pub(super) handle: Handle,
}

impl Connection {
    /// Asks in words: the rows.
    pub fn query(&self, sql: &str) -> LibraryResult<Rows> {
        let sql = ended(sql)?;
        let mut raw = NO_ROWS;
        // SAFETY: the connection is open, the text ends with a zero, the place is ours.
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

    /// What was measured of the last query in a line, a part of the plan after the other; none if nothing was.
    pub fn profile(&self) -> Option<String> {
        // SAFETY: the connection is open; what it gives is its own until the next query.
        let root = unsafe { (self.api.duckdb_get_profiling_info)(self.handle) };
        if root.is_null() {
            return None;
        }
        let mut line = String::new();
        // SAFETY: it is the part that stands for the whole.
        unsafe { tell(self.api, root, &mut line) };
        Some(line)
    }
}

/// # Safety
/// A part of a plan that was measured.
unsafe fn tell(api: &Interface, part: Handle, line: &mut String) {
    // SAFETY: by this function's own contract; what is given away is given back.
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
        // SAFETY: it is open.
        unsafe { (self.api.duckdb_disconnect)(&raw mut self.handle) };
    }
}

/// A statement that is compiled.
pub struct Prepared {
    api: &'static Interface,
    handle: Handle,
    /// What its arguments are.
    kinds: Vec<u32>,
}

impl Prepared {
    /// The same in words, with these arguments in it.
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
        // SAFETY: the statement is compiled, its arguments are counted from 1, the place is ours.
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
        // SAFETY: it is the library's own, and not used any more.
        unsafe { (self.api.duckdb_destroy_prepare)(&raw mut self.handle) };
    }
}
