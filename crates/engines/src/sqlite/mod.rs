//! **sqlite**: SQLite, linked in. Its pages are in placed memory, and accesses are counted by node.
//!
//! Method: the data set becomes an SQLite file once (`load`, cached by `cache`). A copy is read
//! into memory of each data placement (`image`), and connections fetch pages from there without a
//! copy (`ffi::vfs`). A session is a connection of the calling thread. Distance can be emulated.
//! Workloads that fill tables use other databases (`filling`).
//!
//! Limits: read-only except for those; no parallel workers, no log writer, no other process.

mod audit;
mod cache;
mod ffi;
mod filling;
mod image;
mod load;
mod rows;
mod schema;
mod session;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use hopcost_core::{
    Capabilities, Code, DataPlacement, Emulation, Instance, Known, Loading, Locality, Look, Needs,
    Restriction, Session, SessionPlacement, Setting, Setup, Statement, Target, TargetError,
    VariantSettings, When,
};

use super::restrictions::{NO_BATCHES, NO_CLIENT, NO_LOG, NO_PARALLEL};
use super::{Heard, say, wanted, words_of};
use audit::Scribe;
use ffi::{SqliteError, Value};
use image::{Image, ImageError, PAGE_BYTES};
use schema::Content;
use session::{ImageSession, Opening};

pub use ffi::prepare;
pub use rows::Batch;

/// Memory of a connection: its cache, lookaside memory and counters.
const CONNECTION_BYTES: u64 = 1 << 20;

pub struct Sqlite;

const CAPABILITIES: Capabilities = Capabilities::but(&[
    NO_LOG,
    NO_CLIENT,
    NO_PARALLEL,
    Restriction::of(
        &[Setting::Scripts],
        Code::WorkloadUnsupported,
        "pgbench's scripts need a server with connections. Use --target postgres:managed",
    ),
    NO_BATCHES,
    Restriction {
        when: When::Together(Setting::Pages, &[Setting::Inserts, Setting::Loads]),
        code: Code::Unsupported,
        words: "the page size of a database that is being filled cannot be chosen. Use --target hashtable and \
                workload = \"memory_inserts\"",
    },
]);

impl Target for Sqlite {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn about(&self) -> &'static str {
        "SQLite, built in: its pages in placed memory, every page access counted by node"
    }

    fn capabilities(&self, _address: &str) -> Capabilities {
        CAPABILITIES
    }

    fn needs(&self, setup: &Setup<'_>) -> Needs {
        let content = Content::of(setup, &wanted(setup));
        let is_there = setup.cache_dir.join(&content.file_name).exists();
        Needs {
            home_bytes: content.bytes,
            stream_bytes: setup.spec().scratch_bytes + CONNECTION_BYTES,
            disk_bytes: if is_there { 0 } else { content.bytes },
        }
    }

    fn open(
        &self,
        setup: &Setup<'_>,
        heard: &mut dyn FnMut(Loading<'_>) -> bool,
    ) -> Result<Box<dyn Instance>, TargetError> {
        setup.accepted_by(self)?;
        prepare();
        if !ffi::is_prepared() {
            return Err(TargetError::Failed(
                "SQLite keeps an account of its memory behind one lock for all threads, which would \
                 be measured: hopcost has to set it up before its first use, and did not (a fault \
                 of hopcost)"
                    .to_owned(),
            ));
        }
        if let Some(filling) = setup.spec().effect.filling() {
            return filling::open(setup, filling);
        }
        let copies = copies(setup, heard)?;
        Ok(Box::new(Database {
            identity: identity(setup, &copies),
            statements: setup.spec().statements,
            table: wanted(setup).into_iter().map(|wanted| wanted.table.name).next(),
            emulation: setup.emulation,
            audits: setup.cache_dir.clone(),
            scribe: OnceLock::new(),
            copies,
        }))
    }
}

struct Copy {
    image: Arc<Image>,
    number: u64,
}

/// One copy for each data placement. A damaged file is rebuilt once.
fn copies(setup: &Setup<'_>, heard: &mut Heard<'_>) -> Result<Vec<Copy>, TargetError> {
    let cached = load::ensure(setup, heard)?;
    match read_all(setup, &cached, heard) {
        Err(ImageError::Damaged(how)) => {
            let cached = load::anew(setup, &how, heard)?;
            read_all(setup, &cached, heard).map_err(|error| match error {
                ImageError::Damaged(how) => TargetError::Failed(format!(
                    "{} was damaged ({how}) right after it was built: this disk or memory loses data",
                    cached.path.display()
                )),
                ImageError::Target(error) => error,
            })
        }
        Err(ImageError::Target(error)) => Err(error),
        Ok(copies) => Ok(copies),
    }
}

fn read_all(
    setup: &Setup<'_>,
    cached: &cache::Cached,
    heard: &mut Heard<'_>,
) -> Result<Vec<Copy>, ImageError> {
    let (mib, of) = (cached.length >> 20, setup.homes.len());
    let mut copies = Vec::new();
    for (n, home) in setup.homes.iter().enumerate() {
        say(heard, &format!("{mib} MiB{}", words_of(*home)), n as f64 / of as f64)?;
        let image = Arc::new(Image::read(setup, *home, cached)?);
        copies.push(Copy { number: ffi::shelve(&image), image });
    }
    Ok(copies)
}

fn identity(setup: &Setup<'_>, copies: &[Copy]) -> String {
    let content = Content::of(setup, &wanted(setup));
    let mib = copies.first().map_or(0, |copy| copy.image.len() >> 20);
    format!(
        "SQLite {}, hopcost page image, {} KiB pages; {}, {mib} MiB",
        ffi::version(),
        PAGE_BYTES >> 10,
        content.words
    )
}

/// A setup's cached file, built if necessary: for measuring a load alone.
pub fn file(setup: &Setup<'_>, heard: &mut Heard<'_>) -> Result<PathBuf, TargetError> {
    prepare();
    load::ensure(setup, heard).map(|cached| cached.path)
}

struct Database {
    identity: String,
    statements: Vec<Statement>,
    /// A table that is not empty.
    table: Option<&'static str>,
    emulation: Option<Emulation>,
    audits: PathBuf,
    scribe: OnceLock<Scribe>,
    copies: Vec<Copy>,
}

impl Database {
    /// The copy for a session; the nearest one if the session names none.
    fn copy_for(&self, at: SessionPlacement) -> Result<&Copy, TargetError> {
        let of = |home: DataPlacement| self.copies.iter().find(|copy| copy.image.home() == home);
        let copy = match at.data {
            Some(home) => of(home),
            None => at.node.and_then(|node| of(node.into())).or_else(|| self.copies.first()),
        };
        copy.ok_or_else(|| {
            let wanted = at.data.map_or(" on any node".to_owned(), words_of);
            TargetError::Failed(format!("there is no copy of the data{wanted}"))
        })
    }

    fn plan(&self, statement: &Statement) -> Result<String, SqliteError> {
        let Some(copy) = self.copies.first() else { return Ok(String::new()) };
        let connection = session::connect(copy.number)?;
        let sql = format!("EXPLAIN QUERY PLAN {}", statement.sql);
        let mut explained = connection.prepare(&sql)?;
        // Columns: the step's id, its parent's, unused, its text.
        let mut depths = vec![(0, 0)];
        let mut lines = vec![statement.name.to_owned()];
        while explained.step()? {
            let (Value::Integer(id), Value::Integer(parent), Value::Text(words)) =
                (explained.value(0), explained.value(1), explained.value(3))
            else {
                continue;
            };
            let above = depths.iter().find(|(of, _)| *of == parent).map_or(0, |(_, depth)| *depth);
            depths.push((id, above + 1));
            let indent = "  ".repeat(above + 1);
            lines.push(format!("{indent}{}", String::from_utf8_lossy(words)));
        }
        Ok(lines.join("\n"))
    }
}

impl Instance for Database {
    fn identity(&self) -> String {
        self.identity.clone()
    }

    fn session(
        &self,
        variant: &VariantSettings,
        at: SessionPlacement,
    ) -> Result<Box<dyn Session>, TargetError> {
        let copy = self.copy_for(at)?;
        let opening = Opening {
            number: copy.number,
            image: &copy.image,
            statements: &self.statements,
            table: self.table,
            remote_ns: self.emulation.map_or(0.0, |emulation| emulation.remote_ns),
            bimodal: self.emulation.and_then(|emulation| emulation.bimodal),
            audits: (&self.audits, &self.scribe),
        };
        Ok(Box::new(ImageSession::open(&opening, variant, at)?))
    }

    fn prove(&self, look: Look) -> Known<Vec<Locality>> {
        Known::Is(self.copies.iter().map(|copy| copy.image.prove(look)).collect())
    }

    fn plans(&self) -> Result<Vec<String>, TargetError> {
        let plan = |statement: &Statement| {
            self.plan(statement).map_err(|error| {
                TargetError::Failed(format!("the plan of '{}': {error}", statement.name))
            })
        };
        self.statements.iter().map(plan).collect()
    }
}

#[cfg(test)]
mod tests;
