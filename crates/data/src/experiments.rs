//! The experiments that come with hopcost, from the files in `experiments/`.

pub const EXPERIMENTS: &[(&str, &str)] = files![
    "experiments":
    "access-cost",
    "audit-cost",
    "audit-cost-light",
    "bounded-max",
    "bulk-load",
    "cache-distance",
    "client-distance",
    "context-switches",
    "instances",
    "log-distance",
    "log-distance-disk",
    "memory-insert",
    "memory-insert-nodes",
    "memory-insert-pages",
    "memory-insert-rivals",
    "memory-policy",
    "parallel-affinity",
    "placebo",
    "remote-memory",
    "server-score",
    "smt-oltp",
    "smt-reporting",
    "smt-stability",
];
