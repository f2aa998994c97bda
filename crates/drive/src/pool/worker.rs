//! One thread of a worker pool: pinned for life, with its own sessions, schedule and histogram.
//!
//! Method: a window starts at one moment for all threads. Time counts from the first call after the
//! guard to the end of the last one. No shared data is written meanwhile, and answers are checked
//! in batches outside of call times. Sessions with server processes: `client_batch.rs`.

use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use hopcost_core::{Answer, CallError, Code, Counted, Request, Stream, TargetError};
use hopcost_sys::affinity::AffinityError;
use hopcost_sys::quiet::Watch;
use hopcost_sys::{affinity, clock};

use super::client_batch::Several;
use super::injected_delay::Stretch;
use super::pacer::Pacer;
use super::post::{Line, Post, Window, wait_until};
use super::tally::{RawCall, Tally};

#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// After the thread's CPU was offline.
    Stand,
    /// Sent to the first thread only.
    Enter,
    Work(Window),
    /// Sent to the first thread only.
    Leave,
    /// The sessions' counters.
    Count,
}

pub(super) enum Report {
    Ready { tid: u32 },
    Failed(TargetError),
    Stood(Result<(), AffinityError>),
    Entered(Result<(), TargetError>),
    Worked(Box<Tally>),
    Counted(Counted),
}

pub(super) fn live(post: &Post<'_>, orders: &Receiver<Order>, reports: &Sender<Report>) {
    let mut worker = match Worker::open(post) {
        Ok(worker) => worker,
        Err(error) => {
            // The receiver is only gone if the run is over.
            let _ = reports.send(Report::Failed(error));
            return;
        }
    };
    let _ = reports.send(Report::Ready { tid: affinity::thread_id() });
    while let Ok(order) = orders.recv() {
        let report = match order {
            Order::Stand => Report::Stood(affinity::pin_to(post.cpu)),
            Order::Enter => Report::Entered(post.work.instance.enter_variant(&post.variant)),
            Order::Leave => Report::Counted(post.work.instance.leave_variant(&post.variant)),
            Order::Work(window) => Report::Worked(Box::new(worker.work(&window))),
            Order::Count => Report::Counted(worker.counted()),
        };
        let _ = reports.send(report);
    }
}

const BATCH: usize = 64;

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
            let at = post.variant.of_stream(number, post.work.seed);
            let session = post.work.instance.session(&post.variant, at)?;
            let stream = Stream { number, of: post.of, seed: post.work.seed };
            let requests = post.work.workload.requests(post.work.shape, stream);
            let node = post.variant.node_of(number);
            Ok(Line { number, node, session, requests, calls: 0 })
        };
        let lines = post.streams.iter().map(line).collect::<Result<_, TargetError>>()?;
        Ok(Self { post, lines, answers: Vec::with_capacity(BATCH) })
    }

    fn active(&self, streams: u32) -> usize {
        self.lines.iter().take_while(|line| line.number < streams).count()
    }

    fn work(&mut self, window: &Window) -> Tally {
        let mut tally = Tally::default();
        let active = self.active(window.ask.streams);
        self.look_around(&mut tally);
        if active > 0 {
            let numbers: Vec<u32> = self.lines[..active].iter().map(|line| line.number).collect();
            let post = self.post;
            // A repeated schedule could be in step with the target.
            let seed = post.work.seed ^ self.lines[0].calls.rotate_left(40);
            let threads = post.threads.min(window.ask.streams as usize);
            let mut pacer =
                Pacer::new(&post.work.load, &numbers, window.ask.streams, threads, seed);
            wait_until(window.start);
            if active > 1 && self.lines[0].session.remote().is_some() {
                let lines = &mut self.lines[..active];
                Several::new(post, lines, window, &mut pacer, &mut tally).call();
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

    fn call(&mut self, window: &Window, pacer: &mut Pacer, active: usize, tally: &mut Tally) {
        let ns = |at: Instant| at.saturating_duration_since(window.start).as_nanos() as u64;
        let guard_ns = window.ask.guard.as_nanos() as u64;
        let over_ns = guard_ns + window.ask.length.as_nanos() as u64;
        let enough = window.ask.calls_per_stream * active as u64;
        let mut counted_from = None;
        // Answer checks are not the target's work.
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
                // In an open loop time goes on, and its calls wait.
                let is_paused = counted_from.is_some() && self.post.work.load.open.is_none();
                checking_ns += if is_paused { checked_ns - now_ns } else { 0 };
                now_ns = pacer.pause(now_ns, checked_ns);
            }
        }
        let counted_ns = now_ns.saturating_sub(counted_from.unwrap_or(now_ns));
        tally.seconds = counted_ns.saturating_sub(checking_ns) as f64 / 1e9;
        // Calls may block by design; only stolen time counts.
        tally.disturbed = watch.end_blocking().err();
    }

    fn check(&mut self, tally: &mut Tally) {
        let post = self.post;
        for (request, answer) in self.answers.drain(..) {
            post.check(&request, &answer, tally);
        }
    }

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

    fn counted(&mut self) -> Counted {
        Counted::sum(self.lines.iter_mut().map(Line::counted))
    }
}
