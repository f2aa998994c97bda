//! Stops a load when other work on the host suffers from it.
//!
//! Method: the share of wanted CPU time that other processes wait is measured for 1.5 s before the
//! load, then every 250 ms. Longer waits, more steal time, or too little memory stop the load; bad
//! checks add up and good ones subtract.
//! Limits: the cause is not determined. Waits for disks and networks are not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hopcost_core::{Code, Known, Reason};
use hopcost_sys::strain::{Strain, Watch};
use hopcost_sys::{Root, clock, processes, topology};

use hopcost_method::bounds;

#[derive(Clone, Debug, Default)]
pub struct Charge {
    /// Name and first process.
    pub servers: Vec<(String, u32)>,
    /// hopcost's own limit; `None`: unlimited.
    pub memory_bytes: Option<u64>,
}

const INTERVAL: Duration = Duration::from_millis(250);
/// Ratio of pause to check time: at most 2% of a CPU.
const REST: u32 = 50;
const CALM_LOOKS: u32 = 4;

#[derive(Debug)]
pub struct Guardian {
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    quit: AtomicBool,
    complaint: OnceLock<Reason>,
}

impl Guardian {
    /// Takes 1.5 s and must return before the load begins. `Missing` if the kernel has no
    /// scheduling statistics: then no load should run beside other work.
    pub fn stand(charge: Charge, stop: Arc<AtomicBool>) -> Known<Self> {
        let root = Root::live();
        processes::turns_are_counted(&root).and_then(|()| {
            let shared = Arc::new(Shared::default());
            let mut post = Post { watch: Watch::over(charge.servers), root, shared, stop };
            let judge = Judge::new(&post.calm(), charge.memory_bytes, floor_bytes(&post.root));
            let shared = Arc::clone(&post.shared);
            let named = thread::Builder::new().name("guardian".into());
            match named.spawn(move || post.keep(judge)) {
                Ok(thread) => Known::Is(Self { thread: Some(thread), shared }),
                Err(error) => Known::missing(
                    Code::Unreadable,
                    format!("no thread to watch the others: {error}"),
                ),
            }
        })
    }

    pub fn complaint(&self) -> Option<&Reason> {
        self.shared.complaint.get()
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        self.shared.quit.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A panic was already printed.
            let _ = thread.join();
        }
    }
}

struct Post {
    watch: Watch,
    root: Root,
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
}

impl Post {
    fn look(&mut self) -> Strain {
        self.watch.look(&self.root, &BTreeSet::new())
    }

    /// Which processes are active is only known after several checks.
    fn calm(&mut self) -> Vec<Strain> {
        self.look();
        thread::sleep(2 * INTERVAL);
        self.watch.recount();
        self.look();
        let look = |_| {
            thread::sleep(INTERVAL);
            self.look()
        };
        (0..CALM_LOOKS).map(look).collect()
    }

    fn keep(mut self, mut judge: Judge) {
        let mut pause = INTERVAL;
        loop {
            thread::park_timeout(pause);
            if self.shared.quit.load(Ordering::Relaxed) {
                return;
            }
            let (strain, took) = clock::time(|| self.look());
            if let Some(complaint) = judge.hear(&strain) {
                let _ = self.shared.complaint.set(complaint);
                self.stop.store(true, Ordering::Relaxed);
                return;
            }
            pause = INTERVAL.max(took * REST);
        }
    }
}

fn floor_bytes(root: &Root) -> u64 {
    let of = |key| topology::machine_memory(root, key).ok().unwrap_or(0);
    bounds::floor_bytes(of("MemTotal"), of("MemAvailable"))
}

/// Processes that want less are ignored.
const COUNTS_CPUS: f64 = 0.05;
/// Tolerated rise of the share of wanted CPU time spent waiting.
const TOLERABLE_WAIT: f64 = 0.10;
/// Tolerated rise of the share of CPU time stolen.
const TOLERABLE_STEAL: f64 = 0.05;
const PATIENCE: Duration = Duration::from_millis(1500);
/// Memory is used up sooner.
const PATIENCE_WITH_MEMORY: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub struct Judge {
    /// Share of wanted CPU time spent waiting before the load, by process.
    waits: BTreeMap<String, f64>,
    wait: f64,
    stolen: f64,
    memory_bytes: Option<u64>,
    floor_bytes: u64,
    bad: BTreeMap<String, Duration>,
}

struct Symptom {
    of: String,
    patience: Duration,
    words: String,
}

#[derive(Clone, Copy, Default)]
struct Demand {
    ran: f64,
    waited: f64,
}

impl Demand {
    fn add(&mut self, other: Self) {
        self.ran += other.ran;
        self.waited += other.waited;
    }

    fn wanted(self) -> f64 {
        self.ran + self.waited
    }

    /// A share of the wanted CPU time.
    fn wait(self) -> f64 {
        if self.wanted() > 0.0 { self.waited / self.wanted() } else { 0.0 }
    }
}

impl Judge {
    pub fn new(before: &[Strain], memory_bytes: Option<u64>, floor_bytes: u64) -> Self {
        let mut demands: BTreeMap<String, Demand> = BTreeMap::new();
        let mut all = Demand::default();
        for fare in before.iter().flat_map(|strain| &strain.others) {
            let demand = Demand { ran: fare.ran_cpus, waited: fare.waited_cpus };
            demands.entry(fare.who.clone()).or_default().add(demand);
            all.add(demand);
        }
        let stolen: f64 = before.iter().map(|strain| strain.stolen).sum();
        Self {
            waits: demands.into_iter().map(|(who, demand)| (who, demand.wait())).collect(),
            wait: all.wait(),
            stolen: stolen / before.len().max(1) as f64,
            memory_bytes,
            floor_bytes,
            bad: BTreeMap::new(),
        }
    }

    pub fn hear(&mut self, strain: &Strain) -> Option<Reason> {
        let symptoms: Vec<Symptom> = self
            .waiting(strain)
            .chain(self.steal(strain))
            .chain(self.little_memory(strain))
            .chain(self.too_much_memory(strain))
            .collect();
        self.bad.retain(|of, bad| {
            let persists = symptoms.iter().any(|symptom| symptom.of == *of);
            *bad = if persists { *bad } else { bad.saturating_sub(strain.over) };
            !bad.is_zero()
        });
        symptoms.into_iter().find_map(|symptom| {
            let bad = self.bad.entry(symptom.of).or_default();
            // Limits the weight of a delayed check.
            *bad += strain.over.min(symptom.patience / 2);
            (*bad >= symptom.patience).then(|| Code::OthersAtWork.because(symptom.words))
        })
    }

    fn waiting(&self, strain: &Strain) -> impl Iterator<Item = Symptom> {
        strain.others.iter().filter_map(|fare| {
            let demand = Demand { ran: fare.ran_cpus, waited: fare.waited_cpus };
            let before = self.waits.get(&fare.who).copied().unwrap_or(self.wait);
            let suffers = demand.wanted() >= COUNTS_CPUS && demand.wait() > before + TOLERABLE_WAIT;
            suffers.then(|| Symptom {
                of: format!("waiting: {}", fare.who),
                patience: PATIENCE,
                words: format!(
                    "{} waits for a CPU {:.0}% of the time in which it wants one, {:.0}% before \
                     the load",
                    fare.who,
                    demand.wait() * 100.0,
                    before * 100.0
                ),
            })
        })
    }

    /// Harmless without other work on the host.
    fn steal(&self, strain: &Strain) -> Option<Symptom> {
        let wanted: f64 = strain.others.iter().map(|f| f.ran_cpus + f.waited_cpus).sum();
        let suffers = wanted >= COUNTS_CPUS && strain.stolen > self.stolen + TOLERABLE_STEAL;
        suffers.then(|| Symptom {
            of: "steal".into(),
            patience: PATIENCE,
            words: format!(
                "the hypervisor takes {:.0}% of the CPU time from a host where others work, {:.0}% \
                 before the load",
                strain.stolen * 100.0,
                self.stolen * 100.0
            ),
        })
    }

    fn little_memory(&self, strain: &Strain) -> Option<Symptom> {
        let available = strain.available_bytes.get().filter(|bytes| **bytes < self.floor_bytes)?;
        Some(Symptom {
            of: "memory".into(),
            patience: PATIENCE_WITH_MEMORY,
            words: format!(
                "{} MiB of memory are left on the host, and {} MiB have to be",
                available >> 20,
                self.floor_bytes >> 20
            ),
        })
    }

    fn too_much_memory(&self, strain: &Strain) -> Option<Symptom> {
        let allowed = self.memory_bytes?;
        let own = strain.own_bytes.get().filter(|bytes| **bytes > allowed)?;
        Some(Symptom {
            of: "own memory".into(),
            patience: PATIENCE_WITH_MEMORY,
            words: format!(
                "hopcost holds {} MiB of memory, and {} MiB were allowed",
                own >> 20,
                allowed >> 20
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use hopcost_sys::strain::Fare;

    use super::*;

    const MIB: u64 = 1 << 20;

    /// `(process, CPUs used, CPUs waited for)`.
    fn look(others: &[(&str, f64, f64)]) -> Strain {
        let fare = |(who, ran_cpus, waited_cpus): &(&str, f64, f64)| Fare {
            who: (*who).to_owned(),
            ran_cpus: *ran_cpus,
            waited_cpus: *waited_cpus,
        };
        Strain {
            over: INTERVAL,
            others: others.iter().map(fare).collect(),
            stolen: 0.01,
            available_bytes: Known::Is(4000 * MIB),
            own_bytes: Known::Is(100 * MIB),
        }
    }

    fn judge(before: &Strain) -> Judge {
        Judge::new(&[before.clone(), before.clone()], Some(1000 * MIB), 500 * MIB)
    }

    /// After how many checks, and why.
    fn stops(before: &Strain, during: &Strain) -> Option<(usize, String)> {
        let mut judge = judge(before);
        let heard = (1..=100).find_map(|n| Some((n, judge.hear(during)?)));
        heard.map(|(n, why)| (n, why.to_string()))
    }

    #[test]
    fn each_suffering_stops_a_load_in_its_own_words() {
        let calm = look(&[("PostgreSQL", 1.0, 0.02)]);
        let cases: &[(Strain, usize, &str)] = &[
            (
                look(&[("PostgreSQL", 1.0, 0.5)]),
                6,
                "PostgreSQL waits for a CPU 33% of the time in which it wants one, 2% before the load",
            ),
            // A new process is compared with the overall share.
            (look(&[("java (pid 7)", 0.04, 0.04)]), 6, "java (pid 7) waits for a CPU 50% of"),
            (
                Strain { stolen: 0.2, ..calm.clone() },
                6,
                "the hypervisor takes 20% of the CPU time from a host where others work, 1% before",
            ),
            (
                Strain { available_bytes: Known::Is(499 * MIB), ..calm.clone() },
                2,
                "499 MiB of memory are left on the host, and 500 MiB have to be",
            ),
            (
                Strain { own_bytes: Known::Is(1001 * MIB), ..calm.clone() },
                2,
                "hopcost holds 1001 MiB of memory, and 1000 MiB were allowed",
            ),
        ];
        for (during, looks, words) in cases {
            let (n, said) = stops(&calm, during).unwrap();
            assert!(n == *looks && said.starts_with(words), "after {n} looks: {said}");
        }
    }

    #[test]
    fn what_hurts_nobody_stops_nothing() {
        let calm = look(&[("PostgreSQL", 1.0, 0.02)]);
        let idle = look(&[("PostgreSQL", 0.001, 0.0)]);
        let cases: &[(&str, &Strain, Strain)] = &[
            ("as before", &calm, calm.clone()),
            ("a little more waiting", &calm, look(&[("PostgreSQL", 1.0, 0.1)])),
            ("more work, served", &calm, look(&[("PostgreSQL", 7.0, 0.3)])),
            ("housekeeping that waits", &idle, look(&[("PostgreSQL", 0.001, 0.03)])),
            ("nobody there", &look(&[]), look(&[])),
            ("our own load, stolen from us alone", &look(&[]), Strain { stolen: 0.5, ..look(&[]) }),
            (
                "a host that was crowded before",
                &look(&[("PostgreSQL", 2.0, 2.0)]),
                look(&[("PostgreSQL", 1.9, 2.1)]),
            ),
            (
                "what is not told",
                &calm,
                Strain {
                    available_bytes: Known::missing(Code::NotMeasured, "x"),
                    own_bytes: Known::missing(Code::NotMeasured, "x"),
                    ..calm.clone()
                },
            ),
        ];
        for (what, before, during) in cases {
            assert_eq!(stops(before, during), None, "{what}");
        }
    }

    #[test]
    fn one_bad_moment_is_none_and_bad_looks_add_up() {
        let (calm, bad) = (look(&[("PostgreSQL", 1.0, 0.0)]), look(&[("PostgreSQL", 1.0, 1.0)]));
        let mut judge = judge(&calm);
        for _ in 0..50 {
            assert_eq!(judge.hear(&bad), None);
            assert_eq!(judge.hear(&calm), None);
        }
        let stopped = (0..50).any(|_| {
            let heard = [&bad, &bad, &calm].map(|strain| judge.hear(strain));
            heard.iter().any(Option::is_some)
        });
        assert!(stopped);
    }

    #[test]
    fn a_look_that_took_long_is_one_look() {
        let calm = look(&[("PostgreSQL", 1.0, 0.0)]);
        let slow = Strain { over: Duration::from_secs(9), ..look(&[("PostgreSQL", 1.0, 1.0)]) };
        assert_eq!(stops(&calm, &slow).unwrap().0, 2);
    }

    fn standing(charge: Charge, stop: &Arc<AtomicBool>) -> Guardian {
        match Guardian::stand(charge, Arc::clone(stop)) {
            Known::Is(guardian) => guardian,
            Known::Missing(why) => panic!("no guardian can be tried here: {why}"),
        }
    }

    #[test]
    fn a_guardian_stands_and_leaves() {
        let stop = Arc::new(AtomicBool::new(false));
        let guardian = standing(Charge::default(), &stop);
        let complaint = guardian.complaint().cloned();
        drop(guardian);
        assert_eq!(complaint.is_some(), stop.load(Ordering::Relaxed));
    }

    #[test]
    fn our_own_memory_beyond_the_bound_stops_the_load() {
        let stop = Arc::new(AtomicBool::new(false));
        let charge = Charge { memory_bytes: Some(1), ..Charge::default() };
        let guardian = standing(charge, &stop);
        let start = clock::now();
        while !stop.load(Ordering::Relaxed) && start.elapsed() < Duration::from_secs(20) {
            thread::sleep(Duration::from_millis(20));
        }
        let complaint = guardian.complaint().map(ToString::to_string).unwrap_or_default();
        assert!(complaint.contains("hopcost holds"), "{complaint}");
    }
}
