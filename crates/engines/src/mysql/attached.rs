//! A server that runs, with its own work and its own tables: what is ours lives in a database of ours.
//!
//! Method: the database `hopcost` has a table by which we know it; one of that name without it is somebody else's,
//! and is not touched. A lock of the server's keeps a second hopcost out. At the end the database is dropped,
//! unless it is to be kept or was there before; a killed run's is dropped by `hopcost restore`, or taken over by
//! the next run. A server that others follow is refused unless the user says otherwise.
//!
//! Limits: where its memory lies is proved and cannot be chosen. Its threads are placed only where they are on this
//! host and ours to place. Nothing of what the server writes down of statements is ours to turn on.

use std::time::Duration;

use hopcost_core::{
    Code, Counted, Instance, Known, Locality, Look, Reading, Reason, Session, SessionPlacement,
    Setup, TargetError, VariantSettings,
};

use super::super::remote::address::Address;
use super::super::remote::version::numbers;
use super::super::remote::{FOREIGN, failed};
use super::super::{Heard, Wanted, data_words, say, wanted, with_commas};
use super::DATABASE;
use super::instance::{Cluster, Copy};
use super::load::Loader;
use super::programs::Flavour;
use super::schema;
use super::wire::{Wire, WireError};

const OURS: &str = "made by hopcost, dropped at the end of its run";
/// The table that says so.
const MARK: &str = "made_by_hopcost";
const LOCK: &str = "hopcost";
/// Nobody waits longer for an answer that takes no work.
const SHORTLY: Duration = Duration::from_mins(1);

/// Goes to the server, and brings the data.
pub fn open(
    flavour: Flavour,
    address: Address,
    setup: &Setup<'_>,
    heard: &mut Heard<'_>,
) -> Result<Box<dyn Instance>, TargetError> {
    let home = setup.homes.first().copied().unwrap_or_default();
    let mut wire = Wire::connect(&address).map_err(failed)?;
    wire.limit(Some(SHORTLY)).map_err(failed)?;
    is_fit(flavour, &mut wire, setup)?;
    be_alone(&mut wire)?;
    let begun = written(&mut wire).map_err(failed)?;
    // Calls that need no data of ours find the user's own.
    let needs_data = !wanted(setup).is_empty();
    let to_ours = Address { database: DATABASE.to_owned(), ..address.clone() };
    let is_there = !needs_data || is_there(&mut wire, setup)?;
    if !is_there {
        takes_rows(&mut wire)?;
        (setup.promise)().map_err(TargetError::Failed)?;
        bring(&to_ours, &mut wire, setup, heard)?;
    }
    if needs_data {
        wire.query(&format!("USE `{DATABASE}`")).map_err(failed)?;
    }
    wire.limit(None).map_err(failed)?;
    let copy = Copy::of(if needs_data { to_ours } else { address.clone() }, wire, home, setup)?;
    let pool = copy.value("SELECT @@innodb_buffer_pool_size DIV 1048576").unwrap_or_default();
    let host = copy.value("SELECT @@hostname").unwrap_or_default();
    let identity = format!(
        "{} {}, attached on {host}, {pool} MiB of buffer pool; {}",
        flavour.name(),
        copy.version(),
        data_words(setup)
    );
    let cluster = Cluster::new(setup, vec![copy], identity);
    Ok(Box::new(Attached { cluster, address, begun, keep: setup.keep_data || is_there }))
}

/// Can we work there, and may we?
fn is_fit(flavour: Flavour, wire: &mut Wire, setup: &Setup<'_>) -> Result<(), TargetError> {
    let not_here = |code: Code, words: String| Err(TargetError::NotHere(code.because(words)));
    if wire.is_mariadb() != (flavour == Flavour::MariaDb) {
        let [is, other] = match flavour {
            Flavour::MySql => [Flavour::MariaDb, flavour],
            Flavour::MariaDb => [Flavour::MySql, flavour],
        };
        let (is, scheme, other) = (is.name(), is.scheme(), other.name());
        return not_here(
            Code::WrongServer,
            format!("this server is {is}, and not {other}: write {scheme}://…"),
        );
    }
    let oldest: &[u32] = if wire.is_mariadb() { &[10, 6] } else { &[8] };
    if numbers(&wire.version).as_slice() < oldest {
        let words: Vec<String> = oldest.iter().map(u32::to_string).collect();
        return not_here(
            Code::WrongVersion,
            format!("{} {} is older than {}", flavour.name(), wire.version, words.join(".")),
        );
    }
    if is_on(wire, "read_only")? {
        return not_here(
            Code::ReadOnly,
            "this server takes no data (read_only): it may follow another one; go to its primary"
                .into(),
        );
    }
    let followers = wire.value(FOLLOWERS).map_err(failed)?.unwrap_or_default();
    if followers != "0" && !setup.allow_server_changes {
        return not_here(
            Code::ReadOnly,
            format!(
                "{followers} servers follow this one, and what is written here goes to them: choose another, or \
             say --allow-server-changes"
            ),
        );
    }
    Ok(())
}

/// Servers answer with a number or, newer ones, with a word.
fn is_on(wire: &mut Wire, variable: &str) -> Result<bool, TargetError> {
    let value = wire.value(&format!("SELECT @@{variable}")).map_err(failed)?;
    Ok(!["0", "OFF"].contains(&value.unwrap_or_default().as_str()))
}

/// Whoever may not see others' connections sees none: then nobody is told to follow.
const FOLLOWERS: &str = "\
    SELECT count(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'";

/// Does the server take rows from those who ask it?
fn takes_rows(wire: &mut Wire) -> Result<(), TargetError> {
    if is_on(wire, "local_infile")? {
        return Ok(());
    }
    let words = "this server takes no rows from its clients (local_infile = OFF), and hopcost brings its data so: \
                 let an administrator SET GLOBAL local_infile = ON, and back afterwards; or load once meanwhile, \
                 with hopcost load … --keep-data";
    Err(TargetError::NotHere(Code::ReadOnly.because(words)))
}

/// Keeps a second hopcost out. One that has just ended may take a moment to let go.
fn be_alone(wire: &mut Wire) -> Result<(), TargetError> {
    if wire.value(&format!("SELECT GET_LOCK('{LOCK}', 5)")).map_err(failed)?.as_deref() == Some("1")
    {
        return Ok(());
    }
    let who =
        wire.value(&format!("SELECT IS_USED_LOCK('{LOCK}')")).ok().flatten().unwrap_or_default();
    Err(TargetError::NotHere(Code::ServerInUse.because(format!(
        "another hopcost is at work on this server (its connection {who}): wait until it is through; where it \
         is gone, 'KILL {who}' ends what is left"
    ))))
}

/// Has somebody left the very same data, perhaps beside other?
fn is_there(wire: &mut Wire, setup: &Setup<'_>) -> Result<bool, TargetError> {
    match mark(wire).map_err(failed)? {
        Mark::Foreign => Err(TargetError::NotHere(Code::NotOurs.because(FOREIGN))),
        Mark::None => Ok(false),
        Mark::Ours(there) => Ok(contents_of(setup).iter().all(|content| there.contains(content))),
    }
}

/// What there is of our name.
enum Mark {
    None,
    Foreign,
    /// With these tables in it, and all of their rows.
    Ours(Vec<String>),
}

fn mark(wire: &mut Wire) -> Result<Mark, WireError> {
    let database =
        format!("SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{DATABASE}'");
    if wire.value(&database)?.is_none() {
        return Ok(Mark::None);
    }
    let table = format!(
        "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{DATABASE}' AND TABLE_NAME = '{MARK}'"
    );
    if wire.value(&table)?.is_none() {
        return Ok(Mark::Foreign);
    }
    let contents = wire.query(&format!("SELECT content FROM `{DATABASE}`.`{MARK}`"))?;
    Ok(Mark::Ours(contents.into_iter().flatten().flatten().collect()))
}

/// What that table has of each table that is there: its name, and a digest of its data.
fn contents_of(setup: &Setup<'_>) -> Vec<String> {
    let content = |wanted: &Wanted| {
        format!("{} {:016x}", wanted.table.name, schema::digest_of(setup, wanted))
    };
    wanted(setup).iter().map(content).collect()
}

/// Brings the data. What it leaves where it fails is for [`clear`].
fn bring(
    address: &Address,
    wire: &mut Wire,
    setup: &Setup<'_>,
    heard: &mut Heard<'_>,
) -> Result<(), TargetError> {
    say(heard, "making the database hopcost", 0.0)?;
    for sql in [
        drop_database(),
        format!("CREATE DATABASE `{DATABASE}`"),
        // It tells whose it is from the first moment, and what is there when all of it is.
        format!("CREATE TABLE `{DATABASE}`.`{MARK}` (content VARCHAR(200)) COMMENT '{OURS}'"),
    ] {
        wire.query(&sql).map_err(failed)?;
    }
    if let Some(dataset) = setup.dataset {
        Loader { address, dataset }.load(&wanted(setup), heard)?;
    }
    for content in contents_of(setup) {
        let insert = format!("INSERT INTO `{DATABASE}`.`{MARK}` VALUES ('{content}')");
        wire.query(&insert).map_err(failed)?;
    }
    Ok(())
}

fn drop_database() -> String {
    format!("DROP DATABASE IF EXISTS `{DATABASE}`")
}

/// Bytes of log that the server has written since it was started.
fn written(wire: &mut Wire) -> Result<u64, WireError> {
    let rows = wire.query("SHOW GLOBAL STATUS LIKE 'Innodb_os_log_written'")?;
    let bytes = rows.into_iter().next().and_then(|row| row.into_iter().nth(1)).flatten();
    Ok(bytes.and_then(|bytes| bytes.parse().ok()).unwrap_or(0))
}

/// Drops what a run has left that was killed, or could not drop it.
pub fn clear(address: &Address) -> Result<String, Reason> {
    let words = |error: WireError| Code::EngineFailed.because(error.to_string());
    let mut wire = again(address).map_err(words)?;
    wire.limit(Some(SHORTLY)).map_err(words)?;
    match mark(&mut wire).map_err(words)? {
        Mark::Ours(_) => {}
        Mark::None => return Ok("there is no database of hopcost's any more".to_owned()),
        Mark::Foreign => return Err(Code::NotOurs.because(FOREIGN)),
    }
    // What another run has taken over is not taken from it.
    be_alone(&mut wire).map_err(|error| error.code().because(error.to_string()))?;
    end_stragglers(&mut wire).map_err(words)?;
    wire.query(&drop_database()).map_err(words)?;
    Ok("dropped the database hopcost".to_owned())
}

/// Ends what the server still does for a hopcost that is gone: it would hold on to our tables to its end.
fn end_stragglers(wire: &mut Wire) -> Result<(), WireError> {
    let who = format!(
        "SELECT ID FROM information_schema.PROCESSLIST WHERE DB = '{DATABASE}' AND ID <> CONNECTION_ID()"
    );
    for number in wire.query(&who)?.into_iter().flatten().flatten() {
        // It may have ended meanwhile.
        let _ = wire.query(&format!("KILL {number}"));
    }
    Ok(())
}

/// Another connection. Who is about to leave does not wait long for it.
fn again(address: &Address) -> Result<Wire, WireError> {
    let patience = address.patience.min(Duration::from_secs(10));
    Wire::connect(&Address { patience, ..address.clone() })
}

/// A server that is not ours.
struct Attached {
    cluster: Cluster,
    /// Where it is, and the user's own database.
    address: Address,
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
        let left = leave(&mut self.cluster.first().warden(), self.keep).map_err(failed);
        let left = match left {
            // The connection may be gone, and the server need not be.
            Err(_) if !self.keep => {
                // It may hold the lock.
                self.cluster.hang_up();
                leave_anew(&self.address)
            }
            left => left,
        };
        match left {
            Ok(end) => {
                let kib = with_commas(end.saturating_sub(self.begun) >> 10);
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
        wire.query(&drop_database())?;
    }
    written(wire)
}
