//! One connection of a stream, with its statements compiled, and the work done where the experiment wants it.
//!
//! Method: each statement is prepared once (`sp_prepare`) and called by its number (`sp_execute`). The packet of
//! a call is put together beforehand, and a call writes its arguments into it. An answer is taken apart where it
//! lies, value by value, into its digest. A statement that is to be compiled anew for each call says so
//! (`OPTION (RECOMPILE)`), and how many workers it may have (`MAXDOP`): one, unless the experiment says otherwise.
//!
//! Limits: arguments are whole numbers and points in time.

use std::collections::BTreeMap;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hopcost_core::{
    Answer, Audit, CallError, Counted, CpuSet, Dataset, Mail, Metric, Remote, Request, Row,
    Session, Statement, TargetError,
};

use super::super::ledger::Ledger;
use super::super::server::address::Address;
use super::super::server::lines::Lines;
use super::super::server::{compared_with, failed};
use super::audit::{Audited, Auditing};
use super::filling::{Filler, Fillings};
use super::packet::{HEAD, kind, put_wide};
use super::scripts;
use super::tokens::Piece;
use super::types::Argument;
use super::wire::{Wire, WireError, call, headers, procedure};
use super::writers::{self, Post};

/// How a connection is to be opened.
pub struct Opening<'a> {
    /// Of which server, by the port of the node where there is one.
    pub address: &'a Address,
    /// Where it is known to whoever hangs up.
    pub lines: &'a Lines,
    /// What will be asked.
    pub statements: &'a [Statement],
    /// Of what data.
    pub dataset: Option<&'a dyn Dataset>,
    /// How many workers may answer it.
    pub dop: u32,
    /// The CPUs that are to answer, where it can be told whether they do.
    pub cpus: Option<CpuSet>,
    /// Where it works, and where the log writers do, where that is asked for.
    pub post: Option<Post>,
    /// Who has its statements written down, where that is asked for.
    pub auditing: Option<(Audit, Arc<Auditing>)>,
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
    cpus: Option<CpuSet>,
    post: Option<Post>,
    audited: Option<Audited>,
    filler: Option<Filler>,
    is_served: Option<Arc<AtomicBool>>,
}

/// A statement, ready to be sent.
struct Call {
    name: &'static str,
    /// The packet, with room for the arguments.
    packet: Vec<u8>,
    /// What is written where, from which of the request's numbers.
    arguments: Vec<(Argument, usize, Range<usize>)>,
}

/// A statement in SQL Server's words, and what its arguments are.
pub struct Spoken {
    /// Its text, its arguments @p1, @p2, …
    pub sql: String,
    /// Their declarations.
    pub declared: String,
    arguments: Vec<(Argument, usize)>,
}

impl Spoken {
    /// A workload's statement. `dop` is how many workers may answer it.
    pub fn of(statement: &Statement, dataset: Option<&dyn Dataset>, dop: u32) -> Self {
        let columns = compared_with(statement.sql, dataset);
        let argument = |(n, column): (usize, &Option<_>)| (Argument::of(column.as_ref()), n);
        let arguments = columns.iter().enumerate().map(argument).collect();
        let recompile = if statement.recompile { "RECOMPILE, " } else { "" };
        let hint = if statement.sql.starts_with("SELECT") {
            format!(" OPTION ({recompile}MAXDOP {dop})")
        } else {
            String::new()
        };
        Self::with(&format!("{}{hint}", statement.sql), arguments)
    }

    fn with(sql: &str, arguments: Vec<(Argument, usize)>) -> Self {
        let mut pieces = sql.split('?');
        let first = pieces.next().unwrap_or_default().to_owned();
        let numbered = pieces.enumerate().map(|(n, piece)| format!("@p{}{piece}", n + 1));
        let sql = numbered.fold(first, |sql, piece| sql + &piece);
        let declared = arguments.iter().enumerate();
        let declared =
            declared.map(|(n, (argument, _))| format!("@p{} {}", n + 1, argument.declared()));
        let declared = declared.collect::<Vec<_>>().join(", ");
        Self { sql, declared, arguments }
    }
}

impl Connection {
    /// Opens it.
    pub fn open(opening: Opening<'_>) -> Result<Self, TargetError> {
        let mut wire = Wire::connect(opening.address).map_err(failed)?;
        wire.limit(Some(opening.address.patience)).map_err(failed)?;
        let open = |(fillings, common): (&Fillings, &Arc<Ledger>)| fillings.open(&mut wire, common);
        let filler = opening.filling.map(open).transpose()?;
        let prepare = |statement: &Statement| {
            let of_filler = filler.as_ref().and_then(Filler::statement);
            let spoken = match of_filler {
                Some((sql, arguments)) => Spoken::with(&sql, arguments),
                None => Spoken::of(statement, opening.dataset, opening.dop),
            };
            match filler.as_ref().filter(|filler| filler.is_load()) {
                Some(filler) => Ok(Call::batch(&wire, statement.name, &filler.load())),
                None => Call::prepare(&mut wire, statement.name, &spoken),
            }
        };
        let calls = opening.statements.iter().map(prepare).collect::<Result<_, _>>()?;
        // A call takes as long as it takes.
        wire.limit(None).map_err(failed)?;
        opening.lines.add(wire.line(), wire.number);
        let audited = |(audit, by)| Audited::new(audit, &by, wire.number);
        let audited = opening.auditing.map(audited).transpose()?;
        Ok(Self {
            wire,
            calls,
            asked: 0,
            cpus: opening.cpus,
            post: opening.post,
            audited,
            filler,
            is_served: Some(Arc::clone(opening.is_served)),
        })
    }

    /// Was it answered where it should have been? It is asked over the same connection.
    fn in_place(&mut self) -> Option<[u64; 2]> {
        let cpus = self.cpus.as_ref()?;
        let sql = scripts::sql("worker_cpu", &self.wire.version).ok()?;
        let cpu = self.wire.value(sql).ok().flatten().and_then(|cpu| cpu.parse().ok());
        let is_there = cpu.is_some_and(|cpu| cpus.contains(hopcost_core::CpuId(cpu)));
        Some([u64::from(is_there), 1])
    }
}

impl Call {
    fn batch(wire: &Wire, name: &'static str, sql: &str) -> Self {
        let mut message = headers();
        put_wide(&mut message, sql);
        Self { name, packet: wire.packets(kind::BATCH, &message), arguments: Vec::new() }
    }

    fn prepare(wire: &mut Wire, name: &'static str, spoken: &Spoken) -> Result<Self, TargetError> {
        let number = wire.prepare(&spoken.declared, &spoken.sql).map_err(|error| {
            TargetError::Failed(format!("SQL Server does not take the statement '{name}': {error}"))
        })?;
        let mut message = call(procedure::EXECUTE);
        message.extend_from_slice(&[0, 0]);
        let place = Argument::Integer(4).make_room(&mut message);
        let start = message.len() - place;
        Argument::Integer(4).put(number.into(), &mut message[start..]);
        let mut arguments = Vec::new();
        for (argument, from) in &spoken.arguments {
            message.extend_from_slice(&[0, 0]);
            let length = argument.make_room(&mut message);
            let end = message.len() + HEAD;
            arguments.push((*argument, *from, end - length..end));
        }
        // Four arguments are far shorter than a packet.
        Ok(Self { name, packet: wire.packets(kind::CALL, &message), arguments })
    }

    fn with(&mut self, numbers: &[i64; 4]) -> &[u8] {
        for (argument, from, place) in &self.arguments {
            argument.put(numbers[*from], &mut self.packet[place.clone()]);
        }
        &self.packet
    }
}

impl Remote for Connection {
    fn send(&mut self, request: &Request, mail: Mail<'_>) -> Result<(), CallError> {
        self.asked = request.statement;
        let Some(call) = self.calls.get_mut(request.statement) else {
            let words = format!("there is no statement {}", request.statement);
            return Err(CallError::Failed(words));
        };
        if let Some(filler) = &mut self.filler {
            filler.called();
        }
        if let Some(audited) = &mut self.audited {
            audited.called();
        }
        let name = call.name;
        let packet = call.with(&request.arguments);
        self.wire.ask(packet, mail.out).map_err(|error| called(name, error))
    }

    fn receive(&mut self, mail: Mail<'_>) -> Result<Option<Answer>, CallError> {
        let name = self.calls[self.asked].name;
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
        let (mut answer, mut row) = (Answer::default(), Row::new());
        let taken = self.wire.until_done(|piece| {
            match piece {
                Piece::Row => row = Row::new(),
                Piece::Value(value) => row = value.add_to(row)?,
                Piece::RowEnds => answer.add(row),
                Piece::Changed(count) => {
                    answer = Answer::of(Row::new().integer(count.cast_signed()));
                }
                Piece::Columns | Piece::Returned(_) => {}
            }
            Ok(())
        });
        if answer.rows == 0
            && let Some(row) = self.filler.as_ref().and_then(Filler::one_row)
        {
            answer = Answer::of(row);
        }
        taken.map(|()| Some(answer)).map_err(|error| called(name, error))
    }

    fn takes_mail(&self) -> bool {
        self.wire.takes_mail()
    }

    fn socket(&self) -> BorrowedFd<'_> {
        self.wire.socket()
    }
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
        // First of all: what we ask besides is not to be written down.
        if let Some(audited) = &mut self.audited {
            proved.insert(Metric::AuditedAsAsked, audited.counted());
        }
        if let Some(in_place) = self.in_place() {
            proved.insert(Metric::AnsweredInPlace, in_place);
        }
        if let Some(post) = &self.post {
            let found = writers::cpus(&mut self.wire).unwrap_or_default();
            proved.insert(Metric::LogWriterInPlace, post.proved(&found));
        }
        if let Some(rows) = self.filler.as_ref().and_then(|filler| filler.counted(&mut self.wire)) {
            proved.insert(Metric::RowsCounted, rows);
        }
        Counted { proved, ..Counted::default() }
    }

    fn begin_counting(&mut self) {}

    fn remote(&mut self) -> Option<&mut dyn Remote> {
        Some(self)
    }
}

/// An error of a call.
fn called(name: &str, error: WireError) -> CallError {
    match error {
        WireError::Server(said) => CallError::Failed(format!("{name}: {said}")),
        error @ WireError::Lost(_) => CallError::Lost(format!("{name}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopcost_data::datasets::DATASETS;

    #[test]
    fn statements_are_said_with_numbered_arguments_and_hints() {
        let tran_stats = DATASETS.iter().find(|dataset| dataset.name() == "tran_stats").copied();
        let statement = Statement {
            name: "one",
            sql: "SELECT 1 FROM tran_stats AS t WHERE t.tran_begin >= ? AND users = ?",
            arguments: 2,
            recompile: true,
            script: None,
        };
        let spoken = Spoken::of(&statement, tran_stats, 4);
        assert!(
            spoken.sql.ends_with(">= @p1 AND users = @p2 OPTION (RECOMPILE, MAXDOP 4)"),
            "{}",
            spoken.sql
        );
        assert_eq!(spoken.declared, "@p1 datetime2(6), @p2 int");
        let insert = Statement { sql: "INSERT INTO t (n) VALUES (?)", arguments: 1, ..statement };
        let spoken = Spoken::of(&insert, None, 1);
        assert_eq!(spoken.sql, "INSERT INTO t (n) VALUES (@p1)");
        assert_eq!(spoken.declared, "@p1 bigint");
    }
}
