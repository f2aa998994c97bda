//! Memory by node: private to a process, or shared and counted once.

use std::collections::BTreeMap;

use hopcost_core::{BytesByNode, Code, Known, Machine, Reason, SharedBytes};
use hopcost_sys::memory::numa_maps::{self, Mapping, Owner};
use hopcost_sys::{Root, is_root, standing};

#[derive(Debug)]
pub struct Memory {
    /// The policy of most of its mappings.
    pub policy: Known<String>,
    pub private: Known<BytesByNode>,
    shared: Known<BTreeMap<String, SharedBytes>>,
}

/// The key for all segments if they cannot be told apart.
const SUM: &str = "";

impl Memory {
    pub fn read(root: &Root, machine: &Machine, pid: u32) -> Self {
        match numa_maps::read(root, pid) {
            Known::Is(mappings) => Self::of(&mappings),
            Known::Missing(reason) => {
                let reason = impersonal(&reason, pid, is_root());
                Self::on_only_node(root, machine, pid, &reason)
                    .unwrap_or_else(|| Self::missing(&reason))
            }
        }
    }

    pub fn missing(reason: &Reason) -> Self {
        Self {
            policy: Known::Missing(reason.clone()),
            private: Known::Missing(reason.clone()),
            shared: Known::Missing(reason.clone()),
        }
    }

    fn of(mappings: &[Mapping]) -> Self {
        let mut policies: BTreeMap<&str, usize> = BTreeMap::new();
        let mut private = BytesByNode::new();
        let mut shared: BTreeMap<String, SharedBytes> = BTreeMap::new();
        for mapping in mappings {
            *policies.entry(&mapping.policy).or_default() += 1;
            match &mapping.of {
                Owner::Private => add(&mut private, &mapping.by_node),
                Owner::Shared(segment) => {
                    let segment = shared.entry(segment.clone()).or_insert_with(nothing);
                    segment.bytes =
                        segment.bytes.clone().map(|bytes| bytes.saturating_add(mapping.bytes));
                    add(&mut segment.by_node, &mapping.by_node);
                }
                Owner::File => {}
            }
        }
        let most = policies.into_iter().max_by_key(|(_, mappings)| *mappings);
        let policy = most.map(|(policy, _)| policy.to_owned());
        Self {
            policy: Known::found(policy, Code::NotApplicable, || "it has no memory"),
            private: Known::Is(private),
            shared: Known::Is(shared),
        }
    }

    /// With one node, any user can read how much of a process's memory is on it.
    fn on_only_node(root: &Root, machine: &Machine, pid: u32, reason: &Reason) -> Option<Self> {
        let [node] = &machine.nodes[..] else { return None };
        let [own, shared] = standing::resident(root, pid).ok()?;
        let on_it = |bytes| BytesByNode::from([(node.id, bytes)]);
        let bytes = Known::Missing(reason.clone());
        let segment = SharedBytes { bytes, by_node: on_it(shared) };
        Some(Self {
            policy: Known::Missing(reason.clone()),
            private: Known::Is(on_it(own)),
            shared: Known::Is(BTreeMap::from([(SUM.to_owned(), segment)])),
        })
    }

    pub fn shared_by_node(&self) -> Known<BytesByNode> {
        self.shared.as_ref().map(|segments| {
            let mut all = BytesByNode::new();
            for segment in segments.values() {
                add(&mut all, &segment.by_node);
            }
            all
        })
    }
}

/// Each segment once, from the process that has touched most of it. Missing if no process shows
/// any.
pub fn shared_once(memories: &[Memory]) -> Known<SharedBytes> {
    let touched =
        |segment: &SharedBytes| segment.by_node.values().copied().fold(0, u64::saturating_add);
    let mut segments: BTreeMap<&str, &SharedBytes> = BTreeMap::new();
    let shown = memories.iter().filter_map(|memory| memory.shared.get());
    for (name, segment) in shown.flatten() {
        let most = segments.entry(name.as_str()).or_insert(segment);
        if touched(segment) > touched(most) {
            *most = segment;
        }
    }
    if segments.len() > 1 {
        segments.remove(SUM);
    }
    let mut sum = nothing();
    for segment in segments.values() {
        sum.bytes =
            sum.bytes.and_then(|sum| segment.bytes.clone().map(|bytes| bytes.saturating_add(sum)));
        add(&mut sum.by_node, &segment.by_node);
    }
    let is_shown = memories.iter().any(|memory| memory.shared.get().is_some());
    let why = || memories.first().map(|memory| memory.shared.as_ref().map(|_| nothing()));
    if is_shown {
        Known::Is(sum)
    } else {
        why().unwrap_or(Known::missing(Code::NotApplicable, "it has no process"))
    }
}

fn nothing() -> SharedBytes {
    SharedBytes { bytes: Known::Is(0), by_node: BytesByNode::new() }
}

fn add(sum: &mut BytesByNode, more: &BytesByNode) {
    for (node, bytes) in more {
        let sum = sum.entry(*node).or_default();
        *sum = sum.saturating_add(*bytes);
    }
}

fn impersonal(reason: &Reason, pid: u32, as_root: bool) -> Reason {
    let words = reason.as_str().replace(&format!("/proc/{pid}/"), "/proc/PID/");
    if words.ends_with("may not be read by this user") && !as_root {
        return Code::Unreadable
            .because(format!("{words}: look as root, or as the server's own user"));
    }
    if words == "there is no /proc/PID/numa_maps" {
        return Code::NotTold
            .because(format!("{words}: this kernel keeps no account of memory by node"));
    }
    Code::Unreadable.because(words)
}

#[cfg(test)]
mod tests {
    use hopcost_core::NodeId;

    use super::*;

    fn on(nodes: &[(u32, u64)]) -> BytesByNode {
        nodes.iter().map(|(node, bytes)| (NodeId(*node), *bytes)).collect()
    }

    fn mapping(policy: &str, of: Owner, nodes: &[(u32, u64)]) -> Mapping {
        Mapping { policy: policy.into(), of, bytes: 1 << 20, by_node: on(nodes) }
    }

    fn shared(segment: &str) -> Owner {
        Owner::Shared(segment.to_owned())
    }

    #[test]
    fn the_policy_is_that_of_most_mappings_and_files_are_nobodys() {
        let memory = Memory::of(&[
            mapping("interleave:0-1", shared("1"), &[(0, 50), (1, 50)]),
            mapping("default", Owner::Private, &[(0, 3)]),
            mapping("default", Owner::Private, &[(0, 4), (1, 1)]),
            mapping("default", Owner::File, &[(0, 900)]),
        ]);
        assert_eq!(memory.policy, Known::Is("default".into()));
        assert_eq!(memory.private, Known::Is(on(&[(0, 7), (1, 1)])));
        assert_eq!(memory.shared_by_node(), Known::Is(on(&[(0, 50), (1, 50)])));
    }

    #[test]
    fn shared_memory_counts_once_as_whoever_touched_most_shows_it() {
        let of = |mappings: &[Mapping]| Memory::of(mappings);
        let memories = [
            of(&[mapping("default", shared("1"), &[(0, 10)])]),
            of(&[
                mapping("default", shared("1"), &[(0, 20), (1, 30)]),
                mapping("default", shared("2"), &[(1, 5)]),
            ]),
            Memory::missing(&Code::Unreadable.because("closed")),
            of(&[mapping("default", shared("2"), &[(1, 4)])]),
        ];
        let expected = SharedBytes { bytes: Known::Is(2 << 20), by_node: on(&[(0, 20), (1, 35)]) };
        assert_eq!(shared_once(&memories), Known::Is(expected));
        assert_eq!(shared_once(&memories[2..3]), Known::missing(Code::Unreadable, "closed"));
        assert_eq!(shared_once(&[]), Known::missing(Code::NotApplicable, "it has no process"));
    }

    #[test]
    fn reasons_are_the_same_of_every_process_and_say_what_helps() {
        for (reason, expected) in [
            (
                "/proc/7/maps may not be read by this user",
                "/proc/PID/maps may not be read by this \
              user: look as root, or as the server's own user",
            ),
            (
                "there is no /proc/7/numa_maps",
                "there is no /proc/PID/numa_maps: this kernel keeps \
              no account of memory by node",
            ),
            ("it has ended", "it has ended"),
        ] {
            assert_eq!(impersonal(&Code::Unreadable.because(reason), 7, false).as_str(), expected);
        }
        let closed = "/proc/PID/maps may not be read by this user";
        assert_eq!(impersonal(&Code::Unreadable.because(closed), 7, true).as_str(), closed);
    }
}
