//! One connection to a copy of the data, for one thread.
//!
//! Method: the image is opened read-only and immutable, pages are fetched as pointers, sorts stay
//! in memory. Statements are prepared once, or for each call if they ask for it. The VFS counts what an
//! emulated distance costs; it is paid here, by asking earlier requests again. Slow calls are injected
//! here, too.
//!
//! Limits: an answer has whole numbers, text and NULL.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use fastrand::Rng;
use hopcost_core::{
    Answer, Bimodal, CallError, Counted, CpuId, CpuSet, Metric, NodeId, Request, Row, Session,
    SessionPlacement, Statement, TargetError, VariantSettings,
};
use hopcost_sys::{affinity, clock};

use super::super::words_of;
use super::audit::{Audited, Scribe};
use super::ffi::{self, Connection, PaidBy, SqliteError, Value};
use super::image::Image;

/// Larger than any image: pages below it are fetched, not read.
const MMAP_BYTES: u64 = 1 << 46;
/// Room for pages that SQLite copies: page 1 and little else.
const CACHE_KIB: u32 = 512;

pub struct ImageSession {
    connection: Connection,
    statements: Vec<Asked>,
    slow: Option<Slow>,
    /// Injected time of slow calls.
    planted: Duration,
    /// The image whose placement is to be proved, and the worker's CPU.
    placed: Option<(Arc<Image>, Option<CpuId>)>,
    audited: Option<Audited>,
    /// `None` if no distance is emulated.
    repeated: Option<Repeated>,
}

/// Requests that were asked, to be asked again.
///
/// Method: what is planted is the share of the repetitions among all calls. Their share of the time
/// would be too small on a machine that is slow now and then: while it is, a call owes as much, and a
/// repetition pays more.
struct Repeated {
    recent: VecDeque<Request>,
    dice: Rng,
    /// Since they were counted last.
    calls: u32,
    repetitions: u32,
    took: Duration,
}

impl Repeated {
    const MOST: usize = 64;
    /// Longer calls are not repeated.
    const LONG: Duration = Duration::from_millis(20);

    fn new(dice: Rng) -> Self {
        let (recent, took) = (VecDeque::with_capacity(Self::MOST), Duration::ZERO);
        Self { recent, dice, calls: 0, repetitions: 0, took }
    }

    fn called(&mut self, request: &Request, took: Duration) {
        self.recent.truncate(Self::MOST - 1);
        self.recent.push_front(*request);
        self.calls += 1;
        self.took += took;
    }

    fn any(&mut self) -> Request {
        self.recent[self.dice.usize(..self.recent.len())]
    }

    fn repeated(&mut self, took: Duration) {
        self.repetitions += 1;
        self.took += took;
    }

    fn planted(&mut self) -> Duration {
        let [calls, repetitions] = [&mut self.calls, &mut self.repetitions].map(std::mem::take);
        let took = std::mem::take(&mut self.took);
        took / (calls + repetitions).max(1) * repetitions
    }
}

struct Asked {
    sql: Statement,
    /// `None` if it is prepared for each call.
    compiled: Option<ffi::Statement>,
}

struct Slow {
    how: Bimodal,
    dice: Rng,
}

impl Slow {
    /// The factor of the next call's duration if it is a slow one.
    fn throw(&mut self) -> Option<f64> {
        (self.dice.f64() < self.how.share).then_some(self.how.times)
    }
}

pub struct Opening<'a> {
    pub number: u64,
    pub image: &'a Arc<Image>,
    pub statements: &'a [Statement],
    /// A table that is not empty.
    pub table: Option<&'a str>,
    pub remote_ns: f64,
    pub bimodal: Option<Bimodal>,
    /// The directory of the audit log, and the thread that writes it.
    pub audits: (&'a Path, &'a OnceLock<Scribe>),
}

impl ImageSession {
    pub fn open(
        opening: &Opening<'_>,
        variant: &VariantSettings,
        at: SessionPlacement,
    ) -> Result<Self, TargetError> {
        let home = opening.image.home();
        let failed = |error: SqliteError| {
            TargetError::Failed(format!("a session{}: {error}", words_of(home)))
        };
        let connection = connect(opening.number).map_err(failed)?;
        let mut statements = Vec::new();
        for sql in opening.statements {
            statements.push(Asked::new(&connection, *sql)?);
        }
        if let Some(table) = opening.table {
            require_fetches(&connection, table)?;
        }
        let remote_from = |node: NodeId| at.node.is_some_and(|at| at != node);
        connection.begin_counting(|node| if remote_from(node) { opening.remote_ns } else { 0.0 });
        if opening.remote_ns > 0.0 {
            connection.pays_by(PaidBy::Pauses);
        }
        let bimodal = opening.bimodal.filter(|_| home.node.is_some_and(remote_from));
        let slow = bimodal.map(|how| Slow { how, dice: dice(at) });
        let is_placed = home.copy.policy.is_some() || home.copy.pages.is_some();
        let placed = is_placed.then(|| (Arc::clone(opening.image), at.backend_cpu));
        let (dir, scribe) = opening.audits;
        let audited = |audit| {
            let scribe = scribe.get_or_init(Scribe::start);
            Audited::new(audit, &connection, dir, scribe).map_err(TargetError::Failed)
        };
        let audited = variant.session.audit.map(audited).transpose()?;
        // Repetitions would be audited.
        let may_repeat = opening.remote_ns > 0.0 && audited.is_none();
        let repeated = may_repeat.then(|| Repeated::new(dice(at)));
        let planted = Duration::ZERO;
        Ok(Self { connection, statements, slow, planted, placed, audited, repeated })
    }

    fn ask(&mut self, request: &Request) -> Result<Answer, CallError> {
        let Some(asked) = self.statements.get_mut(request.statement) else {
            return Err(CallError::Failed(format!("there is no statement {}", request.statement)));
        };
        if let Some(audited) = &mut self.audited {
            audited.called();
        }
        let arguments = &request.arguments[..asked.sql.arguments];
        let called = match &mut asked.compiled {
            Some(compiled) => answer(compiled, arguments),
            None => self
                .connection
                .prepare(asked.sql.sql)
                .map_err(|error| error.to_string())
                .and_then(|mut fresh| answer(&mut fresh, arguments)),
        };
        called.map_err(|words| CallError::Failed(format!("{}: {words}", asked.sql.name)))
    }

    /// Pays what the call owes, to within half a call.
    fn repeat(&mut self, request: &Request, took: Duration) {
        let Some(repeated) = &mut self.repeated else { return };
        let is_long = took >= Repeated::LONG;
        self.connection.pays_by(if is_long { PaidBy::Pauses } else { PaidBy::Repetitions });
        if is_long {
            return;
        }
        repeated.called(request, took);
        let mut last = took;
        while self.connection.owed() > last / 2 {
            let Some(again) = self.repeated.as_mut().map(Repeated::any) else { return };
            let Some(begun) = self.connection.begin_repetition() else { return };
            drop(self.ask(&again));
            last = self.connection.end_repetition(&begun);
            self.repeated.iter_mut().for_each(|repeated| repeated.repeated(last));
        }
    }
}

pub fn connect(image: u64) -> Result<Connection, SqliteError> {
    let connection = Connection::of_image(image)?;
    connection.run(&format!(
        "PRAGMA mmap_size = {MMAP_BYTES};
         PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -{CACHE_KIB};"
    ))?;
    Ok(connection)
}

fn dice(at: SessionPlacement) -> Rng {
    Rng::with_seed(at.seed.wrapping_add(u64::from(at.stream) << 32))
}

/// Pages must be fetched as pointers: a copied page would not be in place.
fn require_fetches(connection: &Connection, table: &str) -> Result<(), TargetError> {
    let failed = |error: SqliteError| TargetError::Failed(format!("reading {table}: {error}"));
    connection.begin_counting(|_| 0.0);
    let mut first = connection.prepare(&format!("SELECT * FROM \"{table}\"")).map_err(failed)?;
    first.step().map_err(failed)?;
    drop(first);
    let tally = connection.tally();
    let acquisitions: u64 = tally.lookups.acquisitions.values().sum();
    if acquisitions > tally.copies {
        return Ok(());
    }
    Err(TargetError::Failed(
        "this SQLite copies pages instead of using them where they are (built without mmap?): \
         hopcost cannot place its data"
            .to_owned(),
    ))
}

impl Asked {
    fn new(connection: &Connection, sql: Statement) -> Result<Self, TargetError> {
        let name = sql.name;
        let compiled = connection.prepare(sql.sql).map_err(|error| {
            TargetError::Failed(format!("SQLite does not take the statement '{name}': {error}"))
        })?;
        let takes = compiled.parameters();
        let most = Request { statement: 0, arguments: [0; 4] }.arguments.len();
        if takes != sql.arguments || takes > most {
            return Err(TargetError::Failed(format!(
                "the statement '{name}' was announced with {} arguments, and its text takes {takes}",
                sql.arguments
            )));
        }
        Ok(Self { sql, compiled: (!sql.recompile).then_some(compiled) })
    }
}

fn answer(statement: &mut ffi::Statement, arguments: &[i64]) -> Result<Answer, String> {
    let answer = rows(statement, arguments);
    statement.reset();
    answer
}

fn rows(statement: &mut ffi::Statement, arguments: &[i64]) -> Result<Answer, String> {
    for (n, argument) in arguments.iter().enumerate() {
        statement.bind(n, *argument).map_err(|error| error.to_string())?;
    }
    let columns = statement.columns();
    let mut answer = Answer::default();
    while statement.step().map_err(|error| error.to_string())? {
        let mut row = Row::new();
        for column in 0..columns {
            row = match statement.value(column) {
                Value::Integer(value) => row.integer(value),
                Value::Text(text) => {
                    let text = std::str::from_utf8(text);
                    row.text(text.map_err(|_| format!("column {} is no UTF-8", column + 1))?)
                }
                Value::Null => row.null(),
                Value::Other(kind) => {
                    let column = column + 1;
                    let words = "answers are whole numbers and text, but column";
                    return Err(format!("{words} {column} is {kind}"));
                }
            };
        }
        answer.add(row);
    }
    Ok(answer)
}

impl Session for ImageSession {
    fn execute(&mut self, request: &Request) -> Result<Answer, CallError> {
        let times = self.slow.as_mut().and_then(Slow::throw);
        let Some(times) = times else {
            if self.repeated.is_none() {
                return self.ask(request);
            }
            let (answer, took) = clock::time(|| self.ask(request));
            self.repeat(request, took);
            return answer;
        };
        let (answer, took) = clock::time(|| self.ask(request));
        self.planted += clock::spin(took.mul_f64((times - 1.0).max(0.0)));
        answer
    }

    fn counted(&mut self) -> Counted {
        let tally = self.connection.tally();
        let repeated = self.repeated.as_mut().map_or(Duration::ZERO, Repeated::planted);
        let planted = tally.planted + repeated + std::mem::take(&mut self.planted);
        let mut proved = BTreeMap::new();
        if let Some((image, cpu)) = &self.placed {
            proved.insert(Metric::PagesInPlace, image.in_place());
            if let Some(on_pages) = image.on_pages() {
                proved.insert(Metric::PagesAsAsked, on_pages);
            }
            let is_there = cpu.is_none_or(|cpu| affinity::current_cpu() == cpu);
            proved.insert(Metric::AnsweredInPlace, [u64::from(is_there), 1]);
        }
        if let Some(audited) = &mut self.audited {
            proved.insert(Metric::AuditedAsAsked, audited.counted());
        }
        let at = CpuSet::from_iter([affinity::current_cpu()]);
        Counted { lookups: Some(tally.lookups), planted, at, proved }
    }
}
