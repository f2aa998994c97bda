//! Several concurrent sessions on one thread.
//!
//! Method: each call is sent when it is due, and the thread waits for any answer. A client's time
//! counts from its first call after the guard to the end of its last one. A call may sleep, e.g. in
//! a script, while others are served.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::time::Duration;

use hopcost_core::{Answer, CallError, Mail, Request};
use hopcost_sys::clock;
use hopcost_sys::quiet::Watch;

use super::batch_io::Courier;
use super::pacer::Pacer;
use super::post::{Line, Post, Window, wait_until};
use super::tally::{RawCall, Tally};

const BATCH: usize = 64;

#[derive(Clone, Copy)]
struct Sent {
    request: Request,
    due_ns: u64,
    at_ns: u64,
    counts: bool,
    /// Until its time in `resting`.
    rests: bool,
}

#[derive(Clone, Copy, Default)]
struct Span {
    calls: u64,
    begin_ns: u64,
    end_ns: u64,
}

pub(super) struct Several<'a> {
    post: &'a Post<'a>,
    lines: &'a mut [Line],
    window: &'a Window,
    pacer: &'a mut Pacer,
    tally: &'a mut Tally,
    sent: Vec<Option<Sent>>,
    waiting: usize,
    /// With wake-up times, the earliest on top.
    resting: BinaryHeap<Reverse<(u64, usize)>>,
    spans: Vec<Span>,
    answers: Vec<(Request, Answer)>,
    counted_from: Option<u64>,
    now_ns: u64,
}

impl<'a> Several<'a> {
    pub fn new(
        post: &'a Post<'a>,
        lines: &'a mut [Line],
        window: &'a Window,
        pacer: &'a mut Pacer,
        tally: &'a mut Tally,
    ) -> Self {
        let streams = lines.len();
        Self {
            post,
            lines,
            window,
            pacer,
            tally,
            sent: vec![None; streams],
            waiting: 0,
            resting: BinaryHeap::new(),
            spans: vec![Span::default(); streams],
            answers: Vec::with_capacity(BATCH),
            counted_from: None,
            now_ns: 0,
        }
    }

    pub fn call(mut self) {
        let mut courier = match self.courier() {
            Ok(courier) => courier,
            Err(error) => return self.tally.lost = Some(cannot_wait(&error)),
        };
        let mut watch = Watch::new(self.post.cpu);
        self.now_ns = self.clock_ns();
        while self.tally.lost.is_none() {
            if self.counted_from.is_none() && self.now_ns >= self.guard_ns() {
                self.lines.iter_mut().for_each(|line| line.session.begin_counting());
                watch.begin();
                self.now_ns = self.clock_ns();
                self.counted_from = Some(self.now_ns);
            }
            self.send_what_is_due(&mut courier);
            self.wake(&mut courier);
            let due_ns = self.next_ns();
            if self.waiting == self.resting.len() {
                let Some(due_ns) = due_ns else { break };
                self.wait_until(due_ns);
                continue;
            }
            let left = |due_ns: u64| Duration::from_nanos(due_ns.saturating_sub(self.now_ns));
            match courier.wait(due_ns.map(left)) {
                Ok(arrivals) => {
                    let waiting = self.waiting;
                    for n in 0..arrivals {
                        let (stream, mail) = courier.arrival(n);
                        // It is read on wake-up.
                        if !self.sent[stream].is_some_and(|sent| sent.rests)
                            && self.take(stream, mail)
                        {
                            courier.expect(stream);
                        }
                    }
                    if self.waiting == waiting {
                        self.now_ns = self.clock_ns();
                    }
                }
                Err(error) => self.tally.lost = Some(cannot_wait(&error)),
            }
        }
        self.check();
        self.sum_up();
        self.tally.disturbed = watch.end_blocking().err();
    }

    fn courier(&mut self) -> io::Result<Courier> {
        let remotes: Vec<_> =
            self.lines.iter_mut().filter_map(|line| line.session.remote()).collect();
        Courier::of(&remotes)
    }

    fn clock_ns(&self) -> u64 {
        clock::now().saturating_duration_since(self.window.start).as_nanos() as u64
    }

    fn guard_ns(&self) -> u64 {
        self.window.ask.guard.as_nanos() as u64
    }

    fn over_ns(&self) -> u64 {
        self.guard_ns() + self.window.ask.length.as_nanos() as u64
    }

    /// After the window's end, only missing calls are sent.
    fn send_what_is_due(&mut self, courier: &mut Courier) {
        let (over_ns, enough) = (self.over_ns(), self.window.ask.calls_per_stream);
        let is_open = self.post.work.load.open.is_some();
        while let Some(due_ns) = self.pacer.due() {
            let is_over = self.now_ns >= over_ns;
            if due_ns > self.now_ns && !is_over {
                return;
            }
            let Some((stream, due_ns)) = self.pacer.next() else { return };
            if is_over && (is_open || self.spans[stream].calls >= enough) {
                continue;
            }
            let line = &mut self.lines[stream];
            let request = line.requests.next();
            line.calls += 1;
            let Some(remote) = line.session.remote() else { return };
            let (outcome, rest) = (remote.send(&request, courier.mail()), remote.rest());
            // In a closed loop the time of the last answer is close enough.
            if self.window.ask.keep_calls || is_open || rest.is_some() {
                self.now_ns = self.clock_ns();
            }
            let at_ns = self.now_ns;
            let due_ns = due_ns.min(at_ns);
            let counts = self.counted_from.is_some();
            let sent = Sent { request, due_ns, at_ns, counts, rests: false };
            match outcome {
                Ok(()) => {
                    self.sent[stream] = Some(sent);
                    self.waiting += 1;
                    match rest {
                        Some(rest) => self.lay_to_rest(stream, rest, at_ns),
                        None => courier.expect(stream),
                    }
                }
                Err(error) => self.end(stream, sent, Err(error)),
            }
        }
    }

    fn wake(&mut self, courier: &mut Courier) {
        while let Some(&Reverse((until_ns, stream))) = self.resting.peek()
            && until_ns <= self.now_ns
        {
            self.resting.pop();
            if let Some(sent) = &mut self.sent[stream] {
                sent.rests = false;
            }
            if self.take(stream, courier.mail()) {
                courier.expect(stream);
            }
            self.now_ns = self.clock_ns();
        }
    }

    fn next_ns(&self) -> Option<u64> {
        let call_ns = self.pacer.due().map(|due_ns| due_ns.min(self.over_ns()));
        let rested_ns = self.resting.peek().map(|Reverse((until_ns, _))| *until_ns);
        call_ns.into_iter().chain(rested_ns).min()
    }

    fn wait_until(&mut self, due_ns: u64) {
        wait_until(self.window.start + Duration::from_nanos(due_ns));
        let now_ns = self.clock_ns();
        let then_ns = std::mem::replace(&mut self.now_ns, now_ns);
        if self.counted_from.is_some() {
            self.tally.waited_s += (self.now_ns - then_ns) as f64 / 1e9;
        }
    }

    /// Returns whether the client has sent more and waits again.
    fn take(&mut self, stream: usize, mail: Mail<'_>) -> bool {
        let Some(remote) = self.lines[stream].session.remote() else { return false };
        let outcome = match remote.receive(mail) {
            Ok(None) => {
                let Some(rest) = remote.rest() else { return true };
                self.lay_to_rest(stream, rest, self.clock_ns());
                return false;
            }
            Ok(Some(answer)) => Ok(answer),
            Err(error) => Err(error),
        };
        let Some(sent) = self.sent[stream].take() else {
            // No request is pending: the server closes the connection.
            self.tally.lost = outcome.err().map(|error| error.to_string());
            return false;
        };
        self.waiting -= 1;
        self.end(stream, sent, outcome);
        false
    }

    fn end(&mut self, stream: usize, sent: Sent, outcome: Result<Answer, CallError>) {
        let now_ns = self.clock_ns();
        self.now_ns = now_ns;
        self.pacer.ended(stream, now_ns);
        match outcome {
            Ok(answer) => self.answers.push((sent.request, answer)),
            Err(CallError::Failed(words)) => self.tally.refuse(words, sent.counts),
            Err(CallError::Lost(words)) => self.tally.lost = Some(words),
        }
        if sent.counts {
            let span = &mut self.spans[stream];
            if span.calls == 0 {
                span.begin_ns = sent.due_ns;
            }
            (span.calls, span.end_ns) = (span.calls + 1, now_ns);
            self.tally.latency.record(now_ns.saturating_sub(sent.due_ns));
            if self.window.ask.keep_calls {
                let number = self.lines[stream].number;
                let Sent { due_ns, at_ns: sent_ns, .. } = sent;
                self.tally.raw.push(RawCall { stream: number, due_ns, sent_ns, done_ns: now_ns });
            }
        }
        if self.answers.len() == BATCH {
            self.check();
        }
    }

    fn check(&mut self) {
        for (request, answer) in self.answers.drain(..) {
            self.post.check(&request, &answer, self.tally);
        }
    }

    /// Closed loop: each client has its own time. Open loop: one for all.
    fn sum_up(&mut self) {
        let from = |span: &Span| if span.calls > 0 { span.begin_ns } else { u64::MAX };
        let begin_ns = self.spans.iter().map(from).min().unwrap_or(0);
        let end_ns = self.spans.iter().map(|span| span.end_ns).max().unwrap_or(0);
        self.tally.calls = self.spans.iter().map(|span| span.calls).sum();
        self.tally.seconds = end_ns.saturating_sub(begin_ns) as f64 / 1e9;
        let think_ns = self.post.work.load.think_s * 1e9;
        let called = self.spans.iter().filter(|span| span.calls > 0);
        let seconds = |span: &Span| ((span.end_ns - span.begin_ns) as f64 + think_ns) / 1e9;
        self.tally.streams_s = called.clone().map(seconds).sum();
        self.tally.rate = match self.post.work.load.open {
            Some(_) => self.tally.calls as f64 / self.tally.seconds,
            None => called.map(|span| span.calls as f64 / seconds(span)).sum(),
        };
    }

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
