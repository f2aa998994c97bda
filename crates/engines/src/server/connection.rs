//! One connection of a client: its prepared statements, and its backend in place.
//!
//! Method: each statement is prepared once. The backend is pinned to its CPU. Where it was seen,
//! and what else this kind of server proves, is counted at a window's end.

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

pub struct Opening<'a, D: Levels> {
    pub copy: &'a ServerCopy<D>,
    pub statements: &'a [Statement],
    pub dataset: Option<&'static dyn Dataset>,
    pub variant: &'a VariantSettings,
    pub at: SessionPlacement,
    pub fillings: Option<&'a Fillings>,
    /// Set once a worker receives for it.
    pub is_served: &'a Arc<AtomicBool>,
}

pub struct Connection<D: Levels> {
    wire: D::Wire,
    calls: Vec<D::Call>,
    asked: usize,
    /// The backend's kernel id; `None` if the server does not report it.
    worker: Option<u32>,
    cpu: Option<CpuId>,
    /// The log writers and their CPU; an empty list if the backend writes the log itself.
    log_writers: Option<(Vec<u32>, CpuId)>,
    witness: D::Witness,
    audited: Option<Audited<D::AuditLog>>,
    filler: Option<Filler>,
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
        // Without log writers the backend writes the log, so it belongs on their CPU.
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
        // Calls have no time limit.
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
        // First of all, as some queries below must not be logged.
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

    fn begin_counting(&mut self) {
        self.witness.begin_counting();
    }

    fn remote(&mut self) -> Option<&mut dyn Remote> {
        Some(self)
    }
}

/// How many of these are pinned to this CPU alone and were last seen there, and how many there are.
fn all_at(workers: &[u32], cpu: CpuId) -> [u64; 2] {
    let there = workers.iter().filter(|worker| is_at(**worker, cpu)).count();
    [there as u64, workers.len() as u64]
}
