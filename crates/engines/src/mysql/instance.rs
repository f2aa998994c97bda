//! Servers that are up: sessions, proof, plans, and what they count themselves.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use hopcost_core::{
    Code, Counted, CpuSet, DataPlacement, Dataset, Gauge, Instance, Known, Locality, Look, Metric,
    Reading, Session, SessionPlacement, Setup, Statement, TargetError, VariantSettings, gauge,
};
use hopcost_sys::memory::Foreign;

use hopcost_sys::affinity;

use super::super::ledger::Ledger;
use super::super::remote::address::Address;
use super::super::remote::ground::Ground;
use super::super::remote::lines::{FAREWELL, Lines, in_a_hurry};
use super::super::remote::process::{Process, is_here};
use super::super::remote::quarters::Quarters;
use super::super::remote::trail::Trail;
use super::super::remote::waits::Waits;
use super::super::remote::{SERVED, failed, first_arguments, in_quotes};
use super::super::{Wanted, wanted};
use super::DATABASE;
use super::audit::{self, Means};
use super::filling::Fillings;
use super::schema;

use super::session::{Connection, Opening};
use super::threads;
use super::types::arguments;
use super::waits;
use super::wire::{Wire, WireError};

/// A server with all the data. What depends on the server stands before it, so that it ends first.
pub struct Copy {
    /// The connection that looks after it.
    warden: Mutex<Wire>,
    /// What its threads wait for, from when that is first asked.
    waits: OnceLock<Option<Waits>>,
    lines: Lines,
    ground: Option<Ground>,
    address: Address,
    home: DataPlacement,
    /// The threads that write its log, where it has some.
    log_writers: Vec<u32>,
    /// The rows of the table that all of its connections fill.
    filled: Arc<Ledger>,
    /// What it has written down of statements, from when a session is first to be audited.
    trail: OnceLock<Result<(Means, Arc<Trail>), String>>,
    /// Its process, where we have the right to place its threads.
    process: Option<u32>,
    own: Option<Own>,
}

/// What belongs to a server of our own.
struct Own {
    /// Where it writes statements down, and how they were done.
    logs: [PathBuf; 2],
    _server: (Process, Quarters),
}

/// Ends all connections, on our side and on the server's, which would only notice when it has an answer.
fn hang_up(lines: &Lines, address: &Address) {
    let numbers = lines.hang_up();
    let Ok(mut wire) = Wire::connect(&in_a_hurry(address)) else { return };
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    // A server that was started anew gives the same numbers to others.
    let ours = format!(
        "SELECT ID FROM information_schema.PROCESSLIST WHERE ID IN ({}) AND DB = '{DATABASE}'",
        numbers.join(", ")
    );
    let left = wire.limit(Some(FAREWELL)).and_then(|()| wire.query(&ours)).unwrap_or_default();
    for number in left.into_iter().flatten().flatten() {
        // It may have ended meanwhile.
        let _ = wire.query(&format!("KILL {number}"));
    }
}

/// What a server's process may be called.
const PROGRAMS: [&str; 2] = ["mysqld", "mariadbd"];
/// What MariaDB's plugin writes, beside those.
const AUDIT_LOG: &str = "audited";
pub const NOT_AUDITED: &str = "\
    this level has each statement written down, and the logs of a server that runs are not ours to fill or to \
    read: take mysql:managed or mariadb:managed";

/// Who asks between windows is in nobody's way.
const AT_ONCE: Duration = Duration::from_secs(2);

impl Copy {
    /// A server of our own, started for data in a home.
    pub fn own(
        address: Address,
        server: (Process, Quarters),
        logs: [PathBuf; 2],
        home: DataPlacement,
        setup: &Setup<'_>,
    ) -> Result<Self, TargetError> {
        let warden = Wire::connect(&address).map_err(failed)?;
        let pid = server.0.pid();
        let copy = Self::of_process(address, warden, home, setup, Some(pid))?;
        let ground = copy.ground.map(|ground| ground.at(setup, home));
        Ok(Self { ground, own: Some(Own { logs, _server: server }), ..copy })
    }

    /// A server that runs.
    pub fn of(
        address: Address,
        mut warden: Wire,
        home: DataPlacement,
        setup: &Setup<'_>,
    ) -> Result<Self, TargetError> {
        let thread = threads::of_connection(&mut warden).map_err(failed)?;
        let process = thread.and_then(|thread| is_here(&address, thread, &PROGRAMS));
        Self::of_process(address, warden, home, setup, process)
    }

    /// Reads all that will be asked for, by every index.
    fn of_process(
        address: Address,
        mut warden: Wire,
        home: DataPlacement,
        setup: &Setup<'_>,
        process: Option<u32>,
    ) -> Result<Self, TargetError> {
        for Wanted { table, .. } in wanted(setup) {
            warden.query(&schema::read_all(&table)).map_err(failed)?;
        }
        let memory = process.and_then(|pid| Foreign::private(pid).ok().flatten());
        let ground = memory.map(|memory| Ground::anywhere(memory, home.node));
        let log_writers = threads::of_log(&mut warden).map_err(failed)?;
        warden.limit(Some(AT_ONCE)).map_err(failed)?;
        let lines = Lines::default();
        lines.add(warden.line(), warden.number);
        Ok(Self {
            warden: Mutex::new(warden),
            waits: OnceLock::new(),
            lines,
            ground,
            address,
            home,
            log_writers,
            filled: Arc::default(),
            trail: OnceLock::new(),
            process,
            own: None,
        })
    }

    /// What it writes down, from now on, and by what.
    fn trail(&self) -> Result<(Means, &Arc<Trail>), TargetError> {
        let own = self
            .own
            .as_ref()
            .ok_or_else(|| TargetError::NotHere(Code::Unsupported.because(NOT_AUDITED)))?;
        let begun = self.trail.get_or_init(|| {
            self.begin_trail(&own.logs).map_err(|error| format!("what it writes down: {error}"))
        });
        begun.as_ref().map(|(means, trail)| (*means, trail)).map_err(failed)
    }

    fn begin_trail(&self, logs: &[PathBuf; 2]) -> Result<(Means, Arc<Trail>), WireError> {
        let mut warden = self.warden();
        let has_plugin = warden.value(audit::HAS_PLUGIN)?.as_deref() == Some("1");
        let means = if has_plugin { Means::Plugin } else { Means::Logs };
        let beside = logs[0].with_file_name(AUDIT_LOG);
        for sql in means.begin(&beside) {
            warden.query(&sql)?;
        }
        let trail = Trail::open(means.logs(logs, &beside));
        let trail = trail.map_err(|error| WireError::Lost(error.to_string()))?;
        Ok((means, Arc::new(trail)))
    }

    /// Looks at what its threads wait for, from the first time on.
    fn waits(&self) -> Option<&Waits> {
        let watch = || waits::watch(&self.address, &self.lines).ok();
        self.waits.get_or_init(watch).as_ref()
    }

    /// The server's version, in its own words.
    pub fn version(&self) -> String {
        self.warden().version.clone()
    }

    /// A value that it tells of itself.
    pub fn value(&self, sql: &str) -> Option<String> {
        self.warden().value(sql).ok().flatten()
    }

    pub fn warden(&self) -> MutexGuard<'_, Wire> {
        self.warden.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The servers of an experiment.
pub struct Cluster {
    copies: Vec<Copy>,
    statements: Vec<Statement>,
    dataset: Option<&'static str>,
    /// Each statement with arguments, in words.
    examples: Vec<Vec<String>>,
    identity: String,
    fillings: Option<Fillings>,
    workers: Mutex<BTreeSet<u32>>,
    /// Are nodes sets of CPUs, whose pages are all in one place?
    is_emulated: bool,
    /// Have connections been sent and received for, many at once?
    are_served: Arc<AtomicBool>,
}

impl Cluster {
    /// Of these servers.
    pub fn new(setup: &Setup<'_>, copies: Vec<Copy>, identity: String) -> Self {
        let statements = setup.spec().statements;
        let first = first_arguments(setup);
        let with_arguments = statements.iter().zip(first);
        let examples = with_arguments
            .map(|(statement, numbers)| literals(statement.sql, setup, &numbers))
            .collect();
        Self {
            copies,
            statements,
            dataset: setup.dataset.map(Dataset::name),
            examples,
            identity,
            fillings: Fillings::of(setup),
            workers: Mutex::default(),
            is_emulated: setup.emulation.is_some(),
            are_served: Arc::default(),
        }
    }

    /// The server that a seat asks for; the first where it leaves it open.
    fn copy_for(&self, at: SessionPlacement) -> Result<&Copy, TargetError> {
        let is_meant = |copy: &&Copy| at.data.is_none_or(|home| copy.home == home);
        let nowhere = || TargetError::Failed("there is no server for that place".to_owned());
        self.copies.iter().find(is_meant).ok_or_else(nowhere)
    }

    /// The servers of a variant; all, where it leaves that open, and the only one.
    fn copies_of(&self, variant: &VariantSettings) -> impl Iterator<Item = &Copy> {
        let homes = variant.copies();
        let is_any = homes.is_empty() || self.copies.len() == 1;
        self.copies.iter().filter(move |copy| is_any || homes.contains(&copy.home))
    }

    /// The first server, or the only one.
    pub fn first(&self) -> &Copy {
        &self.copies[0]
    }

    /// What is to be known of it beside its figures.
    pub fn notes(&self) -> Vec<String> {
        let is_served = self.are_served.load(Ordering::Relaxed);
        is_served.then(|| SERVED.to_owned()).into_iter().collect()
    }

    /// Prepared, as the calls are: what stands in the text may be carried out in another way than an argument.
    fn explain(&self, warden: &mut Wire, n: usize) -> Result<String, WireError> {
        let Statement { name, sql, .. } = self.statements[n];
        if self.fillings.is_some() {
            return Ok(format!("{name}\n  rows of its own making"));
        }
        let mut using = Vec::new();
        for (n, literal) in self.examples[n].iter().enumerate() {
            warden.query(&format!("SET @hopcost_{n} = {literal}"))?;
            using.push(format!("@hopcost_{n}"));
        }
        let using =
            if using.is_empty() { String::new() } else { format!("USING {}", using.join(", ")) };
        warden.query(&format!("PREPARE hopcost FROM 'EXPLAIN {}'", in_quotes(sql)))?;
        let rows = warden.query(&format!("EXECUTE hopcost {using}"))?;
        warden.query("DEALLOCATE PREPARE hopcost")?;
        let line = |row: Vec<Option<String>>| {
            row.into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>().join(" | ")
        };
        Ok([name.to_owned()]
            .into_iter()
            .chain(rows.into_iter().map(line))
            .collect::<Vec<_>>()
            .join("\n"))
    }
}

/// A statement's arguments in words.
fn literals(sql: &str, setup: &Setup<'_>, numbers: &[i64; 4]) -> Vec<String> {
    let arguments = arguments(sql, setup.dataset).into_iter().zip(numbers);
    arguments.map(|(argument, number)| argument.literal(*number)).collect()
}

impl Instance for Cluster {
    fn identity(&self) -> String {
        self.identity.clone()
    }

    fn session(
        &self,
        variant: &VariantSettings,
        at: SessionPlacement,
    ) -> Result<Box<dyn Session>, TargetError> {
        let copy = self.copy_for(at)?;
        let is_placed = copy.process.is_some();
        // Where the log has no threads of its own, who commits writes it: its place is the log writer's.
        let of_log = variant.log_writer_cpu().filter(|_| copy.log_writers.is_empty());
        let cpu = of_log.or(at.backend_cpu);
        let audited =
            variant.session.audit.map(|audit| copy.trail().map(|by| (audit, by))).transpose()?;
        let session = Connection::open(Opening {
            address: &copy.address,
            lines: &copy.lines,
            statements: &self.statements,
            dataset: self.dataset,
            cpu: cpu.filter(|_| is_placed),
            audited,
            log_writer: variant
                .log_writer_cpu()
                .filter(|_| is_placed)
                .map(|cpu| (copy.log_writers.clone(), cpu)),
            ground: copy.ground.as_ref(),
            tells_pages: !self.is_emulated,
            filling: self.fillings.as_ref().map(|fillings| (fillings, &copy.filled)),
            is_served: &self.are_served,
        })?;
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        workers.extend(session.thread().filter(|_| is_placed));
        Ok(Box::new(session))
    }

    fn enter_variant(&self, variant: &VariantSettings) -> Result<(), TargetError> {
        let Some(cpu) = variant.log_writer_cpu() else { return Ok(()) };
        let cpus = CpuSet::from_iter([cpu]);
        let is_there = |thread: u32| affinity::mask_of(thread).is_ok_and(|mask| mask == cpus);
        let ours = self.copies_of(variant).filter(|copy| copy.process.is_some());
        // Log writers of its own serve all arms in turn: where they cannot be moved, the proof will tell.
        for thread in ours.flat_map(|copy| &copy.log_writers).filter(|thread| !is_there(**thread)) {
            let _ = affinity::pin_other(*thread, &cpus);
        }
        Ok(())
    }

    fn leave_variant(&self, variant: &VariantSettings) -> Counted {
        let Some(fillings) = &self.fillings else { return Counted::default() };
        let counted = |copy: &Copy| {
            let rows = fillings.counted(&mut copy.warden(), &copy.filled);
            let proved = rows.map(|rows| (Metric::RowsCounted, rows)).into_iter().collect();
            Counted { proved, ..Counted::default() }
        };
        Counted::sum(self.copies_of(variant).map(counted))
    }

    fn prove(&self, look: Look) -> Known<Vec<Locality>> {
        let grounds = self.copies.iter().filter_map(|copy| copy.ground.as_ref());
        let homes: Vec<Locality> = grounds.filter_map(|ground| ground.locality(look)).collect();
        if homes.is_empty() {
            return Known::missing(
                Code::NotAsked,
                "the experiment does not say where the data is to be",
            );
        }
        Known::Is(homes)
    }

    fn plans(&self) -> Result<Vec<String>, TargetError> {
        let mut warden = self.copies[0].warden();
        (0..self.statements.len()).map(|n| self.explain(&mut warden, n).map_err(failed)).collect()
    }

    fn workers(&self) -> Vec<u32> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }

    fn readings(&self) -> Vec<Reading> {
        let counted = self.copies.iter().flat_map(|copy| counts(&mut copy.warden()));
        counted.chain(Waits::readings(self.copies.iter().filter_map(Copy::waits))).collect()
    }

    fn hang_up(&self) {
        self.copies.iter().for_each(|copy| hang_up(&copy.lines, &copy.address));
    }

    fn close(self: Box<Self>) -> Result<Vec<String>, TargetError> {
        Ok(self.notes())
    }
}

/// A gauge, and how the server calls it.
const COUNTS: [(&Gauge, &str); 7] = [
    (gauge::BUFFER_HITS, "Innodb_buffer_pool_read_requests"),
    (gauge::BUFFER_READS, "Innodb_buffer_pool_reads"),
    (gauge::WAL_BYTES, "Innodb_os_log_written"),
    (gauge::LOG_WRITES, "Innodb_log_writes"),
    (gauge::LOG_FLUSHES, "Innodb_os_log_fsyncs"),
    (gauge::LOG_WAITS, "Innodb_log_waits"),
    (gauge::ROW_LOCK_WAITS, "Innodb_row_lock_waits"),
];

fn counts(warden: &mut Wire) -> Vec<Reading> {
    let names: Vec<String> = COUNTS.iter().map(|(_, name)| format!("'{name}'")).collect();
    let sql = format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({})", names.join(", "));
    let rows = warden.query(&sql).unwrap_or_default();
    let reading = |row: Vec<Option<String>>| {
        let [name, value] = <[Option<String>; 2]>::try_from(row).ok()?;
        let name = name?;
        let (gauge, _) = COUNTS.iter().find(|(_, of)| *of == name)?;
        let value = value?.parse().ok()?;
        Some(Reading { gauge, of: String::new(), value })
    };
    rows.into_iter().filter_map(reading).chain(waits::at_mutexes(warden)).collect()
}
