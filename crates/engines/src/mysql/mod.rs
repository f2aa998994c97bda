//! **mysql** and **mariadb**: MySQL 8 and later, MariaDB 10.6 and later, managed or existing.
//!
//! Method: each session's server thread is pinned where the experiment wants the work done, and so
//! are MySQL's log threads; in MariaDB the committing thread writes the log.
//!
//! Limits: page accesses are not counted: all pages of the buffer pool are assumed to be accessed.
//! Thread states are coarse. Mutex waits are those that ended in sleep, which are few.

mod address;
mod audit;
mod calendar;
mod calls;
mod flavour;
mod home;
mod housing;
mod packet;
mod password;
mod schema;
mod types;
mod wire;

use std::sync::OnceLock;

use hopcost_core::{
    Capabilities, Code, Counted, Dataset, Gauge, Lookups, Reading, Reason, Restriction,
    SessionPlacement, Setting, Setup, Statement, TargetError, VariantSettings, gauge,
};
use hopcost_sys::memory::Foreign;

use super::Wanted;
use super::restrictions::{NO_BATCHES, NO_PAGES, NO_PARALLEL, NO_SCRIPTS, no_planting, one_server};
use super::server::address::{Address, Asked, Environment, is_of_running};
use super::server::audit_log::AuditLogReader;
use super::server::copy::{self, Levels, Opened, ServerCopy, prove_pages};
use super::server::dialect::{Dialect, Profile};
use super::server::managed;
use super::server::memory::ServerMemory;
use super::server::target::{Kind, Start};
use super::server::wire::{Wire as _, WireError};
use super::server::{DATABASE, in_quotes};
pub use address::read;
use audit::Means;
use calls::Call;
pub use flavour::Flavour;
use flavour::MySqlDialect;
use types::arguments;
pub use wire::Wire;

macro_rules! running {
    ($name:literal) => {
        Capabilities::but(&[
            NO_PARALLEL,
            NO_PAGES,
            NO_PLANTING,
            NO_SCRIPTS,
            NO_BATCHES,
            NO_NODES,
            one_server!($name),
            NO_TRAIL,
        ])
    };
}

impl Kind for Flavour {
    type Dialect = MySqlDialect;
    const BYTES: [u64; 2] = [4 << 20, 512 << 20];
    const START: Option<Start<MySqlDialect>> = Some(managed::open);

    fn profile(&self) -> &'static Profile {
        Self::profile(*self)
    }

    fn about(&self) -> &'static str {
        match self {
            Self::MySql => {
                "MySQL: mysql:managed is a server of its own, its log's threads in place; mysql://… one that runs"
            }
            Self::MariaDb => {
                "MariaDB: mariadb:managed is a server of its own, mariadb://… one that runs"
            }
        }
    }

    fn read(&self, rest: &str, environment: Environment<'_>) -> Result<Asked, Reason> {
        read(self.scheme(), rest, environment)
    }

    fn capabilities(&self, address: &str) -> Capabilities {
        match self {
            _ if !is_of_running(address) => {
                Capabilities::but(&[NO_PARALLEL, NO_PAGES, NO_PLANTING, NO_SCRIPTS, NO_BATCHES])
            }
            Self::MySql => RUNNING_MYSQL,
            Self::MariaDb => RUNNING_MARIADB,
        }
    }

    fn dialect(
        &self,
        _: Option<&Address>,
        setup: Option<&Setup<'_>>,
    ) -> Result<MySqlDialect, TargetError> {
        let dataset = setup.and_then(|setup| setup.dataset).map(Dataset::name);
        let dataset = dataset.and_then(super::server::dataset_named);
        let is_emulated = setup.is_some_and(|setup| setup.emulation.is_some());
        Ok(MySqlDialect { flavour: *self, dataset, is_emulated })
    }
}

const RUNNING_MYSQL: Capabilities = running!("mysql");
const RUNNING_MARIADB: Capabilities = running!("mariadb");
const NO_PLANTING: Restriction = no_planting!("a server");
const NO_NODES: Restriction = Restriction::of(
    &[Setting::EmulatedNodes],
    Code::NotPlaceable,
    "the buffer pool of an existing server cannot be placed on emulated nodes. Use it without --emulate, or use \
     mysql:managed or mariadb:managed",
);
const NO_TRAIL: Restriction = Restriction::of(&[Setting::Audit], Code::Unsupported, NOT_AUDITED);
const NOT_AUDITED: &str = "\
    this variant logs every statement; hopcost neither fills nor reads the log of an existing server. Use \
    mysql:managed or mariadb:managed";

const LOG_THREADS: &str = "\
    SELECT THREAD_OS_ID FROM performance_schema.threads \
    WHERE NAME IN ('thread/innodb/log_writer_thread', 'thread/innodb/log_flusher_thread')";

impl Dialect for MySqlDialect {
    type Wire = Wire;
    type Call = Call;

    fn profile(&self) -> &'static Profile {
        self.flavour.profile()
    }

    fn worker(&self, wire: &mut Wire) -> Result<Option<u32>, WireError> {
        let sql = if wire.is_mariadb() {
            "SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()"
        } else {
            "SELECT THREAD_OS_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()"
        };
        Ok(wire.value(sql)?.and_then(|number| number.parse().ok()))
    }

    fn log_writers(&self, wire: &mut Wire) -> Result<Vec<u32>, WireError> {
        let rows = if wire.is_mariadb() { Vec::new() } else { wire.query(LOG_THREADS)? };
        Ok(rows.into_iter().filter_map(|row| row.into_iter().next()??.parse().ok()).collect())
    }

    fn memory(&self, process: u32, _worker: u32) -> Option<Foreign> {
        Foreign::private(process).ok().flatten()
    }

    /// Reads indexes and their inner pages too, which a scan leaves out.
    fn warm(&self, wire: &mut Wire, wanted: &[Wanted]) -> Result<(), WireError> {
        wanted.iter().try_for_each(|wanted| {
            wire.query(&format!("CHECK TABLE `{DATABASE}`.`{}`", wanted.table.name)).map(drop)
        })
    }

    /// Explained as a prepared statement: a plan for literals may differ from one for arguments.
    fn explain(
        &self,
        wire: &mut Wire,
        _: usize,
        statement: &Statement,
        example: &[i64; 4],
    ) -> Result<Vec<String>, WireError> {
        let mut using = Vec::new();
        let arguments = arguments(statement.sql, self.dataset).into_iter().zip(example);
        for (n, (argument, number)) in arguments.enumerate() {
            wire.query(&format!("SET @hopcost_{n} = {}", argument.literal(*number)))?;
            using.push(format!("@hopcost_{n}"));
        }
        let using =
            if using.is_empty() { String::new() } else { format!("USING {}", using.join(", ")) };
        wire.query(&format!("PREPARE hopcost FROM 'EXPLAIN {}'", in_quotes(statement.sql)))?;
        let rows = wire.query(&format!("EXECUTE hopcost {using}"))?;
        wire.query("DEALLOCATE PREPARE hopcost")?;
        let line = |row: Vec<Option<String>>| {
            row.into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>().join(" | ")
        };
        Ok(rows.into_iter().map(line).collect())
    }

    /// A restarted server reuses connection numbers: hence the check of the database.
    fn end(&self, wire: &mut Wire, numbers: &[u32]) -> Result<(), WireError> {
        let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        wire.kill(&format!("ID IN ({}) AND DB = '{DATABASE}'", numbers.join(", ")))
    }
}

impl Levels for MySqlDialect {
    type Witness = Witness;
    /// `Beside` is set when a session is first audited.
    type AuditLog = AuditLogReader;
    type Beside = OnceLock<Means>;

    fn calls(
        &self,
        _: &ServerCopy<Self>,
        wire: &mut Wire,
        asked: &copy::Asked<'_>,
    ) -> Result<Vec<Call>, TargetError> {
        asked.statements.iter().map(|statement| calls::of(wire, statement, asked)).collect()
    }

    fn beside(&self, _: &mut Wire, _: &Opened<'_>) -> Result<Self::Beside, TargetError> {
        Ok(OnceLock::new())
    }

    fn address(
        &self,
        copy: &ServerCopy<Self>,
        variant: &VariantSettings,
        _: SessionPlacement,
    ) -> Result<Option<Address>, TargetError> {
        let user = copy.beside.get().zip(variant.session.audit);
        let user = user.and_then(|(means, audit)| means.user(audit));
        Ok(user.map(|user| Address { user: user.to_owned(), ..copy.address.clone() }))
    }

    fn audit_log(&self, copy: &ServerCopy<Self>) -> Result<Option<AuditLogReader>, TargetError> {
        let not_ours = || TargetError::NotHere(Code::Unsupported.because(NOT_AUDITED));
        let (_, directory) = copy.own.as_ref().ok_or_else(not_ours)?;
        let failed = |error: String| TargetError::Failed(format!("what it writes down: {error}"));
        let (means, audit_log) =
            audit::begin(&mut copy.admin(), directory.path()).map_err(failed)?;
        let _ = copy.beside.set(means);
        Ok(Some(audit_log))
    }

    fn after_calls(
        &self,
        copy: &ServerCopy<Self>,
        wire: &mut Wire,
        variant: &VariantSettings,
    ) -> Result<(), WireError> {
        let audit = copy.beside.get().zip(variant.session.audit);
        let settings = audit.map(|(means, audit)| means.settings(audit));
        settings.into_iter().flatten().try_for_each(|sql| wire.query(sql).map(drop))
    }

    fn witness(
        &self,
        copy: &ServerCopy<Self>,
        _: &Wire,
        _: &VariantSettings,
        _: SessionPlacement,
    ) -> Result<Witness, TargetError> {
        Ok(Witness { ground: copy.ground.clone(), tells_pages: !self.is_emulated })
    }

    fn readings(&self, copy: &ServerCopy<Self>) -> Vec<Reading> {
        counts(&mut copy.admin())
    }
}

/// The server's whole memory: which pages a connection accesses is not known.
pub struct Witness {
    ground: Option<ServerMemory>,
    tells_pages: bool,
}

impl copy::Witness<Wire> for Witness {
    fn counted(&mut self, _: &mut Wire, counted: &mut Counted) {
        let ground = self.ground.as_ref();
        prove_pages(ground, counted);
        let ground = ground.filter(|_| self.tells_pages);
        let found = ground.and_then(|ground| ground.locality(hopcost_core::Look::Glance));
        let lookups = |distinct_pages| Lookups { distinct_pages, ..Lookups::default() };
        counted.lookups = found.map(|found| lookups(found.pages_by_node));
    }
}

const COUNTS: [(&Gauge, &str); 7] = [
    (gauge::BUFFER_HITS, "Innodb_buffer_pool_read_requests"),
    (gauge::BUFFER_READS, "Innodb_buffer_pool_reads"),
    (gauge::WAL_BYTES, "Innodb_os_log_written"),
    (gauge::LOG_WRITES, "Innodb_log_writes"),
    (gauge::LOG_FLUSHES, "Innodb_os_log_fsyncs"),
    (gauge::LOG_WAITS, "Innodb_log_waits"),
    (gauge::ROW_LOCK_WAITS, "Innodb_row_lock_waits"),
];

fn counts(wire: &mut Wire) -> Vec<Reading> {
    let names: Vec<String> = COUNTS.iter().map(|(_, name)| format!("'{name}'")).collect();
    let sql = format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({})", names.join(", "));
    let count = |row: Vec<Option<String>>| {
        let [name, value] = <[Option<String>; 2]>::try_from(row).ok()?;
        let name = name?;
        let (gauge, _) = COUNTS.iter().find(|(_, of)| *of == name)?;
        Some(Reading { gauge, of: String::new(), value: value?.parse().ok()? })
    };
    let at_mutex = |row: Vec<Option<String>>| {
        let [_, name, status] = <[Option<String>; 3]>::try_from(row).ok()?;
        let value = status?.strip_prefix("waits=")?.parse().ok()?;
        Some(Reading { gauge: gauge::MUTEX_WAITS, of: name?, value })
    };
    let counts = wire.query(&sql).unwrap_or_default().into_iter().filter_map(count);
    let counts: Vec<Reading> = counts.collect();
    let mutexes = wire.query("SHOW ENGINE INNODB MUTEX").unwrap_or_default().into_iter();
    counts.into_iter().chain(mutexes.filter_map(at_mutex)).collect()
}
