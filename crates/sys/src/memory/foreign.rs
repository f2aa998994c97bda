//! Another process's memory: what it shares, or what a server of one process has to itself.
//!
//! Method: large mappings are found in `/proc/PID/maps`, and `move_pages` without targets locates
//! their pages. Only pages that the process itself has touched are found, so ask about one that has
//! read all the data.
//!
//! Limits: needs the right to trace the process: root, or the same user.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use hopcost_core::{NodeId, PageSize};

use super::{locate, policy};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign {
    pid: u32,
    ranges: Vec<Range<usize>>,
    pub page_size: PageSize,
}

/// Smaller mappings hold no data to speak of.
const LARGE_BYTES: usize = 1 << 20;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    pub by_node: BTreeMap<NodeId, u64>,
    pub looked_at: usize,
}

/// Below `most`, without a pattern that an order of pages could have.
fn any_below(most: usize, n: usize) -> usize {
    let scattered = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    scattered as usize % most
}

impl Foreign {
    pub fn largest_shared(pid: u32) -> io::Result<Option<Self>> {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"))?;
        let largest = maps.lines().filter_map(shared).max_by_key(|(range, _)| range.len());
        Ok(largest.map(|(range, page_size)| Self { pid, ranges: vec![range], page_size }))
    }

    /// All large private mappings, or only the largest if it is on huge pages. Otherwise the
    /// largest need not hold the data: the kernel merges adjacent mappings, such as the arenas of
    /// threads.
    pub fn private(pid: u32) -> io::Result<Option<Self>> {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"))?;
        Ok(private_of(&maps).map(|(ranges, page_size)| Self { pid, ranges, page_size }))
    }

    pub fn bytes(&self) -> usize {
        self.ranges.iter().map(Range::len).fold(0, usize::saturating_add)
    }

    /// Locates all pages, or `most` of them: one of each stretch of equal length, at a place that
    /// varies, so as not to keep in step with interleaved pages.
    pub fn pages(&self, most: usize) -> io::Result<Pages> {
        let page_bytes = match self.page_size {
            PageSize::Base | PageSize::Transparent => 4096,
            PageSize::Huge2M => 2 << 20,
            PageSize::Huge1G => 1 << 30,
        };
        let step = self.bytes().div_ceil(page_bytes).div_ceil(most).max(1);
        let of_range = |range: &Range<usize>| {
            let end = range.end;
            let stretches = range.clone().step_by(page_bytes * step).enumerate();
            stretches
                .map(move |(n, start)| start + page_bytes * any_below(step, n))
                .filter(move |address| *address < end)
        };
        let addresses = self.ranges.iter().flat_map(of_range);
        let addresses: Vec<*const u8> = addresses.map(|address| address as *const u8).collect();
        let mut pages = Pages { looked_at: addresses.len(), ..Pages::default() };
        for chunk in addresses.chunks(locate::PAGES_PER_CALL) {
            for node in policy::nodes_of(self.pid, chunk)?.into_iter().flatten() {
                *pages.by_node.entry(node).or_default() += 1;
            }
        }
        Ok(pages)
    }
}

type Mapping = (Range<usize>, PageSize);

fn private_of(maps: &str) -> Option<(Vec<Range<usize>>, PageSize)> {
    let large = maps.lines().filter_map(private).filter(|(range, _)| range.len() >= LARGE_BYTES);
    let large: Vec<Mapping> = large.collect();
    let (largest, page_size) = large.iter().max_by_key(|(range, _)| range.len())?.clone();
    if page_size != PageSize::Base {
        return Some((vec![largest], page_size));
    }
    let base = large.into_iter().filter(|(_, page_size)| *page_size == PageSize::Base);
    Some((base.map(|(range, _)| range).collect(), PageSize::Base))
}

/// `7f00-7fff rw-p 00000000 00:00 0`, if it is writable and not a file's.
fn private(line: &str) -> Option<Mapping> {
    let mut words = line.split_whitespace();
    let (start, end) = locate::mapping(words.next()?)?;
    let is_private = words.next()? == "rw-p";
    let name = words.nth(3).unwrap_or("");
    let is_huge = name.starts_with("/anon_hugepage");
    let page_size = if is_huge { PageSize::Huge2M } else { PageSize::Base };
    let is_memory = is_huge || name.is_empty() || name.starts_with("[anon:");
    (is_private && is_memory).then_some((start..end, page_size))
}

/// `7f00-7fff rw-s 00000000 00:01 1025 /dev/zero (deleted)`, if it is memory and not a file's.
fn shared(line: &str) -> Option<Mapping> {
    let mut words = line.split_whitespace();
    let (start, end) = locate::mapping(words.next()?)?;
    let is_shared = words.next()?.ends_with('s');
    let name = words.nth(3).unwrap_or("");
    let is_huge = name.starts_with("/anon_hugepage") || name.contains("hugetlb");
    let is_memory =
        is_huge || ["/dev/zero", "/SYSV", "/dev/shm/"].iter().any(|of| name.starts_with(of));
    let page_size = if is_huge { PageSize::Huge2M } else { PageSize::Base };
    (is_shared && is_memory).then_some((start..end, page_size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_chosen_out_of_step_with_nodes_in_turn() {
        for (step, nodes) in [(2, 2), (2, 4), (3, 2), (4, 4), (6, 3), (8, 8), (64, 2)] {
            let mut counts = vec![0; nodes];
            (0..4096).for_each(|n| counts[(step * n + any_below(step, n)) % nodes] += 1);
            let fair = 4096 / nodes;
            let is_fair = |count: &usize| count.abs_diff(fair) * 10 < fair;
            assert!(counts.iter().all(is_fair), "{step} {nodes}: {counts:?}");
        }
    }

    #[test]
    fn what_holds_the_data_is_found_beside_larger_mappings_of_threads() {
        let pool = "77ec00000000-77ec10000000 rw-p 00000000 00:00 0";
        // Adjacent arenas are merged: larger than the pool, and hardly touched.
        let arenas = "7f8d5c1b7000-7f8d6d000000 rw-p 00000000 00:00 0";
        let small = "7f8d70000000-7f8d70001000 rw-p 00000000 00:00 0";
        let of = |lines: &[&str]| private_of(&lines.join("\n")).unwrap();
        let (ranges, page_size) = of(&[pool, arenas, small]);
        assert_eq!((ranges.len(), page_size), (2, PageSize::Base));
        assert!(ranges.contains(&(0x77ec_0000_0000..0x77ec_1000_0000)));
        let huge = "7f10c2000000-7f10ea800000 rw-p 00000000 00:10 9  /anon_hugepage (deleted)";
        let (ranges, page_size) = of(&[pool, huge]);
        assert_eq!((ranges.len(), page_size), (1, PageSize::Huge2M));
        assert_eq!(ranges[0], 0x7f10_c200_0000..0x7f10_ea80_0000);
        assert_eq!(private_of(small), None);
    }

    #[test]
    fn memory_that_is_shared_is_told_from_files_and_private_memory() {
        let zero = "7f10c2000000-7f10ca800000 rw-s 00000000 00:01 1025    /dev/zero (deleted)";
        assert_eq!(shared(zero), Some((0x7f10_c200_0000..0x7f10_ca80_0000, PageSize::Base)));
        let huge = "7f10c2000000-7f10ca800000 rw-s 00000000 00:10 9  /anon_hugepage (deleted)";
        assert_eq!(shared(huge).map(|(_, size)| size), Some(PageSize::Huge2M));
        for other in [
            "7f10c2000000-7f10ca800000 rw-p 00000000 00:01 1025    /dev/zero (deleted)",
            "7f10c2000000-7f10ca800000 rw-s 00000000 08:01 77 /var/lib/x/file",
            "7f10c2000000-7f10ca800000 rw-p 00000000 00:00 0",
        ] {
            assert_eq!(shared(other), None, "{other}");
        }
        let own = "7f10c2000000-7f10ca800000 rw-p 00000000 00:00 0";
        assert_eq!(private(own), Some((0x7f10_c200_0000..0x7f10_ca80_0000, PageSize::Base)));
        for other in [zero, huge, "55d0c2000000-55d0ca800000 rw-p 00000000 00:00 0   [heap]"] {
            assert_eq!(private(other), None, "{other}");
        }
    }
}
