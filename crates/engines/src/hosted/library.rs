//! What hopcost needs of a library that it hosts in a process of its own.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use hopcost_core::{Answer, Audit, Capabilities, Code, Reason, RowSink, Table, TargetError};
use thiserror::Error;

#[derive(Debug, Error)]
#[error("{0}")]
pub struct LibraryError(String);

pub type LibraryResult<T> = Result<T, LibraryError>;

impl<T: Into<String>> From<T> for LibraryError {
    fn from(words: T) -> Self {
        Self(words.into())
    }
}

pub struct LibraryInfo {
    pub name: &'static str,
    pub scheme: &'static str,
    pub about: &'static str,
    pub file: &'static str,
    pub missing: &'static str,
    pub capabilities: Capabilities,
    /// Memory of a session, without what its queries take.
    pub session_bytes: u64,
    /// Memory of a process, without its data.
    pub process_bytes: u64,
    /// How a call appends its rows: `by an appender, in one transaction`.
    pub loads: &'static str,
}

/// Where the file is searched after `LD_LIBRARY_PATH`.
const USUAL: [&str; 4] = ["/usr/lib/x86_64-linux-gnu", "/usr/local/lib", "/usr/lib64", "/usr/lib"];

impl LibraryInfo {
    /// The hidden argument with which hopcost starts itself to host the library.
    pub fn hidden_word(&self) -> String {
        format!("serve-{}", self.scheme)
    }

    pub fn failed(&self, error: &dyn Display) -> TargetError {
        TargetError::Failed(format!("starting {}: {error}", self.name))
    }

    /// The given file, or the newest one in `LD_LIBRARY_PATH` or a usual directory.
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

    /// Prefers the name without a version suffix, then the highest suffix.
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

pub trait Library: Sync {
    fn info(&self) -> &'static LibraryInfo;

    /// Opens an empty in-memory database that runs each query in the calling thread.
    fn open(&self, file: &Path) -> LibraryResult<Box<dyn Database>>;
}

pub trait Database: Send + Sync {
    fn version(&self) -> &str;

    fn connect(&self) -> LibraryResult<Box<dyn Connection>>;
}

pub trait Connection {
    /// Creates an empty table, replacing one of the same name.
    fn create(&self, table: &Table, name: &str) -> LibraryResult<()>;

    /// Appends rows to a table; they are visible once the appender ends.
    fn append(&self, table: &Table, name: &str) -> LibraryResult<Box<dyn Appender + '_>>;

    /// The first number of the answer.
    fn number(&self, sql: &str) -> LibraryResult<Option<i64>>;

    fn prepare(&self, sql: &str) -> LibraryResult<Box<dyn Prepared + '_>>;

    fn explain(&self, sql: &str, arguments: &[i64; 4]) -> LibraryResult<Vec<String>>;

    /// Logs statements to this file from now on, each as its text and a newline; profiles them too
    /// if they are to be traced.
    fn audit(&self, audit: Audit, file: &Path) -> LibraryResult<()>;

    fn details(&self) -> Option<String>;

    /// Sets how many threads, including this one, work on a query: the others start or end here.
    fn set_threads(&self, count: u32) -> LibraryResult<()>;
}

pub trait Appender: RowSink {
    fn end_row(&mut self) -> LibraryResult<()>;

    fn end(self: Box<Self>) -> LibraryResult<()>;
}

pub trait Prepared {
    fn arguments(&self) -> usize;

    fn execute(&mut self, arguments: &[i64]) -> LibraryResult<Answer>;
}
