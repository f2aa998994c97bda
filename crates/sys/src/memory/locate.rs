//! Locates the pages of a range, page by page if the kernel allows.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use hopcost_core::{NodeId, PageSize, ProofMethod};

use super::policy;

pub struct Found {
    pub by_node: BTreeMap<NodeId, u64>,
    pub unknown: u64,
    pub method: ProofMethod,
}

/// A longer range is sampled evenly, which gives the share of displaced pages to about 0.1
/// percentage points.
const MOST_PAGES: usize = 1 << 18;
pub const PAGES_PER_CALL: usize = 1 << 14;
/// The kernel takes process 0 for the caller.
const OURSELVES: u32 = 0;

pub fn find(range: &Range<usize>, page_bytes: usize) -> Found {
    let step = page_bytes * range.len().div_ceil(page_bytes).div_ceil(MOST_PAGES).max(1);
    let Ok(nodes) = nodes(range, step) else {
        let maps = std::fs::read_to_string("/proc/self/numa_maps").unwrap_or_default();
        return from_numa_maps(&maps, range);
    };
    let mut by_node = BTreeMap::new();
    let mut unknown = 0;
    for node in nodes {
        match node {
            Some(node) => *by_node.entry(node).or_default() += 1,
            None => unknown += 1,
        }
    }
    Found { by_node, unknown, method: ProofMethod::MovePages }
}

/// `None` if no page is mapped.
pub fn nodes(range: &Range<usize>, step: usize) -> io::Result<Vec<Option<NodeId>>> {
    let addresses: Vec<*const u8> =
        range.clone().step_by(step).map(|address| address as *const u8).collect();
    let mut nodes = Vec::with_capacity(addresses.len());
    for chunk in addresses.chunks(PAGES_PER_CALL) {
        nodes.extend(policy::nodes_of(OURSELVES, chunk)?);
    }
    Ok(nodes)
}

/// For kernels and sandboxes without move_pages: the kernel's counts per mapping.
fn from_numa_maps(maps: &str, range: &Range<usize>) -> Found {
    let starts: Vec<(usize, &str)> = maps
        .lines()
        .filter_map(|line| {
            let (start, rest) = line.split_once(' ')?;
            Some((usize::from_str_radix(start, 16).ok()?, rest))
        })
        .filter(|(start, _)| range.contains(start))
        .collect();
    let mut by_node: BTreeMap<NodeId, u64> = BTreeMap::new();
    let mut counted = 0_u64;
    for (_, rest) in &starts {
        let page_kib = rest.split_whitespace().find_map(|w| w.strip_prefix("kernelpagesize_kB="));
        let page_kib: u64 = page_kib.and_then(|kib| kib.parse().ok()).unwrap_or(4);
        for word in rest.split_whitespace() {
            // N<node>=<pages>
            let count = word.strip_prefix('N').and_then(|w| w.split_once('='));
            if let Some((Ok(node), Ok(pages))) = count.map(|(n, p)| (n.parse(), p.parse::<u64>())) {
                let on_node = by_node.entry(NodeId(node)).or_default();
                *on_node = on_node.saturating_add(pages);
                counted = counted.saturating_add(pages.saturating_mul(page_kib));
            }
        }
    }
    // What is swapped out, or was never touched, is counted on no node.
    let unknown = (range.len() as u64 >> 10).saturating_sub(counted) / 4;
    Found { by_node, unknown, method: ProofMethod::NumaMaps }
}

/// The size of a range's pages by the kernel's mappings, and the share of the range on such pages.
pub fn page_size(range: &Range<usize>) -> Option<(PageSize, f64)> {
    let smaps = std::fs::read_to_string("/proc/self/smaps").ok()?;
    Some(page_size_in(&smaps, range))
}

fn page_size_in(smaps: &str, range: &Range<usize>) -> (PageSize, f64) {
    let mut inside = false;
    let mut kernel_page_kib = 4;
    let mut transparent_kib = 0_u64;
    for line in smaps.lines() {
        let mut words = line.split_whitespace();
        let (Some(first), second) = (words.next(), words.next()) else { continue };
        if let Some((start, end)) = mapping(first) {
            inside = start < range.end && end > range.start;
        } else if inside && let Some(kib) = second.and_then(|word| word.parse::<u64>().ok()) {
            match first {
                "KernelPageSize:" => kernel_page_kib = kib,
                "AnonHugePages:" => transparent_kib = kib.saturating_add(transparent_kib),
                _ => {}
            }
        }
    }
    let share = transparent_kib as f64 * 1024.0 / range.len() as f64;
    match kernel_page_kib {
        1_048_576 => (PageSize::Huge1G, 1.0),
        2048 => (PageSize::Huge2M, 1.0),
        _ if share >= 0.5 => (PageSize::Transparent, share.min(1.0)),
        _ => (PageSize::Base, 1.0 - share),
    }
}

pub fn mapping(word: &str) -> Option<(usize, usize)> {
    let (start, end) = word.split_once('-')?;
    let [start, end] = [start, end].map(|digits| usize::from_str_radix(digits, 16).ok());
    Some((start?, end?)).filter(|(start, end)| start <= end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_obtained_page_sizes_from_smaps() {
        let smaps = |page: u32, huge: u32| {
            format!(
                "1000-2000 rw-p 0 00:00 0\nKernelPageSize: 4 kB\nAnonHugePages: 9 kB\n\
                 200000-600000 rw-p 0 00:00 0\nSize: 4096 kB\nKernelPageSize: {page} kB\n\
                 AnonHugePages: {huge} kB\nVmFlags: rd wr\n"
            )
        };
        let range = 0x20_0000..0x60_0000;
        assert_eq!(page_size_in(&smaps(4, 0), &range), (PageSize::Base, 1.0));
        assert_eq!(page_size_in(&smaps(4, 4096), &range), (PageSize::Transparent, 1.0));
        assert_eq!(page_size_in(&smaps(4, 3072), &range), (PageSize::Transparent, 0.75));
        assert_eq!(page_size_in(&smaps(2048, 0), &range), (PageSize::Huge2M, 1.0));
    }
}
