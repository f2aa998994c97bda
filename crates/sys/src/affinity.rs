//! Pinning threads, and reading back where they run.
//!
//! Masks are sized by the kernel's answer, never to a fixed 1,024 CPUs.

use std::io;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use hopcost_core::{Code, CpuId, CpuSet, ProbeError};
use thiserror::Error;

pub use crate::process::last_cpu_of;

#[derive(Debug, Error)]
pub enum AffinityError {
    #[error("CPU {cpus}: the system refuses to pin a thread there: {source}")]
    Refused { cpus: CpuSet, source: io::Error },
    #[error("asked for CPU {asked}, but the thread's mask reads {got}")]
    NotKept {
        asked: CpuSet,
        /// The mask read back.
        got: CpuSet,
    },
}

/// A CPU that cannot be had is a property of the machine, not a failure of the probe.
impl From<AffinityError> for ProbeError {
    fn from(error: AffinityError) -> Self {
        Self::NotHere(Code::NotPermitted.because(error.to_string()))
    }
}

pub fn current_cpu() -> CpuId {
    // SAFETY: sched_getcpu takes no pointers and cannot fail on a kernel with getcpu (2.6.19).
    let cpu = unsafe { libc::sched_getcpu() };
    CpuId(u32::try_from(cpu).unwrap_or(0))
}

pub fn thread_id() -> u32 {
    // SAFETY: gettid takes nothing and cannot fail. glibc has a function for it from 2.30 on only.
    let tid = unsafe { libc::syscall(libc::SYS_gettid) };
    u32::try_from(tid).unwrap_or(0)
}

pub fn mask() -> io::Result<CpuSet> {
    mask_of(THIS_THREAD)
}

/// The kernel takes 0 for the calling thread.
const THIS_THREAD: u32 = 0;

/// A process's id is that of its first thread.
pub fn mask_of(tid: u32) -> io::Result<CpuSet> {
    let mut words = vec![0u64; 16];
    loop {
        let (pid, bytes) = (tid.cast_signed(), words.len() * 8);
        // SAFETY: the pointer and the size describe the vector.
        let got = unsafe { libc::sched_getaffinity(pid, bytes, words.as_mut_ptr().cast()) };
        if got == 0 {
            return Ok(CpuSet::from_words(words));
        }
        let error = io::Error::last_os_error();
        // EINVAL: the kernel's mask is longer than ours.
        if error.raw_os_error() != Some(libc::EINVAL) || words.len() > 1 << 14 {
            return Err(error);
        }
        words = vec![0; words.len() * 2];
    }
}

pub fn pin(cpus: &CpuSet) -> Result<(), AffinityError> {
    pin_other(THIS_THREAD, cpus)
}

pub fn pin_other(tid: u32, cpus: &CpuSet) -> Result<(), AffinityError> {
    let refused = |source| AffinityError::Refused { cpus: cpus.clone(), source };
    let words = cpus.words();
    // SAFETY: the pointer and the size describe the slice, which outlives the call. The kernel
    // moves the thread before it returns.
    let set = unsafe {
        libc::sched_setaffinity(tid.cast_signed(), words.len() * 8, words.as_ptr().cast())
    };
    if set != 0 {
        return Err(refused(io::Error::last_os_error()));
    }
    let got = mask_of(tid).map_err(refused)?;
    if &got == cpus { Ok(()) } else { Err(AffinityError::NotKept { asked: cpus.clone(), got }) }
}

pub fn pin_to(cpu: CpuId) -> Result<(), AffinityError> {
    pin(&CpuSet::from_iter([cpu]))
}

pub fn on_cpu<T: Send>(cpu: CpuId, work: impl FnOnce() -> T + Send) -> Result<T, AffinityError> {
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| pin_to(cpu).map(|()| work()));
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Runs `work(n)` pinned to the n-th CPU, on all CPUs at once. No thread begins before all are
/// pinned. Results are in order.
pub fn crew<T: Send>(
    cpus: &[CpuId],
    work: impl Fn(usize) -> T + Sync,
) -> Result<Vec<T>, AffinityError> {
    let ready = Barrier::new(cpus.len());
    let absent = AtomicBool::new(false);
    let (ready, absent, work) = (&ready, &absent, &work);
    std::thread::scope(|scope| {
        let member = |(n, &cpu)| {
            scope.spawn(move || {
                let pinned = pin_to(cpu);
                absent.fetch_or(pinned.is_err(), Ordering::Relaxed);
                ready.wait();
                pinned?;
                // If one thread cannot be pinned, the others must not wait for it.
                Ok((!absent.load(Ordering::Relaxed)).then(|| work(n)))
            })
        };
        let members: Vec<_> = cpus.iter().enumerate().map(member).collect();
        let results: Result<Vec<Option<T>>, AffinityError> = members
            .into_iter()
            .map(|m| m.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect();
        results.map(|all| all.into_iter().flatten().collect())
    })
}

/// Spins on `others` meanwhile, which keeps their sockets awake and at full speed. Fails if a CPU
/// cannot spin.
pub fn accompanied<T: Send>(
    cpu: CpuId,
    others: &[CpuId],
    work: impl FnOnce() -> T + Send,
) -> Result<T, AffinityError> {
    let (ready, done) = (&Barrier::new(others.len() + 1), &AtomicBool::new(false));
    std::thread::scope(|scope| {
        let spin = |&other| {
            scope.spawn(move || {
                let pinned = pin_to(other);
                ready.wait();
                while pinned.is_ok() && !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
                pinned
            })
        };
        let spinners: Vec<_> = others.iter().map(spin).collect();
        let result = on_cpu(cpu, || {
            ready.wait();
            work()
        });
        if result.is_err() {
            ready.wait();
        }
        done.store(true, Ordering::Relaxed);
        let company = spinners.into_iter().try_for_each(|spinner| spinner.join().unwrap_or(Ok(())));
        result.and_then(|result| company.map(|()| result))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_runs_where_it_was_put() {
        for cpu in mask().unwrap().iter() {
            assert_eq!(on_cpu(cpu, current_cpu).unwrap(), cpu);
        }
    }

    #[test]
    fn a_crew_without_one_of_its_cpus_does_not_begin() {
        let first = mask().unwrap().first().unwrap();
        let began = AtomicBool::new(false);
        let result = crew(&[first, CpuId(4711)], |_| began.store(true, Ordering::Relaxed));
        assert!(result.is_err());
        assert!(!began.into_inner());
        assert_eq!(crew(&[first, first], |n| n).unwrap(), [0, 1]);
    }

    #[test]
    fn company_that_cannot_come_is_an_error_and_blocks_nobody() {
        let first = mask().unwrap().first().unwrap();
        assert_eq!(accompanied(first, &[], || 7).unwrap(), 7);
        assert_eq!(accompanied(first, &[mask().unwrap().last().unwrap()], || 7).unwrap(), 7);
        assert!(accompanied(first, &[CpuId(4711)], || 7).is_err());
        assert!(accompanied(CpuId(4711), &[first], || 7).is_err());
    }

    #[test]
    fn a_cpu_beyond_any_fixed_mask_is_refused_in_words() {
        let error = on_cpu(CpuId(4711), || ()).unwrap_err().to_string();
        assert!(error.starts_with("CPU 4711: the system refuses"), "{error}");
    }
}
