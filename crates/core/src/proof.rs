//! Proofs of placement, read back from the kernel or the database.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::code::Code;
use crate::ids::NodeId;
use crate::known::{Known, Reason};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PageSize {
    /// The machine's base page, mostly 4 KiB.
    #[serde(rename = "base")]
    Base,
    /// 2 MiB.
    #[serde(rename = "2M transparent")]
    Transparent,
    #[serde(rename = "2M")]
    Huge2M,
    #[serde(rename = "1G")]
    Huge1G,
}

impl PageSize {
    /// In base pages of 4 KiB.
    const fn base_pages(self) -> u64 {
        match self {
            Self::Base => 1,
            Self::Transparent | Self::Huge2M => 512,
            Self::Huge1G => 512 * 512,
        }
    }
}

impl fmt::Display for PageSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Base => "base pages",
            Self::Transparent => "2 MiB pages (transparent)",
            Self::Huge2M => "2 MiB pages",
            Self::Huge1G => "1 GiB pages",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProofMethod {
    MovePages,
    NumaMaps,
    /// `pg_buffercache_numa`: the server's view of its shared buffers.
    #[serde(rename = "pg_buffercache_numa")]
    BufferView,
    /// `sys.dm_os_buffer_descriptors`: SQL Server's view of its buffers.
    #[serde(rename = "dm_os_buffer_descriptors")]
    BufferDescriptors,
}

impl ProofMethod {
    pub const fn name(self) -> &'static str {
        match self {
            Self::MovePages => "move_pages",
            Self::NumaMaps => "numa_maps",
            Self::BufferView => "pg_buffercache_numa",
            Self::BufferDescriptors => "dm_os_buffer_descriptors",
        }
    }
}

impl fmt::Display for ProofMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Locality {
    pub asked: NodeId,
    /// All nodes of an even spread, if one was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spread: Vec<NodeId>,
    /// Bound by policy; otherwise left to first touch because binding is forbidden.
    pub bound: bool,
    pub pages_by_node: BTreeMap<NodeId, u64>,
    pub pages_unknown: u64,
    pub method: ProofMethod,
    pub page_size: PageSize,
    pub page_size_share: f64,
}

impl Locality {
    /// Minimum share of pages in place.
    pub const REQUIRED: f64 = 0.99;
    /// The same for a spread, which may be of huge pages.
    const REQUIRED_OF_SPREAD: f64 = 0.95;

    pub fn required(&self) -> f64 {
        if self.spread.is_empty() { Self::REQUIRED } else { Self::REQUIRED_OF_SPREAD }
    }

    pub fn pages(&self) -> u64 {
        self.pages_by_node.values().sum::<u64>() + self.pages_unknown
    }

    /// For a spread: the share that is where an even spread would put it.
    pub fn share_in_place(&self) -> f64 {
        let one = [self.asked];
        let asked = if self.spread.is_empty() { &one[..] } else { &self.spread };
        let (all, fair) = (self.pages() as f64, self.fair(asked.len() as u64));
        let found = |node: &NodeId| self.pages_by_node.get(node).map_or(0.0, |n| *n as f64);
        let there: f64 = asked.iter().map(|node| found(node).min(fair)).sum();
        if self.pages() == 0 { 0.0 } else { there / all }
    }

    /// The most pages per node in an even spread: whole large pages, if all were examined.
    fn fair(&self, nodes: u64) -> f64 {
        let large = self.page_size.base_pages();
        if self.pages_by_node.values().all(|pages| pages.is_multiple_of(large)) {
            return (self.pages() / large).div_ceil(nodes) as f64 * large as f64;
        }
        self.pages() as f64 / nodes as f64
    }

    /// `[in place, examined]`.
    pub fn in_place(&self) -> [u64; 2] {
        [(self.share_in_place() * self.pages() as f64).round() as u64, self.pages()]
    }

    pub fn objection(&self) -> Option<Reason> {
        let share = 100.0 * self.share_in_place();
        let on = |(node, pages): (&NodeId, &u64)| format!("{pages} on node {node}");
        let is_elsewhere =
            |(node, _): &(&NodeId, &u64)| !self.spread.is_empty() || **node != self.asked;
        let found: Vec<String> = self.pages_by_node.iter().filter(is_elsewhere).map(on).collect();
        let found = if found.is_empty() { "the rest unknown".into() } else { found.join(", ") };
        (self.share_in_place() < self.required()).then(|| {
            let words = if self.spread.is_empty() {
                let there = self.pages_by_node.get(&self.asked).copied().unwrap_or(0);
                let (asked, all) = (self.asked, self.pages());
                format!("{share:.1}% of the pages were on node {asked} ({there} of {all}; {found})")
            } else {
                format!("{share:.1}% of the pages were spread evenly over the nodes ({found})")
            };
            Code::Misplaced.because(words)
        })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// Missing if the probe places no memory.
    pub memory: Known<Vec<Locality>>,
}

impl Proof {
    pub fn of_threads() -> Self {
        Self {
            memory: Known::missing(
                Code::NotApplicable,
                "it places threads only; they are read back with each sample",
            ),
        }
    }

    pub fn objection(&self) -> Option<Reason> {
        self.memory.get()?.iter().find_map(Locality::objection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(pages: [u64; 4], page_size: PageSize) -> Locality {
        let nodes: Vec<NodeId> = (0..4).map(NodeId).collect();
        Locality {
            asked: NodeId(0),
            spread: nodes.clone(),
            bound: true,
            pages_by_node: nodes.into_iter().zip(pages).collect(),
            pages_unknown: 0,
            method: ProofMethod::MovePages,
            page_size,
            page_size_share: 1.0,
        }
    }

    #[test]
    fn large_pages_are_spread_as_evenly_as_whole_ones_can_be() {
        let of_large = |counts: [u64; 4]| {
            let [there, all] =
                spread(counts.map(|count| 512 * count), PageSize::Transparent).in_place();
            [there / 512, all / 512]
        };
        assert_eq!([of_large([3, 3, 3, 2]), of_large([1, 0, 0, 0])], [[11, 11], [1, 1]]);
        assert_eq!([of_large([11, 0, 0, 0]), of_large([4, 4, 2, 1])], [[3, 11], [9, 11]]);
        // Not all pages were examined: what is missing on a node is missing.
        let of_some = spread([1536, 1536, 1536, 1000], PageSize::Transparent);
        assert!(of_some.share_in_place() < 0.95 && of_some.objection().is_some());
        assert!(spread([30, 30, 30, 20], PageSize::Base).share_in_place() < 0.95);
    }
}
