//! When the calls of one thread's clients are due.
//!
//! A call is due when the last answer came and the think time has passed (closed loop), or by the
//! schedule (open loop). Latency always counts from then, so that a stalled server cannot hide the
//! calls it delayed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fastrand::Rng;
use hopcost_core::{Load, Open};

#[derive(Debug)]
pub struct Pacer {
    /// Clients without a pending call, the first due or longest waiting on top.
    free: BinaryHeap<Reverse<Turn>>,
    think_ns: u64,
    schedule: Option<Schedule>,
    turns: u64,
}

/// Nanoseconds of the window's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    due_ns: u64,
    number: u64,
    stream: usize,
}

#[derive(Debug)]
struct Schedule {
    next_ns: f64,
    gap_ns: f64,
    at_random: bool,
    rng: Rng,
}

impl Pacer {
    /// `numbers` are the clients of one of `threads` threads, out of `of` clients.
    pub fn new(load: &Load, numbers: &[u32], of: u32, threads: usize, seed: u64) -> Self {
        let thread = numbers.first().copied().unwrap_or(0);
        let begin = |number: u32| (load.ramp_s * 1e9 * f64::from(number) / f64::from(of)) as u64;
        let turn = |(stream, number): (usize, &u32)| {
            Reverse(Turn { due_ns: begin(*number), number: stream as u64, stream })
        };
        Self {
            free: numbers.iter().enumerate().map(turn).collect(),
            think_ns: (load.think_s * 1e9) as u64,
            schedule: load.open.map(|open| Schedule::new(open, thread, threads, seed)),
            turns: numbers.len() as u64,
        }
    }

    pub fn due(&self) -> Option<u64> {
        let Reverse(first) = self.free.peek()?;
        Some(self.schedule.as_ref().map_or(first.due_ns, |schedule| schedule.next_ns as u64))
    }

    /// The client has no further call until its answer [came](Self::ended).
    pub fn next(&mut self) -> Option<(usize, u64)> {
        let Reverse(Turn { due_ns, stream, .. }) = self.free.pop()?;
        Some((stream, self.schedule.as_mut().map_or(due_ns, Schedule::next)))
    }

    /// Shifts due times by a pause of the thread. Returns `to_ns`.
    pub fn pause(&mut self, from_ns: u64, to_ns: u64) -> u64 {
        let later = to_ns.saturating_sub(from_ns);
        let turns = std::mem::take(&mut self.free).into_iter();
        let put_off =
            |Reverse(turn): Reverse<Turn>| Reverse(Turn { due_ns: turn.due_ns + later, ..turn });
        self.free = turns.map(put_off).collect();
        to_ns
    }

    pub fn ended(&mut self, stream: usize, at_ns: u64) {
        self.turns += 1;
        let due_ns = at_ns + self.think_ns;
        self.free.push(Reverse(Turn { due_ns, number: self.turns, stream }));
    }
}

impl Schedule {
    fn new(open: Open, thread: u32, threads: usize, seed: u64) -> Self {
        let gap_ns = 1e9 * threads as f64 / open.calls_per_s;
        let mut rng = Rng::with_seed(seed ^ (u64::from(thread) << 32));
        // Threads in step would disturb each other.
        let next_ns = gap_ns * rng.f64();
        Self { next_ns, gap_ns, at_random: open.at_random, rng }
    }

    fn next(&mut self) -> u64 {
        let due = self.next_ns;
        let stretch = if self.at_random { -(1.0 - self.rng.f64()).ln() } else { 1.0 };
        self.next_ns += self.gap_ns * stretch;
        due as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(at_random: bool) -> Load {
        Load { open: Some(Open { calls_per_s: 10_000.0, at_random }), ..Load::default() }
    }

    #[test]
    fn a_closed_loop_waits_for_its_answer_and_thinks() {
        let load = Load { think_s: 1e-6, ..Load::default() };
        let mut pacer = Pacer::new(&load, &[0], 1, 1, 1);
        assert_eq!(pacer.next(), Some((0, 0)));
        pacer.ended(0, 500);
        assert_eq!(pacer.next(), Some((0, 1_500)));
    }

    #[test]
    fn streams_of_one_thread_take_turns() {
        let mut pacer = Pacer::new(&Load::default(), &[0, 2, 4], 6, 2, 1);
        let mut served = Vec::new();
        for now in 1..=6 {
            let (stream, _) = pacer.next().unwrap();
            pacer.ended(stream, now * 100);
            served.push(stream);
        }
        assert_eq!(served, [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn a_stream_that_waits_for_an_answer_is_not_served_again() {
        let mut pacer = Pacer::new(&Load::default(), &[0, 1], 2, 1, 1);
        for _ in 0..2 {
            assert_eq!(pacer.due(), Some(0));
            pacer.next();
        }
        assert_eq!(pacer.due(), None);
        pacer.ended(1, 700);
        assert_eq!((pacer.due(), pacer.next()), (Some(700), Some((1, 700))));
    }

    fn next(pacer: &mut Pacer) -> u64 {
        let (stream, due_ns) = pacer.next().unwrap();
        pacer.ended(stream, due_ns);
        due_ns
    }

    #[test]
    fn an_open_loop_does_not_wait() {
        let mut pacer = Pacer::new(&open(false), &[0], 1, 2, 1);
        let due: Vec<u64> = (0..4).map(|_| next(&mut pacer)).collect();
        for pair in due.windows(2) {
            assert!((pair[1] - pair[0]).abs_diff(200_000) <= 1, "{due:?}");
        }
    }

    #[test]
    fn random_arrivals_have_the_rate_and_the_spread_of_a_poisson_process() {
        let mut pacer = Pacer::new(&open(true), &[0], 1, 1, 9);
        let due: Vec<f64> = (0..20_001).map(|_| next(&mut pacer) as f64).collect();
        let gaps: Vec<f64> = due.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let square = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 100_000.0 - 1.0).abs() < 0.03, "{mean}");
        assert!((square.sqrt() / mean - 1.0).abs() < 0.05, "gaps spread as much as they are long");
    }

    #[test]
    fn a_ramp_lets_streams_begin_one_after_the_other() {
        let load = Load { ramp_s: 1.0, ..Load::default() };
        let mut pacer = Pacer::new(&load, &[1, 3], 4, 2, 1);
        assert_eq!(pacer.next(), Some((0, 250_000_000)));
        pacer.ended(0, 900_000_000);
        assert_eq!(pacer.next(), Some((1, 750_000_000)));
    }
}
