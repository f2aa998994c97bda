//! Numbers that machines and databases count themselves; they decide nothing.

/// One number that something counts. Its name ends with its unit: `cpu_user_ms`.
#[derive(Debug, PartialEq, Eq)]
pub struct Gauge {
    pub name: &'static str,
    pub about: &'static str,
    pub nature: Nature,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// Only grows; a window's value is the difference.
    Count,
    /// Goes up and down; a window's value is that at its end.
    Level,
}

impl Gauge {
    pub fn unit(&self) -> &'static str {
        self.name.rsplit('_').next().unwrap_or(self.name)
    }
}

macro_rules! gauges {
    ($($nature:ident $constant:ident = $name:literal, $about:literal;)*) => {
        $(
            #[doc = $about]
            pub const $constant: &Gauge =
                &Gauge { name: $name, about: $about, nature: Nature::$nature };
        )*

        pub const ALL: &[&Gauge] = &[$($constant),*];
    };
}

// Of the machine and its workers.
gauges! {
    Count CONTEXT_SWITCHES = "context_switches", "Context switches of the whole machine.";
    Count CPU_IDLE_MS = "cpu_idle_ms", "Time that a CPU was idle.";
    Count CPU_STEAL_MS = "cpu_steal_ms", "Time that the hypervisor gave to others.";
    Count CPU_SYSTEM_MS = "cpu_system_ms", "Time that a CPU worked in the kernel.";
    Count CPU_USER_MS = "cpu_user_ms", "Time that a CPU worked in programs.";
    Count KERNEL_SAMPLES = "kernel_samples", "Samples of workers in the kernel, by why they were there.";
    Level MEMORY_FREE_BYTES = "memory_free_bytes", "Memory of a node that is free.";
    Level MEMORY_USED_BYTES = "memory_used_bytes", "Memory of a node that is used.";
    Count MIGRATED_PAGES = "migrated_pages", "Pages that the kernel moved, for whatever reason.";
    Count NUMA_FOREIGN_PAGES = "numa_foreign_pages", "Pages wanted on this node and taken from another.";
    Count NUMA_HINT_FAULTS = "numa_hint_faults", "Faults that NUMA balancing provoked.";
    Count NUMA_HINT_LOCAL_FAULTS = "numa_hint_local_faults", "Of these, faults on local pages.";
    Count NUMA_HIT_PAGES = "numa_hit_pages", "Pages taken from the node that was wanted.";
    Count NUMA_LOCAL_PAGES = "numa_local_pages", "Pages taken by processes that ran on the node.";
    Count NUMA_MIGRATED_PAGES = "numa_migrated_pages", "Pages that NUMA balancing moved.";
    Count NUMA_MISS_PAGES = "numa_miss_pages", "Pages taken from this node though another was wanted.";
    Count NUMA_OTHER_PAGES = "numa_other_pages", "Pages taken by processes that ran on another node.";
    Count TLB_SHOOTDOWNS = "tlb_shootdowns", "Interrupts that told a CPU to forget a page's address.";
    Count WORKER_CLOCK_NS = "worker_clock_ns", "CPU time of a worker.";
    Count WORKER_INVOLUNTARY_SWITCHES = "worker_involuntary_switches", "Times that a worker lost its CPU.";
    Count WORKER_KERNEL_MS = "worker_kernel_ms", "CPU time of a worker in the kernel.";
    Count WORKER_MIGRATIONS = "worker_migrations", "Times that a worker moved to another CPU.";
    Count WORKER_NODE_LOADS = "worker_node_loads", "Loads of a worker from a node's memory.";
    Count WORKER_NODE_LOAD_MISSES = "worker_node_load_misses", "Loads of a worker from another node's memory.";
    Count WORKER_PAGE_FAULTS = "worker_page_faults", "Page faults of a worker.";
    Count WORKER_PROGRAM_MS = "worker_program_ms", "CPU time of a worker in its program.";
    Count WORKER_VOLUNTARY_SWITCHES = "worker_voluntary_switches", "Times that a worker gave up its CPU.";

    // Of databases.
    Count BACKEND_WRITTEN_BUFFERS = "backend_written_buffers", "Buffers that sessions had to write themselves.";
    Count BACKGROUND_READS = "background_reads", "Reads of the server's own processes.";
    Count BACKGROUND_WRITES = "background_writes", "Writes of the server's own processes.";
    Count BGWRITER_WRITTEN_BUFFERS = "bgwriter_written_buffers", "Buffers that the background writer wrote.";
    Count BUFFER_HITS = "buffer_hits", "Pages found in the buffer pool.";
    Count BUFFER_READS = "buffer_reads", "Pages read into the buffer pool.";
    Count CHECKPOINTER_WRITTEN_BUFFERS = "checkpointer_written_buffers", "Buffers that the checkpointer wrote.";
    Count CHECKPOINTS = "checkpoints", "Checkpoints that began.";
    Count LOCAL_PAGE_LOOKUPS = "local_page_lookups", "Page accesses on the server's own count of local ones.";
    Count LOG_FLUSHES = "log_flushes", "Flushes of the transaction log.";
    Count LOG_FLUSH_MS = "log_flush_ms", "Time spent flushing the transaction log.";
    Count LOG_WAITS = "log_waits", "Times that the log's buffer was too small.";
    Count LOG_WRITES = "log_writes", "Writes of the transaction log.";
    Count LOG_WRITE_MS = "log_write_ms", "Time spent writing the transaction log.";
    Count MUTEX_WAITS = "mutex_waits", "Times that a thread slept at a mutex.";
    Level PARALLEL_WORKER_SAMPLES = "parallel_worker_samples", "Times that a parallel worker was seen there.";
    Count REMOTE_PAGE_LOOKUPS = "remote_page_lookups", "Page accesses on the server's own count of remote ones.";
    Count ROW_LOCK_WAITS = "row_lock_waits", "Times that a session waited for a row's lock.";
    Count SESSION_EVICTIONS = "session_evictions", "Buffers that sessions had to evict.";
    Count SESSION_EXTENDS = "session_extends", "Times that sessions extended a file.";
    Count SESSION_READS = "session_reads", "Reads of sessions.";
    Count SESSION_WRITES = "session_writes", "Writes of sessions.";
    Count SPINS = "spins", "Turns in the loop of a spinlock.";
    Count SPIN_BACKOFFS = "spin_backoffs", "Times that a thread gave up spinning and slept.";
    Count SPIN_COLLISIONS = "spin_collisions", "Times that a spinlock was taken already.";
    Count WAIT_MS = "wait_ms", "Time spent waiting, by kind of waiting.";
    Count WAIT_SAMPLES = "wait_samples", "Samples of what sessions waited for, by kind of waiting.";
    Count WAL_BUFFERS_FULL = "wal_buffers_full", "Times that the log's buffers were full.";
    Count WAL_BYTES = "wal_bytes", "Bytes by which the transaction log grew.";
    Count WAL_FULL_PAGE_IMAGES = "wal_full_page_images", "Images of whole pages in the transaction log.";
    Count WAL_RECORDS = "wal_records", "Records of the transaction log.";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_different_and_sentences_are_whole() {
        let names: BTreeSet<&str> = ALL.iter().map(|gauge| gauge.name).collect();
        assert_eq!(names.len(), ALL.len());
        for Gauge { name, about, .. } in ALL {
            assert!(
                about.len() > 10 && about.ends_with('.') && about.len() < 80,
                "{name}: {about}"
            );
        }
        assert_eq!(CPU_USER_MS.unit(), "ms");
    }
}
