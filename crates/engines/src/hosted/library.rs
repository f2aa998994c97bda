//! What hopcost asks of a library that it loads in a process of its own.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use hopcost_core::{Answer, Audit, Capabilities, Code, Reason, RowSink, Table, TargetError};
use thiserror::Error;

/// What a library says, or what keeps us from asking it.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct LibraryError(String);

pub type LibraryResult<T> = Result<T, LibraryError>;

impl<T: Into<String>> From<T> for LibraryError {
    fn from(words: T) -> Self {
        Self(words.into())
    }
}

/// What is known of a library before it is loaded.
pub struct LibraryInfo {
    /// In words: `DuckDB`.
    pub name: &'static str,
    /// In URLs.
    pub scheme: &'static str,
    pub about: &'static str,
    /// Such as `libduckdb.so`.
    pub file: &'static str,
    /// What to say if there is none.
    pub missing: &'static str,
    pub capabilities: Capabilities,
    /// What a session takes beside what its query does.
    pub session_bytes: u64,
    /// What a process takes beside its data.
    pub process_bytes: u64,
    /// How a call brings its rows: `by an appender, in one transaction`.
    pub loads: &'static str,
}

/// Where its file is looked for if nobody says where it is.
const USUAL: [&str; 4] = ["/usr/lib/x86_64-linux-gnu", "/usr/local/lib", "/usr/lib64", "/usr/lib"];

impl LibraryInfo {
    /// By this word hopcost starts itself to serve it.
    pub fn hidden_word(&self) -> String {
        format!("serve-{}", self.scheme)
    }

    /// An error before the first call.
    pub fn failed(&self, error: &dyn Display) -> TargetError {
        TargetError::Failed(format!("starting {}: {error}", self.name))
    }

    /// The file of this name, or the one in a usual place.
    pub fn find(&self, given: Option<&Path>) -> Result<PathBuf, Reason> {
        let missing = |words: String| Code::ProgramMissing.because(words);
        if let Some(path) = given {
            let is_there = path.is_file().then(|| path.to_owned());
            let words = || missing(format!("{}: there is no such file", path.display()));
            return is_there.ok_or_else(words);
        }
        let given = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
        let given = given.split(':').filter(|directory| !directory.is_empty());
        let mut directories = given.chain(USUAL).map(Path::new);
        let found = directories.find_map(|directory| self.newest_in(directory));
        found.ok_or_else(|| missing(self.missing.to_owned()))
    }

    /// The one without a number behind it, or with the highest.
    fn newest_in(&self, directory: &Path) -> Option<PathBuf> {
        let entries = directory.read_dir().ok()?.flatten().map(|entry| entry.path());
        let rank = |path: &PathBuf| {
            let behind = path.file_name()?.to_str()?.strip_prefix(self.file)?;
            let is_it = behind.is_empty() || behind.starts_with('.');
            is_it.then(|| (behind.is_empty(), behind.to_owned()))
        };
        entries.filter(|path| rank(path).is_some()).max_by_key(rank)
    }
}

/// A library that hopcost does not have built in.
pub trait Library: Sync {
    fn info(&self) -> &'static LibraryInfo;

    /// Loads its file, and makes an empty database in memory, each of whose questions is worked on by who asks it.
    fn open(&self, file: &Path) -> LibraryResult<Box<dyn Database>>;
}

/// A database, in the process that has the library.
pub trait Database: Send + Sync {
    /// The library's version.
    fn version(&self) -> &str;

    fn connect(&self) -> LibraryResult<Box<dyn Connection>>;
}

/// A connection, in the thread that serves a session.
pub trait Connection {
    /// Makes an empty table, in the place of one of its name.
    fn create(&self, table: &Table, name: &str) -> LibraryResult<()>;

    /// Begins to append rows to a table, which are there once the appender has ended.
    fn append(&self, table: &Table, name: &str) -> LibraryResult<Box<dyn Appender + '_>>;

    /// Asks in words: the first number of the answer, if there is one.
    fn number(&self, sql: &str) -> LibraryResult<Option<i64>>;

    fn prepare(&self, sql: &str) -> LibraryResult<Box<dyn Prepared + '_>>;

    /// How a statement is carried out with these arguments, line by line.
    fn explain(&self, sql: &str, arguments: &[i64; 4]) -> LibraryResult<Vec<String>>;

    /// Has statements written down from here on, each a text and the end of a line in this file; and measured, if that
    /// is to be traced.
    fn audit(&self, audit: Audit, file: &Path) -> LibraryResult<()>;

    /// What was measured of the last statement, in a line.
    fn details(&self) -> Option<String>;

    /// Has so many threads, this one among them, work on a query: the others begin here, and end when there are
    /// to be fewer.
    fn set_threads(&self, count: u32) -> LibraryResult<()>;
}

/// Takes rows, value by value.
pub trait Appender: RowSink {
    fn end_row(&mut self) -> LibraryResult<()>;

    fn end(self: Box<Self>) -> LibraryResult<()>;
}

pub trait Prepared {
    /// How many arguments it takes.
    fn arguments(&self) -> usize;

    fn execute(&mut self, arguments: &[i64]) -> LibraryResult<Answer>;
}
