//! Processes with DuckDB in them, as hopcost sees them from outside: started in their place, proved, asked.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hopcost_core::{
    Answer, Audit, CallError, Code, Counted, CpuId, CpuSet, DataPlacement, Filling, Instance,
    Known, Locality, Look, Lookups, Mail, Metric, Reading, Remote, Request, Session,
    SessionPlacement, Setup, TargetError, VariantSettings,
};
use hopcost_sys::child::Stop;
use hopcost_sys::memory::Foreign;
use hopcost_sys::{affinity, readiness};

use super::super::audit;
use super::super::ledger::Ledger;
use super::super::restrictions::UNAUDITED_LOADS;
use super::super::server::account::Account;
use super::super::server::first_arguments;
use super::super::server::input::Input;
use super::super::server::memory::{ServerMemory, place_of};
use super::super::server::nodes::Nodes;
use super::super::server::process::{Process, is_at};
use super::super::server::run_directory::RunDirectory;
use super::super::server::stream::{CloseHandle, words};
use super::super::{Heard, data_words, homes_of, say, words_of};
use super::pool::{Pool, Sightings};
use super::protocol::{self, ANSWER, AUDIT, BETWEEN_PLANS, COUNT, ERROR, PLANS, THREAD, Tagged};
use super::server::{Asked, LOADING, Order, READY, WORD};

/// Starts the processes.
pub fn open(
    library: Option<&Path>,
    setup: &Setup<'_>,
    heard: &mut Heard<'_>,
) -> Result<Box<dyn Instance>, TargetError> {
    let homes = homes_of(setup);
    let start = |home: &DataPlacement| Copy::start(library, setup, *home, heard);
    let copies = homes.iter().map(start).collect::<Result<Vec<_>, _>>()?;
    let identity =
        format!("DuckDB {}, in a process of its own; {}", copies[0].version, data_words(setup));
    let is_emulated = setup.emulation.is_some();
    let statements = setup.spec().statements.len();
    Ok(Box::new(Processes {
        copies,
        identity,
        is_emulated,
        statements,
        load: rows_of_a_call(setup),
        nodes: Nodes::of(setup.machine),
        sightings: Arc::default(),
        pools: Mutex::default(),
        workers: Mutex::default(),
    }))
}

/// A process with all the data. It ends before its directory does.
struct Copy {
    process: Process,
    socket: PathBuf,
    version: String,
    ground: Option<ServerMemory>,
    home: DataPlacement,
    lines: Mutex<Vec<CloseHandle>>,
    _quarters: RunDirectory,
}

fn failed(error: &dyn std::fmt::Display) -> TargetError {
    TargetError::Failed(format!("starting DuckDB: {error}"))
}

impl Copy {
    fn start(
        library: Option<&Path>,
        setup: &Setup<'_>,
        home: DataPlacement,
        heard: &mut Heard<'_>,
    ) -> Result<Self, TargetError> {
        let ourselves = Account::OURSELVES;
        let directory =
            RunDirectory::take(&ourselves, &ourselves.home(&setup.cache_dir, "duckdb")?)?;
        let socket = directory.path().join("socket");
        let order = Order {
            library: library.map(Path::to_owned),
            dataset: setup.dataset.map(|dataset| dataset.name().to_owned()),
            rows: setup.shape.rows,
            tables: setup.workload.info().tables.iter().map(|&name| name.to_owned()).collect(),
            statements: asked(setup),
            load: rows_of_a_call(setup),
            socket: socket.clone(),
        };
        let order = serde_json::to_string(&order).map_err(|error| failed(&error))?;
        let program = std::env::current_exe().map_err(|error| failed(&error))?;
        let mut command = Command::new(program);
        command.args([WORD, &order]).stdin(Stdio::null()).stdout(Stdio::piped());
        let log = directory.path().join("log");
        let place = place_of(setup, home);
        let mut process = Process::start("DuckDB", command, &place, &log, Stop::Killed)?;
        let version = loaded(&mut process, home, heard)?;
        let memory = Foreign::private(process.pid()).ok().flatten();
        let ground = memory.map(|memory| ServerMemory::anywhere(memory, None).at(setup, home));
        let lines = Mutex::default();
        Ok(Self { process, socket, version, ground, home, lines, _quarters: directory })
    }

    fn connect(&self) -> Result<Wire, TargetError> {
        let stream = UnixStream::connect(&self.socket).map_err(|error| failed(&error))?;
        let stream = Arc::new(stream);
        let line = CloseHandle::Unix(Arc::downgrade(&stream));
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        Ok(Wire { stream, input: Input::default() })
    }

    /// A session, and the thread that serves it.
    fn enter(&self) -> Result<(Wire, u32), TargetError> {
        let mut wire = self.connect()?;
        match wire.next().map_err(|error| failed(&error))? {
            (THREAD, content) => Ok((wire, content.try_into().map_or(0, u32::from_le_bytes))),
            (_, words) => Err(TargetError::Failed(String::from_utf8_lossy(&words).into_owned())),
        }
    }
}

fn asked(setup: &Setup<'_>) -> Vec<Asked> {
    let statements = setup.spec().statements.into_iter();
    let asked = statements.zip(first_arguments(setup));
    asked.map(|(statement, example)| Asked::of(&statement, example)).collect()
}

/// The rows that a call appends, where it does.
fn rows_of_a_call(setup: &Setup<'_>) -> Option<u64> {
    setup.spec().effect.filling().map(Filling::rows_a_call)
}

/// Waits until all is loaded: the library's version.
fn loaded(
    process: &mut Process,
    home: DataPlacement,
    heard: &mut Heard<'_>,
) -> Result<String, TargetError> {
    let said = process.take_output().map(BufReader::new);
    for line in said.into_iter().flat_map(BufRead::lines) {
        let line = line.map_err(|error| failed(&error))?;
        if let Some(version) = line.strip_prefix(READY) {
            return Ok(version.to_owned());
        }
        let Some((share, table)) = line.strip_prefix(LOADING).and_then(|rest| rest.split_once(' '))
        else {
            continue;
        };
        let what = format!("{table}{}", words_of(home));
        say(heard, &what, share.parse().unwrap_or(0.0))?;
    }
    Err(TargetError::NotHere(Code::ProgramMissing.because(process.last_words())))
}

/// The processes of an experiment.
struct Processes {
    copies: Vec<Copy>,
    identity: String,
    /// Are nodes sets of CPUs, whose pages are all in one place?
    is_emulated: bool,
    statements: usize,
    /// The rows that a call appends, where it does.
    load: Option<u64>,
    nodes: Nodes,
    sightings: Arc<Sightings>,
    /// Parallel workers, variant by variant that asks for some.
    pools: Mutex<Vec<(VariantSettings, Pool)>>,
    workers: Mutex<BTreeSet<u32>>,
}

impl Processes {
    /// The process that a session asks for; the first where it leaves it open.
    fn copy_for(&self, at: SessionPlacement) -> Result<&Copy, TargetError> {
        let is_meant = |copy: &&Copy| at.data.is_none_or(|home| copy.home == home);
        let nowhere = || TargetError::Failed("there is no DuckDB for that place".to_owned());
        self.copies.iter().find(is_meant).ok_or_else(nowhere)
    }

    fn pools(&self) -> MutexGuard<'_, Vec<(VariantSettings, Pool)>> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Instance for Processes {
    fn identity(&self) -> String {
        self.identity.clone()
    }

    fn session(
        &self,
        variant: &VariantSettings,
        at: SessionPlacement,
    ) -> Result<Box<dyn Session>, TargetError> {
        let copy = self.copy_for(at)?;
        let (mut wire, thread) = copy.enter()?;
        let audited =
            variant.session.audit.map(|tier| self.audited(&mut wire, tier)).transpose()?;
        if let Some(cpu) = at.backend_cpu {
            affinity::pin_other(thread, &CpuSet::from_iter([cpu])).map_err(|error| {
                TargetError::NotHere(
                    Code::NotPlaceable.because(format!("DuckDB's thread {thread}: {error}")),
                )
            })?;
        }
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).insert(thread);
        let ground = copy.ground.clone();
        let tells_pages = !self.is_emulated;
        let load = self.load.map(|rows| (rows, Ledger::default()));
        Ok(Box::new(Connection {
            wire,
            thread,
            cpu: at.backend_cpu,
            ground,
            tells_pages,
            load,
            audited,
        }))
    }

    /// One pool serves all streams; who works alone needs none.
    fn enter_variant(&self, variant: &VariantSettings) -> Result<(), TargetError> {
        let Some(parallel) = variant.parallel.filter(|parallel| parallel.dop > 1) else {
            return Ok(());
        };
        let mut pools = self.pools();
        if !pools.iter().any(|(of, _)| of == variant) {
            let at = variant.of_stream(0, 0);
            let copy = self.copy_for(at)?;
            let to = (copy.enter()?.0, copy.process.pid());
            let pool = Pool::of(to, parallel, at.node, &self.nodes, &self.sightings);
            pools.push((variant.clone(), pool));
        }
        pools.iter_mut().filter(|(of, _)| of == variant).for_each(|(_, pool)| pool.stand());
        Ok(())
    }

    fn leave_variant(&self, variant: &VariantSettings) -> Counted {
        let mut proved = BTreeMap::new();
        let mut pools = self.pools();
        let pool = pools.iter_mut().find(|(of, _)| of == variant);
        if let Some((_, pool)) = pool {
            pool.counted(&mut proved);
        }
        Counted { proved, ..Counted::default() }
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
        let (mut wire, _) = self.copies[0].enter()?;
        let (tag, content) = wire.ask(PLANS, &[]).map_err(|error| failed(&error))?;
        let told = String::from_utf8_lossy(&content);
        if tag != PLANS {
            return Err(TargetError::Failed(told.into_owned()));
        }
        let plans: Vec<String> = told.split(BETWEEN_PLANS).map(str::to_owned).collect();
        debug_assert_eq!(plans.len(), self.statements);
        Ok(plans)
    }

    fn workers(&self) -> Vec<u32> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }

    fn readings(&self) -> Vec<Reading> {
        self.sightings.readings(&self.nodes)
    }

    fn hang_up(&self) {
        for copy in &self.copies {
            let lines =
                std::mem::take(&mut *copy.lines.lock().unwrap_or_else(PoisonError::into_inner));
            lines.iter().for_each(CloseHandle::hang_up);
        }
    }
}

/// The way to a process and back.
pub struct Wire {
    stream: Arc<UnixStream>,
    input: Input<Tagged>,
}

impl Wire {
    fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match readiness::send(self.stream.as_fd(), bytes) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Asks: what is answered, and its tag.
    pub fn ask(&mut self, tag: u8, content: &[u8]) -> io::Result<(u8, Vec<u8>)> {
        let mut question = Vec::new();
        protocol::put(&mut question, tag, content);
        self.send(&question)?;
        self.next()
    }

    /// What is said next, and its tag.
    fn next(&mut self) -> io::Result<(u8, Vec<u8>)> {
        loop {
            if let Some(message) = self.input.next() {
                let content = self.input.body(&message).to_vec();
                self.input.lend();
                return Ok((message.tag, content));
            }
            let stream = &self.stream;
            match self.input.receive(|room| readiness::receive(stream.as_fd(), room)) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// A session.
struct Connection {
    wire: Wire,
    thread: u32,
    cpu: Option<CpuId>,
    ground: Option<ServerMemory>,
    tells_pages: bool,
    /// The rows that a call appends, where it does, and what is there of them.
    load: Option<(u64, Ledger)>,
    /// The workers that it looks after.
    /// What is to be written down of its calls, where that is asked for.
    audited: Option<audit::Account>,
}

impl Processes {
    /// Has the calls of a session written down.
    fn audited(&self, wire: &mut Wire, tier: Audit) -> Result<audit::Account, TargetError> {
        if self.load.is_some() {
            return Err(TargetError::NotHere(Code::Unsupported.because(UNAUDITED_LOADS.words)));
        }
        match wire.ask(AUDIT, &protocol::audit_word(tier)).map_err(|error| failed(&error))? {
            (AUDIT, _) => Ok(audit::Account::new(tier)),
            (_, words) => Err(TargetError::Failed(String::from_utf8_lossy(&words).into_owned())),
        }
    }
}

impl Connection {
    /// How many of the calls were written down as they should have been.
    fn calls_written(&mut self) -> Option<[u64; 2]> {
        let account = self.audited.as_mut()?;
        let told = self.wire.ask(AUDIT, &[]).ok().filter(|(tag, _)| *tag == AUDIT);
        let written = told.and_then(|(_, content)| protocol::written_in(&content));
        Some(account.settle(written.unwrap_or_default()))
    }

    /// How many rows of those that were appended are there; they are gone then.
    fn rows_counted(&mut self) -> Option<[u64; 2]> {
        let (_, ledger) = self.load.as_ref()?;
        let there = self.wire.ask(COUNT, &[]).ok().filter(|(tag, _)| *tag == COUNT);
        let there = there.and_then(|(_, content)| content.try_into().ok().map(u64::from_le_bytes));
        Some(ledger.settle_and_empty(there, 0, || true))
    }
}

fn lost(error: &io::Error) -> CallError {
    CallError::Lost(format!("DuckDB's process: {}", words(error)))
}

impl Remote for Connection {
    fn send(&mut self, request: &Request, mail: Mail<'_>) -> Result<(), CallError> {
        if let Some((rows, ledger)) = &self.load {
            ledger.ask(*rows);
        }
        if let Some(account) = &mut self.audited {
            account.called();
        }
        if let Some(out) = mail.out {
            protocol::put_call(out, request);
            return Ok(());
        }
        let mut message = Vec::with_capacity(41);
        protocol::put_call(&mut message, request);
        self.wire.send(&message).map_err(|error| lost(&error))
    }

    fn receive(&mut self, mail: Mail<'_>) -> Result<Option<Answer>, CallError> {
        match mail.came {
            Some(Ok([])) => return Err(lost(&io::ErrorKind::UnexpectedEof.into())),
            Some(Ok(came)) => self.wire.input.put(came),
            Some(Err(error)) if error.kind() != io::ErrorKind::Interrupted => {
                return Err(lost(&error));
            }
            _ => {}
        }
        let (tag, content) = self.wire.next().map_err(|error| lost(&error))?;
        match (tag, protocol::answer(&content)) {
            (ANSWER, Some(answer)) => Ok(Some(answer)),
            (ERROR, _) => Err(CallError::Failed(String::from_utf8_lossy(&content).into_owned())),
            _ => Err(CallError::Lost("DuckDB's process answers oddly".to_owned())),
        }
    }

    fn takes_mail(&self) -> bool {
        true
    }

    fn socket(&self) -> BorrowedFd<'_> {
        self.wire.stream.as_fd()
    }
}

impl Session for Connection {
    fn execute(&mut self, request: &Request) -> Result<Answer, CallError> {
        self.send(request, Mail::default())?;
        let lost = || CallError::Lost("DuckDB's process does not answer".to_owned());
        self.receive(Mail::default())?.ok_or_else(lost)
    }

    fn counted(&mut self) -> Counted {
        let mut proved = BTreeMap::new();
        if let Some(cpu) = self.cpu {
            proved.insert(Metric::AnsweredInPlace, [u64::from(is_at(self.thread, cpu)), 1]);
        }
        if let Some(ground) = &self.ground {
            proved.insert(Metric::PagesInPlace, ground.in_place());
        }
        if let Some(calls) = self.calls_written() {
            proved.insert(Metric::AuditedAsAsked, calls);
        }
        if let Some(rows) = self.rows_counted() {
            proved.insert(Metric::RowsCounted, rows);
        }
        let looked_up = || {
            let found =
                self.ground.as_ref().filter(|_| self.tells_pages)?.locality(Look::Glance)?;
            Some(Lookups { distinct_pages: found.pages_by_node, ..Lookups::default() })
        };
        let lookups = looked_up();
        let at = self.cpu.and_then(|_| affinity::last_cpu_of(self.thread)).into_iter().collect();
        Counted { lookups, at, proved, ..Counted::default() }
    }

    fn begin_counting(&mut self) {}

    fn remote(&mut self) -> Option<&mut dyn Remote> {
        Some(self)
    }
}
