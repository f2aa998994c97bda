//! The driver: streams of requests on threads that stand where they were put.
//!
//! Method: a [`Crew`] is one set of threads for one placement, pinned for life, each with its own
//! sessions; several streams share a thread where there are more of them than CPUs. A switch parks one
//! crew and releases another: a thread that is re-pinned instead would leave its memory behind on the
//! old node. Blocking calls on plain threads; no runtime that could move them.

mod batch_io;
mod client_batch;
mod injected_delay;
mod pacer;
mod worker;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Scope;
use std::time::{Duration, Instant};

use hopcost_core::{
    Counted, CpuId, Instance, Load, Seeming, Shape, TargetError, VariantSettings, Workload,
};
use hopcost_sys::affinity::AffinityError;
use hopcost_sys::clock;

use worker::Window;
use worker::{Order, Post, Report};
pub use worker::{RawCall, Tally};

/// What a crew is to be.
#[derive(Clone, Debug)]
pub struct Muster {
    /// What the database is to know of it.
    pub settings: VariantSettings,
    /// The CPUs of the threads that ask, where they are others than those that work.
    pub clients: Option<Vec<CpuId>>,
    /// The most streams that it will be asked for.
    pub streams: u32,
}

/// What streams do, whoever runs them.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// The database.
    pub instance: &'a dyn Instance,
    /// What it is asked.
    pub workload: &'a dyn Workload,
    /// How large the data is.
    pub shape: Shape,
    /// How each stream calls.
    pub load: Load,
    /// The machine as it seems, where calls of a database in our own process are made longer.
    pub planted: Option<Seeming<'a>>,
    /// The seed of the requests.
    pub seed: u64,
}

/// A set of threads, waiting for its next window.
pub struct Crew {
    orders: Vec<Sender<Order>>,
    reports: Vec<Receiver<Report>>,
    tids: Vec<u32>,
}

/// A window, as it is ordered.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// What is not counted at its begin.
    pub guard: Duration,
    /// How long it counts, at least.
    pub length: Duration,
    /// Calls that each stream makes in it, at least.
    pub calls_per_stream: u64,
    /// Streams.
    pub streams: u32,
    /// Are the begin and the end of each call kept?
    pub keep_calls: bool,
}

/// All threads are told this long before a window begins: time for each to wake.
const NOTICE: Duration = Duration::from_micros(500);

impl Crew {
    /// Starts the threads, and waits until each stands on its CPU with its sessions open. They end
    /// when the crew is dropped.
    pub fn start<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        work: Work<'env>,
        muster: &Muster,
    ) -> Result<Self, TargetError> {
        let cpus = muster.clients.as_ref().unwrap_or(&muster.settings.workers);
        let threads = cpus.len().min(muster.streams as usize);
        let (mut orders, mut reports) = (Vec::new(), Vec::new());
        for (thread, &cpu) in cpus.iter().take(threads).enumerate() {
            let post = Post {
                instance: work.instance,
                workload: work.workload,
                shape: work.shape,
                load: work.load,
                planted: work.planted,
                cpu,
                variant: muster.settings.clone(),
                streams: (thread as u32..muster.streams).step_by(threads).collect(),
                of: muster.streams,
                threads,
                seed: work.seed,
            };
            let (order, orders_of_thread) = channel();
            let (report, reports_of_thread) = channel();
            scope.spawn(move || worker::live(&post, &orders_of_thread, &report));
            orders.push(order);
            reports.push(reports_of_thread);
        }
        let mut crew = Self { orders, reports, tids: Vec::new() };
        for report in &crew.reports {
            match report.recv() {
                Ok(Report::Ready { tid }) => crew.tids.push(tid),
                Ok(Report::Failed(error)) => return Err(error),
                _ => return Err(lost()),
            }
        }
        Ok(crew)
    }

    /// The kernel's numbers of the threads.
    pub fn tids(&self) -> &[u32] {
        &self.tids
    }

    /// Works for a window: what each thread did. Where its answers do not come and nobody wants them any
    /// more, the database is hung up on.
    pub fn work(&self, ask: &Ask, patience: &mut Patience<'_>) -> Result<Vec<Tally>, TargetError> {
        let entered = |report| match report {
            Report::Entered(entered) => Some(entered),
            _ => None,
        };
        self.tell_first(Order::Enter, patience, entered)?.unwrap_or(Ok(()))?;
        let window = Window { start: clock::now() + NOTICE, ask: *ask };
        let worked = |report| match report {
            Report::Worked(tally) => Some(*tally),
            _ => None,
        };
        self.tell_all(Order::Work(window), patience, worked)
    }

    /// Has each thread stand on its CPU again: one whose CPU was off-line meanwhile is pinned no more.
    pub fn stand(&self) -> Result<(), TargetError> {
        let stood = |report| match report {
            Report::Stood(stood) => Some(stood),
            _ => None,
        };
        let all = self.tell_all(Order::Stand, &mut Patience::Endless, stood)?;
        let all: Result<(), AffinityError> = all.into_iter().collect();
        all.map_err(|error| TargetError::Failed(error.to_string()))
    }

    /// What the whole database counted in the last window, and all sessions since its counted part began.
    pub fn counted(&self) -> Result<Counted, TargetError> {
        let counted = |report| match report {
            Report::Counted(counted) => Some(counted),
            _ => None,
        };
        let left = self.tell_first(Order::Leave, &mut Patience::Endless, counted)?;
        let all = self.tell_all(Order::Count, &mut Patience::Endless, counted)?;
        Ok(Counted::sum(left.into_iter().chain(all)))
    }

    /// Gives the first thread an order for all of them, and takes the answer.
    fn tell_first<T>(
        &self,
        order: Order,
        patience: &mut Patience<'_>,
        answer: impl Fn(Report) -> Option<T>,
    ) -> Result<Option<T>, TargetError> {
        let (Some(thread), Some(reports)) = (self.orders.first(), self.reports.first()) else {
            return Ok(None);
        };
        thread.send(order).map_err(|_| lost())?;
        patience.wait(reports).and_then(answer).ok_or_else(lost).map(Some)
    }

    /// Gives all threads an order, and takes the answers to it.
    fn tell_all<T>(
        &self,
        order: Order,
        patience: &mut Patience<'_>,
        answer: impl Fn(Report) -> Option<T>,
    ) -> Result<Vec<T>, TargetError> {
        for thread in &self.orders {
            thread.send(order).map_err(|_| lost())?;
        }
        let answers = self.reports.iter().map(|reports| patience.wait(reports).and_then(&answer));
        answers.map(|answer| answer.ok_or_else(lost)).collect()
    }
}

/// How long a window's threads are waited for.
pub enum Patience<'a> {
    /// As long as it takes.
    Endless,
    /// Until a while after `stop` was set, when the database is hung up on.
    Until {
        /// Set when the user has had enough.
        stop: &'a AtomicBool,
        /// The database.
        instance: &'a dyn Instance,
        /// When that was first seen, and whether the database has been hung up on.
        seen: Option<(Instant, bool)>,
    },
}

/// A window may end by itself in this time.
const GRACE: Duration = Duration::from_secs(3);
/// How often the user's wish is looked at.
const LOOK: Duration = Duration::from_millis(250);

impl<'a> Patience<'a> {
    /// Until the user has had enough.
    pub fn until(stop: &'a AtomicBool, instance: &'a dyn Instance) -> Self {
        Self::Until { stop, instance, seen: None }
    }

    /// What a thread reports; none where it died.
    fn wait(&mut self, reports: &Receiver<Report>) -> Option<Report> {
        loop {
            match reports.recv_timeout(LOOK) {
                Ok(report) => return Some(report),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => self.look(),
            }
        }
    }

    fn look(&mut self) {
        let Self::Until { stop, instance, seen } = self else { return };
        if !stop.load(Ordering::Relaxed) {
            return;
        }
        let (since, is_hung_up) = seen.get_or_insert_with(|| (clock::now(), false));
        if !*is_hung_up && since.elapsed() >= GRACE {
            *is_hung_up = true;
            instance.hang_up();
        }
    }
}

/// A thread that ended early has panicked, and has said why.
fn lost() -> TargetError {
    TargetError::Failed("a worker thread died".into())
}
