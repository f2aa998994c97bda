//! Which cores a variant's workers get, and how many threads of each.

use hopcost_core::{Code, CpuId, CpuSet, Level, Machine, Reason};

/// A share applies to each node's cores: the first, or the last if the binding is turned.
pub fn of(
    level: &Level,
    machine: &Machine,
    among: &CpuSet,
    turned: bool,
) -> Result<Vec<CpuId>, Reason> {
    let mut firsts = CpuSet::new();
    let of_nodes = machine.nodes.iter().map(|node| node.cpus.intersection(among));
    let of_nodes = of_nodes.filter(|cpus| !cpus.is_empty());
    for cpus in of_nodes {
        let mut cores: Vec<CpuId> = machine.one_cpu_per_core(&cpus).iter().collect();
        if turned {
            let last = |cpu: &CpuId| {
                let of_core = machine.cpu(*cpu).map(|cpu| cpu.siblings.intersection(&cpus));
                of_core.and_then(|threads| threads.iter().last()).unwrap_or(*cpu)
            };
            cores = cores.iter().rev().map(last).collect();
        }
        let most = (cores.len() as f64 * level.cores.unwrap_or(1.0)).round().max(1.0) as usize;
        if most == cores.len() && level.cores.is_some_and(|share| share < 1.0) {
            return Err(Code::TooFewCpus
                .because("a node here has too few cores to use only a share of them"));
        }
        firsts.extend(cores.into_iter().take(most));
    }
    if level.siblings == Some(false) {
        return Ok(firsts.iter().collect());
    }
    let is_of_a_core =
        |cpu: &CpuId| machine.cpu(*cpu).is_some_and(|cpu| cpu.siblings.intersects(&firsts));
    let threads: CpuSet = among.iter().filter(is_of_a_core).collect();
    if level.siblings == Some(true) && threads.len() == firsts.len() {
        return Err(Code::NoSiblings.because(
            "needs 2 hardware threads per core; here 1 can be used (SMT is off, not allowed or absent)",
        ));
    }
    Ok(machine.in_order_of_use(&threads))
}
