//! One connection of a stream, with its statements compiled and who serves it in place.
//!
//! Method: each statement is compiled once. The thread or process that serves the connection is pinned to the CPU that
//! the session's place names; where it was seen, and what else its kind proves, is counted at a window's end.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hopcost_core::{
    Answer, CallError, Code, Counted, CpuId, CpuSet, Dataset, Mail, Metric, Remote, Request,
    Session, SessionPlacement, Statement, TargetError, VariantSettings,
};
use hopcost_sys::affinity;

use super::audit_log::Audited;
use super::copy::{Asked, Levels, ServerCopy, Witness};
use super::dialect::Call;
use super::filling::{Filler, Fillings};
use super::process::is_at;
use super::tables::Tables;
use super::wire::Wire;

/// How a connection is to be opened.
pub struct Opening<'a, D: Levels> {
    /// Of which server.
    pub copy: &'a ServerCopy<D>,
    /// What will be asked.
    pub statements: &'a [Statement],
    /// Of what data.
    pub dataset: Option<&'static dyn Dataset>,
    /// For sessions of which variant.
    pub variant: &'a VariantSettings,
    /// Where it belongs.
    pub at: SessionPlacement,
    /// What it fills.
    pub fillings: Option<&'a Fillings>,
    /// Set once others have received for it.
    pub is_served: &'a Arc<AtomicBool>,
}

pub struct Connection<D: Levels> {
    wire: D::Wire,
    calls: Vec<D::Call>,
    /// The statement whose answer is waited for.
    asked: usize,
    /// Who serves it; none if the server does not tell.
    worker: Option<u32>,
    /// Where that belongs.
    cpu: Option<CpuId>,
    /// Who writes the log, and where: nobody if who serves it does.
    log_writers: Option<(Vec<u32>, CpuId)>,
    witness: D::Witness,
    audited: Option<Audited<D::AuditLog>>,
    filler: Option<Filler>,
    /// To be set once others have received for it.
    is_served: Option<Arc<AtomicBool>>,
}

impl<D: Levels + Tables> Connection<D> {
    pub fn open(opening: &Opening<'_, D>) -> Result<Self, TargetError> {
        let Opening { copy, variant, at, .. } = *opening;
        let dialect = &*copy.dialect;
        let audit = variant.session.audit;
        let audit_log = audit.map(|_| copy.audit_log()).transpose()?.flatten();
        let address = dialect.address(copy, variant, at)?;
        let mut wire = D::Wire::connect(address.as_ref().unwrap_or(&copy.address))?;
        wire.limit(Some(copy.address.patience))?;
        let worker = dialect.worker(&mut wire)?;
        let is_placed = copy.process.is_some();
        let log_cpu = variant.log_writer_cpu().filter(|_| is_placed);
        // Who commits writes the log itself, if nobody else does: its place is the log writer's.
        let of_log = log_cpu.filter(|_| copy.log_writers.is_empty());
        let cpu = of_log.or(at.backend_cpu).filter(|_| is_placed && worker.is_some());
        if let (Some(worker), Some(cpu)) = (worker, cpu) {
            affinity::pin_other(worker, &CpuSet::from_iter([cpu])).map_err(|error| {
                let words = format!("the server's process or thread {worker}: {error}");
                TargetError::NotHere(Code::NotPlaceable.because(words))
            })?;
        }
        if copy.enters {
            dialect.enter(&mut wire)?;
        }
        dialect.before_calls(&mut wire, variant)?;
        let open = |fillings: &Fillings| fillings.open(dialect, &mut wire, &copy.filled);
        let filler = opening.fillings.map(open).transpose()?;
        let asked = Asked {
            statements: opening.statements,
            dataset: opening.dataset,
            variant,
            at,
            filler: filler.as_ref(),
        };
        let calls = dialect.calls(copy, &mut wire, &asked)?;
        dialect.after_calls(copy, &mut wire, variant)?;
        // A call takes as long as it takes.
        wire.limit(None)?;
        copy.lines.add(wire.channel().line(), wire.number());
        let audited = audit.zip(audit_log);
        let audited = audited.map(|(audit, log)| Audited::new(audit, log, wire.number()));
        Ok(Self {
            witness: dialect.witness(copy, &wire, variant, at)?,
            wire,
            calls,
            asked: 0,
            worker,
            cpu,
            log_writers: log_cpu.map(|cpu| (copy.log_writers.clone(), cpu)),
            audited: audited.transpose()?,
            filler,
            is_served: Some(Arc::clone(opening.is_served)),
        })
    }

    /// Who serves it.
    pub fn worker(&self) -> Option<u32> {
        self.worker
    }
}

impl<D: Levels + Tables> Remote for Connection<D> {
    fn send(&mut self, request: &Request, mail: Mail<'_>) -> Result<(), CallError> {
        self.asked = request.statement;
        let Some(call) = self.calls.get_mut(request.statement) else {
            let words = format!("there is no statement {}", request.statement);
            return Err(CallError::Failed(words));
        };
        if let Some(audited) = &mut self.audited {
            audited.called();
        }
        if let Some(filler) = &self.filler {
            filler.called();
        }
        self.witness.called();
        call.begin(&mut self.wire, &request.arguments, mail.out)
    }

    fn receive(&mut self, mail: Mail<'_>) -> Result<Option<Answer>, CallError> {
        let call = &mut self.calls[self.asked];
        if let Some(came) = mail.came {
            if let Some(is_served) = self.is_served.take() {
                is_served.store(true, Ordering::Relaxed);
            }
            let put = self.wire.channel_mut().put_in(came);
            put.map_err(|error| super::wire::WireError::from(error).of_call(call.name()))?;
        }
        let answer = call.go_on(&mut self.wire, mail.out);
        if !matches!(answer, Ok(None)) {
            self.witness.answered();
        }
        answer
    }

    fn takes_mail(&self) -> bool {
        !self.wire.channel().is_encrypted()
    }

    fn rest(&self) -> Option<Duration> {
        self.calls.get(self.asked)?.rest()
    }

    fn socket(&self) -> BorrowedFd<'_> {
        self.wire.channel().socket()
    }
}

impl<D: Levels + Tables> Session for Connection<D> {
    fn execute(&mut self, request: &Request) -> Result<Answer, CallError> {
        self.send(request, Mail::default())?;
        loop {
            if let Some(rest) = self.rest() {
                std::thread::sleep(rest);
            } else {
                let waited = self.wire.channel_mut().wait();
                waited.map_err(|error| CallError::Lost(error.to_string()))?;
            }
            if let Some(answer) = self.receive(Mail::default())? {
                return Ok(answer);
            }
        }
    }

    fn counted(&mut self) -> Counted {
        let mut counted = Counted::default();
        // First of all: some of what is asked besides is not to be written down.
        if let Some(audited) = &self.audited {
            audited.pause();
        }
        self.witness.counted(&mut self.wire, &mut counted);
        let proved = &mut counted.proved;
        if let (Some(cpu), Some(worker)) = (self.cpu, self.worker) {
            proved.insert(Metric::AnsweredInPlace, all_at(&[worker], cpu));
            counted.at.extend(affinity::last_cpu_of(worker));
        }
        if let Some((writers, cpu)) = &self.log_writers {
            let writers = if writers.is_empty() { self.worker.as_slice() } else { writers };
            proved.insert(Metric::LogWriterInPlace, all_at(writers, *cpu));
        }
        if let Some(audited) = &mut self.audited {
            proved.insert(Metric::AuditedAsAsked, audited.counted());
        }
        if let Some(filler) = &self.filler {
            let rows = filler.counted::<D>(&mut self.wire);
            proved.extend(rows.map(|rows| (Metric::RowsCounted, rows)));
        }
        counted
    }

    // Places are read, and what the server wrote down is, at a window's end.
    fn begin_counting(&mut self) {
        self.witness.begin_counting();
    }

    fn remote(&mut self) -> Option<&mut dyn Remote> {
        Some(self)
    }
}

/// Of these, who is bound to this CPU alone, and was last seen there.
fn all_at(workers: &[u32], cpu: CpuId) -> [u64; 2] {
    let there = workers.iter().filter(|worker| is_at(**worker, cpu)).count();
    [there as u64, workers.len() as u64]
}
