//! A server that runs, with its own work and its own tables: what is ours lives in a schema of ours.
//!
//! Method: the schema `hopcost` bears a comment by which we know it; one of that name without it is
//! somebody else's, and is not touched. Loaded tables are unlogged. An advisory lock keeps a second
//! hopcost out. At the end the schema is dropped, unless it is to be kept or was there before; a killed
//! run's is dropped by `hopcost restore`, or taken over by the next run. A server that others follow is refused unless the
//! user says otherwise.
//!
//! Limits: where its memory lies is proved and cannot be chosen. Its processes are placed only where they
//! are on this host and ours to place.

use std::time::Duration;

use hopcost_core::{
    Code, Counted, Instance, Known, Locality, Look, Reading, Reason, Session, SessionPlacement,
    Setup, TargetError, VariantSettings,
};

use super::super::remote::address::Address;
use super::super::remote::failed;
use super::super::{Heard, data_words, say, wanted};
use super::instance::{Cluster, Copy};
use super::load::Loader;
use super::schema;
use super::wire::{Wire, WireError};

const GREETING: &str = "SET search_path TO hopcost, public";
const OURS: &str = "made by hopcost, dropped at the end of its run";
/// Any number that nobody else is likely to lock.
const LOCK: i64 = 0x0068_6f70_636f_7374;
const OLDEST: u32 = 13;

/// Goes to the server, and brings the data.
pub fn open(
    address: Address,
    setup: &Setup<'_>,
    heard: &mut Heard<'_>,
) -> Result<Box<dyn Instance>, TargetError> {
    let home = setup.homes.first().copied().unwrap_or_default();
    let mut wire = Wire::connect(&address).map_err(failed)?;
    wire.limit(Some(SHORTLY)).map_err(failed)?;
    is_fit(&mut wire, setup)?;
    be_alone(&mut wire)?;
    let begun = written(&mut wire).map_err(failed)?;
    // Calls that need no data of ours find the user's own.
    let needs_data = !wanted(setup).is_empty();
    let is_there = !needs_data || is_there(&mut wire, setup)?;
    if !is_there {
        (setup.promise)().map_err(TargetError::Failed)?;
        bring(&address, &mut wire, setup, heard)?;
    }
    wire.limit(None).map_err(failed)?;
    let greeting = if needs_data { GREETING } else { "" };
    let copy = Copy::of(address, wire, greeting, home)?;
    let [where_it_is, buffers] = {
        let mut warden = copy.warden();
        let place = "SELECT coalesce(host(inet_server_addr()), 'a Unix socket')";
        [place, "SHOW shared_buffers"]
            .map(|sql| warden.value(sql).ok().flatten().unwrap_or_default())
    };
    let identity = format!(
        "PostgreSQL {}, attached by {where_it_is}, {buffers} of shared buffers, {}; {}",
        copy.version(),
        copy.pages(),
        data_words(setup)
    );
    let cluster = Cluster::new(setup, vec![copy], identity)?;
    Ok(Box::new(Attached { cluster, begun, keep: setup.keep_data || is_there }))
}

/// Keeps a second hopcost out. One that has just ended may take a moment to let go.
fn be_alone(wire: &mut Wire) -> Result<(), TargetError> {
    // A server whose other end is gone without a word is to notice that, and let go.
    wire.query(
        "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_user_timeout = 30000",
    )
    .map_err(failed)?;
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
        Err(error) => Err(failed(error)),
    }
}

/// An advisory lock of one large number is known by its two halves.
fn who_has_the_lock() -> String {
    format!(
        "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1 \
         AND (classid::bigint << 32) + objid::bigint = {LOCK}"
    )
}

/// What the server calls a lock that somebody else has.
const NOT_AVAILABLE: &str = "55P03";

/// Can we work there, and may we?
fn is_fit(wire: &mut Wire, setup: &Setup<'_>) -> Result<(), TargetError> {
    let not_here = |code: Code, words: String| Err(TargetError::NotHere(code.because(words)));
    if wire.major() < OLDEST {
        return not_here(
            Code::WrongVersion,
            format!("PostgreSQL {} is older than {OLDEST}", wire.version),
        );
    }
    let mut ask = |sql: &str| wire.value(sql).map(Option::unwrap_or_default).map_err(failed);
    if ask("SELECT pg_is_in_recovery()")? == "t" {
        return not_here(
            Code::ReadOnly,
            "this server follows another one and takes no data: go to its primary".into(),
        );
    }
    let standbys = ask("SELECT count(*) FROM pg_stat_replication")?;
    let waited_for = ask("SHOW synchronous_standby_names")?;
    if (standbys != "0" || !waited_for.is_empty()) && !setup.allow_server_changes {
        return not_here(
            Code::ReadOnly,
            format!(
                "{standbys} servers follow this one, and what is written here goes to them: choose another, \
             or say --allow-server-changes"
            ),
        );
    }
    Ok(())
}

/// Has somebody left the very same data?
fn is_there(wire: &mut Wire, setup: &Setup<'_>) -> Result<bool, TargetError> {
    match comment(wire).map_err(failed)? {
        Some(comment) if !comment.starts_with(OURS) => Err(TargetError::NotHere(Code::NotOurs.because(
            "this database has a schema 'hopcost' that hopcost did not make: rename it, or name \
             another database",
        ))),
        comment => Ok(comment == Some(content(setup))),
    }
}

/// What the comment on the schema says when all of the data is there.
fn content(setup: &Setup<'_>) -> String {
    format!("{OURS} ({:016x})", schema::digest(setup))
}

/// Brings the data. What it leaves where it fails is for [`clear`].
fn bring(
    address: &Address,
    wire: &mut Wire,
    setup: &Setup<'_>,
    heard: &mut Heard<'_>,
) -> Result<(), TargetError> {
    say(heard, "making the schema hopcost", 0.0)?;
    // The comment tells whose it is from the first moment, and what is in it when all of it is there.
    let make = format!(
        "BEGIN; DROP SCHEMA IF EXISTS hopcost CASCADE; CREATE SCHEMA hopcost; \
         COMMENT ON SCHEMA hopcost IS '{OURS}'; COMMIT"
    );
    wire.query(&make).map_err(failed)?;
    if let Some(dataset) = setup.dataset {
        let loader = Loader { address, greeting: GREETING, dataset };
        loader.load(&wanted(setup), heard)?;
    }
    let comment = format!("COMMENT ON SCHEMA hopcost IS '{}'", content(setup));
    wire.query(&comment).map(|_| ()).map_err(failed)
}

const DROP: &str = "DROP SCHEMA IF EXISTS hopcost CASCADE";

/// The comment on a schema of our name: none where there is no such schema, empty where it has none.
fn comment(wire: &mut Wire) -> Result<Option<String>, WireError> {
    wire.value(
        "SELECT coalesce(obj_description(oid, 'pg_namespace'), '') FROM pg_namespace \
         WHERE nspname = 'hopcost'",
    )
}

/// Bytes of log that the server has written since it was made.
fn written(wire: &mut Wire) -> Result<u64, WireError> {
    let bytes = wire.value("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")?;
    Ok(bytes.and_then(|bytes| bytes.parse().ok()).unwrap_or(0))
}

/// Drops what a run has left that was killed, or could not drop it.
pub fn clear(address: &Address) -> Result<String, Reason> {
    let words = |error: WireError| Code::EngineFailed.because(error.to_string());
    let mut wire = again(address).map_err(words)?;
    wire.limit(Some(SHORTLY)).map_err(words)?;
    if !comment(&mut wire).map_err(words)?.is_some_and(|comment| comment.starts_with(OURS)) {
        return Ok("there is no schema of hopcost's any more".to_owned());
    }
    // What another run has taken over is not taken from it.
    be_alone(&mut wire).map_err(|error| error.code().because(error.to_string()))?;
    wire.query(STRAGGLERS).map_err(words)?;
    wire.query(DROP).map_err(words)?;
    Ok("dropped the schema hopcost".to_owned())
}

/// Another connection. Who is about to leave does not wait long for it.
fn again(address: &Address) -> Result<Wire, WireError> {
    let patience = address.patience.min(Duration::from_secs(10));
    Wire::connect(&Address { patience, ..address.clone() })
}

/// Nobody waits longer for an answer that takes no work.
const SHORTLY: Duration = Duration::from_mins(1);

/// Ends what the server still does for a hopcost that is gone: it would hold on to our tables to its end.
const STRAGGLERS: &str = "\
    SELECT pg_terminate_backend(pid) FROM (SELECT DISTINCT a.pid FROM pg_stat_activity AS a \
    JOIN pg_locks AS l ON l.pid = a.pid AND l.database = a.datid \
    JOIN pg_class AS c ON c.oid = l.relation JOIN pg_namespace AS n ON n.oid = c.relnamespace \
    WHERE n.nspname = 'hopcost' AND a.application_name = 'hopcost' AND a.datname = current_database() \
    AND a.usename = current_user AND a.pid <> pg_backend_pid()) AS left_over";

/// A server that is not ours.
struct Attached {
    cluster: Cluster,
    /// Bytes of log written before we came.
    begun: u64,
    keep: bool,
}

impl Instance for Attached {
    fn identity(&self) -> String {
        self.cluster.identity()
    }

    fn session(
        &self,
        variant: &VariantSettings,
        at: SessionPlacement,
    ) -> Result<Box<dyn Session>, TargetError> {
        // There is one server, wherever its data is to be: the proof tells where it is.
        self.cluster.session(variant, SessionPlacement { data: None, ..at })
    }

    fn enter_variant(&self, variant: &VariantSettings) -> Result<(), TargetError> {
        self.cluster.enter_variant(variant)
    }

    fn leave_variant(&self, variant: &VariantSettings) -> Counted {
        self.cluster.leave_variant(variant)
    }

    fn prove(&self, look: Look) -> Known<Vec<Locality>> {
        self.cluster.prove(look)
    }

    fn plans(&self) -> Result<Vec<String>, TargetError> {
        self.cluster.plans()
    }

    fn workers(&self) -> Vec<u32> {
        self.cluster.workers()
    }

    fn readings(&self) -> Vec<Reading> {
        self.cluster.readings()
    }

    fn close(self: Box<Self>) -> Result<Vec<String>, TargetError> {
        let copy = self.cluster.first();
        let left = leave(&mut copy.warden(), self.keep).map_err(failed);
        let left = match left {
            // The connection may be gone, and the server need not be.
            Err(_) if !self.keep => leave_anew(&copy.address),
            left => left,
        };
        match left {
            Ok(end) => {
                let kib = super::super::with_commas(end.saturating_sub(self.begun) >> 10);
                let log =
                    format!("the server wrote {kib} KiB of log in all while hopcost was there");
                Ok([log].into_iter().chain(self.cluster.notes()).collect())
            }
            Err(error) if self.keep => {
                Ok(vec![format!("how much log the server wrote is not known: {error}")])
            }
            Err(error) => Err(error),
        }
    }

    fn hang_up(&self) {
        self.cluster.hang_up();
    }
}

/// The same over a connection of its own.
fn leave_anew(address: &Address) -> Result<u64, TargetError> {
    let mut wire = again(address).map_err(failed)?;
    be_alone(&mut wire)?;
    leave(&mut wire, false).map_err(failed)
}

/// Leaves the server as it was found, but for what is to stay: the bytes of log that it has written.
fn leave(wire: &mut Wire, keep: bool) -> Result<u64, WireError> {
    wire.limit(Some(SHORTLY))?;
    if !keep {
        wire.query(DROP)?;
    }
    written(wire)
}
