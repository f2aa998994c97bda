//! A miniature commit log.
//!
//! Inserters append records behind a counting spinlock and wait until they are flushed; one log
//! writer flushes what has gathered and wakes them. The logs of SQL Server and MySQL have that
//! shape. Without a database, what remains is the price of the distance between inserter and log
//! writer.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use super::futex;
use crate::{affinity, clock};

/// A typical single-row insert with its header.
pub const RECORD_BYTES: usize = 128;
const RECORD_WORDS: usize = RECORD_BYTES / 8;
/// Then the CPU is yielded.
const SPINS_BEFORE_BACKOFF: u64 = 1_000;
/// The file is a ring of this size, so that it never grows.
const FILE_BYTES: u64 = 64 << 20;

#[derive(Debug)]
pub enum Sink {
    Memory,
    /// Made durable by the write itself (`O_DSYNC`).
    File(File),
}

impl Sink {
    /// The file has no name: it is gone with the process.
    pub fn file_in(dir: &Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .write(true)
            .custom_flags(libc::O_TMPFILE | libc::O_DSYNC)
            .open(dir)?;
        file.set_len(FILE_BYTES)?;
        Ok(Self::File(file))
    }
}

#[derive(Debug)]
pub struct CommitLog<B> {
    buffer: B,
    sink: Sink,
    lock: AtomicBool,
    /// Records in the buffer; changed under the lock.
    pending: AtomicU64,
    /// Records ever; changed under the lock.
    appended: AtomicU64,
    flushed: AtomicU64,
    /// Incremented by each flush; inserters sleep on it.
    flushes: AtomicU32,
    /// 1 while there is something to write; the log writer sleeps on it.
    work: AtomicU32,
    stop: AtomicBool,
    /// The log writer gave up: nothing will be flushed any more.
    failed: AtomicBool,
    /// Flushes on the log writer's own CPU, and all flushes.
    in_place: [AtomicU64; 2],
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Inserted {
    pub commits: u64,
    pub spins: u64,
    pub backoffs: u64,
    pub waits: u64,
    pub took: Duration,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct FlushTotals {
    pub flushes: u64,
    pub bytes: u64,
    pub spins: u64,
}

impl<B: AsRef<[AtomicU64]>> CommitLog<B> {
    pub fn new(buffer: B, sink: Sink) -> Self {
        Self {
            buffer,
            sink,
            lock: AtomicBool::new(false),
            pending: AtomicU64::new(0),
            appended: AtomicU64::new(0),
            flushed: AtomicU64::new(0),
            flushes: AtomicU32::new(0),
            work: AtomicU32::new(0),
            stop: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            in_place: [AtomicU64::new(0), AtomicU64::new(0)],
        }
    }

    /// Until the log writer fails; then stops it.
    pub fn insert_for(&self, window: Duration) -> Inserted {
        let mut done = Inserted::default();
        let start = clock::now();
        while start.elapsed() < window && self.commit(&mut done) {}
        done.took = start.elapsed();
        self.end();
        done
    }

    /// Commits one record. Returns when it is flushed, or false if the log writer has failed.
    pub fn commit(&self, done: &mut Inserted) -> bool {
        let Some(mine) = self.append(done.commits, done) else { return false };
        while self.flushed.load(Ordering::Acquire) < mine {
            if self.failed.load(Ordering::Acquire) {
                return false;
            }
            let seen = self.flushes.load(Ordering::Acquire);
            if self.flushed.load(Ordering::Acquire) < mine && futex::wait(&self.flushes, seen) {
                done.waits += 1;
            }
        }
        done.commits += 1;
        true
    }

    pub fn end(&self) {
        self.stop.store(true, Ordering::Release);
        self.call_writer();
    }

    /// Flushes on the CPU where the log writer began, and all flushes.
    pub fn in_place(&self) -> [u64; 2] {
        [0, 1].map(|n: usize| self.in_place[n].load(Ordering::Acquire))
    }

    pub fn write(&self) -> io::Result<FlushTotals> {
        let mut done = FlushTotals::default();
        let mut taken = vec![0; self.buffer.as_ref().len() * 8];
        let home = affinity::current_cpu();
        loop {
            while self.work.swap(0, Ordering::AcqRel) == 0 {
                if self.stop.load(Ordering::Acquire) {
                    return Ok(done);
                }
                futex::wait(&self.work, 0);
            }
            let (bytes, upto) = self.take(&mut taken, &mut done);
            if bytes == 0 {
                continue; // called to see that it is time to stop
            }
            let result = match &self.sink {
                Sink::Memory => Ok(()),
                Sink::File(file) => {
                    file.write_all_at(&taken[..bytes], done.bytes % (FILE_BYTES / 2))
                }
            };
            match &result {
                Ok(()) => self.flushed.store(upto, Ordering::Release),
                // No inserter may wait for a writer that is gone.
                Err(_) => self.failed.store(true, Ordering::Release),
            }
            let is_home = u64::from(affinity::current_cpu() == home);
            self.in_place[0].fetch_add(is_home, Ordering::Relaxed);
            self.in_place[1].fetch_add(1, Ordering::Relaxed);
            self.flushes.fetch_add(1, Ordering::Release);
            futex::wake(&self.flushes, i32::MAX);
            result?;
            done.flushes += 1;
            done.bytes += bytes as u64;
        }
    }

    /// Returns the record's number, or `None` if the log writer has failed.
    fn append(&self, payload: u64, done: &mut Inserted) -> Option<u64> {
        while !self.failed.load(Ordering::Acquire) {
            let (spins, backoffs) = self.acquire();
            done.spins += spins;
            done.backoffs += backoffs;
            let slot = self.pending.load(Ordering::Relaxed) as usize * RECORD_WORDS;
            let Some(record) = self.buffer.as_ref().get(slot..slot + RECORD_WORDS) else {
                // Full: let the writer take it.
                self.release();
                self.call_writer();
                std::thread::yield_now();
                continue;
            };
            for word in record {
                word.store(payload, Ordering::Relaxed);
            }
            self.pending.fetch_add(1, Ordering::Relaxed);
            let mine = self.appended.fetch_add(1, Ordering::Relaxed) + 1;
            self.release();
            self.call_writer();
            return Some(mine);
        }
        None
    }

    /// Returns the bytes copied, and the number of the last record.
    fn take(&self, into: &mut [u8], done: &mut FlushTotals) -> (usize, u64) {
        done.spins += self.acquire().0;
        let records = self.pending.swap(0, Ordering::Relaxed) as usize;
        let words = &self.buffer.as_ref()[..records * RECORD_WORDS];
        for (bytes, word) in into.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
        }
        let upto = self.appended.load(Ordering::Relaxed);
        self.release();
        (records * RECORD_BYTES, upto)
    }

    fn call_writer(&self) {
        if self.work.swap(1, Ordering::AcqRel) == 0 {
            futex::wake(&self.work, 1);
        }
    }

    fn acquire(&self) -> (u64, u64) {
        let (mut spins, mut backoffs) = (0, 0);
        while self.lock.swap(true, Ordering::Acquire) {
            while self.lock.load(Ordering::Relaxed) {
                spins += 1;
                if spins % SPINS_BEFORE_BACKOFF == 0 {
                    backoffs += 1;
                    std::thread::yield_now();
                }
                std::hint::spin_loop();
            }
        }
        (spins, backoffs)
    }

    fn release(&self) {
        self.lock.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(sink: Sink, inserters: usize) -> (Vec<Inserted>, FlushTotals) {
        let buffer: Vec<AtomicU64> = (0..4096).map(AtomicU64::new).collect();
        let log = CommitLog::new(&buffer, sink);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| log.write());
            let inserters: Vec<_> = (0..inserters)
                .map(|_| scope.spawn(|| log.insert_for(Duration::from_millis(30))))
                .collect();
            let inserted = inserters.into_iter().map(|i| i.join().unwrap()).collect();
            (inserted, writer.join().unwrap().unwrap())
        })
    }

    #[test]
    fn every_commit_was_flushed() {
        let (inserted, written) = run(Sink::Memory, 1);
        assert!(inserted[0].commits > 0);
        assert_eq!(written.bytes, inserted[0].commits * RECORD_BYTES as u64);
        assert!(written.flushes <= inserted[0].commits);
    }

    #[test]
    fn a_log_file_leaves_no_name_behind() {
        let dir = tempfile::tempdir().unwrap();
        let (inserted, written) = run(Sink::file_in(dir.path()).unwrap(), 1);
        assert_eq!(written.bytes, inserted[0].commits * RECORD_BYTES as u64);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_writer_that_fails_leaves_nobody_waiting() {
        let buffer: Vec<AtomicU64> = (0..4096).map(|_| AtomicU64::new(0)).collect();
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let log = CommitLog::new(&buffer, Sink::File(full));
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| log.write());
            let inserted = log.insert_for(Duration::from_mins(1));
            assert!(inserted.took < Duration::from_secs(30), "it waited to the end of its window");
            let error = writer.join().unwrap().unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
        });
    }
}
