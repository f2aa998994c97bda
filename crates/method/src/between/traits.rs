//! Static properties of two machines, compared before any figure.

use hopcost_core::{Cache, Code, Cpu, Known, Machine, Node, Trait};

pub fn of(a: &Known<&Machine>, b: &Known<&Machine>) -> Vec<Trait> {
    type Read = fn(&Machine) -> Known<String>;
    const TRAITS: [(&str, Read); 9] = [
        ("processor", |machine| machine.processor.clone()),
        ("sockets", |machine| Known::Is(machine.sockets.len().to_string())),
        ("memory nodes", |machine| Known::Is(machine.nodes.len().to_string())),
        ("CPUs", cpus),
        ("highest frequency", highest_frequency),
        ("last-level cache", last_level_cache),
        ("memory", memory),
        ("kernel", |machine| machine.kernel.clone()),
        ("hypervisor", |machine| machine.virtualization.hypervisor.clone()),
    ];
    let of = |(what, read): (&'static str, Read)| {
        let [a, b] = [a, b].map(|machine| machine.clone().and_then(read));
        let same = a.get().is_some() && a.get() == b.get();
        Trait { what, a, b, same }
    };
    TRAITS.into_iter().map(of).collect()
}

fn cpus(machine: &Machine) -> Known<String> {
    let usable = machine.limits.cpus.len();
    let all = machine.cpus.len();
    let left_out = if usable < all { format!(", {usable} of them usable") } else { String::new() };
    Known::Is(format!("{all}{left_out}"))
}

fn highest_frequency(machine: &Machine) -> Known<String> {
    let of = |cpu: &Cpu| cpu.max_mhz.get().copied();
    let highest = machine.cpus.iter().filter_map(of).max();
    match (highest, machine.cpus.first()) {
        (Some(mhz), _) => Known::Is(format!("{mhz} MHz")),
        (None, Some(cpu)) => cpu.max_mhz.as_ref().map(ToString::to_string),
        (None, None) => Known::missing(Code::NotApplicable, "no CPU is described"),
    }
}

fn last_level_cache(machine: &Machine) -> Known<String> {
    let is_last = |cache: &&Cache| Some(cache.level) == machine.last_cache_level();
    let sizes: Vec<u64> = machine
        .caches
        .iter()
        .filter(is_last)
        .filter_map(|cache| cache.bytes.get().copied())
        .collect();
    match sizes.iter().max() {
        Some(largest) => Known::Is(format!("{} × {} MiB", sizes.len(), largest >> 20)),
        None => Known::missing(Code::NotTold, "the kernel describes no cache"),
    }
}

/// The total the kernel reports; the firmware's share differs between boots.
fn memory(machine: &Machine) -> Known<String> {
    let of = |node: &Node| node.total_bytes.get().copied();
    let sizes: Vec<u64> = machine.nodes.iter().filter_map(of).collect();
    let gib = sizes.iter().sum::<u64>() as f64 / f64::from(1 << 30);
    if sizes.is_empty() {
        return Known::missing(Code::NotTold, "no node reports its memory");
    }
    Known::Is(format!("{gib:.1} GiB"))
}
