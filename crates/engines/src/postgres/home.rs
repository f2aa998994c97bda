//! Existing PostgreSQL servers: hopcost's tables are in a schema `hopcost`, marked by its comment.

use hopcost_core::{Code, Setup, TargetError};

use super::super::server::attached::{Home, Left, Mark, OURS};
use super::super::server::copy::ServerCopy;
use super::super::server::wire::{Wire as _, WireError};
use super::run::{PostgresDialect, pages};
use super::wire::Wire;

/// An arbitrary number: "hopcost" in ASCII.
const LOCK: i64 = 0x0068_6f70_636f_7374;
const OLDEST: u32 = 13;
const NOT_AVAILABLE: &str = "SQLSTATE 55P03";
const DROP: &str = "DROP SCHEMA IF EXISTS hopcost CASCADE";
const BETWEEN: &str = ", ";

/// `pg_locks` splits the number of an advisory lock into two halves.
fn who_has_the_lock() -> String {
    format!(
        "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1 \
         AND (classid::bigint << 32) + objid::bigint = {LOCK}"
    )
}

const STRAGGLERS: &str = "\
    SELECT pg_terminate_backend(pid) FROM (SELECT DISTINCT a.pid FROM pg_stat_activity AS a \
    JOIN pg_locks AS l ON l.pid = a.pid AND l.database = a.datid \
    JOIN pg_class AS c ON c.oid = l.relation JOIN pg_namespace AS n ON n.oid = c.relnamespace \
    WHERE n.nspname = 'hopcost' AND a.application_name = 'hopcost' AND a.datname = current_database() \
    AND a.usename = current_user AND a.pid <> pg_backend_pid()) AS left_over";

impl Home for PostgresDialect {
    const KIND: &'static str = "schema";
    const FOREIGN: &'static str = "this database has a schema 'hopcost' that hopcost did not make: rename it, or name \
        another database";
    const IS_MARKED_AT_ONCE: bool = true;

    fn fit(&self, wire: &mut Wire, setup: &Setup<'_>) -> Result<(), TargetError> {
        let not_here = |code: Code, words: String| Err(TargetError::NotHere(code.because(words)));
        if wire.major() < OLDEST {
            let words = format!("PostgreSQL {} is older than {OLDEST}", wire.version());
            return not_here(Code::WrongVersion, words);
        }
        let mut ask = |sql: &str| wire.value(sql).map(Option::unwrap_or_default);
        if ask("SELECT pg_is_in_recovery()")? == "t" {
            let words = "this server follows another one and takes no data: go to its primary";
            return not_here(Code::ReadOnly, words.to_owned());
        }
        let standbys = ask("SELECT count(*) FROM pg_stat_replication")?;
        let waited_for = ask("SHOW synchronous_standby_names")?;
        if (standbys != "0" || !waited_for.is_empty()) && !setup.allow_server_changes {
            let words = format!(
                "{standbys} servers follow this one, and what is written here goes to them: choose another, \
                 or say --allow-server-changes"
            );
            return not_here(Code::ReadOnly, words);
        }
        Ok(())
    }

    /// Waits 5 s, because the server may release the lock of an ended run late.
    fn lock(&self, wire: &mut Wire) -> Result<(), TargetError> {
        // The server notices a vanished client sooner, and releases its lock.
        wire.query(
            "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_user_timeout = 30000",
        )?;
        let lock =
            format!("SET lock_timeout = '5s'; SELECT pg_advisory_lock({LOCK}); RESET lock_timeout");
        match wire.query(&lock) {
            Ok(_) => Ok(()),
            Err(WireError::Server(said)) if said.code == NOT_AVAILABLE => {
                let pid = wire.value(&who_has_the_lock()).ok().flatten().unwrap_or_default();
                Err(TargetError::NotHere(Code::ServerInUse.because(format!(
                    "another hopcost is at work in this database (the server's process {pid}): wait until it \
                     is through; where it is gone, 'SELECT pg_terminate_backend({pid})' ends what is left"
                ))))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn log_bytes(&self, wire: &mut Wire) -> Result<Option<u64>, WireError> {
        let bytes = wire.value("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")?;
        Ok(Some(bytes.and_then(|bytes| bytes.parse().ok()).unwrap_or(0)))
    }

    fn mark(&self, wire: &mut Wire) -> Result<Mark, WireError> {
        let comment = wire.value(
            "SELECT coalesce(obj_description(oid, 'pg_namespace'), '') FROM pg_namespace \
             WHERE nspname = 'hopcost'",
        )?;
        let Some(comment) = comment else { return Ok(Mark::None) };
        let Some(rest) = comment.strip_prefix(OURS) else { return Ok(Mark::Foreign) };
        let contents = rest.trim_start_matches(" (").trim_end_matches(')').split(BETWEEN);
        Ok(Mark::Ours(contents.map(str::to_owned).collect()))
    }

    /// The comment marks the schema at once; contents are added when the data is complete.
    fn make_home(&self, wire: &mut Wire, _: &Setup<'_>) -> Result<(), TargetError> {
        let make = format!(
            "BEGIN; {DROP}; CREATE SCHEMA hopcost; COMMENT ON SCHEMA hopcost IS '{OURS}'; COMMIT"
        );
        wire.query(&make)?;
        Ok(())
    }

    fn write_contents(&self, wire: &mut Wire, contents: &[String]) -> Result<(), WireError> {
        let contents = contents.join(BETWEEN);
        wire.query(&format!("COMMENT ON SCHEMA hopcost IS '{OURS} ({contents})'")).map(drop)
    }

    fn identity(&self, copy: &ServerCopy<Self>) -> String {
        let place = "SELECT coalesce(host(inet_server_addr()), 'a Unix socket')";
        let [place, buffers] =
            [place, "SHOW shared_buffers"].map(|sql| copy.value(sql).unwrap_or_default());
        let (version, pages) = (copy.admin().version().to_owned(), pages(copy));
        format!("PostgreSQL {version}, attached by {place}, {buffers} of shared buffers, {pages}")
    }

    fn end_stragglers(&self, wire: &mut Wire) -> Result<(), WireError> {
        wire.query(STRAGGLERS).map(drop)
    }

    fn leave(&self, wire: &mut Wire, keep: bool) -> Result<Left, WireError> {
        if !keep {
            wire.query(DROP)?;
        }
        Ok(Left::default())
    }
}
