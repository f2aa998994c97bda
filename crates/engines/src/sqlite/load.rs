//! Generated data as an SQLite file, built once and kept.
//!
//! Method: the file is built under a temporary name (8 KiB pages, no journal, no sync, one
//! transaction, rows in key order, indexes last), sealed, and then renamed. So a killed run leaves
//! nothing that looks complete.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hopcost_core::{Dataset, Setup, TargetError};
use rusqlite::ffi::{SQLITE_CANTOPEN, SQLITE_FULL, SQLITE_READONLY};

use super::super::{Heard, Wanted, say, wanted, with_commas};
use super::cache::{self, Cached, Unreadable};
use super::ffi::{Connection, Inserter, SqliteError};
use super::image::PAGE_BYTES;
use super::rows::{self, Batch};
use super::schema::Content;

/// Rows of one insert: the cursor stays at the table's end between them.
const ROWS_AT_ONCE: usize = 128;
const ROWS_BETWEEN_WORDS: u64 = 64 * rows::ROWS;

pub fn ensure(setup: &Setup<'_>, heard: &mut Heard<'_>) -> Result<Cached, TargetError> {
    let wanted = wanted(setup);
    let content = Content::of(setup, &wanted);
    let path = setup.cache_dir.join(&content.file_name);
    match Cached::find(&path, content.digest) {
        Ok(Some(cached)) => Ok(cached),
        Ok(None) => build(setup, &wanted, &content, heard),
        Err(Unreadable::Damaged(how)) => anew(setup, &how, heard),
        Err(Unreadable::System(error)) => Err(refused("reading", &path, &error)),
    }
}

pub fn anew(setup: &Setup<'_>, how: &str, heard: &mut Heard<'_>) -> Result<Cached, TargetError> {
    let wanted = wanted(setup);
    let content = Content::of(setup, &wanted);
    let name = &content.file_name;
    say(heard, &format!("the cached {name} was damaged ({how}): building it anew"), 0.0)?;
    build(setup, &wanted, &content, heard)
}

/// A temporary file, removed when dropped.
struct Scaffold {
    path: PathBuf,
}

impl Drop for Scaffold {
    fn drop(&mut self) {
        // It is renamed by now, or a second error would not help.
        let _ = fs::remove_file(&self.path);
    }
}

fn build(
    setup: &Setup<'_>,
    wanted: &[Wanted],
    content: &Content,
    heard: &mut Heard<'_>,
) -> Result<Cached, TargetError> {
    let path = setup.cache_dir.join(&content.file_name);
    fs::create_dir_all(&setup.cache_dir)
        .map_err(|error| refused("making the directory", &setup.cache_dir, &error))?;
    let scaffold = Scaffold { path: path.with_extension(format!("{}.tmp", std::process::id())) };
    // A killed run with the same process id may have left one.
    let _ = fs::remove_file(&scaffold.path);
    let failed = |error: SqliteError| failure(&error, &path, content);
    let connection = Connection::create(&scaffold.path).map_err(failed)?;
    connection.run(&settings()).map_err(failed)?;
    connection.run("BEGIN").map_err(failed)?;
    let all: u64 = wanted.iter().map(|wanted| wanted.table.rows).sum();
    let mut before = 0;
    if let Some(dataset) = setup.dataset {
        for table in wanted {
            let mut progress = Progress { heard: &mut *heard, before, all };
            fill(&connection, dataset, table, &mut progress).map_err(|stop| match stop {
                Stop::Sqlite(error) => failed(error),
                Stop::Target(error) => error,
            })?;
            before += table.table.rows;
        }
    }
    connection.run("COMMIT").map_err(failed)?;
    for table in wanted {
        for index in table.create_indexes() {
            say(heard, &format!("{}: an index", table.table.name), 1.0)?;
            connection.run(&index).map_err(failed)?;
        }
    }
    drop(connection);
    keep(&scaffold.path, &path, content.digest).map_err(|e| refused("writing", &path, &e))
}

/// Fast settings, unsafe only for a file that is not in use yet.
fn settings() -> String {
    format!(
        "PRAGMA page_size = {PAGE_BYTES};
         PRAGMA journal_mode = OFF;
         PRAGMA synchronous = OFF;
         PRAGMA locking_mode = EXCLUSIVE;
         PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -262144;
         PRAGMA user_version = 1;"
    )
}

fn keep(built: &Path, path: &Path, content: u64) -> io::Result<Cached> {
    let sealed = Cached::seal(built, content)?;
    let sealed = Cached { path: path.to_owned(), ..sealed };
    // An old seal must never be beside a new file.
    match fs::remove_file(cache::seal_of(path)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::rename(built, path)?;
    sealed.write()?;
    Ok(sealed)
}

struct Progress<'a, 'b> {
    heard: &'a mut Heard<'b>,
    before: u64,
    all: u64,
}

enum Stop {
    Sqlite(SqliteError),
    Target(TargetError),
}

impl From<SqliteError> for Stop {
    fn from(error: SqliteError) -> Self {
        Self::Sqlite(error)
    }
}

fn fill(
    connection: &Connection,
    dataset: &dyn Dataset,
    wanted: &Wanted,
    progress: &mut Progress<'_, '_>,
) -> Result<(), Stop> {
    connection.run(&wanted.create())?;
    let mut many = Inserter::new(connection.prepare(&wanted.insert(ROWS_AT_ONCE))?);
    let mut one = Inserter::new(connection.prepare(&wanted.insert(1))?);
    let table = &wanted.table;
    let what = format!("{}: {} rows", table.name, with_commas(table.rows));
    rows::generate(dataset, wanted.index, table, |batch: Batch, done| {
        let mut values = batch.values();
        let mut left = ((done - 1) % rows::ROWS + 1) as usize;
        while left >= ROWS_AT_ONCE {
            many.insert(&mut values)?;
            left -= ROWS_AT_ONCE;
        }
        for _ in 0..left {
            one.insert(&mut values)?;
        }
        if values.next().is_some() {
            let words = format!("a row of {} has more values than columns", table.name);
            return Err(Stop::Target(TargetError::Failed(words)));
        }
        if done % ROWS_BETWEEN_WORDS == 0 || done == table.rows {
            let share = (progress.before + done) as f64 / progress.all as f64;
            say(progress.heard, &what, share).map_err(Stop::Target)?;
        }
        Ok(())
    })
}

fn failure(error: &SqliteError, path: &Path, content: &Content) -> TargetError {
    let (path, mib) = (path.display(), content.bytes >> 20);
    TargetError::Failed(match error.code {
        SQLITE_FULL => format!(
            "the disk is full: {path} takes about {mib} MiB; make room, or name another directory \
             with --cache-dir"
        ),
        SQLITE_CANTOPEN | SQLITE_READONLY => {
            format!("{path} cannot be written ({error}): name another directory with --cache-dir")
        }
        _ => format!("loading {path}: {error}"),
    })
}

fn refused(doing: &str, path: &Path, error: &io::Error) -> TargetError {
    let path = path.display();
    TargetError::Failed(format!("{doing} {path}: {error}; name another directory with --cache-dir"))
}
