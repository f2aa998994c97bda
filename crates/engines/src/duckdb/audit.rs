//! What is written down of each statement.
//!
//! Method: `statements` is DuckDB's own log of queries, a file for each session, where DuckDB puts each query before
//! it is carried out and waits for the disk. `trace` has beside it how each was done: what DuckDB measured of each
//! part of the plan, which hopcost's process writes into a file of its own before it answers; a stand-in, since DuckDB
//! keeps that of the last query alone. After each window the files are read on from where the last reading ended.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use hopcost_core::Audit;

use super::super::audit::Written;
use super::super::server::in_quotes;
use super::ffi::{Connection, DuckDbError};

/// What a session says to have each of its queries measured; versions that know no coverage measure all.
const MEASURE: [&str; 2] =
    ["SET enable_profiling = 'no_output'", "SET profiling_mode = 'detailed'"];
const MEASURE_ALL: &str = "SET profiling_coverage = 'ALL'";

/// A session whose statements are written down; its files go with it.
pub struct Audited {
    /// Where DuckDB writes.
    queries: Tail,
    /// Where we do, if we do.
    profiles: Tail,
    pen: Option<File>,
    /// What is asked, word for word.
    texts: Vec<String>,
    written: Written,
}

impl Audited {
    /// The session of a connection that asks these questions; its files are in this directory, by this name.
    pub fn new(
        audit: Audit,
        connection: &Connection,
        (dir, name): (&Path, &str),
        texts: Vec<String>,
    ) -> Result<Self, DuckDbError> {
        let [queries, profiles] = ["queries", "profiles"]
            .map(|of| Tail { path: dir.join(format!("{name}.{of}")), read_bytes: 0 });
        let mut pen = None;
        if audit == Audit::Trace {
            MEASURE.iter().try_for_each(|sql| connection.query(sql).map(drop))?;
            let _ = connection.query(MEASURE_ALL);
            pen = Some(File::create_new(&profiles.path).map_err(|error| error.to_string())?);
        }
        if audit != Audit::Off {
            let path = in_quotes(&queries.path.display().to_string());
            connection.query(&format!("SET log_query_path = '{path}'"))?;
        }
        Ok(Self { queries, profiles, pen, texts, written: Written::default() })
    }

    /// A query was carried out.
    pub fn called(&mut self, connection: &Connection) {
        let Some(pen) = &mut self.pen else { return };
        let Some(mut line) = connection.profile() else { return };
        line.push('\n');
        // What could not be written is missing when lines are counted.
        let _ = pen.write_all(line.as_bytes());
    }

    /// What was written down in all.
    pub fn written(&mut self) -> Written {
        // What cannot be read is not there, and refuses the verdict.
        let [queries, profiles] =
            [&mut self.queries, &mut self.profiles].map(|tail| tail.read_on().unwrap_or_default());
        self.written.statements += times(&queries, &self.texts);
        self.written.details += profiles.split(|byte| *byte == b'\n').skip(1).count() as u64;
        self.written
    }
}

/// A file that grows; it goes with its session.
struct Tail {
    path: PathBuf,
    read_bytes: u64,
}

impl Tail {
    /// What has come since the last time.
    fn read_on(&mut self) -> io::Result<Vec<u8>> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.read_bytes))?;
        let mut said = Vec::new();
        self.read_bytes += file.read_to_end(&mut said)? as u64;
        Ok(said)
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        // It may never have been there; and it goes with the directory, if not now.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// How many times one of these texts was written, each with the end of a line behind it.
fn times(mut said: &[u8], texts: &[String]) -> u64 {
    let mut count = 0;
    while !said.is_empty() {
        let after = |text: &String| said.strip_prefix(text.as_bytes())?.strip_prefix(b"\n");
        let line = said.iter().position(|byte| *byte == b'\n').map_or(said.len(), |end| end + 1);
        let next = texts.iter().find_map(after);
        count += u64::from(next.is_some());
        said = next.unwrap_or(&said[line..]);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_several_lines_are_told_from_what_was_asked_besides() {
        let texts = ["SELECT 1\n WHERE true".to_owned(), "SELECT 1".to_owned()];
        let log = b"SELECT 1\n WHERE true\nSET threads = 1\nSELECT 1\nSELECT 12\nSELECT 1\n";
        assert_eq!(times(log, &texts), 3);
        assert_eq!(times(b"SELECT 1", &texts), 0, "it is not all there");
    }
}
