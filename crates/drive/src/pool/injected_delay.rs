//! Calls that are made longer for what works beside their thread, as `--emulate` asks for it.
//!
//! Method: a call is paid for once more, as many times as was planted. If the workload only reads, short calls
//! are paid for by making them again, until as much time has gone: a thread that looks at
//! the clock instead loses its place in caches that others share, its next calls take a few per cent longer
//! than alone, and nobody counts that. Long calls, and those that write, are paid for by looking at the clock.
//! It is known when a window begins who works beside a thread: the streams of a crew fill its CPUs from the
//! first one on.
//!
//! Limits: the database has to work in the thread that calls it. Times of short calls are lumpy.

use std::time::Duration;

use fastrand::Rng;
use hopcost_core::{Bimodal, Company, CpuId, Effect, Emulation, Machine, Request, Session};
use hopcost_sys::clock;

use super::post::{Post, Window};

/// By how much the calls of a thread are made longer in one window.
pub(super) struct Stretch {
    times: f64,
    bimodal: Option<Bimodal>,
    dice: Rng,
    /// Whether a call may be made again.
    may_repeat: bool,
    /// What is not paid yet; negative if a call that was made again took longer than was due.
    debt_s: f64,
}

/// A call that takes as long is paid for at once, by the clock; less is owed until there is as much.
const LONG_S: f64 = 1e-3;

impl Stretch {
    /// None if calls stay as they are. The dice follow from the calls before, so that each window has its own.
    pub fn of(post: &Post<'_>, window: &Window, calls: u64) -> Option<Self> {
        let planted = post.work.planted.as_ref()?;
        let company = company(post, planted.machine, window.ask.streams);
        let Emulation { siblings, bimodal, .. } = planted.emulation;
        // What is planted on calls to another node is left to the target.
        let bimodal = bimodal.filter(|_| siblings.is_some() && company.shares_core);
        let times = planted.emulation.times(&company);
        let seed = post.work.seed ^ calls.rotate_left(40) ^ u64::from(post.cpu.0);
        (times > 1.0 || bimodal.is_some()).then(|| Self {
            times,
            bimodal,
            dice: Rng::with_seed(seed),
            // A session that plants delays itself would count them once more.
            may_repeat: post.work.workload.spec(post.work.shape).effect == Effect::Reads
                && planted.emulation.remote_ns == 0.0,
            debt_s: 0.0,
        })
    }

    /// Makes a call longer, with what is owed for those before; returns by how many nanoseconds.
    pub fn pay(&mut self, took_ns: u64, session: &mut dyn Session, request: &Request) -> u64 {
        let begun = clock::now();
        let slow = self.bimodal.filter(|how| self.dice.f64() < how.share);
        let times = self.times * slow.map_or(1.0, |how| how.times);
        let took_s = took_ns as f64 / 1e9;
        self.debt_s += took_s * (times - 1.0).max(0.0);
        if !self.may_repeat || took_s >= LONG_S {
            if self.debt_s >= LONG_S {
                self.debt_s -= clock::spin(Duration::from_secs_f64(self.debt_s)).as_secs_f64();
            }
            return begun.elapsed().as_nanos() as u64;
        }
        // As many calls as come closest to what is owed. Their answers were checked the first time.
        let (mut last_s, mut now) = (took_s, begun);
        while self.debt_s > last_s / 2.0 {
            drop(session.execute(request));
            let then = std::mem::replace(&mut now, clock::now());
            last_s = (now - then).as_secs_f64();
            self.debt_s -= last_s;
        }
        (now - begun).as_nanos() as u64
    }
}

fn company(post: &Post<'_>, machine: &Machine, streams: u32) -> Company {
    let threads = post.threads.min(streams as usize);
    let at_work = &post.variant.workers[..threads.min(post.variant.workers.len())];
    let own = machine.cpu(post.cpu).map(|cpu| &cpu.siblings);
    let is_beside =
        |cpu: &CpuId| *cpu != post.cpu && own.is_some_and(|siblings| siblings.contains(*cpu));
    Company {
        streams,
        most_streams: post.of,
        threads: threads as u32,
        shares_core: at_work.iter().any(is_beside),
    }
}
