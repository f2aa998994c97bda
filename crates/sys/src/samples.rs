//! What a thread asks of the kernel, sampled by CPU time through `perf_event_open(2)`.
//!
//! Method: the kernel's software clock writes call chains into a ring, 199 per second of CPU time.
//! The outermost known function classifies a sample: a system call, a page fault, an interrupt. So
//! first touches and giving memory back are measured whatever the inner functions are called.
//!
//! Limits: needs the right to see into the kernel, and some 0.1% of the thread's time. A full ring
//! loses samples of all kinds alike.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use hopcost_core::{Code, Known, Reason};

use crate::Root;
use crate::counters::{Counter, CounterError};
use crate::memory::mapped::Mapped;

/// The kernel's functions by address, with a name for entry points.
pub struct Doors(Vec<(u64, Option<String>)>);

impl Doors {
    /// Missing if this user is shown no addresses.
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
            // Of several names of one address, the entry point's counts.
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

    /// The innermost function of a chain comes first.
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

#[derive(Debug)]
pub struct Samples {
    /// As words: a control page, then what the kernel writes.
    ring: Mapped,
    _counter: Counter,
    tail: u64,
    by_door: BTreeMap<String, u64>,
}

/// For the samples between two readings; a power of two.
const RING_BYTES: u64 = 64 << 10;
/// The kernel's control page, before the ring.
const HEAD_BYTES: u64 = 4096;
/// Words of that page (`linux/perf_event.h`): up to where the kernel wrote, and we have read.
const HEAD_AT: usize = 1024 / 8;
const TAIL_AT: usize = 1032 / 8;
const SAMPLE: u64 = 9;
/// Addresses from here on mark a context in the chain.
const CONTEXT: u64 = u64::MAX - 4095;

impl Samples {
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

    pub fn by_door(&mut self, doors: &Doors) -> &BTreeMap<String, u64> {
        let head = self.position(HEAD_AT).load(Ordering::Acquire);
        while self.tail < head {
            // A record's first word: type in the lower half, length in the highest quarter.
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

    /// A chain without kernel functions is the program's and does not count.
    fn sort_in(&mut self, chain: &[u64], doors: &Doors) {
        let functions: Vec<u64> = chain.iter().copied().filter(|at| *at < CONTEXT).collect();
        if !functions.is_empty() {
            *self.by_door.entry(doors.of(&functions).to_owned()).or_default() += 1;
        }
    }

    /// `ahead` is in bytes.
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
        // A page fault within a system call counts as the call.
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
