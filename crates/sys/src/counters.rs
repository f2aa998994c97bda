//! Counters of the processor and the kernel for one thread, through `perf_event_open(2)`.
//!
//! A counter covers its thread's user code only, which an unprivileged user may count on most
//! systems. If the kernel multiplexes counters, a partial count is discarded, not scaled.
//!
//! Limits: the NODE events are the kernel's generic names for loads from local and other nodes.
//! Many processors map them to something close, some to nothing, and most guests have none.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use hopcost_core::Known;
use thiserror::Error;

use crate::Root;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    NodeLoads,
    NodeLoadMisses,
    /// Counted by the kernel, so it needs no hardware.
    TaskClockNs,
    /// The same clock, for sampling.
    CpuClock,
}

impl Event {
    pub fn name(self) -> &'static str {
        match self {
            Self::NodeLoads => "node-loads",
            Self::NodeLoadMisses => "node-load-misses",
            Self::TaskClockNs => "task-clock",
            Self::CpuClock => "cpu-clock",
        }
    }

    /// Numbers of `linux/perf_event.h`.
    fn type_and_config(self) -> (u32, u64) {
        const SOFTWARE: u32 = 1;
        const CPU_CLOCK: u64 = 0;
        const TASK_CLOCK: u64 = 1;
        const CACHE: u32 = 3;
        const NODE: u64 = 6;
        const READ: u64 = 0;
        let cache = |result: u64| (CACHE, NODE | READ << 8 | result << 16);
        match self {
            Self::NodeLoads => cache(0),
            Self::NodeLoadMisses => cache(1),
            Self::TaskClockNs => (SOFTWARE, TASK_CLOCK),
            Self::CpuClock => (SOFTWARE, CPU_CLOCK),
        }
    }
}

#[derive(Debug, Error)]
#[error("{}: {}", event.name(), why(source, paranoid))]
pub struct CounterError {
    event: Event,
    source: io::Error,
    paranoid: Known<i32>,
}

fn why(error: &io::Error, paranoid: &Known<i32>) -> String {
    match error.raw_os_error().unwrap_or(0) {
        libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV | libc::EINVAL => {
            "this machine has no such counter (guests mostly have none)".into()
        }
        libc::EACCES | libc::EPERM => format!(
            "this user may not count; kernel.perf_event_paranoid is {paranoid}: run as root, or \
             'sysctl -w kernel.perf_event_paranoid=1' (in a container, allow perf_event_open, too)"
        ),
        libc::ENOSYS => "this kernel was built without performance events".into(),
        libc::ESRCH => "the thread to be watched has ended".into(),
        libc::EMFILE | libc::ENFILE => format!("{error}: raise 'ulimit -n', or watch less"),
        _ => format!("the kernel refuses the counter: {error}"),
    }
}

#[derive(Debug)]
pub struct Counter(File);

/// The first version of `struct perf_event_attr`, which every kernel accepts.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    /// Samples per second with `AS_FREQUENCY`.
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    breakpoint_address: u64,
}

impl Attributes {
    fn of(event: Event) -> Self {
        let (kind, config) = event.type_and_config();
        Self { kind, config, size: size_of::<Self>() as u32, ..Self::default() }
    }
}

const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const AS_FREQUENCY: u64 = 1 << 10;
const WITHOUT_PROGRAMS_CHAIN: u64 = 1 << 22;
const CALL_CHAIN: u64 = 1 << 5;
/// Divides no other clock's rate, so that it keeps in step with none.
const SAMPLES_PER_S: u64 = 199;
const WITH_TIME_ENABLED: u64 = 1;
const WITH_TIME_RUNNING: u64 = 2;
const CLOSE_ON_EXEC: libc::c_ulong = 8;

impl Counter {
    pub fn of_thread(event: Event, thread: u32) -> Result<Self, CounterError> {
        let attributes = Attributes {
            read_format: WITH_TIME_ENABLED | WITH_TIME_RUNNING,
            flags: EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
            ..Attributes::of(event)
        };
        Self::open(event, &attributes, thread)
    }

    pub(crate) fn sampling(thread: u32) -> Result<Self, CounterError> {
        let attributes = Attributes {
            sample_period: SAMPLES_PER_S,
            sample_type: CALL_CHAIN,
            flags: AS_FREQUENCY | EXCLUDE_HYPERVISOR | WITHOUT_PROGRAMS_CHAIN,
            ..Attributes::of(Event::CpuClock)
        };
        Self::open(Event::CpuClock, &attributes, thread)
    }

    fn open(event: Event, attributes: &Attributes, thread: u32) -> Result<Self, CounterError> {
        let failed = |source| {
            let paranoid = Root::live().number("proc/sys/kernel/perf_event_paranoid");
            CounterError { event, source, paranoid }
        };
        let thread = libc::pid_t::try_from(thread)
            .map_err(|_| failed(io::Error::from_raw_os_error(libc::ESRCH)))?;
        let (any_cpu, no_group): (libc::c_int, libc::c_int) = (-1, -1);
        // SAFETY: the pointer is to attributes that outlive the call and whose size stands in them;
        // the kernel only reads them.
        let opened = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                std::ptr::from_ref(attributes),
                thread,
                any_cpu,
                no_group,
                CLOSE_ON_EXEC,
            )
        };
        if opened < 0 {
            return Err(failed(io::Error::last_os_error()));
        }
        // SAFETY: the kernel has just opened this descriptor for us, and nobody else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(opened as RawFd) }.into()))
    }

    pub(crate) fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// `None` if it was counted only part of the time.
    pub fn count(&self) -> Option<u64> {
        let mut bytes = [0; 24];
        (&self.0).read_exact(&mut bytes).ok()?;
        let word = |n: usize| Some(u64::from_ne_bytes(bytes[n * 8..][..8].try_into().ok()?));
        let (count, enabled_ns, running_ns) = (word(0)?, word(1)?, word(2)?);
        (running_ns >= enabled_ns).then_some(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn this_thread() -> u32 {
        let link = std::fs::read_link("/proc/thread-self").unwrap();
        link.file_name().unwrap().to_str().unwrap().parse().unwrap()
    }

    #[test]
    fn the_attributes_have_the_size_that_every_kernel_takes() {
        assert_eq!(size_of::<Attributes>(), 64);
    }

    #[test]
    fn the_kernel_counts_the_time_of_a_thread_where_it_may() {
        let counter = match Counter::of_thread(Event::TaskClockNs, this_thread()) {
            Ok(counter) => counter,
            Err(refusal) => {
                let words = refusal.to_string();
                assert!(words.contains("perf_event_paranoid") || words.contains("built without"));
                return;
            }
        };
        let before = counter.count().unwrap();
        let start = crate::clock::now();
        while start.elapsed().as_millis() < 5 {}
        assert!(counter.count().unwrap() > before);
    }

    #[test]
    fn a_hardware_counter_counts_or_is_refused_in_words() {
        for event in [Event::NodeLoads, Event::NodeLoadMisses] {
            match Counter::of_thread(event, this_thread()) {
                Ok(counter) => assert!(counter.count() <= counter.count()),
                Err(refusal) => assert!(refusal.to_string().starts_with("node-load"), "{refusal}"),
            }
        }
    }

    #[test]
    fn a_thread_that_is_gone_cannot_be_watched() {
        for thread in [u32::MAX, i32::MAX.cast_unsigned()] {
            let refusal = Counter::of_thread(Event::TaskClockNs, thread).unwrap_err().to_string();
            assert!(!refusal.is_empty());
        }
    }

    #[test]
    fn each_refusal_says_what_it_means_and_what_helps() {
        let words = |errno| {
            let source = io::Error::from_raw_os_error(errno);
            CounterError { event: Event::NodeLoads, source, paranoid: Known::Is(2) }.to_string()
        };
        for (errno, part) in [
            (libc::ENOENT, "node-loads: this machine has no such counter"),
            (libc::EACCES, "perf_event_paranoid is 2: run as root"),
            (libc::ENOSYS, "without performance events"),
            (libc::ESRCH, "has ended"),
            (libc::EMFILE, "ulimit -n"),
            (libc::EBUSY, "refuses the counter: "),
        ] {
            assert!(words(errno).contains(part), "{}", words(errno));
        }
    }
}
