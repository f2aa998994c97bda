//! What this process may use: affinity, cpuset, control group, ulimits.

use hopcost_core::{Code, CpuSet, Id, IdSet, Known, Limit, Limits, NodeId, NodeSet};

use crate::root::Root;
use crate::text::field;

/// In a recording, those of the process that recorded.
pub fn read(root: &Root, online: &CpuSet, notes: &mut Vec<String>) -> Limits {
    let groups = Groups::read(root);
    let status = root.text("proc/self/status");
    let told = |key: &str| {
        status.as_ref().and_then(|text| {
            let value = field(text, key).map(str::to_owned);
            Known::found(value, Code::NotTold, || "not in /proc/self/status")
        })
    };
    let cpus = allowed(&told("Cpus_allowed_list"), || groups.cpuset(root, "cpus"));
    let nodes = allowed::<NodeId>(&told("Mems_allowed_list"), || groups.cpuset(root, "mems"));
    if let Known::Missing(reason) = &cpus {
        notes.push(format!(
            "which CPUs are allowed is unknown ({reason}); all on-line ones are taken"
        ));
    }
    Limits {
        cpus: cpus.ok().map_or(online.clone(), |cpus| cpus.intersection(online)),
        nodes: nodes.ok().unwrap_or_else(|| all_nodes(root)),
        cgroup: groups.path(),
        cpu_quota: groups.cpu_quota(root),
        memory_bytes: groups.memory_limit(root),
        memory_used_bytes: groups.memory_used(root),
        locked_bytes: ulimit(root, "Max locked memory"),
        open_files: ulimit(root, "Max open files"),
    }
}

fn allowed<I: Id>(
    told: &Known<String>,
    cpuset: impl FnOnce() -> Known<IdSet<I>>,
) -> Known<IdSet<I>> {
    match told.get().and_then(|list| IdSet::parse_list(list).ok()) {
        Some(set) => Known::Is(set),
        None => cpuset(),
    }
}

fn all_nodes(root: &Root) -> NodeSet {
    let ids = root.ids("sys/devices/system/node", "node").ok();
    ids.unwrap_or_else(|| vec![NodeId(0)]).into_iter().collect()
}

fn ulimit(root: &Root, name: &str) -> Known<Limit<u64>> {
    root.text("proc/self/limits").and_then(|text| {
        let soft = text
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .and_then(|rest| rest.split_whitespace().next().map(str::to_owned));
        match soft.as_deref() {
            Some("unlimited") => Known::Is(Limit::Unlimited),
            Some(number) => {
                let limit = number.parse().ok().map(Limit::At);
                Known::found(limit, Code::Malformed, || "/proc/self/limits is odd")
            }
            None => Known::missing(Code::NotTold, format!("/proc/self/limits has no '{name}'")),
        }
    })
}

/// `PATH_MAX` of the kernel.
const LONGEST_PATH: usize = 4096;

/// Our control groups: one directory for version 2, one per controller for version 1, the cpuset
/// file system for kernels before both.
#[derive(Default)]
struct Groups {
    mounts: Vec<Mount>,
}

struct Mount {
    /// Of a version 1 mount; empty for version 2.
    controllers: Vec<String>,
    point: String,
    path: String,
    /// Of file names: `cpuset.`, or nothing on old file systems.
    prefix: &'static str,
}

impl Groups {
    fn read(root: &Root) -> Self {
        let ours = root.text("proc/self/cgroup").ok().unwrap_or_default();
        let cpuset = root.text("proc/self/cpuset").ok();
        let cpuset = cpuset.filter(|path| path.len() <= LONGEST_PATH).unwrap_or_default();
        // Lines are ID:CONTROLLERS:PATH; version 2 has no controllers.
        let path_of = |controller: &str| {
            ours.lines().find_map(|line| {
                let mut parts = line.splitn(3, ':').skip(1);
                let names = parts.next()?;
                let path = parts.next()?;
                let is_ours = names.split(',').any(|name| name == controller);
                (is_ours && path.len() <= LONGEST_PATH).then(|| path.to_owned())
            })
        };
        let mounts = root.text("proc/mounts").ok().unwrap_or_default();
        let mount = |line: &str| {
            let mut words = line.split_whitespace().skip(1);
            let point = words.next()?.trim_start_matches('/').to_owned();
            let (kind, options) = (words.next()?, words.next()?);
            let options: Vec<String> = options.split(',').map(str::to_owned).collect();
            let (controllers, path, prefix) = match kind {
                "cgroup2" => (Vec::new(), path_of("")?, "cpuset."),
                "cpuset" => (vec!["cpuset".to_owned()], cpuset.clone(), ""),
                "cgroup" => {
                    let noprefix = options.iter().any(|option| option == "noprefix");
                    let path = options.iter().find_map(|c| path_of(c)).unwrap_or(cpuset.clone());
                    (options, path, if noprefix { "" } else { "cpuset." })
                }
                _ => return None,
            };
            Some(Mount { controllers, point, path, prefix })
        };
        Self { mounts: mounts.lines().filter_map(mount).collect() }
    }

    /// The controller's own mount of version 1, or version 2's.
    fn carrying(&self, controller: &str) -> Option<&Mount> {
        let own = self.mounts.iter().find(|m| m.controllers.iter().any(|c| c == controller));
        own.or_else(|| self.mounts.iter().find(|m| m.controllers.is_empty()))
    }

    fn path(&self) -> Known<String> {
        let mount = self.carrying("memory").or_else(|| self.mounts.first());
        let path = mount.map(|mount| mount.path.clone());
        Known::found(path, Code::NotApplicable, || "no control group is mounted")
    }

    fn cpuset<I: Id>(&self, root: &Root, what: &str) -> Known<IdSet<I>> {
        let Some(mount) = self.carrying("cpuset") else {
            return Known::missing(Code::NotApplicable, "no cpuset is mounted");
        };
        let file = |name: String| root.list_of(&format!("{}/{name}", mount.dir(&mount.path)));
        let effective = || file(format!("{}{what}.effective", mount.prefix));
        effective().or_else(|_| file(format!("{}{what}", mount.prefix)))
    }

    fn cpu_quota(&self, root: &Root) -> Known<Limit<f64>> {
        self.tightest("cpu", |mount, dir| {
            let [quota, period]: [u64; 2] = if mount.controllers.is_empty() {
                let text = root.text(&format!("{dir}/cpu.max")).ok()?;
                let (quota, period) = text.split_once(' ')?;
                [quota.parse().ok()?, period.parse().ok()?]
            } else {
                // -1 means no quota.
                [
                    root.number(&format!("{dir}/cpu.cfs_quota_us")).ok()?,
                    root.number(&format!("{dir}/cpu.cfs_period_us")).ok()?,
                ]
            };
            (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
        })
    }

    fn memory_limit(&self, root: &Root) -> Known<Limit<u64>> {
        self.tightest("memory", |mount, dir| {
            let file =
                if mount.controllers.is_empty() { "memory.max" } else { "memory.limit_in_bytes" };
            let bytes: u64 = root.number(&format!("{dir}/{file}")).ok()?;
            // Version 1 writes "unlimited" as the largest multiple of a page.
            (bytes < 1 << 62).then_some(bytes)
        })
    }

    fn memory_used(&self, root: &Root) -> Known<u64> {
        let Some(mount) = self.carrying("memory") else {
            return Known::missing(Code::NotApplicable, "no memory control group is mounted");
        };
        let v2 = mount.controllers.is_empty();
        let file = if v2 { "memory.current" } else { "memory.usage_in_bytes" };
        let dir = mount.dir(&mount.path);
        let charged: Known<u64> = root.number(&format!("{dir}/{file}"));
        // Page cache is charged too, but is reclaimable.
        let stat = root.text(&format!("{dir}/memory.stat")).ok().unwrap_or_default();
        let cache = stat.lines().find_map(|line| line.strip_prefix("inactive_file "));
        let cache = cache.and_then(|bytes| bytes.trim().parse().ok()).unwrap_or(0);
        charged.map(|bytes| bytes.saturating_sub(cache))
    }

    /// The smallest bound of our group and those above it.
    fn tightest<T: PartialOrd + Copy>(
        &self,
        controller: &str,
        bound: impl Fn(&Mount, &str) -> Option<T>,
    ) -> Known<Limit<T>> {
        let Some(mount) = self.carrying(controller) else {
            return Known::missing(
                Code::NotApplicable,
                format!("no {controller} control group is mounted"),
            );
        };
        let mut tightest: Option<T> = None;
        for group in mount.with_ancestors() {
            let here = bound(mount, &mount.dir(&group));
            tightest = match (tightest, here) {
                (Some(a), Some(b)) => Some(if b < a { b } else { a }),
                (a, b) => a.or(b),
            };
        }
        Known::Is(tightest.map_or(Limit::Unlimited, Limit::At))
    }
}

impl Mount {
    fn dir(&self, group: &str) -> String {
        format!("{}{}", self.point, group.trim_end_matches('/'))
    }

    /// The mount's root last. In a container the path may be the host's; then only the root exists
    /// here, and it is ours.
    fn with_ancestors(&self) -> Vec<String> {
        let mut groups = vec![self.path.trim_end_matches('/').to_owned()];
        while let Some((parent, _)) = groups[groups.len() - 1].rsplit_once('/') {
            groups.push(parent.to_owned());
        }
        groups
    }
}
