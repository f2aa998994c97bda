//! Several sessions of one thread at work at the same time.
//!
//! Method: each stream's call is sent when it is due, and the thread waits for whichever answer comes
//! first: users who outnumber CPUs take no thread each. Counted is, stream by stream, from the first call
//! that begins after the guard to the end of the last one. What is sent before the window is over is
//! waited for. A call may rest, as a script does that sleeps: meanwhile others are served. Answers are
//! checked in small batches, as part of the thread's work: meanwhile others are answered.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::time::Duration;

use hopcost_core::{Answer, CallError, Mail, Request};
use hopcost_sys::clock;
use hopcost_sys::quiet::Watch;

use super::batch_io::Courier;
use super::pacer::Pacer;
use super::worker::{Line, Post, RawCall, Tally, Window, wait_until};

/// Answers are checked so many at a time.
const BATCH: usize = 64;

/// A thread's streams in one window.
pub(super) struct Several<'a> {
    pub post: &'a Post<'a>,
    pub lines: &'a mut [Line],
    pub window: &'a Window,
}

/// A call that waits for its answer.
#[derive(Clone, Copy)]
struct Sent {
    request: Request,
    due_ns: u64,
    at_ns: u64,
    counts: bool,
    /// Does it rest until it goes on by itself?
    rests: bool,
}

/// What a stream did that counts.
#[derive(Clone, Copy, Default)]
struct Span {
    calls: u64,
    begin_ns: u64,
    end_ns: u64,
}

/// The state of a window.
struct Course {
    sent: Vec<Option<Sent>>,
    waiting: usize,
    /// Of those that wait: who rests, and until when; the first to go on is on top.
    resting: BinaryHeap<Reverse<(u64, usize)>>,
    spans: Vec<Span>,
    answers: Vec<(Request, Answer)>,
    counted_from: Option<u64>,
    now_ns: u64,
}

impl Several<'_> {
    /// Calls until the window is over, and until each stream has called often enough.
    pub fn call(mut self, pacer: &mut Pacer, tally: &mut Tally) {
        let mut courier = match self.courier() {
            Ok(courier) => courier,
            Err(error) => return tally.lost = Some(cannot_wait(&error)),
        };
        let mut watch = Watch::new(self.post.cpu);
        let mut course = Course {
            sent: vec![None; self.lines.len()],
            waiting: 0,
            resting: BinaryHeap::new(),
            spans: vec![Span::default(); self.lines.len()],
            answers: Vec::with_capacity(BATCH),
            counted_from: None,
            now_ns: self.now_ns(),
        };
        while tally.lost.is_none() {
            if course.counted_from.is_none() && course.now_ns >= self.guard_ns() {
                self.lines.iter_mut().for_each(|line| line.session.begin_counting());
                watch.begin();
                course.now_ns = self.now_ns();
                course.counted_from = Some(course.now_ns);
            }
            self.send_what_is_due(&mut course, &mut courier, pacer, tally);
            self.wake(&mut course, &mut courier, pacer, tally);
            let due_ns = self.next_ns(&course, pacer);
            if course.waiting == course.resting.len() {
                let Some(due_ns) = due_ns else { break };
                self.wait_until(due_ns, &mut course, tally);
                continue;
            }
            let left = |due_ns: u64| Duration::from_nanos(due_ns.saturating_sub(course.now_ns));
            match courier.wait(due_ns.map(left)) {
                Ok(arrivals) => {
                    let waiting = course.waiting;
                    for n in 0..arrivals {
                        let (stream, mail) = courier.arrival(n);
                        // What comes for one that rests is seen when it goes on.
                        if !course.sent[stream].is_some_and(|sent| sent.rests)
                            && self.take(stream, mail, &mut course, pacer, tally)
                        {
                            courier.expect(stream);
                        }
                    }
                    // Else the last answer has told the time.
                    if course.waiting == waiting {
                        course.now_ns = self.now_ns();
                    }
                }
                Err(error) => tally.lost = Some(cannot_wait(&error)),
            }
        }
        self.check(&mut course, tally);
        self.sum_up(&course, tally);
        tally.disturbed = watch.end_blocking().err();
    }

    fn courier(&mut self) -> io::Result<Courier> {
        let remotes: Vec<_> =
            self.lines.iter_mut().filter_map(|line| line.session.remote()).collect();
        Courier::of(&remotes)
    }

    fn now_ns(&self) -> u64 {
        clock::now().saturating_duration_since(self.window.start).as_nanos() as u64
    }

    fn guard_ns(&self) -> u64 {
        self.window.ask.guard.as_nanos() as u64
    }

    fn over_ns(&self) -> u64 {
        self.guard_ns() + self.window.ask.length.as_nanos() as u64
    }

    /// Sends each call that is due. When the window is over, only what a stream still lacks is sent.
    fn send_what_is_due(
        &mut self,
        course: &mut Course,
        courier: &mut Courier,
        pacer: &mut Pacer,
        tally: &mut Tally,
    ) {
        let (over_ns, enough) = (self.over_ns(), self.window.ask.calls_per_stream);
        let is_open = self.post.load.open.is_some();
        while let Some(due_ns) = pacer.due() {
            let is_over = course.now_ns >= over_ns;
            if due_ns > course.now_ns && !is_over {
                return;
            }
            let Some((stream, due_ns)) = pacer.next() else { return };
            if is_over && (is_open || course.spans[stream].calls >= enough) {
                continue;
            }
            let line = &mut self.lines[stream];
            let request = line.requests.next();
            line.calls += 1;
            let Some(remote) = line.session.remote() else { return };
            let (outcome, rest) = (remote.send(&request, courier.mail()), remote.rest());
            // A closed loop needs no other time than that of the last answer.
            if self.window.ask.keep_calls || is_open || rest.is_some() {
                course.now_ns = self.now_ns();
            }
            let at_ns = course.now_ns;
            let due_ns = due_ns.min(at_ns);
            let counts = course.counted_from.is_some();
            let sent = Sent { request, due_ns, at_ns, counts, rests: false };
            match outcome {
                Ok(()) => {
                    course.sent[stream] = Some(sent);
                    course.waiting += 1;
                    match rest {
                        Some(rest) => course.lay_to_rest(stream, rest, at_ns),
                        None => courier.expect(stream),
                    }
                }
                Err(error) => self.end(stream, sent, Err(error), course, pacer, tally),
            }
        }
    }

    /// Goes on with the calls that have rested.
    fn wake(
        &mut self,
        course: &mut Course,
        courier: &mut Courier,
        pacer: &mut Pacer,
        tally: &mut Tally,
    ) {
        while let Some(&Reverse((until_ns, stream))) = course.resting.peek()
            && until_ns <= course.now_ns
        {
            course.resting.pop();
            if let Some(sent) = &mut course.sent[stream] {
                sent.rests = false;
            }
            if self.take(stream, courier.mail(), course, pacer, tally) {
                courier.expect(stream);
            }
            course.now_ns = self.now_ns();
        }
    }

    /// When there is something to do though nothing arrives.
    fn next_ns(&self, course: &Course, pacer: &Pacer) -> Option<u64> {
        let call_ns = pacer.due().map(|due_ns| due_ns.min(self.over_ns()));
        let rested_ns = course.resting.peek().map(|Reverse((until_ns, _))| *until_ns);
        call_ns.into_iter().chain(rested_ns).min()
    }

    /// Nobody is waited for, and the next call is not due.
    fn wait_until(&self, due_ns: u64, course: &mut Course, tally: &mut Tally) {
        wait_until(self.window.start + Duration::from_nanos(due_ns));
        let then_ns = std::mem::replace(&mut course.now_ns, self.now_ns());
        if course.counted_from.is_some() {
            tally.waited_s += (course.now_ns - then_ns) as f64 / 1e9;
        }
    }

    /// Takes the answer that a stream has waited for. Has it sent more, and waits again?
    fn take(
        &mut self,
        stream: usize,
        mail: Mail<'_>,
        course: &mut Course,
        pacer: &mut Pacer,
        tally: &mut Tally,
    ) -> bool {
        let Some(remote) = self.lines[stream].session.remote() else { return false };
        let outcome = match remote.receive(mail) {
            Ok(None) => {
                let Some(rest) = remote.rest() else { return true };
                course.lay_to_rest(stream, rest, self.now_ns());
                return false;
            }
            Ok(Some(answer)) => Ok(answer),
            Err(error) => Err(error),
        };
        let Some(sent) = course.sent[stream].take() else {
            // Nothing was asked: the server has something to say, and that is its farewell.
            tally.lost = outcome.err().map(|error| error.to_string());
            return false;
        };
        course.waiting -= 1;
        self.end(stream, sent, outcome, course, pacer, tally);
        false
    }

    /// A call of a stream ended.
    fn end(
        &self,
        stream: usize,
        sent: Sent,
        outcome: Result<Answer, CallError>,
        course: &mut Course,
        pacer: &mut Pacer,
        tally: &mut Tally,
    ) {
        let now_ns = self.now_ns();
        course.now_ns = now_ns;
        pacer.ended(stream, now_ns);
        match outcome {
            Ok(answer) => course.answers.push((sent.request, answer)),
            Err(CallError::Failed(words)) => tally.refuse(words, sent.counts),
            Err(CallError::Lost(words)) => tally.lost = Some(words),
        }
        if sent.counts {
            let span = &mut course.spans[stream];
            if span.calls == 0 {
                span.begin_ns = sent.due_ns;
            }
            (span.calls, span.end_ns) = (span.calls + 1, now_ns);
            tally.latency.record(now_ns.saturating_sub(sent.due_ns));
            if self.window.ask.keep_calls {
                let number = self.lines[stream].number;
                let Sent { due_ns, at_ns: sent_ns, .. } = sent;
                tally.raw.push(RawCall { stream: number, due_ns, sent_ns, done_ns: now_ns });
            }
        }
        if course.answers.len() == BATCH {
            self.check(course, tally);
        }
    }

    fn check(&self, course: &mut Course, tally: &mut Tally) {
        for (request, answer) in course.answers.drain(..) {
            self.post.check(&request, &answer, tally);
        }
    }

    /// A closed loop's streams each have their own time; the calls of an open loop share one.
    fn sum_up(&self, course: &Course, tally: &mut Tally) {
        let from = |span: &Span| if span.calls > 0 { span.begin_ns } else { u64::MAX };
        let begin_ns = course.spans.iter().map(from).min().unwrap_or(0);
        let end_ns = course.spans.iter().map(|span| span.end_ns).max().unwrap_or(0);
        tally.calls = course.spans.iter().map(|span| span.calls).sum();
        tally.seconds = end_ns.saturating_sub(begin_ns) as f64 / 1e9;
        // A stream thinks after each call but, within its span, not after the last.
        let think_ns = self.post.load.think_s * 1e9;
        let called = course.spans.iter().filter(|span| span.calls > 0);
        let seconds = |span: &Span| ((span.end_ns - span.begin_ns) as f64 + think_ns) / 1e9;
        tally.streams_s = called.clone().map(seconds).sum();
        tally.rate = match self.post.load.open {
            Some(_) => tally.calls as f64 / tally.seconds,
            None => called.map(|span| span.calls as f64 / seconds(span)).sum(),
        };
    }
}

impl Course {
    /// A stream's call rests.
    fn lay_to_rest(&mut self, stream: usize, rest: Duration, from_ns: u64) {
        if let Some(sent) = &mut self.sent[stream] {
            sent.rests = true;
            self.resting.push(Reverse((from_ns + rest.as_nanos() as u64, stream)));
        }
    }
}

fn cannot_wait(error: &io::Error) -> String {
    format!("waiting for answers: {error}")
}
