//! One thread of a crew: pinned for life, with its own sessions, schedule and histogram.
//!
//! Method: between windows it waits for an order. A window begins for all threads at one moment; what
//! begins within the guard is not counted; counted is from the first call that begins after it to the
//! end of the last one, so that no part of a call is counted. Nothing that another thread reads is
//! written in between. Every answer is checked, in batches that are not timed as calls. Sessions that
//! are answered by another process work at the same time where a thread has several: `several.rs`.

use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use hopcost_core::{
    Answer, CallError, Code, Counted, CpuId, Disturbance, Histogram, Instance, Load, Metric,
    NodeId, Reason, Request, Requests, Seeming, Session, Shape, Stream, TargetError,
    VariantSettings, Workload,
};
use hopcost_sys::affinity::AffinityError;
use hopcost_sys::quiet::Watch;
use hopcost_sys::{affinity, clock};

use super::Ask;
use super::client_batch::Several;
use super::injected_delay::Stretch;
use super::pacer::Pacer;

/// What a thread is told.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// Stand on its CPU again, which has been off-line since.
    Stand,
    /// Have the database ready for a window of the variant: the first thread does it for all.
    Enter,
    /// Work for a window.
    Work(Window),
    /// Hand in what the whole database counted since: the first thread does it for all.
    Leave,
    /// Hand in what the sessions counted since the window's counted part began.
    Count,
}

/// A window, as the threads are told of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// When it begins.
    pub start: Instant,
    /// What was ordered.
    pub ask: Ask,
}

/// A call that was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawCall {
    /// Its stream.
    pub stream: u32,
    /// When it was due, in nanoseconds from the window's start.
    pub due_ns: u64,
    /// When it was sent.
    pub sent_ns: u64,
    /// When its answer was complete.
    pub done_ns: u64,
}

/// What one thread did in a window.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Calls that count.
    pub calls: u64,
    /// Calls of them that failed or came back wrong.
    pub errors: u64,
    /// The first of these, in words.
    pub first_error: Option<String>,
    /// Calls of them that the database refused.
    pub refused: u64,
    /// Why the connection is gone, if it is.
    pub lost: Option<String>,
    /// Counted calls per second.
    pub rate: f64,
    /// From the first counted call's begin to the last one's end, without the time in which answers
    /// were looked over.
    pub seconds: f64,
    /// The same of each stream, summed.
    pub streams_s: f64,
    /// How long they took from when they were due.
    pub latency: Histogram,
    /// Seconds spent waiting for a call to be due.
    pub waited_s: f64,
    /// What calls that count were made longer, for what works beside the thread.
    pub planted: Duration,
    /// Calls, where they are kept.
    pub raw: Vec<RawCall>,
    /// Where the thread was seen, before and after.
    pub cpus: Vec<CpuId>,
    /// Why its place voids the window, if it does.
    pub objection: Option<Reason>,
    /// What disturbed it from outside, if anything did.
    pub disturbed: Option<Disturbance>,
}

/// What a thread answers.
pub(super) enum Report {
    Ready { tid: u32 },
    Failed(TargetError),
    Stood(Result<(), AffinityError>),
    Entered(Result<(), TargetError>),
    Worked(Box<Tally>),
    Counted(Counted),
}

/// What a thread needs to begin.
pub(super) struct Post<'a> {
    pub instance: &'a dyn Instance,
    pub workload: &'a dyn Workload,
    pub shape: Shape,
    pub load: Load,
    pub planted: Option<Seeming<'a>>,
    pub cpu: CpuId,
    pub variant: VariantSettings,
    /// The streams it serves.
    pub streams: Vec<u32>,
    /// All streams.
    pub of: u32,
    pub threads: usize,
    pub seed: u64,
}

/// Lives until the orders end.
pub(super) fn live(post: &Post<'_>, orders: &Receiver<Order>, reports: &Sender<Report>) {
    let mut worker = match Worker::open(post) {
        Ok(worker) => worker,
        Err(error) => {
            // The other side is gone only when the whole run is.
            let _ = reports.send(Report::Failed(error));
            return;
        }
    };
    let _ = reports.send(Report::Ready { tid: affinity::thread_id() });
    while let Ok(order) = orders.recv() {
        let report = match order {
            Order::Stand => Report::Stood(affinity::pin_to(post.cpu)),
            Order::Enter => Report::Entered(post.instance.enter_variant(&post.variant)),
            Order::Leave => Report::Counted(post.instance.leave_variant(&post.variant)),
            Order::Work(window) => Report::Worked(Box::new(worker.work(&window))),
            Order::Count => Report::Counted(worker.counted()),
        };
        let _ = reports.send(report);
    }
}

/// Answers are checked so many at a time: long calls after their window, short ones in between.
const BATCH: usize = 64;

/// A stream of requests and its session.
pub(super) struct Line {
    pub number: u32,
    /// The node that it stands on, where the streams stand on several.
    pub node: Option<NodeId>,
    pub session: Box<dyn Session>,
    pub requests: Box<dyn Requests>,
    pub calls: u64,
}

struct Worker<'a> {
    post: &'a Post<'a>,
    lines: Vec<Line>,
    answers: Vec<(Request, Answer)>,
}

impl<'a> Worker<'a> {
    fn open(post: &'a Post<'a>) -> Result<Self, TargetError> {
        affinity::pin_to(post.cpu)
            .map_err(|error| TargetError::NotHere(Code::Misplaced.because(error.to_string())))?;
        let line = |&number: &u32| {
            let at = post.variant.of_stream(number, post.seed);
            let session = post.instance.session(&post.variant, at)?;
            let stream = Stream { number, of: post.of, seed: post.seed };
            let requests = post.workload.requests(post.shape, stream);
            let node = post.variant.node_of(number);
            Ok(Line { number, node, session, requests, calls: 0 })
        };
        let lines = post.streams.iter().map(line).collect::<Result<_, TargetError>>()?;
        Ok(Self { post, lines, answers: Vec::with_capacity(BATCH) })
    }

    /// How many of its streams a window of so many has.
    fn active(&self, streams: u32) -> usize {
        self.lines.iter().take_while(|line| line.number < streams).count()
    }

    /// Works for a window.
    fn work(&mut self, window: &Window) -> Tally {
        let mut tally = Tally::default();
        let active = self.active(window.ask.streams);
        self.look_around(&mut tally);
        if active > 0 {
            let numbers: Vec<u32> = self.lines[..active].iter().map(|line| line.number).collect();
            let post = self.post;
            // Another schedule for each window: one that repeats itself could keep in step with it.
            let seed = post.seed ^ self.lines[0].calls.rotate_left(40);
            let threads = post.threads.min(window.ask.streams as usize);
            let mut pacer = Pacer::new(&post.load, &numbers, window.ask.streams, threads, seed);
            wait_until(window.start);
            if active > 1 && self.lines[0].session.remote().is_some() {
                let several = Several { post, lines: &mut self.lines[..active], window };
                several.call(&mut pacer, &mut tally);
            } else {
                self.call(window, &mut pacer, active, &mut tally);
                self.check(&mut tally);
                tally.rate = tally.calls as f64 / tally.seconds;
                tally.streams_s = tally.seconds * active as f64;
            }
        }
        self.look_around(&mut tally);
        tally
    }

    /// Calls until the window is over, and until each stream has called often enough.
    fn call(&mut self, window: &Window, pacer: &mut Pacer, active: usize, tally: &mut Tally) {
        let ns = |at: Instant| at.saturating_duration_since(window.start).as_nanos() as u64;
        let guard_ns = window.ask.guard.as_nanos() as u64;
        let over_ns = guard_ns + window.ask.length.as_nanos() as u64;
        let enough = window.ask.calls_per_stream * active as u64;
        let mut counted_from = None;
        // Looking answers over is our work, not the target's.
        let mut checking_ns = 0;
        let mut watch = Watch::new(self.post.cpu);
        let mut stretch = Stretch::of(self.post, window, self.lines[0].calls);
        let mut now_ns = ns(clock::now());
        loop {
            if counted_from.is_none() && now_ns >= guard_ns {
                self.lines.iter_mut().for_each(|line| line.session.begin_counting());
                watch.begin();
                counted_from = Some(ns(clock::now()));
                now_ns = pacer.pause(now_ns, counted_from.unwrap_or(now_ns));
            }
            let Some((stream, due_ns)) = pacer.next() else { break };
            if due_ns > now_ns {
                if due_ns >= over_ns && tally.calls >= enough {
                    break;
                }
                wait_until(window.start + Duration::from_nanos(due_ns));
                let then_ns = now_ns;
                now_ns = ns(clock::now());
                if counted_from.is_some() {
                    tally.waited_s += (now_ns - then_ns) as f64 / 1e9;
                }
            }
            let line = &mut self.lines[stream];
            let request = line.requests.next();
            let outcome = line.session.execute(&request);
            line.calls += 1;
            let sent_ns = now_ns;
            now_ns = ns(clock::now());
            if let Some(stretch) = &mut stretch {
                let paid_ns = stretch.pay(now_ns - sent_ns, &mut *line.session, &request);
                tally.planted += Duration::from_nanos(paid_ns * u64::from(counted_from.is_some()));
                now_ns += paid_ns;
            }
            pacer.ended(stream, now_ns);
            match outcome {
                Ok(answer) => self.answers.push((request, answer)),
                Err(CallError::Failed(words)) => tally.refuse(words, counted_from.is_some()),
                Err(CallError::Lost(words)) => {
                    tally.lost = Some(words);
                    break;
                }
            }
            if counted_from.is_some() {
                tally.calls += 1;
                tally.latency.record(now_ns.saturating_sub(due_ns));
                if window.ask.keep_calls {
                    let stream = self.lines[stream].number;
                    tally.raw.push(RawCall { stream, due_ns, sent_ns, done_ns: now_ns });
                }
            }
            if now_ns >= over_ns && tally.calls >= enough {
                break;
            }
            if self.answers.len() == BATCH {
                self.check(tally);
                let checked_ns = ns(clock::now());
                // An open loop goes on meanwhile, and its calls wait.
                let is_paused = counted_from.is_some() && self.post.load.open.is_none();
                checking_ns += if is_paused { checked_ns - now_ns } else { 0 };
                now_ns = pacer.pause(now_ns, checked_ns);
            }
        }
        let counted_ns = now_ns.saturating_sub(counted_from.unwrap_or(now_ns));
        tally.seconds = counted_ns.saturating_sub(checking_ns) as f64 / 1e9;
        // Calls may block by design; time that the hypervisor took is nobody's design.
        tally.disturbed = watch.end_blocking().err();
    }

    /// Were all answers right?
    fn check(&mut self, tally: &mut Tally) {
        let post = self.post;
        for (request, answer) in self.answers.drain(..) {
            post.check(&request, &answer, tally);
        }
    }

    /// Is the thread where it was put?
    fn look_around(&self, tally: &mut Tally) {
        let (asked, seen) = (self.post.cpu, affinity::current_cpu());
        tally.cpus.push(seen);
        let mask = affinity::mask().unwrap_or_default();
        if mask.len() != 1 || !mask.contains(asked) {
            tally.objection = Some(Code::Misplaced.because(format!(
                "a worker that was pinned to CPU {asked} was re-pinned to CPU {mask}"
            )));
        } else if seen != asked {
            tally.objection = Some(
                Code::Misplaced.because(format!("a worker of CPU {asked} was seen on CPU {seen}")),
            );
        }
    }

    /// What all sessions counted since the last reading.
    fn counted(&mut self) -> Counted {
        Counted::sum(self.lines.iter_mut().map(Line::counted))
    }
}

impl Line {
    /// What its session counted. Where the streams stand on several nodes, which pages are local is
    /// known here alone.
    fn counted(&mut self) -> Counted {
        let mut counted = self.session.counted();
        if let (Some(node), Some(lookups)) = (self.node, &counted.lookups) {
            let by_node = match &lookups.acquisitions {
                acquisitions if acquisitions.is_empty() => &lookups.distinct_pages,
                acquisitions => acquisitions,
            };
            let local = by_node.get(&node).copied().unwrap_or(0);
            counted.proved.insert(Metric::LocalLookups, [local, by_node.values().sum()]);
        }
        counted
    }
}

impl Post<'_> {
    /// Was an answer right?
    pub(super) fn check(&self, request: &Request, answer: &Answer, tally: &mut Tally) {
        if let Err(reason) = self.workload.check(self.shape, request, answer) {
            tally.fail(reason.to_string());
        }
    }
}

impl Tally {
    /// The database refused a call, in these words.
    pub(super) fn refuse(&mut self, words: String, counts: bool) {
        self.refused += u64::from(counts);
        self.fail(words);
    }

    pub(super) fn fail(&mut self, words: String) {
        self.errors += 1;
        self.first_error.get_or_insert(words);
    }
}

/// Below this a thread does not sleep: waking up takes about as long.
const SHORT: Duration = Duration::from_micros(80);

/// Sleeps the most of the way, and looks at the clock for the rest.
pub(super) fn wait_until(moment: Instant) {
    loop {
        let left = moment.saturating_duration_since(clock::now());
        if left.is_zero() {
            return;
        }
        match left.checked_sub(SHORT) {
            Some(most) => std::thread::sleep(most),
            None => std::hint::spin_loop(),
        }
    }
}
