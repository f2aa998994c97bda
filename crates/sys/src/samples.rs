//! What a thread asks of the kernel, sampled by its CPU time, through `perf_event_open(2)`.
//!
//! Method: the kernel's software clock writes the kernel's own call chain into a ring 199 times in each second
//! that the thread runs. The outermost function that says by which door it came in names the sample: a system
//! call, a page fault, an interrupt. So it is told how much time memory takes that is touched for the first
//! time, and how much its giving back, whatever the functions beneath are called on this kernel.
//!
//! Limits: it takes the right to see into the kernel, and some 0.1 % of the thread's time. A ring that is full
//! loses samples, those of all doors alike.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use hopcost_core::{Code, Known, Reason};

use crate::Root;
use crate::counters::{Counter, CounterError};
use crate::memory::mapped::Mapped;

/// The doors of the kernel by the addresses of its functions, and of all functions between them.
pub struct Doors(Vec<(u64, Option<String>)>);

impl Doors {
    /// From `/proc/kallsyms`, where this user is shown addresses.
    pub fn read(root: &Root) -> Known<Self> {
        let text = root.text("proc/kallsyms");
        text.and_then(|text| {
            let line = |line: &str| {
                let mut words = line.split(' ');
                let (address, kind, name) = (words.next()?, words.next()?, words.next()?);
                let address = u64::from_str_radix(address, 16).ok()?;
                let is_code = matches!(kind, "t" | "T" | "w" | "W");
                (is_code && address > 0).then(|| (address, door(name)))
            };
            let mut functions: Vec<_> = text.lines().filter_map(line).collect();
            // Of several names of one address the one that is a door counts.
            functions.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.is_some().cmp(&a.1.is_some())));
            functions.dedup_by_key(|function| function.0);
            if functions.is_empty() {
                return Known::missing(Code::NotTold,
                    "/proc/kallsyms shows no addresses: run as root, or 'sysctl -w kernel.kptr_restrict=0'",
                );
            }
            Known::Is(Self(functions))
        })
    }

    /// By which one a call chain came in; the innermost function is the first.
    fn of(&self, chain: &[u64]) -> &str {
        let function = |address: &u64| {
            let after = self.0.partition_point(|(start, _)| start <= address);
            self.0[after.checked_sub(1)?].1.as_deref()
        };
        chain.iter().rev().find_map(function).unwrap_or("other")
    }
}

fn door(function: &str) -> Option<String> {
    const CALLS: [&str; 2] = ["__x64_sys_", "__arm64_sys_"];
    const FAULTS: [&str; 3] = ["exc_page_fault", "do_page_fault", "do_mem_abort"];
    const INTERRUPTS: [&str; 3] = ["asm_sysvec_", "asm_common_interrupt", "el0t_64_irq"];
    if let Some(call) = CALLS.iter().find_map(|prefix| function.strip_prefix(prefix)) {
        return Some(call.to_owned());
    }
    let is_one_of = |names: &[&str]| names.iter().any(|name| function.contains(name));
    if is_one_of(&FAULTS) {
        return Some("page fault".to_owned());
    }
    is_one_of(&INTERRUPTS).then(|| "interrupt".to_owned())
}

/// The samples of one thread, since it was opened.
#[derive(Debug)]
pub struct Samples {
    /// As words: a page of the kernel's own, then what it writes.
    ring: Mapped,
    _counter: Counter,
    /// Up to where it was read.
    tail: u64,
    by_door: BTreeMap<String, u64>,
}

/// Memory for what comes between two readings; a power of two.
const RING_BYTES: u64 = 64 << 10;
/// Before it stands one page of the kernel's own.
const HEAD_BYTES: u64 = 4096;
/// Words of that page, as `linux/perf_event.h` has them: up to where the kernel wrote, and we have read.
const HEAD_AT: usize = 1024 / 8;
const TAIL_AT: usize = 1032 / 8;
/// A record that is a sample, among others.
const SAMPLE: u64 = 9;
/// Addresses from here on are words about the chain.
const CONTEXT: u64 = u64::MAX - 4095;

impl Samples {
    /// Begins to sample the thread of this number.
    pub fn of_thread(thread: u32) -> Result<Self, Reason> {
        let counter = Counter::sampling(thread)
            .map_err(|error: CounterError| Code::NoCounters.because(error.to_string()))?;
        let ring = Mapped::of_file((HEAD_BYTES + RING_BYTES) as usize, counter.as_raw_fd());
        let ring = ring.map_err(|why| {
            Code::NoCounters
                .because(format!("no memory for samples ({why}): raise kernel.perf_event_mlock_kb"))
        })?;
        Ok(Self { ring, _counter: counter, tail: 0, by_door: BTreeMap::new() })
    }

    /// How many samples found it behind each door of the kernel, since the beginning.
    pub fn by_door(&mut self, doors: &Doors) -> &BTreeMap<String, u64> {
        let head = self.position(HEAD_AT).load(Ordering::Acquire);
        while self.tail < head {
            // A record's first word: what it is in the lower half, how long it is in the highest quarter.
            let first = self.word(0);
            let bytes = (first >> 48).max(8);
            if first & 0xffff_ffff == SAMPLE {
                let frames = self.word(8).min(bytes / 8);
                let chain: Vec<u64> = (0..frames).map(|n| self.word(16 + 8 * n)).collect();
                self.sort_in(&chain, doors);
            }
            self.tail += bytes;
        }
        self.position(TAIL_AT).store(self.tail, Ordering::Release);
        &self.by_door
    }

    /// A chain of no function of the kernel is one of the program.
    fn sort_in(&mut self, chain: &[u64], doors: &Doors) {
        let functions: Vec<u64> = chain.iter().copied().filter(|at| *at < CONTEXT).collect();
        if !functions.is_empty() {
            *self.by_door.entry(doors.of(&functions).to_owned()).or_default() += 1;
        }
    }

    /// The word that stands so far behind what was read.
    fn word(&self, ahead: u64) -> u64 {
        let at = (HEAD_BYTES + (self.tail + ahead) % RING_BYTES) / 8;
        // SAFETY: the word is within the mapping, as records and the ring are multiples of words; the kernel
        // does not write behind the head before the tail has passed.
        unsafe { self.words().add(at as usize).read_volatile() }
    }

    fn words(&self) -> *mut u64 {
        self.ring.start().as_ptr().cast()
    }

    fn position(&self, at: usize) -> &AtomicU64 {
        // SAFETY: a word of the kernel's page, which is mapped as long as self lives.
        unsafe { AtomicU64::from_ptr(self.words().add(at)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KALLSYMS: &str = "\
ffffffff81000000 T _text
ffffffff81000100 t entry_SYSCALL_64_after_hwframe
ffffffff81000200 T do_syscall_64
ffffffff81000300 T __x64_sys_munmap
ffffffff81000400 t zap_pte_range
ffffffff81000500 T asm_exc_page_fault
ffffffff81000600 t clear_page_erms
ffffffff81000700 T asm_sysvec_apic_timer_interrupt
ffffffff81000700 T an_alias
ffffffff82000000 D some_data
0000000000000000 T hidden
";

    #[test]
    fn a_chain_is_known_by_its_door() {
        let root = Root::from_text(&format!(
            "hopcost machine recording, version 1\n> proc/kallsyms\n{KALLSYMS}\n"
        ));
        let doors = Doors::read(&root.unwrap()).ok().unwrap();
        let at = |chain: &[u64]| {
            let chain: Vec<u64> = chain.iter().map(|at| 0xffff_ffff_8100_0000 + at).collect();
            doors.of(&chain).to_owned()
        };
        assert_eq!(at(&[0x410, 0x3ff, 0x210, 0x110]), "munmap");
        assert_eq!(at(&[0x601, 0x500]), "page fault");
        // A page fault on behalf of a system call is the call's.
        assert_eq!(at(&[0x601, 0x500, 0x300, 0x200]), "munmap");
        assert_eq!(at(&[0x700]), "interrupt");
        assert_eq!(at(&[0x210]), "other");
        assert_eq!(doors.of(&[7]), "other");
    }

    #[test]
    fn addresses_that_are_hidden_are_missed() {
        let text = "hopcost machine recording, version 1\n> proc/kallsyms\n0000000000000000 T a\n";
        let doors = Doors::read(&Root::from_text(text).unwrap());
        assert!(doors.reason().unwrap().to_string().contains("kptr_restrict"));
    }

    #[test]
    fn memory_that_comes_and_goes_is_found_at_two_doors() {
        let link = std::fs::read_link("/proc/thread-self").unwrap();
        let this: u32 = link.file_name().unwrap().to_str().unwrap().parse().unwrap();
        let (Known::Is(doors), Ok(mut samples)) =
            (Doors::read(&Root::live()), Samples::of_thread(this))
        else {
            return; // no right to look into this kernel: the reason is tested above
        };
        let start = crate::clock::now();
        while start.elapsed().as_millis() < 400 {
            std::hint::black_box(vec![1_u8; 64 << 20]);
        }
        let by_door = samples.by_door(&doors).clone();
        assert!(by_door["page fault"] > 10, "{by_door:?}");
        assert!(by_door.contains_key("munmap") || by_door.contains_key("madvise"), "{by_door:?}");
    }
}
