//! One session: its calls, and what it counts.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;

use hopcost_core::{
    Answer, CallError, Counted, CpuId, Look, Lookups, Mail, Metric, Remote, Request, Session,
};
use hopcost_sys::affinity;

use super::super::ledger::Ledger;
use super::super::server::channel::is_left;
use super::super::server::memory::ServerMemory;
use super::super::server::process::is_at;
use super::audit::AuditedSession;
use super::protocol::{self, Question};
use super::wire::Wire;

pub struct HostedSession {
    pub wire: Wire,
    /// The id of the thread that serves it.
    pub thread: u32,
    pub cpu: Option<CpuId>,
    pub memory: Option<ServerMemory>,
    /// `false` on emulated nodes, where all pages are on one real node.
    pub tells_pages: bool,
    /// The rows that a call appends, and their ledger; `None` if calls are statements.
    pub load: Option<(u64, Ledger)>,
    pub audited: Option<AuditedSession>,
}

impl HostedSession {
    /// How many of the appended rows are there; the table is then emptied.
    fn rows_counted(&mut self) -> Option<[u64; 2]> {
        let (_, ledger) = self.load.as_ref()?;
        let there = self.wire.ask(&Question::Rows).ok();
        Some(ledger.settle_and_empty(there, 0, || true))
    }
}

impl Remote for HostedSession {
    fn send(&mut self, request: &Request, mail: Mail<'_>) -> Result<(), CallError> {
        if let Some((rows, ledger)) = &self.load {
            ledger.ask(*rows);
        }
        if let Some(audited) = &mut self.audited {
            audited.called();
        }
        let mut message = Vec::with_capacity(64);
        protocol::put_call(&mut message, request);
        if is_left(&message, mail.out) { self.wire.send(&message) } else { Ok(()) }
    }

    fn receive(&mut self, mail: Mail<'_>) -> Result<Option<Answer>, CallError> {
        if let Some(came) = mail.came {
            let put = self.wire.channel.put_in(came);
            put.map_err(|error| self.wire.lost(&error))?;
        }
        self.wire.answer().map(Some)
    }

    fn takes_mail(&self) -> bool {
        true
    }

    fn socket(&self) -> BorrowedFd<'_> {
        self.wire.channel.socket()
    }
}

impl Session for HostedSession {
    fn execute(&mut self, request: &Request) -> Result<Answer, CallError> {
        self.send(request, Mail::default())?;
        self.wire.answer()
    }

    fn counted(&mut self) -> Counted {
        let mut proved = BTreeMap::new();
        if let Some(cpu) = self.cpu {
            proved.insert(Metric::AnsweredInPlace, [u64::from(is_at(self.thread, cpu)), 1]);
        }
        if let Some(memory) = &self.memory {
            proved.insert(Metric::PagesInPlace, memory.in_place());
        }
        if let Some(audited) = &mut self.audited {
            proved.insert(Metric::AuditedAsAsked, audited.counted());
        }
        if let Some(rows) = self.rows_counted() {
            proved.insert(Metric::RowsCounted, rows);
        }
        let at = self.cpu.and_then(|_| affinity::last_cpu_of(self.thread)).into_iter().collect();
        let memory = self.memory.as_ref().filter(|_| self.tells_pages);
        let found = memory.and_then(|memory| memory.locality(Look::Glance));
        let lookups = found
            .map(|found| Lookups { distinct_pages: found.pages_by_node, ..Lookups::default() });
        Counted { lookups, at, proved, ..Counted::default() }
    }

    fn begin_counting(&mut self) {}

    fn remote(&mut self) -> Option<&mut dyn Remote> {
        Some(self)
    }
}
