//! A server that runs, with its own work and its own tables: what is ours lives in a database of ours.
//!
//! Method: the database `hopcost` has a table by which we know it; one of that name without it is somebody else's,
//! and is not touched. A lock of the server's keeps a second hopcost out. At the end the database is dropped,
//! unless it is to be kept or was there before; a killed run's is dropped by `hopcost restore`, or taken over by
//! the next run. What was changed of the server itself is written down in that table before, and put back before it
//! goes.

use std::time::Duration;

use hopcost_core::{
    Code, Counted, Filling, Instance, Known, Locality, Look, Reading, Reason, Session,
    SessionPlacement, Setup, TargetError, VariantSettings,
};

use super::super::server::address::Address;
use super::super::server::{FOREIGN, failed};
use super::super::{Heard, Wanted, data_words, say, wanted};
use super::address::Own;
use super::affinity::{self, Affinity};
use super::audit;
use super::instance::Server;
use super::load::Loader;
use super::scripts::year_of;
use super::wire::{Wire, WireError, is_local};
use super::{DATABASE, schema};

/// Nobody waits longer for an answer that takes no work.
const SHORTLY: Duration = Duration::from_mins(1);
/// What the server calls Azure's databases that no connection can go from to another: SQL Database, Synapse, serverless
/// pools, Fabric.
const SINGLE_DATABASES: [&str; 4] = ["5", "6", "11", "12"];
/// The same of Azure's that is a whole server, but for its CPUs: Managed Instance.
const MANAGED_INSTANCE: &str = "8";

const ONE_DATABASE: &str = "this is Azure SQL Database, or one like it: a connection cannot go from one database to \
    another there, as hopcost does for one of its own, and no CPUs are anybody's to choose; go to a Managed Instance or a server";
const NO_CPUS: &str = "this is Azure SQL Managed Instance: which CPUs work is nobody's to choose there, and nothing of \
    the server was changed";

const KEPT_IS_NOT_BOUND: &str = "the data was there already, and the server is bound only for data that comes and goes \
    with the run: let 'hopcost restore' or DROP DATABASE hopcost remove it first";

/// Goes to the server, and brings the data.
pub fn open(
    address: Address,
    own: Own,
    setup: &Setup<'_>,
    heard: &mut Heard<'_>,
) -> Result<Box<dyn Instance>, TargetError> {
    let mut wire = Wire::connect(&address).map_err(failed)?;
    wire.limit(Some(SHORTLY)).map_err(failed)?;
    if year_of(&wire.version).is_none() {
        let words = format!("SQL Server {} is older than 2012", wire.version);
        return Err(TargetError::NotHere(Code::WrongVersion.because(words)));
    }
    let [edition, engine, host, _] = identity(&mut wire).map_err(failed)?;
    if SINGLE_DATABASES.contains(&engine.as_str()) {
        return Err(TargetError::NotHere(Code::WrongServer.because(ONE_DATABASE)));
    }
    let is_azure = engine == MANAGED_INSTANCE;
    be_alone(&mut wire)?;
    // Calls that need no data of ours find the user's own.
    let needs_data = !wanted(setup).is_empty();
    let to_ours = Address { database: DATABASE.to_owned(), ..address.clone() };
    let is_there = !needs_data || is_there(&mut wire, setup)?;
    let binds = setup.allow_server_changes && is_local(&address) && !is_azure;
    let is_kept = is_there && needs_data;
    // What a killed run has left changed is put back.
    let was = if !is_there {
        (setup.promise)().map_err(TargetError::Failed)?;
        bring(&to_ours, &mut wire, binds, setup, heard)?
    } else if is_kept {
        PutBack::of(&mut wire).map_err(failed)?
    } else {
        PutBack::default()
    };
    wire.limit(None).map_err(failed)?;
    let to = if needs_data { &to_ours } else { &address };
    let again = || Wire::connect(to).map_err(failed);
    // What nobody would put back for us is not changed.
    let binds = binds && !is_there;
    let may_audit = setup.allow_server_changes && !is_there && !is_azure;
    let affinity = binds.then(|| again().map(Affinity::new)).transpose()?;
    let on = if host.is_empty() { String::new() } else { format!(" on {host}") };
    let identity = format!(
        "SQL Server {} ({edition}), attached{on}, experimental; {}",
        wire.version,
        data_words(setup)
    );
    let mut server =
        Server::new(setup, to.clone(), own, again()?, (affinity, may_audit), identity)?;
    was.left().iter().for_each(|words| server.note(words));
    if is_azure {
        server.note(NO_CPUS);
    }
    if is_kept && setup.allow_server_changes {
        server.note(KEPT_IS_NOT_BOUND);
    }
    Ok(Box::new(Attached { server, wire, address, keep: setup.keep_data || is_there }))
}

fn said(wire: &mut Wire, name: &str) -> Result<Option<String>, WireError> {
    let sql = wire.script(name)?;
    wire.value(sql)
}

fn identity(wire: &mut Wire) -> Result<[String; 4], WireError> {
    let sql = wire.script("identity")?;
    let row = wire.query(sql)?.into_iter().next().unwrap_or_default();
    let mut values = row.into_iter().map(Option::unwrap_or_default);
    Ok([(); 4].map(|()| values.next().unwrap_or_default()))
}

/// Keeps a second hopcost out.
fn be_alone(wire: &mut Wire) -> Result<(), TargetError> {
    let got = said(wire, "be_alone").map_err(failed)?;
    if got.and_then(|got| got.parse::<i32>().ok()).is_some_and(|got| got >= 0) {
        return Ok(());
    }
    let words = "another hopcost is at work on this server: wait until it is through; where it is gone, KILL ends \
                 its session (sys.dm_exec_sessions has it under the program's name, hopcost)";
    Err(TargetError::NotHere(Code::ServerInUse.because(words)))
}

/// What there is of our name.
enum Mark {
    None,
    Foreign,
    /// With these tables in it, and all of their rows.
    Ours(Vec<String>),
}

fn mark(wire: &mut Wire) -> Result<Mark, WireError> {
    if said(wire, "database_is_there")?.as_deref() == Some("0") {
        return Ok(Mark::None);
    }
    if said(wire, "mark_is_there")?.as_deref() == Some("0") {
        return Ok(Mark::Foreign);
    }
    let sql = wire.script("mark")?;
    Ok(Mark::Ours(wire.query(sql)?.into_iter().flatten().flatten().collect()))
}

/// Has somebody left the very same data, perhaps beside other?
fn is_there(wire: &mut Wire, setup: &Setup<'_>) -> Result<bool, TargetError> {
    match mark(wire).map_err(failed)? {
        Mark::Foreign => Err(TargetError::NotHere(Code::NotOurs.because(FOREIGN))),
        Mark::None => Ok(false),
        Mark::Ours(there) => {
            // Of a load nothing is kept: each session makes its own tables.
            let contents = contents_of(setup);
            Ok(!contents.is_empty() && contents.iter().all(|content| there.contains(content)))
        }
    }
}

/// The tables that are brought: of a load each session makes its own.
fn brought(setup: &Setup<'_>) -> Vec<Wanted> {
    match setup.spec().effect.filling() {
        Some(Filling::Bulk(_)) => Vec::new(),
        _ => wanted(setup),
    }
}

/// What that table has of each table that is there: its name, and a digest of its data.
fn contents_of(setup: &Setup<'_>) -> Vec<String> {
    let content = |wanted: &Wanted| {
        format!("{} {:016x}", wanted.table.name, schema::digest_of(setup, wanted))
    };
    brought(setup).iter().map(content).collect()
}

/// Brings the data, and puts back what a killed run has left. What it leaves where it fails is for [`clear`].
fn bring(
    address: &Address,
    wire: &mut Wire,
    binds: bool,
    setup: &Setup<'_>,
    heard: &mut Heard<'_>,
) -> Result<PutBack, TargetError> {
    say(heard, "making the database hopcost", 0.0)?;
    let was = put_back_and_drop(wire).map_err(failed)?;
    said(wire, "create_database").map_err(failed)?;
    // It tells whose it is from the first moment, and what is there when all of it is.
    said(wire, "create_mark").map_err(failed)?;
    // A server that only speaks as SQL Server does has no such choice.
    let _ = said(wire, "recovery");
    let mut ours = Wire::connect(address).map_err(failed)?;
    // Pages come to be on the node of whoever brings them.
    let home = setup.homes.first().and_then(|home| setup.machine.node(home.node?));
    if let Some(home) = home.filter(|_| binds) {
        let affinity = Affinity::new(Wire::connect(address).map_err(failed)?);
        affinity.bind(&home.cpus).map_err(failed)?;
    }
    if let Some(dataset) = setup.dataset {
        Loader { address, dataset }.load(&brought(setup), heard)?;
    }
    for content in contents_of(setup) {
        let insert = format!("INSERT INTO made_by_hopcost VALUES ('{content}')");
        ours.query(&insert).map_err(failed)?;
    }
    Ok(was)
}

/// What was put back of the server.
#[derive(Default)]
struct PutBack {
    /// To what it is bound again.
    cpus: Option<String>,
    /// Which files stay of what it wrote down, if it did; no words where they are gone.
    files: Option<String>,
}

impl PutBack {
    /// Puts back what was changed.
    fn of(wire: &mut Wire) -> Result<Self, WireError> {
        Ok(Self { cpus: affinity::put_back(wire)?, files: audit::put_back(wire)? })
    }

    fn words(&self) -> String {
        let bound = self.cpus.as_ref().map(|cpus| format!("bound the server to CPU {cpus} again"));
        let ended =
            self.files.as_ref().map(|_| "ended what it wrote down of statements".to_owned());
        [bound, ended].into_iter().flatten().map(|words| format!("{words}, and ")).collect()
    }

    /// What it could not.
    fn left(&self) -> Option<String> {
        self.files.clone().filter(|files| !files.is_empty())
    }
}

/// Puts back what was changed of the server, and drops the database, where it is ours.
fn put_back_and_drop(wire: &mut Wire) -> Result<PutBack, WireError> {
    if !matches!(mark(wire)?, Mark::Ours(_)) {
        return Ok(PutBack::default());
    }
    let was = PutBack::of(wire)?;
    end_stragglers(wire)?;
    // A server that only speaks as SQL Server does has no such choice.
    let _ = said(wire, "be_single_user");
    said(wire, "drop_database")?;
    Ok(was)
}

/// Ends what the server still does for a hopcost that is gone: it would hold on to our tables to its end.
fn end_stragglers(wire: &mut Wire) -> Result<(), WireError> {
    let sql = wire.script("end_stragglers")?;
    for number in wire.query(sql)?.into_iter().flatten().flatten() {
        // It may have ended meanwhile.
        let _ = wire.query(&format!("KILL {number}"));
    }
    Ok(())
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
    let was = put_back_and_drop(&mut wire).map_err(words)?;
    let left = was.left().map(|words| format!("; {words}")).unwrap_or_default();
    Ok(format!("{}dropped the database hopcost{left}", was.words()))
}

/// Another connection. Who is about to leave does not wait long for it.
fn again(address: &Address) -> Result<Wire, WireError> {
    let patience = address.patience.min(Duration::from_secs(10));
    Wire::connect(&Address { patience, ..address.clone() })
}

/// A server that is not ours.
struct Attached {
    server: Server,
    /// The connection that holds the lock.
    wire: Wire,
    /// Where it is, and the user's own database.
    address: Address,
    keep: bool,
}

impl Instance for Attached {
    fn identity(&self) -> String {
        self.server.identity()
    }

    fn session(
        &self,
        variant: &VariantSettings,
        at: SessionPlacement,
    ) -> Result<Box<dyn Session>, TargetError> {
        self.server.session(variant, at)
    }

    fn enter_variant(&self, variant: &VariantSettings) -> Result<(), TargetError> {
        self.server.enter_variant(variant)
    }

    fn leave_variant(&self, variant: &VariantSettings) -> Counted {
        self.server.leave_variant(variant)
    }

    fn prove(&self, look: Look) -> Known<Vec<Locality>> {
        self.server.prove(look)
    }

    fn plans(&self) -> Result<Vec<String>, TargetError> {
        self.server.plans()
    }

    fn readings(&self) -> Vec<Reading> {
        self.server.readings()
    }

    fn hang_up(&self) {
        self.server.hang_up();
    }

    fn close(self: Box<Self>) -> Result<Vec<String>, TargetError> {
        let Self { server, mut wire, address, keep } = *self;
        let mut notes = server.notes();
        // Its sessions would hold on to the database.
        drop(server);
        // The connection may be gone, and the server need not be.
        let was = if let Ok(was) = leave(&mut wire, keep) {
            was
        } else {
            // It may hold the lock.
            drop(wire);
            let mut wire = again(&address).map_err(failed)?;
            be_alone(&mut wire)?;
            leave(&mut wire, keep).map_err(failed)?
        };
        notes.extend(was.left());
        Ok(notes)
    }
}

/// Leaves the server as it was found, but for what is to stay.
fn leave(wire: &mut Wire, keep: bool) -> Result<PutBack, WireError> {
    wire.limit(Some(SHORTLY))?;
    if !keep {
        return put_back_and_drop(wire);
    }
    if !matches!(mark(wire)?, Mark::Ours(_)) {
        return Ok(PutBack::default());
    }
    let was = PutBack::of(wire)?;
    let _ = said(wire, "drop_jobs");
    Ok(was)
}
