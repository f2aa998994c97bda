//! One connection of a stream, with its statements compiled and its thread in the server in place.
//!
//! Method: each statement is prepared once, arguments and answers are binary. The packet of a call is put
//! together beforehand, and a call writes its arguments into it. An answer is taken apart where it lies, row
//! by row, into its digest; the descriptions of its columns, which the server repeats with each, are read
//! again only where they have changed.
//!
//! Limits: arguments are whole numbers and points in time. A statement that is to be compiled anew for each
//! call is not: these servers keep no plans, and make one each time anyway.

use std::collections::BTreeMap;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hopcost_core::{
    Answer, Audit, CallError, Code, Counted, CpuId, CpuSet, Dataset, Look, Lookups, Mail, Metric,
    Remote, Request, Row, Session, Statement, TargetError,
};
use hopcost_sys::affinity;

use super::super::ledger::Ledger;
use super::super::remote::address::Address;
use super::super::remote::failed;
use super::super::remote::ground::Ground;
use super::super::remote::lines::Lines;
use super::super::remote::process::is_at;
use super::super::remote::trail::{Audited, Trail};
use super::audit::Means;
use super::filling::{Filler, Fillings};
use super::packet::{self, Reader};
use super::threads;
use super::types::{Argument, Type, arguments};
use super::wire::{EXECUTE, Piece, Prepared, Wire, WireError};

/// How a connection is to be opened.
pub struct Opening<'a> {
    /// Of which server.
    pub address: &'a Address,
    /// Where it is known to whoever hangs up.
    pub lines: &'a Lines,
    /// What will be asked.
    pub statements: &'a [Statement],
    /// Of what data.
    pub dataset: Option<&'static str>,
    /// Where its thread belongs; none leaves it to the server.
    pub cpu: Option<CpuId>,
    /// Who writes the log, and where: nobody where the connection's thread does.
    pub log_writer: Option<(Vec<u32>, CpuId)>,
    /// What is written down of its statements, by what and where.
    pub audited: Option<(Audit, (Means, &'a Arc<Trail>))>,
    /// The server's memory.
    pub ground: Option<&'a Ground>,
    /// Can it be told on which nodes that is?
    pub tells_pages: bool,
    /// What it fills, and the rows of what all fill together.
    pub filling: Option<(&'a Fillings, &'a Arc<Ledger>)>,
    /// Set once others have received for it.
    pub is_served: &'a Arc<AtomicBool>,
}

/// A connection.
pub struct Connection {
    wire: Wire,
    calls: Vec<Call>,
    /// Which was asked.
    asked: usize,
    /// The thread that serves it; none where the server does not tell.
    thread: Option<u32>,
    cpu: Option<CpuId>,
    log_writer: Option<(Vec<u32>, CpuId)>,
    audited: Option<Audited>,
    ground: Option<Ground>,
    tells_pages: bool,
    filler: Option<Filler>,
    is_served: Option<Arc<AtomicBool>>,
}

/// A statement, ready to be sent.
pub struct Call {
    name: &'static str,
    /// The packet, with room for the arguments.
    packet: Vec<u8>,
    /// What is written where, from which of the request's numbers.
    arguments: Vec<Written>,
    /// The descriptions of its columns as they came last, and what they say.
    described: Vec<Vec<u8>>,
    columns: Vec<Type>,
}

/// An argument, from which of the request's numbers, and where in the packet.
type Written = (Argument, usize, Range<usize>);

impl Connection {
    /// Opens it.
    pub fn open(opening: Opening<'_>) -> Result<Self, TargetError> {
        let user = opening.audited.and_then(|(audit, (means, _))| means.user(audit));
        let user = user.unwrap_or(&opening.address.user).to_owned();
        let mut wire =
            Wire::connect(&Address { user, ..opening.address.clone() }).map_err(failed)?;
        wire.limit(Some(opening.address.patience)).map_err(failed)?;
        let thread = threads::of_connection(&mut wire).map_err(failed)?;
        if let (Some(thread), Some(cpu)) = (thread, opening.cpu) {
            affinity::pin_other(thread, &CpuSet::from_iter([cpu])).map_err(|error| {
                TargetError::NotHere(
                    Code::NotPlaceable.because(format!("the server's thread {thread}: {error}")),
                )
            })?;
        }
        let open = |(fillings, common): (&Fillings, &Arc<Ledger>)| fillings.open(&mut wire, common);
        let filler = opening.filling.map(open).transpose()?;
        let dataset = opening.dataset.and_then(dataset_named);
        let prepare = |statement| Call::prepare(&mut wire, statement, dataset, filler.as_ref());
        let calls = opening.statements.iter().map(prepare).collect::<Result<_, _>>()?;
        let settings = opening.audited.map(|(audit, (means, _))| means.settings(audit));
        for sql in settings.into_iter().flatten() {
            wire.query(sql).map_err(failed)?;
        }
        let number = wire.number;
        let audited = opening.audited.map(|(audit, (_, trail))| Audited::new(audit, trail, number));
        // A call takes as long as it takes.
        wire.limit(None).map_err(failed)?;
        opening.lines.add(wire.line(), wire.number);
        Ok(Self {
            wire,
            calls,
            asked: 0,
            thread,
            cpu: opening.cpu.filter(|_| thread.is_some()),
            log_writer: opening.log_writer,
            audited,
            ground: opening.ground.cloned(),
            tells_pages: opening.tells_pages,
            filler,
            is_served: Some(Arc::clone(opening.is_served)),
        })
    }

    /// The thread that serves it.
    pub fn thread(&self) -> Option<u32> {
        self.thread
    }

    /// All of the server's memory: which of it a connection looks at is not known.
    fn looked_up(&self) -> Option<Lookups> {
        let ground = self.ground.as_ref().filter(|_| self.tells_pages)?;
        let distinct_pages = ground.locality(Look::Glance)?.pages_by_node;
        Some(Lookups { distinct_pages, ..Lookups::default() })
    }
}

fn dataset_named(name: &str) -> Option<&'static dyn Dataset> {
    hopcost_data::datasets::DATASETS.iter().copied().find(|dataset| dataset.name() == name)
}

impl Call {
    fn prepare(
        wire: &mut Wire,
        statement: &Statement,
        dataset: Option<&dyn Dataset>,
        filler: Option<&Filler>,
    ) -> Result<Self, TargetError> {
        let Statement { name, sql, .. } = *statement;
        let server = if wire.is_mariadb() { "MariaDB" } else { "MySQL" };
        let refused = |error: &dyn std::fmt::Display| {
            TargetError::Failed(format!("{server} does not take the statement '{name}': {error}"))
        };
        let of_filler = filler.and_then(Filler::statement);
        let (sql, wanted) = if let Some((sql, arguments)) = &of_filler {
            (sql.as_str(), arguments.clone())
        } else {
            let arguments = arguments(sql, dataset).into_iter().enumerate();
            (sql, arguments.map(|(n, argument)| (argument, n)).collect())
        };
        if filler.is_some_and(Filler::is_load) {
            let (packet, arguments) = (filler.map(Filler::load).unwrap_or_default(), Vec::new());
            return Ok(Self {
                name,
                packet,
                arguments,
                described: Vec::new(),
                columns: Vec::new(),
            });
        }
        let prepared = wire.prepare(sql).map_err(|error| refused(&error))?;
        if prepared.arguments != wanted.len() {
            let (count, wanted) = (prepared.arguments, wanted.len());
            return Err(refused(&format!("it takes {count} arguments, and not {wanted}")));
        }
        let (packet, arguments) = execute(prepared, &wanted);
        Ok(Self { name, packet, arguments, described: Vec::new(), columns: Vec::new() })
    }

    fn with(&mut self, numbers: &[i64; 4]) -> &[u8] {
        for (argument, from, place) in &self.arguments {
            argument.put(numbers[*from], &mut self.packet[place.clone()]);
        }
        &self.packet
    }
}

/// The packet that has a statement carried out, with room for its arguments, and where that is.
fn execute(prepared: Prepared, wanted: &[(Argument, usize)]) -> (Vec<u8>, Vec<Written>) {
    let (mut packet, mut arguments) = (Vec::new(), Vec::new());
    packet::put(&mut packet, 0, |out| {
        out.push(EXECUTE);
        out.extend_from_slice(&prepared.number.to_le_bytes());
        // No cursor, carried out once.
        out.extend_from_slice(&[0, 1, 0, 0, 0]);
        if wanted.is_empty() {
            return;
        }
        out.resize(out.len() + wanted.len().div_ceil(8), 0);
        // Their types follow.
        out.push(1);
        for (argument, _) in wanted {
            out.extend_from_slice(&[argument.code(), 0]);
        }
        for (argument, from) in wanted {
            let start = out.len();
            out.resize(start + argument.bytes(), 0);
            arguments.push((*argument, *from, start..out.len()));
        }
    });
    (packet, arguments)
}

impl Remote for Connection {
    fn send(&mut self, request: &Request, mail: Mail<'_>) -> Result<(), CallError> {
        self.asked = request.statement;
        let Some(call) = self.calls.get_mut(request.statement) else {
            let words = format!("there is no statement {}", request.statement);
            return Err(CallError::Failed(words));
        };
        if let Some(audited) = &mut self.audited {
            audited.called();
        }
        if let Some(filler) = &mut self.filler {
            filler.called();
        }
        let name = call.name;
        let packet = call.with(&request.arguments);
        self.wire.ask(packet, mail.out).map_err(|error| called(name, error))
    }

    fn receive(&mut self, mail: Mail<'_>) -> Result<Option<Answer>, CallError> {
        let Call { name, described, columns, .. } = &mut self.calls[self.asked];
        let name = *name;
        if let Some(came) = mail.came {
            if let Some(is_served) = self.is_served.take() {
                is_served.store(true, Ordering::Relaxed);
            }
            self.wire.put_in(came).map_err(|error| called(name, error))?;
        }
        if let Some(filler) = &mut self.filler
            && filler.is_to_send()
        {
            filler.send_rows(&mut self.wire).map_err(|error| called(name, error))?;
            return Ok(None);
        }
        let mut answer = Answer::default();
        let mut column = 0;
        let taken = self.wire.until_done(|piece| {
            match piece {
                Piece::Column(description) => {
                    if described.get(column).is_none_or(|known| known != description) {
                        let kind = Type::of(description)?;
                        described.truncate(column);
                        columns.truncate(column);
                        described.push(description.to_vec());
                        columns.push(kind);
                    }
                    column += 1;
                }
                Piece::Row(body) => answer.add(row(columns, body)?),
                Piece::Changed(count) => {
                    answer = Answer::of(Row::new().integer(count.cast_signed()));
                }
            }
            Ok(())
        });
        taken.map(|()| Some(answer)).map_err(|error| called(name, error))
    }

    fn takes_mail(&self) -> bool {
        self.wire.takes_mail()
    }

    fn socket(&self) -> BorrowedFd<'_> {
        self.wire.socket()
    }
}

/// A row: which of its values are missing, bit by bit after two that mean nothing, then those that are there.
#[inline]
fn row(types: &[Type], body: &[u8]) -> Result<Row, String> {
    let mut reader = Reader(body);
    reader.bytes(1);
    let missing = reader.bytes((types.len() + 2).div_ceil(8));
    let mut row = Row::new();
    for (n, kind) in types.iter().enumerate() {
        let is_missing =
            missing.get((n + 2) / 8).is_some_and(|byte| byte >> ((n + 2) % 8) & 1 == 1);
        row = if is_missing { row.null() } else { kind.add_to(row, &mut reader)? };
    }
    Ok(row)
}

impl Session for Connection {
    fn execute(&mut self, request: &Request) -> Result<Answer, CallError> {
        self.send(request, Mail::default())?;
        loop {
            self.wire.wait().map_err(|error| CallError::Lost(error.to_string()))?;
            if let Some(answer) = self.receive(Mail::default())? {
                return Ok(answer);
            }
        }
    }

    fn counted(&mut self) -> Counted {
        let mut proved = BTreeMap::new();
        let all_at = |threads: &[u32], cpu: CpuId| {
            let there = threads.iter().filter(|thread| is_at(**thread, cpu)).count();
            [there as u64, threads.len() as u64]
        };
        if let (Some(cpu), Some(thread)) = (self.cpu, self.thread) {
            proved.insert(Metric::AnsweredInPlace, all_at(&[thread], cpu));
        }
        if let Some((threads, cpu)) = &self.log_writer {
            let own = self.thread.as_slice();
            let threads = if threads.is_empty() { own } else { threads };
            proved.insert(Metric::LogWriterInPlace, all_at(threads, *cpu));
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
        let thread = self.thread.filter(|_| self.cpu.is_some());
        let at = thread.and_then(affinity::last_cpu_of).into_iter().collect();
        Counted { lookups: self.looked_up(), at, proved, ..Counted::default() }
    }

    // Places are read, and what the server wrote down is, at a window's end.
    fn begin_counting(&mut self) {}

    fn remote(&mut self) -> Option<&mut dyn Remote> {
        Some(self)
    }
}

/// An error of a call.
pub fn called(name: &str, error: WireError) -> CallError {
    match error {
        WireError::Server(said) => CallError::Failed(format!("{name}: {said}")),
        error @ WireError::Lost(_) => CallError::Lost(format!("{name}: {error}")),
    }
}
