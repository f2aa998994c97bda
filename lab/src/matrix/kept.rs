//! The store of the matrix, in fixtures/stores: what the documents show, and nothing else.

use std::path::{Path, PathBuf};

use anyhow::Result;
use hopcost_app::{Reported, Store};
use rusqlite::Connection;
use xtask::project;

use super::cells::Cell;

pub fn path() -> PathBuf {
    project().join("fixtures/stores/matrix.db")
}

/// All its runs, latest first.
pub fn cells() -> Result<Vec<Cell>> {
    let store = Store::open_to_read(&path())?;
    let runs = store.runs()?;
    let reported = runs.iter().map(|run| Ok(Reported::of(&store, &[run.id])?));
    let reported: Vec<Reported> = reported.collect::<Result<_>>()?;
    Ok(reported.into_iter().filter_map(Cell::new).collect())
}

/// Of each cell the last run of each of two days stays, without its blocks and without what tells
/// of the host more than its kind.
pub fn prune(path: &Path) -> Result<()> {
    let store = Connection::open(path)?;
    let options = format!(" --json --store {}", path.display());
    store.execute("UPDATE run SET preparation = replace(preparation, ?1, '')", [options])?;
    Ok(store.execute_batch(PRUNE)?)
}

const PRUNE: &str = "
    PRAGMA foreign_keys = ON;
    DELETE FROM run WHERE result IS NULL;
    DELETE FROM run WHERE verdict = 'NOT_APPLICABLE' AND result ->> '$.emulated';
    DELETE FROM run WHERE id NOT IN (
        SELECT id FROM (
            SELECT id, row_number() OVER (PARTITION BY experiment, target, emulated ORDER BY id DESC) AS nth
              FROM (SELECT max(id) AS id, experiment, coalesce(target, '') AS target,
                           result ->> '$.emulated' AS emulated
                      FROM run GROUP BY 2, 3, 4, begun_s / 86400))
         WHERE nth <= 2);
    DELETE FROM block;
    DELETE FROM call;
    UPDATE run SET machine = json_set(machine, '$.limits.cgroup', '/',
                                      '$.kernel', substr(machine ->> '$.kernel', 1, instr(machine ->> '$.kernel' || '-', '-') - 1)),
                   traits = json_set(traits, '$.cmdline', 'quiet', '$.kernel', ''),
                   host_key = NULL;
    VACUUM;
";
