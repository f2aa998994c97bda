//! Check: does a cpuset or an inherited memory policy make all memory remote?

use hopcost_core::{CpuSet, Known, NodeSet};
use hopcost_sys::memory::numa_maps;

use super::check::{Check, Fix, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "memory-policy",
    why: "if the allowed CPUs and the allowed memory are on different nodes, every access is remote",
    look,
};

fn look(at: &Surroundings<'_>) -> Seen {
    let machine = at.machine;
    // Those of the whole machine, allowed or not.
    let nodes = machine.nodes.iter().filter(|node| node.has_memory() && node.avoided.is_none());
    if nodes.clone().count() < 2 {
        return Seen::good("there is one memory node");
    }
    let limits = &machine.limits;
    let near = nodes.filter(|node| node.cpus.intersects(&limits.cpus));
    let local: NodeSet = near.map(|node| node.id).collect();
    let closed = local.difference(&limits.nodes);
    if !closed.is_empty() {
        let cpus = machine.nodes.iter().filter(|node| closed.contains(node.id));
        let cpus = cpus.fold(CpuSet::new(), |all, node| all.union(&node.cpus));
        let seen = format!(
            "CPU {} may be used, but not the memory of node {closed}: only that of node {}",
            cpus.intersection(&limits.cpus),
            limits.nodes
        );
        return Seen::warning(seen, widen(at, &limits.nodes.union(&closed)));
    }
    let policy = match numa_maps::own_policy(at.root) {
        Known::Is(policy) => policy,
        Known::Missing(_) => return Seen::good("the allowed CPUs have local memory"),
    };
    let (kind, nodes) = policy.split_once(':').unwrap_or((&policy, ""));
    let Some(nodes) = NodeSet::parse_list(nodes).ok().filter(|nodes| !nodes.is_empty()) else {
        return Seen::good(format!("policy {kind}, and the allowed CPUs have local memory"));
    };
    if nodes.intersection(&local).is_empty() {
        let seen = format!(
            "inherited policy {policy}: memory of node {nodes}, but CPU {} of node {local}",
            limits.cpus
        );
        return Seen::warning(seen, start_again());
    }
    Seen::fixable(format!("inherited policy {policy}"), start_again())
}

fn start_again() -> Fix {
    let remedy = "start hopcost without numactl, from a shell that has no memory policy";
    Fix::without_undo(remedy, "a policy ends with its process")
}

fn widen(at: &Surroundings<'_>, nodes: &NodeSet) -> Fix {
    let machine = at.machine;
    let container = machine.virtualization.container.get().map(String::as_str);
    let set = |nodes: &NodeSet| match (container, machine.limits.cgroup.get()) {
        (Some("docker"), _) => format!("docker update --cpuset-mems {nodes} CONTAINER"),
        (None, Some(group)) => format!("echo {nodes} > /sys/fs/cgroup{group}/cpuset.mems"),
        _ => format!("set cpuset.mems of this container to {nodes}"),
    };
    Fix::new(set(nodes), set(&machine.limits.nodes))
}

#[cfg(test)]
mod tests {
    use hopcost_core::{Finding, Severity};

    use super::super::tests::{meminfo, quiet, say};
    use super::*;

    fn with(cpus: &str, mems: &str, more: &str) -> Finding {
        let memory = format!("{}{}", meminfo(0, 1 << 20), meminfo(1, 1 << 20));
        let status =
            format!("> proc/self/status\nCpus_allowed_list:\t{cpus}\nMems_allowed_list:\t{mems}\n");
        say(&CHECK, &format!("{memory}{status}{more}"), quiet())
    }

    #[test]
    fn cpus_whose_own_memory_is_closed_are_an_alarm() {
        assert_eq!(with("0-3", "0-1", "").severity, Severity::Good);
        let docker = "> .dockerenv\n\n";
        let finding = with("0-1", "1", docker);
        assert_eq!(finding.severity, Severity::Warning, "{finding:?}");
        assert!(finding.seen.contains("CPU 0-1") && finding.seen.contains("of node 0: only"));
        assert_eq!(finding.remedy.unwrap(), "docker update --cpuset-mems 0-1 CONTAINER");
        assert_eq!(finding.undo.unwrap(), "docker update --cpuset-mems 1 CONTAINER");
        let group =
            "> proc/mounts\ncg /sys/fs/cgroup cgroup2 rw 0 0\n> proc/self/cgroup\n0::/a.slice\n";
        let finding = with("0-3", "0", group);
        assert!(finding.seen.contains("CPU 2-3"), "{finding:?}");
        assert_eq!(finding.undo.unwrap(), "echo 0 > /sys/fs/cgroup/a.slice/cpuset.mems");
        assert_eq!(with("0-1", "0", "").severity, Severity::Good);
    }

    #[test]
    fn an_inherited_policy_is_an_alarm_if_all_it_gives_is_remote() {
        let policy = |words: &str| {
            let maps = format!("> proc/self/numa_maps\n1000 {words} file=/a\n2000 {words}\n");
            with("0-1", "0-1", &maps)
        };
        for (words, severity) in [
            ("default", Severity::Good),
            ("local", Severity::Good),
            ("bind:0", Severity::Note),
            ("interleave:0-1", Severity::Note),
            ("bind:1", Severity::Warning),
            ("bind=static:1", Severity::Warning),
            ("prefer:1", Severity::Warning),
            ("prefer (many):1", Severity::Warning),
        ] {
            let finding = policy(words);
            assert_eq!(finding.severity, severity, "{words}: {finding:?}");
            let is_named = finding.seen.contains(&format!("policy {words}"));
            assert!(is_named, "{words}: {finding:?}");
        }
    }
}
