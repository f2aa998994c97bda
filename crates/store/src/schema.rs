//! The schema and its migrations.
//!
//! Each element of [`MIGRATIONS`] leads from its number to the next; released ones never change.
//! docs/reference/store.md describes the tables.

use rusqlite::{Connection, params};

use crate::digest::Older;
use crate::error::StoreError;

/// `hopc` in ASCII.
const APPLICATION: i32 = 0x686f_7063;

const MIGRATIONS: &[&str] = &[
    "
    CREATE TABLE run (
        id              INTEGER PRIMARY KEY,
        experiment      TEXT NOT NULL,
        question        TEXT NOT NULL,
        target          TEXT,
        host            TEXT,
        effort          TEXT NOT NULL,
        seed            INTEGER NOT NULL,
        hopcost_version TEXT NOT NULL,
        machine         TEXT NOT NULL,
        begun_s        INTEGER NOT NULL,
        seconds         REAL,
        verdict         TEXT,
        reason          TEXT,
        result          TEXT
    ) STRICT;

    CREATE TABLE probe_report (
        run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
        probe  TEXT NOT NULL,
        report TEXT NOT NULL,
        PRIMARY KEY (run_id, probe)
    ) STRICT;

    CREATE VIEW cell AS
    SELECT run_id, probe,
           c.value ->> '$.series' AS series,
           c.value -> '$.row'     AS row,
           c.value -> '$.column'  AS \"column\",
           CASE json_type(c.value, '$.class') WHEN 'text' THEN c.value ->> '$.class' END AS class,
           c.value ->> '$.unit'   AS unit,
           c.value ->> '$.outcome.measured.estimate.point'       AS point,
           c.value ->> '$.outcome.measured.estimate.low'         AS low,
           c.value ->> '$.outcome.measured.estimate.high'        AS high,
           c.value ->> '$.outcome.measured.estimate.level'       AS level,
           c.value ->> '$.outcome.measured.estimate.n'           AS n,
           c.value ->> '$.outcome.measured.estimate.n_effective' AS n_effective,
           coalesce(c.value ->> '$.outcome.missing', c.value ->> '$.outcome.void') AS reason
      FROM probe_report, json_each(report, '$.cells') AS c;
",
    "
    ALTER TABLE run ADD COLUMN identity TEXT;
    ALTER TABLE run ADD COLUMN preparation TEXT;

    CREATE TABLE block (
        run_id  INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
        number  INTEGER NOT NULL,
        phase   TEXT NOT NULL,
        unit    INTEGER NOT NULL,
        streams INTEGER NOT NULL,
        binding INTEGER NOT NULL,
        level   INTEGER NOT NULL,
        record  TEXT NOT NULL,
        PRIMARY KEY (run_id, number)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE call (
        run_id  INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
        block   INTEGER NOT NULL,
        place   INTEGER NOT NULL,
        stream  INTEGER NOT NULL,
        due_ns  INTEGER NOT NULL,
        sent_ns INTEGER NOT NULL,
        done_ns INTEGER NOT NULL
    ) STRICT;

    CREATE VIEW block_window AS
    SELECT run_id, number AS block, w.key AS place, phase, unit, streams, binding, level,
           w.value ->> '$.tested'    AS tested,
           w.value ->> '$.begin_s'   AS begin_s,
           w.value ->> '$.seconds'   AS seconds,
           w.value ->> '$.calls'     AS calls,
           w.value ->> '$.errors'    AS errors,
           w.value ->> '$.rate'      AS rate,
           w.value ->> '$.planted'   AS planted,
           w.value ->> '$.objection' AS objection,
           w.value ->> '$.disturbed' AS disturbed
      FROM block, json_each(record, '$.windows') AS w;

    CREATE VIEW observation AS
    SELECT run_id, number AS block, w.key AS place,
           o.value ->> '$.metric' AS metric,
           o.value ->> '$.of'     AS \"of\",
           o.value ->> '$.value'  AS value
      FROM block, json_each(record, '$.windows') AS w,
           json_each(w.value, '$.observations') AS o;
",
    "
    CREATE TABLE baseline (
        name       TEXT NOT NULL,
        experiment TEXT NOT NULL,
        target     TEXT NOT NULL,
        run_id     INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
        PRIMARY KEY (name, experiment, target)
    ) STRICT, WITHOUT ROWID;
",
    "
    ALTER TABLE run ADD COLUMN failure TEXT;
",
    "
    ALTER TABLE run ADD COLUMN uid BLOB;
    ALTER TABLE run ADD COLUMN host_key BLOB;
    ALTER TABLE run ADD COLUMN traits TEXT;
    ALTER TABLE run ADD COLUMN content BLOB;
    ALTER TABLE run ADD COLUMN reason_code TEXT;
    CREATE UNIQUE INDEX run_uid ON run (uid);

    DROP VIEW cell;
    CREATE VIEW cell AS
    SELECT run_id, probe,
           c.value ->> '$.series' AS series,
           c.value -> '$.row'     AS row,
           c.value -> '$.column'  AS \"column\",
           CASE json_type(c.value, '$.class') WHEN 'text' THEN c.value ->> '$.class' END AS class,
           c.value ->> '$.unit'   AS unit,
           c.value ->> '$.outcome.measured.estimate.point'       AS point,
           c.value ->> '$.outcome.measured.estimate.low'         AS low,
           c.value ->> '$.outcome.measured.estimate.high'        AS high,
           c.value ->> '$.outcome.measured.estimate.level'       AS level,
           c.value ->> '$.outcome.measured.estimate.n'           AS n,
           c.value ->> '$.outcome.measured.estimate.n_effective' AS n_effective,
           coalesce(c.value ->> '$.outcome.missing', c.value ->> '$.outcome.void') AS reason,
           c.value ->> '$.outcome.code' AS reason_code
      FROM probe_report, json_each(report, '$.cells') AS c;

    DROP VIEW block_window;
    CREATE VIEW block_window AS
    SELECT run_id, number AS block, w.key AS place, phase, unit, streams, binding, level,
           w.value ->> '$.tested'    AS tested,
           w.value ->> '$.begin_s'   AS begin_s,
           w.value ->> '$.seconds'   AS seconds,
           w.value ->> '$.calls'     AS calls,
           w.value ->> '$.errors'    AS errors,
           w.value ->> '$.rate'      AS rate,
           w.value ->> '$.planted'   AS planted,
           CASE json_type(w.value, '$.objection')
                WHEN 'object' THEN w.value ->> '$.objection.reason'
                ELSE w.value ->> '$.objection' END AS objection,
           w.value ->> '$.disturbed' AS disturbed
      FROM block, json_each(record, '$.windows') AS w;
",
    "
    CREATE VIEW occasion AS
    SELECT host_key, hopcost_version, effort, begun_s, run_id,
           format('%s, %s, %s → %s', cell.probe, series, row, \"column\") AS figure,
           NULL AS identity, unit, point
      FROM cell JOIN run ON id = run_id JOIN probe_report USING (run_id, probe)
     WHERE point IS NOT NULL AND NOT coalesce(result ->> '$.emulated', 0)
       AND 4 * coalesce(report ->> '$.contended', 0) <= coalesce(report ->> '$.starts', 1)
     UNION ALL
    SELECT host_key, hopcost_version, effort, begun_s, id,
           format('%s, %s', experiment, result ->> '$.estimate.of'), identity,
           result ->> '$.estimate.unit', result ->> '$.estimate.point'
      FROM run
     WHERE target IS NOT NULL AND verdict = 'MEASURED' AND NOT result ->> '$.emulated'
       AND result ->> '$.estimate.unit' = '1/s'
       AND 4 * coalesce(result ->> '$.details.contended', 0)
           <= coalesce(json_array_length(result, '$.details.scores'), 1);
",
];

/// The migration that adds run numbers; older runs get theirs with it.
const WITH_UIDS: usize = 4;

pub const VERSION: u32 = MIGRATIONS.len() as u32;

/// Fails for newer files and those of other programs.
pub fn version(connection: &Connection) -> Result<u32, StoreError> {
    let version: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let application: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application != APPLICATION && (tables > 0 || version != 0) {
        return Err(StoreError::Foreign);
    }
    if version > VERSION {
        return Err(StoreError::Newer { found: version, known: VERSION });
    }
    Ok(version)
}

fn give_uids(connection: &Connection) -> Result<(), StoreError> {
    let mut runs =
        connection.prepare("SELECT id, host, machine, begun_s, experiment, seed FROM run")?;
    let older = runs.query_map([], |row| {
        Ok(Older {
            number: row.get(0)?,
            host: row.get(1)?,
            machine: row.get(2)?,
            begun_s: row.get(3)?,
            experiment: row.get(4)?,
            seed: row.get(5)?,
        })
    })?;
    for run in older.collect::<Result<Vec<Older>, _>>()? {
        connection
            .execute("UPDATE run SET uid = ?2 WHERE id = ?1", params![run.number, run.uid()])?;
    }
    Ok(())
}

/// Brings a new or older file to [`VERSION`].
pub fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let version = version(connection)?;
    if version == VERSION {
        return Ok(());
    }
    let transaction = connection.transaction()?;
    for (number, migration) in MIGRATIONS.iter().enumerate().skip(version as usize) {
        transaction.execute_batch(migration)?;
        if number == WITH_UIDS {
            give_uids(&transaction)?;
        }
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    Ok(transaction.commit()?)
}
