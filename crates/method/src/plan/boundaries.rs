//! Client counts at which cores, sibling threads or sockets are used up.

use std::collections::BTreeSet;

use hopcost_core::{CpuId, Machine};
use hopcost_stats::Boundary;

pub fn of(workers: &[CpuId], machine: &Machine) -> Vec<Boundary> {
    let boundary = |streams: usize, of: &str| Boundary { streams: streams as u32, of: of.into() };
    let cores = machine.one_cpu_per_core(&workers.iter().copied().collect()).len();
    let mut found: Vec<Boundary> =
        sockets(&workers[..cores], machine).into_iter().map(|n| boundary(n, "socket")).collect();
    found.push(boundary(cores, "cores"));
    if cores < workers.len() {
        found.push(boundary(workers.len(), "threads of cores"));
    }
    found
}

/// Core counts after which another socket begins; empty if sockets alternate.
fn sockets(cores: &[CpuId], machine: &Machine) -> Vec<usize> {
    let socket = |cpu: &CpuId| machine.cpu(*cpu).and_then(|cpu| cpu.socket.get().copied());
    let of_cores: Vec<Option<u32>> = cores.iter().map(socket).collect();
    let begins: Vec<usize> = (1..cores.len()).filter(|&n| of_cores[n] != of_cores[n - 1]).collect();
    let different = of_cores.iter().collect::<BTreeSet<_>>().len();
    if begins.len() + 1 == different { begins } else { Vec::new() }
}
