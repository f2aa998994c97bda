//! A server that runs, with its own work and its own tables: what is ours lives in a schema of ours.
//!
//! Method: the schema `hopcost` bears a comment by which we know it; one of that name without it is
//! somebody else's, and is not touched. Loaded tables are unlogged. An advisory lock keeps a second
//! hopcost out. At the end the schema is dropped, unless it is to be kept; a killed run's is dropped by
//! `hopcost restore`, or taken over by the next run. A server that others follow is refused unless the
//! user says otherwise.
//!
//! Limits: where its memory lies is proved and cannot be chosen. Its processes are placed only where they
//! are on this host and ours to place.

use hopcost_core::{Instance, Known, Locality, Look, Reading, Seat, Session, Setup, TargetError};

use super::super::{Heard, say, wanted};
use super::address::Address;
use super::instance::{Cluster, Copy};
use super::load::Loader;
use super::schema;
use super::session::failed;
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
    let mut wire = Wire::connect(&address).map_err(failed)?;
    is_fit(&mut wire, setup)?;
    be_alone(&mut wire)?;
    let begun = written(&mut wire).map_err(failed)?;
    // Calls that need no data of ours find the user's own.
    let needs_data = !wanted(setup).is_empty();
    if needs_data {
        bring(&address, &mut wire, setup, heard)?;
    }
    let greeting = if needs_data { GREETING } else { "" };
    let copy = Copy::of(address, wire, greeting, setup.homes.first().copied())?;
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
        schema::words(setup)
    );
    let cluster = Cluster::new(setup, vec![copy], identity)?;
    Ok(Box::new(Attached { cluster, begun, keep: setup.keep_data || !needs_data }))
}

/// Keeps a second hopcost out. One that has just ended may take a moment to let go.
fn be_alone(wire: &mut Wire) -> Result<(), TargetError> {
    let lock =
        format!("SET lock_timeout = '5s'; SELECT pg_advisory_lock({LOCK}); RESET lock_timeout");
    wire.query(&lock).map(|_| ()).map_err(|error| match error {
        WireError::Server(said) if said.code == NOT_AVAILABLE => TargetError::Failed(
            "another hopcost is at work in this database: wait until it is through".to_owned(),
        ),
        error => failed(error),
    })
}

/// What the server calls a lock that somebody else has.
const NOT_AVAILABLE: &str = "55P03";

/// Can we work there, and may we?
fn is_fit(wire: &mut Wire, setup: &Setup<'_>) -> Result<(), TargetError> {
    let not_here = |words: String| Err(TargetError::NotHere(words.into()));
    let major = wire.version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0);
    if major < OLDEST {
        return not_here(format!("PostgreSQL {} is older than {OLDEST}", wire.version));
    }
    let mut ask = |sql: &str| wire.value(sql).map(Option::unwrap_or_default).map_err(failed);
    if ask("SELECT pg_is_in_recovery()")? == "t" {
        return not_here(
            "this server follows another one and takes no data: go to its primary".into(),
        );
    }
    let standbys = ask("SELECT count(*) FROM pg_stat_replication")?;
    let waited_for = ask("SHOW synchronous_standby_names")?;
    if (standbys != "0" || !waited_for.is_empty()) && !setup.allow_server_changes {
        return not_here(format!(
            "{standbys} servers follow this one, and what is written here goes to them: choose another, \
             or say --allow-server-changes"
        ));
    }
    Ok(())
}

/// Brings the data, unless a run before has left the very same.
fn bring(
    address: &Address,
    wire: &mut Wire,
    setup: &Setup<'_>,
    heard: &mut Heard<'_>,
) -> Result<(), TargetError> {
    let content = format!("{OURS} ({:016x})", schema::digest(setup));
    match comment(wire).map_err(failed)? {
        Some(comment) if comment == content => return Ok(()),
        Some(comment) if !comment.starts_with(OURS) => {
            return Err(TargetError::Failed(
                "this database has a schema 'hopcost' that hopcost did not make: rename it, or name \
                 another database"
                    .to_owned(),
            ));
        }
        _ => {}
    }
    say(heard, "making the schema hopcost", 0.0)?;
    (setup.promise)().map_err(TargetError::Failed)?;
    // The comment tells whose it is from the first moment, and what is in it when all of it is there.
    let make = format!(
        "BEGIN; DROP SCHEMA IF EXISTS hopcost CASCADE; CREATE SCHEMA hopcost; \
         COMMENT ON SCHEMA hopcost IS '{OURS}'; COMMIT"
    );
    wire.query(&make).map_err(failed)?;
    if let Some(dataset) = setup.dataset {
        let loader = Loader { address, greeting: GREETING, dataset };
        if let Err(error) = loader.load(&wanted(setup), heard) {
            // The first error is the one to tell.
            let _ = wire.query(DROP);
            return Err(error);
        }
    }
    wire.query(&format!("COMMENT ON SCHEMA hopcost IS '{content}'")).map_err(failed)?;
    Ok(())
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

/// Drops what a killed run left.
pub fn clear(address: &Address) -> Result<String, String> {
    let words = |error: WireError| error.to_string();
    let mut wire = Wire::connect(address).map_err(words)?;
    match comment(&mut wire).map_err(words)? {
        Some(comment) if comment.starts_with(OURS) => {
            wire.query(DROP).map_err(words)?;
            Ok("dropped the schema hopcost".to_owned())
        }
        _ => Ok("there is no schema of hopcost's any more".to_owned()),
    }
}

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

    fn session(&self, seat: Seat) -> Result<Box<dyn Session>, TargetError> {
        // There is one server, wherever its data is to be: the proof tells where it is.
        self.cluster.session(Seat { home: None, ..seat })
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
        let mut warden = self.cluster.first().warden();
        if !self.keep {
            warden.query(DROP).map_err(failed)?;
        }
        let bytes = written(&mut warden).map_err(failed)?.saturating_sub(self.begun);
        Ok(vec![format!(
            "the server wrote {} KiB of log in all while hopcost was there",
            super::super::with_commas(bytes >> 10)
        )])
    }
}
