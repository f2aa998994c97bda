//! **cpu**: CPU time by kind, per CPU and per node, from `/proc/stat`.
//!
//! Per CPU because a mean hides that half of the CPUs are idle. Ticks are about 10 ms, so short
//! windows are coarse. The kernel sometimes takes idle time back, which is read here as no time.

use std::collections::BTreeMap;

use hopcost_core::{CpuId, Known, Machine, NodeId, Reading, gauge};
use hopcost_sys::Root;
use hopcost_sys::activity::{CpuTime, cpu_times};

use super::reading::{KernelObserver, count, some, watch};

pub const OBSERVER: KernelObserver = KernelObserver {
    name: "cpu",
    about: "CPU time in programs, in the kernel, idle and stolen, by CPU and by node",
    open: |scope| {
        let (root, homes, mut times) = (Root::live(), homes(scope.machine), BTreeMap::new());
        watch(move || read(&root, &homes, &mut times))
    },
};

fn homes(machine: &Machine) -> BTreeMap<CpuId, NodeId> {
    let home = |cpu: &hopcost_core::Cpu| Some((cpu.id, *cpu.node.get()?));
    machine.cpus.iter().filter_map(home).collect()
}

/// Updates `times` and reads them. A CPU that went offline keeps its last values.
fn read(
    root: &Root,
    homes: &BTreeMap<CpuId, NodeId>,
    times: &mut BTreeMap<CpuId, CpuTime>,
) -> Known<Vec<Reading>> {
    cpu_times(root).and_then(|now| {
        for (cpu, now) in now {
            let time = times.entry(cpu).or_default();
            *time = time.zip(now, u64::max);
        }
        let mut nodes: BTreeMap<NodeId, CpuTime> = BTreeMap::new();
        for (node, time) in times.iter().filter_map(|(cpu, time)| Some((homes.get(cpu)?, time))) {
            let sum = nodes.entry(*node).or_default();
            *sum = sum.zip(*time, |a, b| a + b);
        }
        let cpus = times.iter().map(|(cpu, time)| (format!("cpu {cpu}"), time));
        let nodes = nodes.iter().map(|(node, time)| (format!("node {node}"), time));
        let readings = cpus.chain(nodes).flat_map(|(of, time)| kinds(&of, *time));
        some(readings.collect(), "/proc/stat names no CPU")
    })
}

fn kinds(of: &str, time: CpuTime) -> [Reading; 4] {
    [
        count(gauge::CPU_USER_MS, of, time.user_ms),
        count(gauge::CPU_SYSTEM_MS, of, time.system_ms),
        count(gauge::CPU_IDLE_MS, of, time.idle_ms),
        count(gauge::CPU_STEAL_MS, of, time.steal_ms),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::reading::testing::{root, said};
    use super::*;

    fn stat(idle: u32) -> Root {
        let text = format!(
            "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 10 1 2 {idle} 5 3 4 6 0 0\n\
             cpu1 20 0 0 50 0 0 0 0 0 0\ncpu9 7 0 0 0 0 0 0 0 0 0\nctxt 5"
        );
        root(&[("proc/stat", &text)])
    }

    #[test]
    fn time_is_told_by_cpu_and_summed_by_node() {
        let homes = [(CpuId(0), NodeId(3)), (CpuId(1), NodeId(3))].into();
        // The kernel's ticks are 10 ms here: fixed for user space on every common processor.
        let said = said(&read(&stat(40), &homes, &mut BTreeMap::new()));
        let cpu0 = [
            "user_ms cpu 0: 110",
            "system_ms cpu 0: 90",
            "idle_ms cpu 0: 450",
            "steal_ms cpu 0: 60",
        ];
        assert_eq!(said[..4], cpu0.map(|line| format!("cpu_{line}")));
        assert_eq!(said[8], "cpu_user_ms cpu 9: 70");
        let node = [
            "user_ms node 3: 310",
            "system_ms node 3: 90",
            "idle_ms node 3: 950",
            "steal_ms node 3: 60",
        ];
        assert_eq!(said[12..], node.map(|line| format!("cpu_{line}")));
    }

    #[test]
    fn idle_time_that_is_taken_back_is_no_time() {
        let (homes, mut times) = (BTreeMap::new(), BTreeMap::new());
        let before = read(&stat(40), &homes, &mut times);
        assert_eq!(read(&stat(39), &homes, &mut times), before);
        assert_ne!(read(&stat(41), &homes, &mut times), before);
    }

    #[test]
    fn a_machine_that_tells_no_times_is_refused_in_words() {
        let reason = |root: Root| {
            let read = read(&root, &BTreeMap::new(), &mut BTreeMap::new());
            read.reason().unwrap().as_str().to_owned()
        };
        assert_eq!(reason(root(&[])), "there is no /proc/stat");
        assert_eq!(reason(root(&[("proc/stat", "ctxt 5")])), "/proc/stat names no CPU");
    }
}
