//! Calls that are made longer for what works beside their thread, as `--emulate` asks for it.
//!
//! Method: what a call took is paid once more, so many times as what is planted says, by looking at the
//! clock until that time is over. Debts are paid in pieces of a millisecond or more: after each the caches
//! have gone cold, which the next call pays for and nobody counts. Who works beside a thread is known when a window begins: the streams
//! of a crew fill its CPUs from the first one on.
//!
//! Limits: the database has to work in the thread that calls it. Times of short calls are lumpy.

use std::time::Duration;

use fastrand::Rng;
use hopcost_core::{Bimodal, Company, Emulation, Machine};
use hopcost_sys::clock;

use super::worker::{Post, Window};

/// What a thread's calls are made longer in one window.
pub(super) struct Stretch {
    times: f64,
    bimodal: Option<Bimodal>,
    dice: Rng,
    /// Not paid yet.
    debt: Duration,
}

/// Less is owed until more is due.
const LEAST_PAYMENT: Duration = Duration::from_millis(1);

impl Stretch {
    /// None where they stay as they are. Each window has dice of its own, by the calls before it.
    pub fn of(post: &Post<'_>, window: &Window, calls: u64) -> Option<Self> {
        let planted = post.planted.as_ref()?;
        let company = company(post, planted.machine, window.ask.streams);
        let Emulation { siblings, bimodal, .. } = planted.emulation;
        // What is planted on calls to another node is the target's business.
        let bimodal = bimodal.filter(|_| siblings.is_some() && company.shares_core);
        let times = planted.emulation.times(&company);
        let seed = post.seed ^ calls.rotate_left(40) ^ u64::from(post.cpu.0);
        (times > 1.0 || bimodal.is_some()).then(|| Self {
            times,
            bimodal,
            dice: Rng::with_seed(seed),
            debt: Duration::ZERO,
        })
    }

    /// Makes a call longer that took so long, with what is owed for those before: by how much.
    pub fn pay(&mut self, took: Duration) -> Duration {
        let slow = self.bimodal.filter(|how| self.dice.f64() < how.share);
        let times = self.times * slow.map_or(1.0, |how| how.times);
        self.debt += took.mul_f64((times - 1.0).max(0.0));
        if self.debt < LEAST_PAYMENT {
            return Duration::ZERO;
        }
        let paid = clock::spin(self.debt);
        self.debt = self.debt.saturating_sub(paid);
        paid
    }
}

fn company(post: &Post<'_>, machine: &Machine, streams: u32) -> Company {
    let threads = post.threads.min(streams as usize);
    let at_work = &post.workers[..threads.min(post.workers.len())];
    let own = machine.cpu(post.cpu).map(|cpu| &cpu.siblings);
    let is_beside = |cpu: &hopcost_core::CpuId| {
        *cpu != post.cpu && own.is_some_and(|siblings| siblings.contains(*cpu))
    };
    Company {
        streams,
        most_streams: post.of,
        threads: threads as u32,
        shares_core: at_work.iter().any(is_beside),
    }
}
