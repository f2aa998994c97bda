//! **commitlog**: a log writer and nothing else: each call commits one row through it.
//!
//! Method: the commit log of the probe `log`, as a target. Each session has a log whose writer is a
//! thread on the CPU that the experiment names. A call appends a record under a counted spinlock
//! and waits until the log writer has flushed it to memory on the writer's node. That each flush
//! ran on that CPU is counted.
//!
//! Limits: a stand-in without a device or a database, whose work dilutes the effect of distance.
//! The target `wal` has both.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;

use hopcost_core::{
    Answer, CallError, Capabilities, Code, Counted, CpuId, Instance, Known, Loading, Locality,
    Look, Machine, Metric, Needs, NodeId, Request, Row, Session, SessionPlacement, Setup, Target,
    TargetError, VariantSettings,
};
use hopcost_sys::affinity;
use hopcost_sys::kernels::commit_log::{CommitLog, Inserted, Sink};
use hopcost_sys::memory::{Region, Request as Place};

use super::log_writer_of;
use super::restrictions::{NO_AUDIT, NO_PAGES, NO_PARALLEL, NOTHING_ELSE};

pub struct CommitLogTarget;

const BUFFER_BYTES: usize = 64 << 10;

impl Target for CommitLogTarget {
    fn name(&self) -> &'static str {
        "commitlog"
    }

    fn about(&self) -> &'static str {
        "a log writer without a database: what handing a commit over to it costs"
    }

    fn has_own_threads(&self) -> bool {
        true
    }

    fn capabilities(&self, _address: &str) -> Capabilities {
        Capabilities::but(&[NOTHING_ELSE, NO_PARALLEL, NO_AUDIT, NO_PAGES])
    }

    fn needs(&self, _setup: &Setup<'_>) -> Needs {
        Needs { stream_bytes: BUFFER_BYTES as u64, ..Needs::default() }
    }

    fn open(
        &self,
        setup: &Setup<'_>,
        _heard: &mut dyn FnMut(Loading<'_>) -> bool,
    ) -> Result<Box<dyn Instance>, TargetError> {
        setup.accepted_by(self)?;
        let statements = setup.spec().statements.len();
        Ok(Box::new(Logs { ground: setup.ground.clone(), statements }))
    }
}

struct Logs {
    ground: Machine,
    statements: usize,
}

impl Instance for Logs {
    fn identity(&self) -> String {
        "commitlog: a log writer of hopcost's own that flushes to memory; no database".to_owned()
    }

    fn session(
        &self,
        variant: &VariantSettings,
        _at: SessionPlacement,
    ) -> Result<Box<dyn Session>, TargetError> {
        let cpu = log_writer_of(variant)?;
        let node = self.ground.cpu(cpu).and_then(|cpu| cpu.node.get().copied());
        let log = CommitLog::new(buffer(&self.ground, node)?, Sink::Memory);
        Ok(Box::new(Committer::start(Arc::new(log), cpu)?))
    }

    fn prove(&self, _look: Look) -> Known<Vec<Locality>> {
        Known::missing(Code::NotApplicable, "the log's buffers are small and its own")
    }

    fn plans(&self) -> Result<Vec<String>, TargetError> {
        Ok(vec!["one record, flushed by the log writer".to_owned(); self.statements])
    }
}

/// A log's buffer on its writer's node; on the first node with memory if that node is not known.
fn buffer(ground: &Machine, node: Option<NodeId>) -> Result<Region, TargetError> {
    let node = node.or_else(|| ground.nodes_with_memory().map(|node| node.id).next());
    let node =
        node.ok_or_else(|| TargetError::NotHere(Code::TooFewNodes.because("no node has memory")))?;
    Region::place(&Place::on(ground, node, BUFFER_BYTES, Some(hopcost_core::PageSize::Base)))
        .map_err(|error| TargetError::NotHere(Code::TooLittleMemory.because(error.to_string())))
}

type Log = CommitLog<Region>;

struct Committer {
    log: Arc<Log>,
    writer: Option<JoinHandle<()>>,
    done: Inserted,
    in_place: [u64; 2],
}

impl Committer {
    fn start(log: Arc<Log>, cpu: CpuId) -> Result<Self, TargetError> {
        let (ready, is_ready) = sync_channel(1);
        let of_writer = Arc::clone(&log);
        let writer = std::thread::spawn(move || {
            let pinned = affinity::pin_to(cpu);
            let stands = pinned.is_ok();
            let _ = ready.send(pinned);
            if stands {
                // A failure reaches the client through `commit`.
                let _ = of_writer.write();
            }
        });
        let pinned = is_ready.recv();
        let session =
            Self { log, writer: Some(writer), done: Inserted::default(), in_place: [0; 2] };
        match pinned {
            Ok(Ok(())) => Ok(session),
            Ok(Err(error)) => {
                Err(TargetError::NotHere(Code::TooLittleMemory.because(error.to_string())))
            }
            Err(_) => Err(TargetError::Failed("the log writer died".to_owned())),
        }
    }
}

impl Session for Committer {
    fn execute(&mut self, _request: &Request) -> Result<Answer, CallError> {
        if !self.log.commit(&mut self.done) {
            return Err(CallError::Failed("the log writer failed".to_owned()));
        }
        Ok(Answer::of(Row::new().integer(1)))
    }

    fn counted(&mut self) -> Counted {
        let now = self.log.in_place();
        let before = std::mem::replace(&mut self.in_place, now);
        let since = [now[0] - before[0], now[1] - before[1]];
        Counted {
            proved: BTreeMap::from([(Metric::LogWriterInPlace, since)]),
            ..Counted::default()
        }
    }
}

impl Drop for Committer {
    fn drop(&mut self) {
        self.log.end();
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_is_flushed_where_the_log_writer_belongs() {
        let cpu = affinity::mask().unwrap().last().unwrap();
        let buffer = buffer(&hopcost_sys::topology::read(&hopcost_sys::Root::live()), None);
        let log = Arc::new(CommitLog::new(buffer.unwrap(), Sink::Memory));
        let mut session = Committer::start(log, cpu).unwrap();
        let request = Request { statement: 0, arguments: [0; 4] };
        for _ in 0..50 {
            assert_eq!(session.execute(&request).unwrap().rows, 1);
        }
        let proved = session.counted().proved;
        assert_eq!(proved[&Metric::LogWriterInPlace], [50, 50]);
        assert_eq!(session.counted().proved[&Metric::LogWriterInPlace], [0, 0]);
    }

    #[test]
    fn a_cpu_that_is_not_there_is_refused_in_words() {
        let machine = hopcost_sys::topology::read(&hopcost_sys::Root::live());
        let log = Arc::new(CommitLog::new(buffer(&machine, None).unwrap(), Sink::Memory));
        let error = Committer::start(log, CpuId(4711)).err().unwrap();
        assert!(error.to_string().contains("4711"), "{error}");
    }
}
