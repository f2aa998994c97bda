//! Recipes of what to change, from the files in `advice/`.

pub const RECIPES: &[(&str, &str)] = files![
    "advice":
    "audit-less",
    "bind-parallel-workers",
    "bind-to-node",
    "bind-to-node-now",
    "bound-the-query",
    "closer-client",
    "commit-later",
    "distrust-this-host",
    "fewer-parallel-workers",
    "fewer-sessions",
    "group-commit",
    "halt-polling",
    "huge-pages",
    "idle-states",
    "instance-per-node",
    "interleave",
    "kubernetes-single-node",
    "leave-as-is",
    "load-jobs",
    "log-threads-near",
    "log-threads-off",
    "nodes-in-firmware",
    "numa-balancing-off",
    "share-one-cache",
    "smt-keep",
    "smt-off",
    "split-hot-table",
    "trace-less",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_registered() {
        let names: Vec<&str> = RECIPES.iter().map(|(name, _)| *name).collect();
        assert_eq!(crate::written::names_in("advice"), names);
    }
}
