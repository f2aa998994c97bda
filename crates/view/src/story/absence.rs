//! Advice for experiments that do not apply here, by the missing part.

const OTHER_TARGET: &str =
    "Take a target that can do this, with --target: 'hopcost list --all' says which can.";

/// Part of a reason and its advice; the first match counts. Reasons come from the planner, distance
/// classes and targets, and a test of the command line covers them all.
const ADVICE: [(&str, &str); 23] = [
    (
        "distance is planted",
        "Leave out --target, or emulate nodes at no distance: --emulate nodes=2.",
    ),
    ("--allow-server-changes", "Allow it to change the server, with --allow-server-changes."),
    ("take workload", OTHER_TARGET),
    ("one by one", OTHER_TARGET),
    ("scripts are for", OTHER_TARGET),
    ("a server that runs", OTHER_TARGET),
    (
        "memory node",
        "Run it on a machine with more than one memory node, or try the method on an emulated one with \
         --emulate.",
    ),
    (
        "no core has two",
        "Switch SMT on in the firmware or in the settings of the cloud instance, and allow both threads of a \
         core; or try the method with --emulate nodes=1,siblings=1.2.",
    ),
    (
        "no node has two last-level caches",
        "Run it on a machine whose nodes have several last-level caches, as AMD’s EPYC has.",
    ),
    (
        "last-level cache",
        "Allow it two cores or more under one last-level cache, or run it on a machine that has them.",
    ),
    (
        "no socket has two nodes",
        "Split the sockets into nodes in the firmware (NPS on AMD, sub-NUMA clustering on Intel), or run it \
         where they are.",
    ),
    ("one usable socket", "Run it on a machine with two sockets, and allow it CPUs of both."),
    (
        "no socket farther",
        "Run it on a machine with four sockets or more, of which some are farther from each other.",
    ),
    (
        "every usable node with memory has CPUs",
        "Run it on a machine with memory that has no CPUs of its own, as CXL adds it.",
    ),
    ("off-line CPU", "Bring the CPUs that it needs on-line, or leave them out with --cpus."),
    ("of memory at", "Ask for less data with --scale, or run it where more memory is available."),
    (
        "is emulated",
        "Leave out --emulate, or take --target sqlite, where each page looked up is counted.",
    ),
    ("the level '", OTHER_TARGET),
    ("may be used", "Allow it more CPUs, or run it on a machine with more of them."),
    (
        "it has too few",
        "Allow it more cores of each node, or run it on a machine with more of them.",
    ),
    (
        "usable CPU",
        "Allow it CPUs of each node that it needs: the limits of its container or control group leave it none.",
    ),
    ("CPU is usable", "Allow it CPUs: the limits of its container or control group leave it none."),
    ("memory", "Allow it memory of the nodes that it needs, or run it where they have some."),
];

pub fn advice(reason: &str) -> Option<&'static str> {
    ADVICE.iter().find(|(words, _)| reason.contains(words)).map(|(_, advice)| *advice)
}
