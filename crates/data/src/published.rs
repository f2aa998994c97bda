//! Published figures of other authors, from the files in `published/`.

use std::sync::LazyLock;

use hopcost_core::Published;

const FILES: &[(&str, &str)] = files![
    "published":
    "adkin-2015-log-distance",
    "anandtech-2019-rome",
    "core-to-core-6242",
    "core-to-core-7r13",
    "core-to-core-8375c",
    "shea-2011-audit-synchronous",
    "shea-2012-audit-heavy",
    "shea-2012-audit-light",
    "shea-2012-bandwidth",
    "shea-2012-context-switches",
    "shea-2012-latency",
    "shea-2012-parallel-affinity",
    "shea-2012-remote-memory",
    "shea-2012-smt-oltp",
    "shea-2012-smt-reporting",
    "shea-2012-smt-stability",
    "shea-server-score",
];

static ALL: LazyLock<Vec<Published>> = LazyLock::new(|| {
    let parse = |(_, text): &(&str, &str)| toml::from_str(text).ok();
    FILES.iter().filter_map(parse).collect()
});

pub fn all() -> impl Iterator<Item = &'static Published> {
    ALL.iter()
}

pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// Those comparable with a probe or an experiment of this name.
pub fn beside(name: &str) -> Vec<&'static Published> {
    ALL.iter().filter(|published| published.beside.iter().any(|beside| beside == name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_well_formed_and_sourced() {
        for (name, text) in FILES {
            let published: Published =
                toml::from_str(text).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(published.source.len() > 30 && !published.figures.is_empty(), "{name}");
        }
    }

    #[test]
    fn every_file_is_registered() {
        let names = crate::written::names_in("published");
        assert_eq!(names, FILES.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    }
}
