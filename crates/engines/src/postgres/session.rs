//! One connection of a stream, with its statements compiled and its process in place.
//!
//! Method: each statement is prepared once, arguments and answers are binary. The messages of a call (bind,
//! execute, sync) are put together beforehand, and a call writes its arguments into them. An answer is
//! taken apart where it lies, row by row, into its digest. The process that serves the connection is
//! pinned to the CPU that the seat names; where it was seen is counted.
//!
//! Limits: arguments are whole numbers and points in time.

use std::collections::BTreeMap;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::BytesMut;
use hopcost_core::{
    Answer, Audit, CallError, Code, Counted, CpuId, CpuSet, Lookups, Mail, Metric, Parallel,
    Remote, Request, Row, Session, SessionPlacement, Statement, TargetError, VariantSettings,
};
use hopcost_sys::affinity;
use hopcost_sys::memory::Foreign;
use postgres_protocol::message::frontend;

use super::super::ledger::Ledger;
use super::super::remote::address::Address;
use super::super::remote::ground::Ground;
use super::super::remote::lines::Lines;
use super::super::remote::trail::{Audited, Trail};
use super::super::remote::{failed, with_literals};
use super::audit;
use super::filling::{Filler, Fillings};
use super::parallel::{self, Team, Watch};
use super::script::{Client, Compiled};
use super::statistics::{HAND_IN, HANDS_IN};
use super::types::Type;
use super::wire::{Wire, WireError, columns};
use hopcost_pgbench::Script;

/// How a connection is to be opened.
pub struct Opening<'a> {
    /// Of which server.
    pub address: &'a Address,
    /// Where it is known to whoever hangs up.
    pub lines: &'a Lines,
    /// What is said first, such as a search path; may be empty.
    pub greeting: &'a str,
    /// What will be asked.
    pub statements: &'a [Ready],
    /// For sessions of which variant.
    pub variant: &'a VariantSettings,
    /// Where it belongs.
    pub at: SessionPlacement,
    /// What scripts find in their variable `scale`.
    pub scale: u32,
    /// Where its process belongs; none leaves it to the server.
    pub cpu: Option<CpuId>,
    /// Who writes the log, and where.
    pub log_writer: Option<LogWriter>,
    /// Who looks after its parallel workers.
    pub watch: Option<&'a Arc<Watch>>,
    /// What is written down of its statements, and where.
    pub audited: Option<(Audit, &'a Arc<Trail>)>,
    /// Can it be told on which nodes the pages are that it looks at?
    pub tells_pages: bool,
    /// The server's memory, where its place is to be proved.
    pub ground: Option<&'a Ground>,
    /// What it fills, and the rows of what all fill together.
    pub filling: Option<(&'a Fillings, &'a Arc<Ledger>)>,
    /// Set once others have received for it.
    pub is_served: &'a Arc<AtomicBool>,
}

/// Something to ask.
#[derive(Clone, Copy)]
pub enum Ready {
    /// A statement.
    Statement(Statement),
    /// A script, read.
    Script(&'static Compiled),
}

impl Ready {
    /// Scripts are read once, and last as long as the program does.
    pub fn of(number: usize, statement: &Statement) -> Result<Self, TargetError> {
        let Some(variables) = statement.script else {
            return Ok(Self::Statement(*statement));
        };
        let script = Script::with(statement.name, statement.sql, variables);
        let script = script.map_err(|error| TargetError::Failed(error.to_string()))?;
        let compiled = Compiled::new(number, script).map_err(TargetError::Failed)?;
        Ok(Self::Script(Box::leak(Box::new(compiled))))
    }

    fn script(&self) -> Option<&'static Script> {
        match self {
            Self::Statement(_) => None,
            Self::Script(compiled) => Some(&compiled.script),
        }
    }
}

/// Who writes the log.
#[derive(Clone, Copy, Debug)]
pub struct LogWriter {
    /// A process of its own; 0 where it is the connection's.
    pub pid: u32,
    /// Where it belongs.
    pub cpu: CpuId,
}

/// A connection.
pub struct Connection {
    wire: Wire,
    calls: Vec<Asked>,
    client: Client,
    /// The statement whose answer is waited for.
    asked: usize,
    cpu: Option<CpuId>,
    log_writer: Option<LogWriter>,
    memory: Option<Foreign>,
    team: Option<Team>,
    audited: Option<Audited>,
    ground: Option<Ground>,
    filler: Option<Filler>,
    /// To be set once others have received for it.
    is_served: Option<Arc<AtomicBool>>,
}

enum Asked {
    Statement(Call),
    Script(&'static Compiled),
}

/// A statement, ready to be sent.
struct Call {
    name: &'static str,
    /// The messages, with room for the arguments.
    messages: Vec<u8>,
    arguments: Vec<(Type, Range<usize>)>,
    columns: Vec<Type>,
}

/// Of a server's shared memory so many pages are asked about per window.
const PAGES_PER_LOOK: usize = 1 << 13;

impl Connection {
    /// Opens it.
    pub fn open(opening: &Opening<'_>) -> Result<Self, TargetError> {
        let mut wire = Wire::connect(opening.address).map_err(failed)?;
        wire.limit(Some(opening.address.patience)).map_err(failed)?;
        if let Some(cpu) = opening.cpu {
            affinity::pin_other(wire.pid, &CpuSet::from_iter([cpu])).map_err(|error| {
                let pid = wire.pid;
                TargetError::NotHere(
                    Code::NotPlaceable.because(format!("the server's process {pid}: {error}")),
                )
            })?;
        }
        if !opening.greeting.is_empty() {
            wire.query(opening.greeting).map_err(failed)?;
        }
        let (at, parallel) = (opening.at.node, opening.variant.parallel);
        if let Some(Parallel { dop, .. }) = parallel {
            wire.query(&parallel::settings(dop)).map_err(failed)?;
        }
        if let Some((audit, _)) = opening.audited {
            wire.query(audit::settings(audit)).map_err(failed)?;
        }
        let open = |(fillings, common): (&Fillings, &Arc<Ledger>)| fillings.open(&mut wire, common);
        let filler = opening.filling.map(open).transpose()?;
        let statements = opening.statements.iter().enumerate();
        let calls = statements.map(|(n, ready)| match ready {
            Ready::Statement(statement) => {
                Call::prepare(&mut wire, n, statement, filler.as_ref()).map(Asked::Statement)
            }
            Ready::Script(compiled) => Ok(Asked::Script(compiled)),
        });
        let calls = calls.collect::<Result<_, _>>()?;
        let scripts = opening.statements.iter().filter_map(Ready::script);
        let client = Client::new(opening.at, opening.scale, scripts)?;
        // A call takes as long as it takes.
        wire.limit(None).map_err(failed)?;
        opening.lines.add(wire.line(), wire.pid);
        // Only a server on this host, and ours to look into, has one.
        let told = opening.cpu.filter(|_| opening.tells_pages);
        let memory = told.and_then(|_| Foreign::largest_shared(wire.pid).ok().flatten());
        let pid = wire.pid;
        let team = opening.watch.map(|watch| Team::of(watch, pid, at, parallel));
        let audited = opening.audited.map(|(audit, trail)| Audited::new(audit, trail, pid));
        let Opening { log_writer, cpu, .. } = *opening;
        let ground = opening.ground.cloned();
        let is_served = Some(Arc::clone(opening.is_served));
        Ok(Self {
            wire,
            calls,
            client,
            asked: 0,
            cpu,
            log_writer,
            memory,
            team,
            audited,
            ground,
            filler,
            is_served,
        })
    }

    /// The process that serves it.
    pub fn pid(&self) -> u32 {
        self.wire.pid
    }

    /// What is asked just now.
    fn name(&self) -> &'static str {
        match &self.calls[self.asked] {
            Asked::Statement(call) => call.name,
            Asked::Script(compiled) => compiled.script.name(),
        }
    }

    fn looked_up(&self) -> Option<Lookups> {
        let pages = self.memory.as_ref()?.pages(PAGES_PER_LOOK).ok()?;
        Some(Lookups { distinct_pages: pages.by_node, ..Lookups::default() })
    }
}

impl Call {
    fn prepare(
        wire: &mut Wire,
        n: usize,
        statement: &Statement,
        filler: Option<&Filler>,
    ) -> Result<Self, TargetError> {
        let Statement { name, recompile, .. } = *statement;
        let refused = |error: &dyn std::fmt::Display| {
            TargetError::Failed(format!("PostgreSQL does not take the statement '{name}': {error}"))
        };
        let load = filler.map(Filler::load).transpose().map_err(|error| refused(&error))?;
        if let Some(messages) = load.flatten() {
            return Ok(Self { name, messages, arguments: Vec::new(), columns: Vec::new() });
        }
        let sql = numbered(statement.sql);
        let [arguments, columns] =
            wire.prepare(&name_of(n), &sql).map_err(|error| refused(&error))?;
        let types = |oids: &[u32]| -> Result<Vec<Type>, TargetError> {
            let known = |oid: &u32| {
                Type::of(*oid).ok_or_else(|| refused(&format!("its type {oid} is not known here")))
            };
            oids.iter().map(known).collect()
        };
        if arguments.len() != statement.arguments {
            let count = arguments.len();
            return Err(refused(&format!(
                "it takes {count} arguments, and not {}",
                statement.arguments
            )));
        }
        let mut messages = BytesMut::new();
        let compiled = if recompile { String::new() } else { name_of(n) };
        let packed = |error: std::io::Error| refused(&error);
        if recompile {
            frontend::parse("", &sql, arguments.iter().copied(), &mut messages).map_err(packed)?;
        }
        let (argument_types, column_types) = (types(&arguments)?, types(&columns)?);
        let places =
            bind(&compiled, &argument_types, &mut messages).map_err(|error| refused(&error))?;
        frontend::execute("", 0, &mut messages).map_err(packed)?;
        frontend::sync(&mut messages);
        let arguments = argument_types.into_iter().zip(places).collect();
        Ok(Self { name, messages: messages.to_vec(), arguments, columns: column_types })
    }

    fn with(&mut self, arguments: &[i64]) -> Result<&[u8], String> {
        for ((kind, place), value) in self.arguments.iter().zip(arguments) {
            kind.put(*value, &mut self.messages[place.clone()])?;
        }
        Ok(&self.messages)
    }
}

/// The name under which the statement at a place is compiled.
pub fn name_of(n: usize) -> String {
    format!("hopcost_{n}")
}

/// `?` becomes `$1`, `$2`, …
pub fn numbered(sql: &str) -> String {
    with_literals(sql, (1..).map(|n: usize| format!("${n}")))
}

/// A bind message with room for arguments, everything binary: where they go.
fn bind(
    statement: &str,
    types: &[Type],
    messages: &mut BytesMut,
) -> Result<Vec<Range<usize>>, String> {
    let mut lengths = Vec::new();
    for kind in types {
        let bytes = kind.argument_bytes();
        lengths.push(bytes.ok_or("its arguments are no whole numbers and no points in time")?);
    }
    let write = |length: usize, buffer: &mut BytesMut| {
        buffer.extend_from_slice(&[0; 16][..length]);
        Ok(postgres_protocol::IsNull::No)
    };
    frontend::bind("", statement, [1], lengths.iter().copied(), write, [1], messages)
        .map_err(|_| "its arguments cannot be packed")?;
    // At the end stand the number of result formats and the one there is: four bytes.
    let mut end = messages.len() - 4;
    let mut places = Vec::new();
    for length in lengths.iter().rev() {
        places.push(end - length..end);
        end -= length + 4;
    }
    places.reverse();
    Ok(places)
}

impl Remote for Connection {
    fn send(&mut self, request: &Request, mail: Mail<'_>) -> Result<(), CallError> {
        self.asked = request.statement;
        let call = match self.calls.get_mut(request.statement) {
            Some(Asked::Statement(call)) => call,
            Some(Asked::Script(compiled)) => {
                let ended = self.client.begin(&mut self.wire, compiled, mail.out)?;
                // A script without a statement has nothing to wait for.
                return match ended {
                    None => Ok(()),
                    Some(_) => Err(CallError::Failed(format!(
                        "{}: it asks nothing",
                        compiled.script.name()
                    ))),
                };
            }
            None => {
                let words = format!("there is no statement {}", request.statement);
                return Err(CallError::Failed(words));
            }
        };
        let name = call.name;
        let messages = call
            .with(&request.arguments)
            .map_err(|words| CallError::Failed(format!("{name}: {words}")))?;
        if let Some(audited) = &mut self.audited {
            audited.called();
        }
        if let Some(filler) = &self.filler {
            filler.called();
        }
        self.wire.ask(messages, mail.out).map_err(|error| called(name, error))
    }

    fn receive(&mut self, mail: Mail<'_>) -> Result<Option<Answer>, CallError> {
        if let Some(came) = mail.came {
            if let Some(is_served) = self.is_served.take() {
                is_served.store(true, Ordering::Relaxed);
            }
            self.wire.put_in(came).map_err(|error| called(self.name(), error))?;
        }
        let (name, types) = match &self.calls[self.asked] {
            Asked::Statement(call) => (call.name, &call.columns),
            Asked::Script(_) => {
                let ended = self.client.answered(&mut self.wire, mail.out)?;
                return Ok(ended.map(|rows| Answer { rows, digest: 0 }));
            }
        };
        let mut answer = Answer::default();
        let taken = self.wire.until_ready(|tag, body| {
            match tag {
                b'D' => answer.add(row(types, body)?),
                b'C' if types.is_empty() => {
                    answer = Answer::of(Row::new().integer(changed(body)));
                }
                _ => {}
            }
            Ok(())
        });
        if let Some(team) = &mut self.team {
            team.answered();
        }
        taken.map(|()| Some(answer)).map_err(|error| called(name, error))
    }

    fn takes_mail(&self) -> bool {
        self.wire.takes_mail()
    }

    fn rest(&self) -> Option<Duration> {
        match self.calls.get(self.asked)? {
            Asked::Statement(_) => None,
            Asked::Script(_) => self.client.rest(),
        }
    }

    fn socket(&self) -> BorrowedFd<'_> {
        self.wire.socket()
    }
}

#[inline]
fn row(types: &[Type], body: &[u8]) -> Result<Row, String> {
    let mut row = Row::new();
    for (kind, value) in types.iter().zip(columns(body)) {
        row = kind.add_to(row, value)?;
    }
    Ok(row)
}

/// `INSERT 0 1`: how many rows.
fn changed(tag: &[u8]) -> i64 {
    let text = std::str::from_utf8(tag).unwrap_or_default().trim_end_matches('\0');
    text.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0)
}

impl Session for Connection {
    fn execute(&mut self, request: &Request) -> Result<Answer, CallError> {
        self.send(request, Mail::default())?;
        loop {
            if let Some(rest) = self.rest() {
                std::thread::sleep(rest);
            } else {
                self.wire.wait().map_err(|error| CallError::Lost(error.to_string()))?;
            }
            if let Some(answer) = self.receive(Mail::default())? {
                return Ok(answer);
            }
        }
    }

    fn counted(&mut self) -> Counted {
        if self.wire.major() >= HANDS_IN && !self.wire.is_in_transaction() {
            // Where the connection is gone, the next call tells.
            let _ = self.wire.query(HAND_IN);
        }
        let mut proved = BTreeMap::new();
        let was_at = |pid: u32, cpu: CpuId| {
            let is_there = affinity::last_cpu_of(pid) == Some(cpu)
                && affinity::mask_of(pid).is_ok_and(|mask| mask.len() == 1);
            [u64::from(is_there), 1]
        };
        if let Some(cpu) = self.cpu {
            proved.insert(Metric::AnsweredInPlace, was_at(self.wire.pid, cpu));
        }
        if let Some(LogWriter { pid, cpu }) = self.log_writer {
            let pid = if pid == 0 { self.wire.pid } else { pid };
            proved.insert(Metric::LogWriterInPlace, was_at(pid, cpu));
        }
        if let Some(team) = &mut self.team {
            team.counted(&mut proved);
        }
        if let Some(audited) = &mut self.audited {
            proved.insert(Metric::AuditedAsAsked, audited.counted());
        }
        if let Some(rows) = self.filler.as_ref().and_then(|filler| filler.counted(&mut self.wire)) {
            proved.insert(Metric::RowsCounted, rows);
        }
        if let Some(ground) = &self.ground {
            proved.insert(Metric::PagesInPlace, ground.in_place());
        }
        let at = self.cpu.and_then(|_| affinity::last_cpu_of(self.wire.pid)).into_iter().collect();
        Counted { lookups: self.looked_up(), at, proved, ..Counted::default() }
    }

    // Pages are counted from the connection's beginning, and places at a window's end.
    fn begin_counting(&mut self) {
        if let Some(team) = &mut self.team {
            team.begin_counting();
        }
    }

    fn remote(&mut self) -> Option<&mut dyn Remote> {
        Some(self)
    }
}

/// An error of a call.
pub fn called(name: &str, error: WireError) -> CallError {
    match error {
        WireError::Server(said) if !said.is_fatal => CallError::Failed(format!("{name}: {said}")),
        error => CallError::Lost(format!("{name}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_numbered_and_have_their_room() {
        assert_eq!(numbered("a = ? AND b < ?"), "a = $1 AND b < $2");
        assert_eq!(numbered("SELECT 1"), "SELECT 1");
        let mut messages = BytesMut::new();
        frontend::sync(&mut messages);
        let types = [Type::Integer(2), Type::Timestamp, Type::Uuid, Type::Integer(4)];
        let places = bind("s", &types, &mut messages).unwrap();
        assert_eq!(places.iter().map(Range::len).collect::<Vec<_>>(), [2, 8, 16, 4]);
        for place in places {
            // Its length stands before each.
            let length = [0, 0, 0, place.len() as u8];
            assert_eq!(messages[place.start - 4..place.start], length);
        }
    }

    #[test]
    fn a_change_tells_how_many_rows() {
        assert_eq!([&b"INSERT 0 1\0"[..], b"UPDATE 7\0", b"BEGIN\0"].map(changed), [1, 7, 0]);
    }
}
