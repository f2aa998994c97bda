//! Memory of a process by node and mapping, as the kernel counts it.
//!
//! Method: `/proc/PID/numa_maps` gives each mapping's policy and touched pages by node;
//! `/proc/PID/maps` shows which mappings are shared, and of what.
//!
//! Limits: needs the right to trace the process, and a kernel with NUMA. Swapped-out pages are not
//! counted. File pages that the process made its own by writing count as the file's.

use std::collections::BTreeMap;

use hopcost_core::{BytesByNode, Code, Known, NodeId};

use super::locate;
use crate::Root;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// In the kernel's words: `default`, `bind:0`, `interleave:0-1`.
    pub policy: String,
    pub of: Owner,
    pub bytes: u64,
    /// Only what the process has touched.
    pub by_node: BytesByNode,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    Private,
    Shared(String),
    File,
}

pub fn read(root: &Root, pid: u32) -> Known<Vec<Mapping>> {
    let file = |name: &str| root.text(&format!("proc/{pid}/{name}"));
    let mappings =
        file("maps").and_then(|maps| file("numa_maps").map(|counts| parse(&maps, &counts)));
    mappings.and_then(|mappings| {
        if mappings.is_empty() {
            return Known::missing(Code::Ended, "it shows none of its memory: it has ended");
        }
        Known::Is(mappings)
    })
}

/// The policy of this process, which most of its mappings have. It is inherited across `exec`.
pub fn own_policy(root: &Root) -> Known<String> {
    root.text("proc/self/numa_maps").and_then(|counts| {
        let mut policies: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, rest) in counts.lines().filter_map(|line| line.split_once(' ')) {
            *policies.entry(policy(rest).0).or_default() += 1;
        }
        let most = policies.into_iter().max_by_key(|(_, mappings)| *mappings);
        let most = most.map(|(policy, _)| policy.to_owned());
        Known::found(most, Code::NotTold, || "/proc/self/numa_maps shows no memory")
    })
}

fn parse(maps: &str, counts: &str) -> Vec<Mapping> {
    let areas: BTreeMap<usize, Area> = maps.lines().filter_map(Area::parse).collect();
    let mapping = |line: &str| {
        let (start, rest) = line.split_once(' ')?;
        // A mapping that appeared between the two reads is skipped.
        let area = areas.get(&usize::from_str_radix(start, 16).ok()?)?;
        let (policy, counts) = policy(rest);
        Some(Mapping {
            policy: policy.to_owned(),
            of: area.of.clone(),
            bytes: area.bytes,
            by_node: by_node(counts),
        })
    };
    counts.lines().filter_map(mapping).collect()
}

struct Area {
    of: Owner,
    bytes: u64,
}

impl Area {
    /// `7f00-7fff rw-s 00000000 00:01 1025    /dev/zero (deleted)`
    fn parse(line: &str) -> Option<(usize, Self)> {
        let mut words = line.split_whitespace();
        let (start, end) = locate::mapping(words.next()?)?;
        let is_shared = words.next()?.ends_with('s');
        let segment: Vec<&str> = words.by_ref().skip(1).take(2).collect();
        let of = match (words.next().unwrap_or_default(), is_shared) {
            (name, true) if is_memory(name) => Owner::Shared(segment.join(" ")),
            (name, false) if name.is_empty() || is_memory(name) => Owner::Private,
            _ => Owner::File,
        };
        Some((start, Self { of, bytes: (end - start) as u64 }))
    }
}

/// `[heap]` and `[anon_shmem:…]` are.
fn is_memory(name: &str) -> bool {
    const NAMES: [&str; 7] =
        ["[", "/dev/zero", "/SYSV", "/dev/shm/", "/memfd:", "/anon_hugepage", "/dev/hugepages/"];
    NAMES.iter().any(|begin| name.starts_with(begin))
}

/// The policy and the rest. Two of the kernel's names are two words.
fn policy(rest: &str) -> (&str, &str) {
    let is_two = ["prefer (many)", "weighted interleave"].iter().any(|two| rest.starts_with(two));
    let end = rest.match_indices(' ').nth(usize::from(is_two)).map_or(rest.len(), |(at, _)| at);
    rest.split_at(end)
}

/// `N0=12 N1=3 kernelpagesize_kB=4`
fn by_node(counts: &str) -> BytesByNode {
    let pairs = || counts.split_whitespace().filter_map(|word| word.split_once('='));
    let page_kib = pairs().find(|(key, _)| *key == "kernelpagesize_kB");
    // Kernels before 3.13 omit it.
    let page_kib: u64 = page_kib.and_then(|(_, kib)| kib.parse().ok()).unwrap_or(4);
    let on_node = |(key, pages): (&str, &str)| {
        let node = NodeId(key.strip_prefix('N')?.parse().ok()?);
        Some((node, pages.parse::<u64>().ok()?.saturating_mul(page_kib).saturating_mul(1024)))
    };
    pairs().filter_map(on_node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d0c0000000-55d0c00d1000 r--p 00000000 08:01 1048577  /usr/lib/postgresql/15/bin/postgres
55d0c1000000-55d0c1100000 rw-p 00000000 00:00 0        [heap]
7f10a0000000-7f11a0000000 rw-s 00000000 00:01 1025     /dev/zero (deleted)
7f11b0000000-7f11f0000000 rw-s 00000000 00:0f 77       /anon_hugepage (deleted)
7f1200000000-7f1200001000 rw-s 00000000 00:18 2        /dev/shm/PostgreSQL.2093110494
7f1200100000-7f1200101000 rw-s 00000000 08:01 99       /var/lib/data
7f1200200000-7f1200300000 rw-p 00000000 00:00 0
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]
";
    const COUNTS: &str = "\
55d0c0000000 default file=/usr/lib/postgresql/15/bin/postgres mapped=90 mapmax=9 N0=90 kernelpagesize_kB=4
55d0c1000000 bind:1 heap anon=5 dirty=5 active=0 N1=5 kernelpagesize_kB=4
7f10a0000000 interleave:0-1 file=/dev/zero\\040(deleted) dirty=300 mapmax=9 N0=200 N1=100 kernelpagesize_kB=4
7f11b0000000 prefer (many):0-1 file=/anon_hugepage\\040(deleted) huge dirty=3 N0=1 N1=2 kernelpagesize_kB=2048
7f1200000000 default file=/dev/shm/PostgreSQL.2093110494 dirty=1 N0=1 kernelpagesize_kB=4
7f1200100000 default file=/var/lib/data mapped=1 N0=1 kernelpagesize_kB=4
7f1200200000 weighted interleave:0-3 anon=2 dirty=2 N3=2 kernelpagesize_kB=4
7fff00000000 default stack anon=2 dirty=2 N0=2 kernelpagesize_kB=4
";

    fn on(nodes: &[(u32, u64)]) -> BytesByNode {
        nodes.iter().map(|(node, bytes)| (NodeId(*node), *bytes)).collect()
    }

    #[test]
    fn mappings_have_a_policy_an_owner_and_bytes_by_node() {
        let shared = |segment: &str| Owner::Shared(segment.to_owned());
        let expected = [
            ("default", Owner::File, on(&[(0, 90 << 12)])),
            ("bind:1", Owner::Private, on(&[(1, 5 << 12)])),
            ("interleave:0-1", shared("00:01 1025"), on(&[(0, 200 << 12), (1, 100 << 12)])),
            ("prefer (many):0-1", shared("00:0f 77"), on(&[(0, 1 << 21), (1, 2 << 21)])),
            ("default", shared("00:18 2"), on(&[(0, 1 << 12)])),
            ("default", Owner::File, on(&[(0, 1 << 12)])),
            ("weighted interleave:0-3", Owner::Private, on(&[(3, 2 << 12)])),
        ];
        let mappings = parse(MAPS, COUNTS);
        let found = mappings.iter().map(|m| (m.policy.as_str(), m.of.clone(), m.by_node.clone()));
        assert_eq!(found.collect::<Vec<_>>(), expected);
        assert_eq!(mappings[2].bytes, 4 << 30);
    }

    #[test]
    fn a_line_of_old_kernels_and_a_bare_one_are_read() {
        assert_eq!(policy("default"), ("default", ""));
        assert_eq!(by_node(" heap anon=3 N0=3"), on(&[(0, 3 << 12)]));
        assert_eq!(policy("bind=static:0,2 anon=1"), ("bind=static:0,2", " anon=1"));
    }

    #[test]
    fn what_is_closed_or_gone_is_missing() {
        let root = |files: &str| {
            Root::from_text(&format!("hopcost machine recording, version 1\n{files}")).unwrap()
        };
        let read = read(&root("> proc/7/maps\n"), 7);
        assert_eq!(read, Known::missing(Code::NotTold, "there is no /proc/7/numa_maps"));
        let read = super::read(&root("> proc/7/maps\n> proc/7/numa_maps\n"), 7);
        assert_eq!(read.reason().unwrap().code(), Code::Ended, "{read:?}");
    }
}
