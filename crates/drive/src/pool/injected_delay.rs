//! Delays injected into calls for the effect of other threads, as requested by `--emulate`.
//!
//! Method: short read-only calls are repeated until the delay has passed, since a spinning thread
//! would lose its part of shared caches, which slows its next calls by a few percent. Other calls
//! spin.
//! Limits: the database has to run in the calling thread. Times of short calls are quantized.

use std::time::Duration;

use fastrand::Rng;
use hopcost_core::{Bimodal, Company, CpuId, Effect, Emulation, Machine, Request, Session};
use hopcost_sys::clock;

use super::post::{Post, Window};

pub(super) struct Stretch {
    times: f64,
    bimodal: Option<Bimodal>,
    dice: Rng,
    may_repeat: bool,
    /// Negative after a repetition that took longer than due.
    debt_s: f64,
}

/// Shorter delays accumulate.
const LONG_S: f64 = 1e-3;

impl Stretch {
    /// `None` if no delay applies. `calls` seeds the random numbers of the window.
    pub fn of(post: &Post<'_>, window: &Window, calls: u64) -> Option<Self> {
        let planted = post.work.planted.as_ref()?;
        let company = company(post, planted.machine, window.ask.streams);
        let Emulation { siblings, bimodal, .. } = planted.emulation;
        // The target injects its own remote delays.
        let bimodal = bimodal.filter(|_| siblings.is_some() && company.shares_core);
        let times = planted.emulation.times(&company);
        let seed = post.work.seed ^ calls.rotate_left(40) ^ u64::from(post.cpu.0);
        (times > 1.0 || bimodal.is_some()).then(|| Self {
            times,
            bimodal,
            dice: Rng::with_seed(seed),
            // Repetition would also repeat the delays that the session injects.
            may_repeat: post.work.workload.spec(post.work.shape).effect == Effect::Reads
                && planted.emulation.remote_ns == 0.0,
            debt_s: 0.0,
        })
    }

    /// Returns the injected nanoseconds.
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
        // Answers were checked after the first execution.
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
