//! Counters of PostgreSQL (log, buffers, files), read before and after each window.
//!
//! Method: one query on a connection of its own. Log volume is the difference of two WAL positions.
//! Sessions flush other counters when asked (15 and later), or half a second late.
//!
//! Limits: on an existing server other users' work counts too. Background processes flush when they
//! wake: in windows below one second their counters hold for the variant, not for the window.

use std::ops::RangeInclusive;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hopcost_core::{Gauge, gauge};

use super::super::server::address::Address;
use super::super::server::open_connections::OpenConnections;
use super::super::server::wire::{Wire as _, WireError};
use super::wire::Wire;

pub struct Teller {
    statistics: Statistics,
    /// `None` after a failed query.
    wire: Mutex<Option<Wire>>,
}

const AT_ONCE: Duration = Duration::from_secs(2);

impl Teller {
    pub fn of(address: &Address, lines: &OpenConnections) -> Self {
        let asked = Wire::connect(address).and_then(|mut wire| {
            wire.limit(Some(AT_ONCE))?;
            lines.add(wire.channel().line(), wire.number());
            Ok((Statistics::of(&mut wire)?, wire))
        });
        match asked {
            Ok((statistics, wire)) => Self { statistics, wire: Mutex::new(Some(wire)) },
            Err(error) => {
                let missing = vec![format!("the server's own counts are missing, because {error}")];
                let statistics = Statistics { missing, ..Statistics::default() };
                Self { statistics, wire: Mutex::default() }
            }
        }
    }

    pub fn read(&self) -> Vec<(&'static Gauge, f64)> {
        let mut wire = self.wire.lock().unwrap_or_else(PoisonError::into_inner);
        let told = wire.as_mut().and_then(|wire| self.statistics.read(wire).ok());
        if told.is_none() {
            // A late answer would be taken for the next one.
            *wire = None;
        }
        told.unwrap_or_default()
    }

    pub fn missing(&self) -> &[String] {
        &self.statistics.missing
    }
}

#[derive(Debug, Default)]
struct Statistics {
    sql: String,
    gauges: Vec<&'static Gauge>,
    missing: Vec<String>,
}

/// Versions, source, and for each gauge its SQL expression.
type View = (RangeInclusive<u32>, &'static str, &'static [(&'static Gauge, &'static str)]);

const NEWEST: u32 = u32::MAX;
const OF_THE_LOG: &str = " FROM pg_stat_wal";
const OF_THE_LOGS_FILES: &str = " FROM pg_stat_io WHERE object = 'wal' AND context = 'normal'";

const VIEWS: &[View] = &[
    (0..=NEWEST, "", &[(gauge::WAL_BYTES, "pg_current_wal_insert_lsn() - '0/0'::pg_lsn")]),
    (
        0..=NEWEST,
        " FROM pg_stat_database WHERE datname = current_database()",
        &[(gauge::BUFFER_HITS, "blks_hit"), (gauge::BUFFER_READS, "blks_read")],
    ),
    (
        14..=NEWEST,
        OF_THE_LOG,
        &[
            (gauge::WAL_RECORDS, "wal_records"),
            (gauge::WAL_FULL_PAGE_IMAGES, "wal_fpi"),
            (gauge::WAL_BUFFERS_FULL, "wal_buffers_full"),
        ],
    ),
    (14..=17, OF_THE_LOG, &[(gauge::LOG_WRITES, "wal_write"), (gauge::LOG_FLUSHES, "wal_sync")]),
    (
        18..=NEWEST,
        OF_THE_LOGS_FILES,
        &[(gauge::LOG_WRITES, "sum(writes)"), (gauge::LOG_FLUSHES, "sum(fsyncs)")],
    ),
    (
        16..=NEWEST,
        " FROM pg_stat_io WHERE object <> 'wal' \
         AND backend_type IN ('client backend', 'background worker')",
        &[
            (gauge::SESSION_READS, "sum(reads)"),
            (gauge::SESSION_WRITES, "sum(writes)"),
            (gauge::SESSION_EXTENDS, "sum(extends)"),
            (gauge::SESSION_EVICTIONS, "sum(evictions)"),
        ],
    ),
    (
        16..=NEWEST,
        " FROM pg_stat_io WHERE object <> 'wal' \
         AND backend_type NOT IN ('client backend', 'background worker')",
        &[(gauge::BACKGROUND_READS, "sum(reads)"), (gauge::BACKGROUND_WRITES, "sum(writes)")],
    ),
    (
        0..=16,
        " FROM pg_stat_bgwriter",
        &[
            (gauge::CHECKPOINTS, "checkpoints_timed + checkpoints_req"),
            (gauge::CHECKPOINTER_WRITTEN_BUFFERS, "buffers_checkpoint"),
            (gauge::BACKEND_WRITTEN_BUFFERS, "buffers_backend"),
        ],
    ),
    (
        17..=NEWEST,
        " FROM pg_stat_checkpointer",
        &[
            (gauge::CHECKPOINTS, "num_timed + num_requested"),
            (gauge::CHECKPOINTER_WRITTEN_BUFFERS, "buffers_written"),
        ],
    ),
    (0..=NEWEST, " FROM pg_stat_bgwriter", &[(gauge::BGWRITER_WRITTEN_BUFFERS, "buffers_clean")]),
];

const TIMED: &[View] = &[
    (
        14..=17,
        OF_THE_LOG,
        &[(gauge::LOG_WRITE_MS, "wal_write_time"), (gauge::LOG_FLUSH_MS, "wal_sync_time")],
    ),
    (
        18..=NEWEST,
        OF_THE_LOGS_FILES,
        &[(gauge::LOG_WRITE_MS, "sum(write_time)"), (gauge::LOG_FLUSH_MS, "sum(fsync_time)")],
    ),
];

/// The first version with `track_wal_io_timing`.
pub const TIMES_ITS_LOG: u32 = 14;
/// The first version with `pg_stat_force_next_flush`.
const HANDS_IN: u32 = 15;

/// Makes a session flush its counters, unless it is in a transaction.
pub fn hand_in(wire: &mut Wire) {
    if wire.major() >= HANDS_IN && !wire.is_in_transaction() {
        // A lost connection shows at the next call.
        let _ = wire.query("SELECT pg_stat_force_next_flush()");
    }
}

impl Statistics {
    fn of(wire: &mut Wire) -> Result<Self, WireError> {
        let version = wire.major();
        let is_timed = version >= TIMES_ITS_LOG
            && wire.value("SHOW track_wal_io_timing")?.as_deref() == Some("on");
        let statistics = Self::for_version(version, is_timed);
        statistics.read(wire)?;
        Ok(statistics)
    }

    fn for_version(version: u32, is_timed: bool) -> Self {
        let timed = if is_timed { TIMED } else { &[] };
        let (mut gauges, mut values, mut sources) = (Vec::new(), Vec::new(), Vec::new());
        let has = |(versions, ..): &&View| versions.contains(&version);
        for (n, (_, from, counters)) in VIEWS.iter().chain(timed).filter(has).enumerate() {
            let mut columns = Vec::new();
            for (column, (gauge, value)) in counters.iter().enumerate() {
                columns.push(format!("({value})::float8 AS c{column}"));
                gauges.push(*gauge);
                values.push(format!("v{n}.c{column}"));
            }
            sources.push(format!("(SELECT {}{from}) AS v{n}", columns.join(", ")));
        }
        let sql = format!("SELECT {} FROM {}", values.join(", "), sources.join(", "));
        Self { sql, gauges, missing: missing(version, is_timed) }
    }

    fn read(&self, wire: &mut Wire) -> Result<Vec<(&'static Gauge, f64)>, WireError> {
        let row = wire.query(&self.sql)?.into_iter().next().unwrap_or_default();
        let values = self.gauges.iter().zip(row);
        Ok(values.filter_map(|(gauge, value)| Some((*gauge, value?.parse().ok()?))).collect())
    }
}

fn missing(version: u32, is_timed: bool) -> Vec<String> {
    let because = |what: &str, why: &str| format!("{what}: missing, because {why}");
    let mut missing = Vec::new();
    if version < TIMES_ITS_LOG {
        missing.push(because(
            "records and full page images of the log, its writes and flushes and their time",
            "pg_stat_wal came with PostgreSQL 14",
        ));
    } else if !is_timed {
        missing.push(because(
            "the time that writing and flushing the log took",
            "track_wal_io_timing is off in this server",
        ));
    }
    if version < 16 {
        missing.push(because(
            "reads and writes of sessions, told from those of the server's own processes",
            "pg_stat_io came with PostgreSQL 16",
        ));
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_is_asked_for_what_it_has() {
        let asked = |version, timed| Statistics::for_version(version, timed);
        let has = |version, what: &str| asked(version, true).sql.contains(what);
        assert_eq!([13, 14, 17, 18].map(|v| has(v, "wal_sync_time")), [false, true, true, false]);
        assert_eq!([15, 16].map(|v| has(v, "pg_stat_io")), [false, true]);
        assert_eq!([16, 17].map(|v| has(v, "pg_stat_checkpointer")), [false, true]);
        assert_eq!([16, 17].map(|v| has(v, "buffers_backend")), [true, false]);
        for version in 13..=18 {
            let gauges = asked(version, version >= TIMES_ITS_LOG).gauges;
            let names: Vec<&str> = gauges.iter().map(|gauge| gauge.name).collect();
            let different: std::collections::BTreeSet<_> = names.iter().collect();
            assert_eq!(different.len(), names.len(), "{version}: {names:?}");
            assert!(gauges.contains(&gauge::WAL_BYTES) && gauges.contains(&gauge::CHECKPOINTS));
        }
    }

    #[test]
    fn what_a_version_does_not_tell_is_missing_with_the_reason() {
        let counts = [(13, false), (15, true), (15, false), (18, true), (18, false)]
            .map(|(version, timed)| missing(version, timed).len());
        assert_eq!(counts, [2, 1, 2, 0, 1]);
        assert!(missing(13, false)[0].contains("missing, because pg_stat_wal came with"));
    }
}
