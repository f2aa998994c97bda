//! Memory touched and given back by threads of one process or by several processes.
//!
//! Method: each worker has its own CPU and memory; all meet before the timed part. Threads share an
//! address space: giving memory back needs TLB shoot-downs on the others' CPUs, and partly a common
//! lock. Processes share neither.
//!
//! Limits: the processes are forks. Until they exit they only make system calls, because another
//! thread may have held the allocator's lock at the fork.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hopcost_core::{CpuId, CpuSet, Disturbance, ProbeError};

use crate::memory::mapped::Mapped;
use crate::quiet::Watch;
use crate::{Root, affinity, clock};

const PAGE_BYTES: usize = 4096;
/// Bytes given back per call: glibc maps and unmaps blocks from this size on individually.
pub const PIECE_BYTES: usize = 128 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Touch,
    Unmap,
    /// `madvise(MADV_DONTNEED)`: the pages go at once, the addresses stay.
    DontNeed,
    /// `madvise(MADV_FREE)`: the pages go when they are needed elsewhere.
    Free,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crowd {
    Threads,
    Processes,
}

#[derive(Clone, Copy, Debug)]
pub struct Account {
    pub took: Duration,
    pub quiet: Result<(), Disturbance>,
}

pub fn run(
    act: Act,
    crowd: Crowd,
    cpus: &[CpuId],
    bytes: usize,
) -> Result<Vec<Account>, ProbeError> {
    let failed = |source| ProbeError::System { what: "giving memory back".into(), source };
    let leaders = usize::from(crowd == Crowd::Processes);
    let board = Board::new(cpus.len(), leaders).map_err(failed)?;
    match crowd {
        Crowd::Threads => {
            let task = |n: usize| work(act, bytes, &board, n, &mut Watch::new(cpus[n]));
            affinity::crew(cpus, task)?;
        }
        Crowd::Processes => fork_workers(act, bytes, &board, cpus)?,
    }
    board.accounts().map_err(failed)
}

/// TLB shoot-downs so far, of all CPUs; `None` if the kernel does not count them. x86 has them in
/// `/proc/interrupts`.
pub fn shoot_downs(root: &Root) -> Option<u64> {
    shoot_downs_in(root.text("proc/interrupts").get()?)
}

fn shoot_downs_in(interrupts: &str) -> Option<u64> {
    let line = interrupts.lines().find_map(|line| line.trim_start().strip_prefix("TLB:"))?;
    let of_cpus = line.split_whitespace().map_while(|word| word.parse::<u64>().ok());
    Some(of_cpus.fold(0, u64::saturating_add))
}

/// Takes no memory from the allocator, because it may run in a fork.
fn work(act: Act, bytes: usize, board: &Board, n: usize, watch: &mut Watch) {
    board.settle(&part(act, bytes, board, n, watch));
}

fn part(act: Act, bytes: usize, board: &Board, n: usize, watch: &mut Watch) -> io::Result<()> {
    board.meet(1)?;
    let mut memory = Memory::map(bytes)?;
    if act != Act::Touch {
        memory.touch();
    }
    board.meet(2)?;
    watch.begin();
    let (done, took) = clock::time(|| memory.undergo(act));
    let quiet = watch.end();
    board.tell(n, Account { took, quiet });
    done
}

fn fork_workers(act: Act, bytes: usize, board: &Board, cpus: &[CpuId]) -> Result<(), ProbeError> {
    let mut children = Vec::with_capacity(cpus.len());
    let mut begun = Ok(());
    for (n, &cpu) in cpus.iter().enumerate() {
        let mut watch = Watch::new(cpu);
        // SAFETY: until it exits the child makes system calls, on memory that was there before the
        // fork or that it maps itself; it never returns from here.
        match unsafe { libc::fork() } {
            0 => {
                let _leave = Leave;
                watch.follow_me();
                work(act, bytes, board, n, &mut watch);
            }
            -1 => begun = begun.and(Err(io::Error::last_os_error())),
            child => children.push(child),
        }
    }
    board.settle(&begun);
    let forked = |source| ProbeError::System { what: "forking".into(), source };
    let placed = begun.map_err(forked).and_then(|()| put_on(&children, cpus));
    match placed {
        Ok(()) => board.arrive(),
        Err(_) => board.settle(&Err(io::Error::from_raw_os_error(libc::ECANCELED))),
    }
    children.into_iter().for_each(wait_for);
    placed
}

fn put_on(children: &[libc::pid_t], cpus: &[CpuId]) -> Result<(), ProbeError> {
    children.iter().zip(cpus).try_for_each(|(child, &cpu)| {
        Ok(affinity::pin_other(child.unsigned_abs(), &CpuSet::from_iter([cpu]))?)
    })
}

/// Exits a fork on every path, without touching what it inherited.
struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        // SAFETY: it ends this process and takes a number alone.
        unsafe { libc::_exit(0) };
    }
}

fn wait_for(child: libc::pid_t) {
    // SAFETY: the child is ours and was not waited for; its status is not wanted.
    while unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) } == -1
        && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    {}
}

struct Memory {
    start: NonNull<u8>,
    bytes: usize,
    /// Bytes unmapped so far; another thread may have mapped something there since.
    gone: usize,
}

impl Memory {
    fn map(bytes: usize) -> io::Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_NORESERVE;
        let start = Mapped::anonymous(bytes, flags)?.into_pieces();
        // SAFETY: advice about our own mapping; a kernel without huge pages refuses it, and needs none.
        unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_NOHUGEPAGE) };
        Ok(Self { start, bytes, gone: 0 })
    }

    fn touch(&self) {
        for at in (0..self.bytes).step_by(PAGE_BYTES) {
            // SAFETY: it is inside the mapping, which nobody else knows of.
            unsafe { self.start.add(at).write_volatile(1) };
        }
    }

    fn undergo(&mut self, act: Act) -> io::Result<()> {
        match act {
            Act::Touch => {
                self.touch();
                Ok(())
            }
            Act::Unmap => self.unmap(PIECE_BYTES),
            Act::DontNeed => self.advise(libc::MADV_DONTNEED),
            Act::Free => self.advise(libc::MADV_FREE),
        }
    }

    fn unmap(&mut self, piece: usize) -> io::Result<()> {
        while self.gone < self.bytes {
            let bytes = piece.min(self.bytes - self.gone);
            // SAFETY: the piece is ours, still mapped, and not touched again.
            check(unsafe { libc::munmap(self.start.add(self.gone).as_ptr().cast(), bytes) })?;
            self.gone += bytes;
        }
        Ok(())
    }

    fn advise(&self, advice: libc::c_int) -> io::Result<()> {
        for at in (0..self.bytes).step_by(PIECE_BYTES) {
            let bytes = PIECE_BYTES.min(self.bytes - at);
            // SAFETY: the piece is ours, and what it held is not read again.
            check(unsafe { libc::madvise(self.start.add(at).as_ptr().cast(), bytes, advice) })?;
        }
        Ok(())
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // What cannot be unmapped stays until the process ends.
        let _ = self.unmap(self.bytes);
    }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// State that the workers share, threads or forks: words of shared memory.
struct Board {
    words: Mapped,
    workers: usize,
    /// Those who arrive at the first meeting only.
    leaders: usize,
}

// SAFETY: what it points to is a mapping of its own, of atomic words alone, until it is dropped.
unsafe impl Sync for Board {}

const ARRIVED: usize = 0;
const ERROR: usize = 1;
const ACCOUNTS: usize = 8;
/// Words per worker, a cache line: its time, and what disturbed it.
const ACCOUNT: usize = 8;
/// A worker that is not there by then has died.
const PATIENCE: Duration = Duration::from_mins(1);
const SPOILT: [Disturbance; 4] =
    [Disturbance::Moved, Disturbance::Preempted, Disturbance::Waited, Disturbance::Stolen];

impl Board {
    fn new(workers: usize, leaders: usize) -> io::Result<Self> {
        let words = Mapped::anonymous((ACCOUNTS + workers * ACCOUNT) * 8, libc::MAP_SHARED)?;
        Ok(Self { words, workers, leaders })
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping has that many words, its zeroes are words, and all are atomic.
        unsafe {
            let words = self.words.start().as_ptr().cast();
            std::slice::from_raw_parts(words, ACCOUNTS + self.workers * ACCOUNT)
        }
    }

    fn arrive(&self) {
        self.words()[ARRIVED].fetch_add(1, Ordering::AcqRel);
    }

    /// Waits until all have come to this meeting, the first being 1, or a worker has failed.
    fn meet(&self, meeting: usize) -> io::Result<()> {
        self.arrive();
        let all = (meeting * self.workers + self.leaders) as u64;
        let since = clock::now();
        while self.words()[ARRIVED].load(Ordering::Acquire) < all {
            if self.words()[ERROR].load(Ordering::Relaxed) != 0 {
                return Err(io::Error::from_raw_os_error(libc::ECANCELED));
            }
            if since.elapsed() > PATIENCE {
                return Err(io::Error::from_raw_os_error(libc::ETIMEDOUT));
            }
            std::thread::yield_now();
        }
        Ok(())
    }

    /// Keeps the first error, which ends the waiting of all workers.
    fn settle(&self, result: &io::Result<()>) {
        if let Err(error) = result {
            let code = error.raw_os_error().unwrap_or(libc::EIO).unsigned_abs().into();
            let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
            let _ = self.words()[ERROR].compare_exchange(0, code, success, failure);
        }
    }

    fn tell(&self, n: usize, account: Account) {
        let at = ACCOUNTS + n * ACCOUNT;
        let cause = account.quiet.err().and_then(|cause| SPOILT.iter().position(|&c| c == cause));
        self.words()[at + 1].store(cause.map_or(0, |at| at as u64 + 1), Ordering::Relaxed);
        let took = account.took.as_nanos() as u64;
        self.words()[at].store(took.max(1), Ordering::Release);
    }

    fn accounts(&self) -> io::Result<Vec<Account>> {
        let error = self.words()[ERROR].load(Ordering::Acquire);
        if error != 0 {
            return Err(io::Error::from_raw_os_error(error as i32));
        }
        let account = |at: usize| {
            let took = Duration::from_nanos(self.words()[at].load(Ordering::Acquire));
            let cause = self.words()[at + 1].load(Ordering::Relaxed) as usize;
            let quiet = cause.checked_sub(1).map_or(Ok(()), |cause| Err(SPOILT[cause]));
            let died = || io::Error::other("a worker ended before its work");
            if took.is_zero() { Err(died()) } else { Ok(Account { took, quiet }) }
        };
        (0..self.workers).map(|n| account(ACCOUNTS + n * ACCOUNT)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: usize = 4 << 20;
    const ACTS: [Act; 4] = [Act::Touch, Act::Unmap, Act::DontNeed, Act::Free];

    fn cpus() -> Vec<CpuId> {
        affinity::mask().unwrap().iter().collect()
    }

    #[test]
    fn every_worker_of_every_crowd_gives_an_account() {
        for crowd in [Crowd::Threads, Crowd::Processes] {
            for act in ACTS {
                let accounts = run(act, crowd, &cpus(), BYTES).unwrap();
                assert_eq!(accounts.len(), cpus().len(), "{act:?} {crowd:?}");
            }
        }
    }

    #[test]
    fn a_worker_that_cannot_begin_is_an_error_and_holds_up_nobody() {
        for crowd in [Crowd::Threads, Crowd::Processes] {
            let cpus = [cpus()[0], CpuId(4711)];
            assert!(run(Act::Unmap, crowd, &cpus, BYTES).is_err(), "{crowd:?}");
            let error = run(Act::Touch, crowd, &cpus[..1], 1 << 50).unwrap_err().to_string();
            assert!(error.starts_with("giving memory back: "), "{crowd:?}: {error}");
        }
    }

    /// By `mincore`: `None` if unmapped, otherwise whether it is resident.
    fn state(memory: &Memory, at: usize) -> Option<bool> {
        let mut resident = 0;
        // SAFETY: it asks about one page, mapped or not, and writes one byte of ours.
        let told = unsafe {
            libc::mincore(memory.start.add(at).as_ptr().cast(), PAGE_BYTES, &raw mut resident)
        };
        (told == 0).then_some(resident & 1 == 1)
    }

    #[test]
    fn each_act_does_what_its_name_says() {
        for (act, after) in [(Act::Touch, Some(true)), (Act::DontNeed, Some(false))] {
            let mut memory = Memory::map(BYTES).unwrap();
            memory.touch();
            assert_eq!(state(&memory, BYTES - PAGE_BYTES), Some(true));
            memory.undergo(act).unwrap();
            assert_eq!(state(&memory, BYTES - PAGE_BYTES), after, "{act:?}");
        }
        let mut memory = Memory::map(BYTES).unwrap();
        memory.undergo(Act::Unmap).unwrap();
        assert_eq!(memory.gone, BYTES);
    }

    #[test]
    fn what_lies_behind_the_last_piece_is_not_given_back() {
        let all = Memory::map(2 * PIECE_BYTES).unwrap();
        all.touch();
        let bytes = PIECE_BYTES + PAGE_BYTES;
        let mut first = Memory { start: all.start, bytes, gone: 0 };
        let advised = first.undergo(Act::DontNeed);
        // Both would unmap it.
        std::mem::forget(first);
        advised.unwrap();
        let states = [0, PIECE_BYTES, bytes].map(|at| state(&all, at));
        assert_eq!(states, [Some(false), Some(false), Some(true)]);
    }

    #[test]
    fn shoot_downs_are_those_of_all_cpus() {
        let text = "            CPU0       CPU1\n NMI:  1  2   Non-maskable interrupts\n TLB:      4966    5061   TLB shootdowns\n";
        assert_eq!(shoot_downs_in(text), Some(10_027));
        assert_eq!(shoot_downs_in("           CPU0\nIPI0:  7  Rescheduling interrupts\n"), None);
    }
}
