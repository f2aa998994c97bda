//! A mapping whose pages are on one node, or interleaved over several.
//!
//! Method: map, bind before the first touch, fault in (with an error instead of a signal if the
//! kernel can), fill with non-zero data (some processors elide lines of zeroes), and read the
//! placement back. If binding is forbidden or not wanted, threads on the node's own CPUs touch the
//! pages first. The kernel interleaves page by page, huge pages by 2 MiB.
//!
//! Limits: the kernel may swap or migrate pages later; hence a proof before *and* after.

use std::io;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};

use hopcost_core::{
    Code, CpuId, Known, Locality, Machine, NodeId, NodeSet, PageSize, ProbeError, TargetError,
};
use thiserror::Error;

use super::mapped::Mapped;
use super::{locate, policy};
use crate::affinity::{self, AffinityError};
use crate::topology;

/// Granularity of [`Region::nodes_of_pieces`]: the smallest page, whatever pages there are.
pub const PIECE: usize = 4096;

const HUGE_2M: usize = 2 << 20;
const HUGE_1G: usize = 1 << 30;

#[derive(Clone, Debug)]
pub struct Request {
    /// Rounded up to whole pages.
    pub bytes: usize,
    /// Of interleaved memory, any node.
    pub node: NodeId,
    pub placing: Placing,
    /// `None` takes the largest that the machine has ready.
    pub pages: Option<PageSize>,
    /// CPUs that touch the pages first, each its share: the node's own, if it has any.
    pub touchers: Vec<CpuId>,
    /// If not, the memory has to be bound.
    pub touchers_are_local: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Placing {
    /// Bound by the kernel; by first touch if that is forbidden.
    #[default]
    Bind,
    /// The kernel gets no policy.
    FirstTouch,
    Interleave(NodeSet),
}

/// More threads do not clear pages faster.
const MOST_TOUCHERS: usize = 16;

impl Request {
    /// Touched from the node's own usable CPUs, or from any others if it has none.
    pub fn on(machine: &Machine, node: NodeId, bytes: usize, pages: Option<PageSize>) -> Self {
        let usable = &machine.limits.cpus;
        let own = machine.node(node).map(|n| n.cpus.intersection(usable)).unwrap_or_default();
        let touchers_are_local = !own.is_empty();
        let from = machine.one_cpu_per_core(if touchers_are_local { &own } else { usable });
        let touchers = from.iter().take(MOST_TOUCHERS).collect();
        let placing = Placing::default();
        Self { bytes, node, placing, pages, touchers, touchers_are_local }
    }

    fn nodes(&self) -> Vec<NodeId> {
        match &self.placing {
            Placing::Interleave(nodes) => nodes.iter().collect(),
            _ => vec![self.node],
        }
    }
}

#[derive(Debug, Error)]
pub enum PlaceError {
    #[error(
        "node {node} has {available_mib} MiB available, {wanted_mib} MiB are wanted (a tenth is kept \
         free): ask for less with --size, or free memory there"
    )]
    NotEnough { node: NodeId, wanted_mib: u64, available_mib: u64 },
    #[error(
        "node {node} has {free} free {pages}, {wanted} are wanted: reserve them with \
         'echo {wanted} > /sys/devices/system/node/node{node}/hugepages/hugepages-{kib}kB/nr_hugepages', \
         or let hopcost do so and put it back with --allow-machine-changes"
    )]
    NoHugePages { node: NodeId, pages: PageSize, kib: usize, free: u64, wanted: u64 },
    /// No call and no CPU can place memory there.
    #[error(
        "binding memory is forbidden here ({source}) and node {node} has no usable CPU to touch it \
         first: allow mbind (docker: --cap-add SYS_NICE), or leave this node out"
    )]
    NotBindable { node: NodeId, source: io::Error },
    #[error("node {node} has no usable CPU that could touch memory first: leave this node out")]
    NoToucher { node: NodeId },
    #[error(
        "interleaving memory is forbidden here ({source}): allow mbind (docker: --cap-add SYS_NICE)"
    )]
    NotInterleavable { source: io::Error },
    #[error(transparent)]
    Affinity(#[from] AffinityError),
    #[error("{what} of {bytes} bytes on node {node}: {source}")]
    System { what: &'static str, bytes: usize, node: NodeId, source: io::Error },
}

/// Unavailable memory is a property of the machine; a refused system call is a failure.
impl From<PlaceError> for ProbeError {
    fn from(error: PlaceError) -> Self {
        match error {
            PlaceError::System { what, source, .. } => Self::System { what: what.into(), source },
            other => Self::NotHere(Code::TooLittleMemory.because(other.to_string())),
        }
    }
}

impl From<PlaceError> for TargetError {
    fn from(error: PlaceError) -> Self {
        match error {
            PlaceError::System { .. } => Self::Failed(error.to_string()),
            other => Self::NotHere(Code::TooLittleMemory.because(other.to_string())),
        }
    }
}

#[derive(Debug)]
pub struct Region {
    /// The whole mapping, alignment slack included.
    _mapping: Mapped,
    start: NonNull<u8>,
    bytes: usize,
    node: NodeId,
    /// Nodes of interleaved memory; empty otherwise.
    spread: Vec<NodeId>,
    bound: bool,
    /// Bytes per query of a proof.
    page_bytes: usize,
    /// Size of the pages asked for; `bytes` is a multiple.
    unit: usize,
}

// SAFETY: a region is memory that it owns alone; who reads and writes it is the borrow checker's
// business through the slices, and the kernels' through their own contracts.
unsafe impl Send for Region {}
// SAFETY: as above: shared access hands out shared slices only.
unsafe impl Sync for Region {}

impl Region {
    pub fn place(request: &Request) -> Result<Self, PlaceError> {
        let pages = request.pages.unwrap_or_else(|| best_ready(request));
        let mut region = Self::map(request, pages)?;
        region.be_placed(request)?;
        region.fault_in(&request.touchers)?;
        Ok(region)
    }

    fn be_placed(&mut self, request: &Request) -> Result<(), PlaceError> {
        let (start, bytes, node) = (self.start.as_ptr(), self.bytes, self.node);
        match &request.placing {
            Placing::Bind => match policy::bind(start, bytes, node) {
                Ok(()) => self.bound = true,
                Err(source) if !request.touchers_are_local => {
                    return Err(PlaceError::NotBindable { node, source });
                }
                Err(_) => {}
            },
            Placing::FirstTouch if !request.touchers_are_local => {
                return Err(PlaceError::NoToucher { node });
            }
            Placing::FirstTouch => {}
            Placing::Interleave(nodes) => {
                policy::interleave(start, bytes, nodes)
                    .map_err(|source| PlaceError::NotInterleavable { source })?;
                (self.bound, self.spread) = (true, nodes.iter().collect());
            }
        }
        Ok(())
    }

    pub fn node(&self) -> NodeId {
        self.node
    }

    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Never: an empty region is not mapped.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: start is page-aligned, the range is mapped readable and writable, its zeroes are
        // words, and the exclusive borrow of self makes the slice exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().cast(), self.bytes / 8) }
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the range is mapped readable and writable and wholly written to, and the exclusive
        // borrow of self makes the slice exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }

    pub fn atomics(&self) -> &[AtomicU64] {
        // SAFETY: as for words_mut; the elements are atomic, so sharing them is sound, and a
        // `&mut self` for words_mut cannot exist beside this borrow.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), self.bytes / 8) }
    }

    pub fn locality(&self) -> Locality {
        let range = self.range();
        let found = locate::find(&range, self.page_bytes);
        let (page_size, page_size_share) =
            locate::page_size(&range).unwrap_or((PageSize::Base, 0.0));
        Locality {
            asked: self.node,
            spread: self.spread.clone(),
            bound: self.bound,
            pages_by_node: found.by_node,
            pages_unknown: found.unknown,
            method: found.method,
            page_size,
            page_size_share,
        }
    }

    /// `[bytes on pages of this size, all bytes]`; 0 if the kernel does not report it.
    pub fn on_pages(&self, pages: PageSize) -> [u64; 2] {
        let share = match locate::page_size(&self.range()) {
            None => 0.0,
            Some((found, share)) if found == pages => share,
            Some((_, share)) => 1.0 - share,
        };
        [(share * self.bytes as f64).round() as u64, self.bytes as u64]
    }

    fn range(&self) -> Range<usize> {
        let start = self.start.as_ptr() as usize;
        start..start + self.bytes
    }

    /// The node of every `every`-th [`PIECE`]; `None` if no page is mapped. Fails if the kernel
    /// does not tell page by page.
    pub fn nodes_of_pieces(&self, every: usize) -> io::Result<Vec<Option<NodeId>>> {
        let start = self.start.as_ptr() as usize;
        locate::nodes(&(start..start + self.bytes), every * PIECE)
    }

    fn map(request: &Request, pages: PageSize) -> Result<Self, PlaceError> {
        let (unit, huge_flag) = match pages {
            // Base pages are aligned like the others, for comparable set indices.
            PageSize::Base | PageSize::Transparent => (HUGE_2M, 0),
            PageSize::Huge2M => (HUGE_2M, libc::MAP_HUGETLB | libc::MAP_HUGE_2MB),
            PageSize::Huge1G => (HUGE_1G, libc::MAP_HUGETLB | libc::MAP_HUGE_1GB),
        };
        let bytes = request.bytes.max(1).next_multiple_of(unit);
        let nodes = request.nodes();
        for node in &nodes {
            if huge_flag == 0 {
                require_memory(*node, bytes / nodes.len())?;
            } else {
                let wanted = (bytes / unit).div_ceil(nodes.len());
                require_huge_pages(*node, pages, unit, wanted as u64)?;
            }
        }
        let length = if huge_flag == 0 { bytes + unit } else { bytes };
        let failed =
            |source| PlaceError::System { what: "mapping", bytes, node: request.node, source };
        let flags = libc::MAP_PRIVATE | libc::MAP_NORESERVE | huge_flag;
        let mapping = Mapped::anonymous(length, flags).map_err(failed)?;
        let slack = mapping.start().align_offset(unit);
        // SAFETY: the mapping has `unit` bytes of slack where the kernel did not align it itself.
        let start = unsafe { mapping.start().add(slack) };
        let advice =
            if pages == PageSize::Base { libc::MADV_NOHUGEPAGE } else { libc::MADV_HUGEPAGE };
        if huge_flag == 0 {
            // SAFETY: advice about our own mapping. A kernel without it gives ordinary pages, which
            // the proof then reports.
            unsafe { libc::madvise(start.as_ptr().cast(), bytes, advice) };
        }
        let page_bytes = if huge_flag == 0 { 4096 } else { unit };
        let (node, spread) = (request.node, Vec::new());
        Ok(Self { _mapping: mapping, start, bytes, node, spread, bound: false, page_bytes, unit })
    }

    fn fault_in(&mut self, touchers: &[CpuId]) -> Result<(), PlaceError> {
        let (node, bytes, unit) = (self.node, self.bytes, self.unit);
        let share = bytes.div_ceil(touchers.len().max(1)).next_multiple_of(unit);
        // Pages that are collapsed all come from one node.
        let is_spread = !self.spread.is_empty();
        let shares = self.words_mut().chunks_mut(share / 8).map(Mutex::new).collect::<Vec<_>>();
        let results = affinity::crew(&touchers[..shares.len().min(touchers.len())], |n| {
            let mut words = shares[n].lock().unwrap_or_else(PoisonError::into_inner);
            populate(&mut words, !is_spread)
        })?;
        let failed = |source| PlaceError::System { what: "faulting in", bytes, node, source };
        results.into_iter().collect::<io::Result<()>>().map_err(failed)
    }
}

fn populate(words: &mut [u64], may_collapse: bool) -> io::Result<()> {
    const MADV_POPULATE_WRITE: libc::c_int = 23; // Linux 5.14
    const MADV_COLLAPSE: libc::c_int = 25; // Linux 6.1
    let (start, bytes) = (words.as_mut_ptr().cast(), size_of_val(words));
    // SAFETY: faults in a range that we hold exclusively; unlike a touch it fails with an error when
    // the memory or the huge pages are gone, not with a signal.
    if unsafe { libc::madvise(start, bytes, MADV_POPULATE_WRITE) } != 0 {
        let error = io::Error::last_os_error();
        // EINVAL: the kernel is too old for it; the writes below fault the pages in.
        if error.raw_os_error() != Some(libc::EINVAL) {
            return Err(error);
        }
    }
    for (at, word) in words.iter_mut().enumerate() {
        *word = !(at as u64);
    }
    if may_collapse {
        // SAFETY: advice about the same range; a kernel without it, or a range that is of huge pages
        // already or must not be, ignores it or refuses.
        unsafe { libc::madvise(start, bytes, MADV_COLLAPSE) };
    }
    Ok(())
}

impl AsRef<[AtomicU64]> for Region {
    fn as_ref(&self) -> &[AtomicU64] {
        self.atomics()
    }
}

fn best_ready(request: &Request) -> PageSize {
    let ready = |pages, unit: usize| {
        let wanted = request.bytes.div_ceil(unit) as u64;
        // Rounding up must not waste more than a tenth.
        let fits = wanted as usize * unit <= request.bytes + request.bytes / 10;
        let nodes = request.nodes();
        let each = wanted.div_ceil(nodes.len().max(1) as u64);
        let has = |node: &NodeId| require_huge_pages(*node, pages, unit, each).is_ok();
        fits && nodes.iter().all(has)
    };
    if ready(PageSize::Huge1G, HUGE_1G) {
        PageSize::Huge1G
    } else if ready(PageSize::Huge2M, HUGE_2M) {
        PageSize::Huge2M
    } else {
        PageSize::Transparent
    }
}

/// Why regions of these sizes cannot be placed on a node, if so; places nothing.
pub fn obstacle(
    machine: &Machine,
    node: NodeId,
    regions: &[u64],
    pages: Option<PageSize>,
    may_bind: bool,
) -> Option<PlaceError> {
    let request = Request::on(machine, node, 0, pages);
    if !may_bind && !request.touchers_are_local {
        let source = io::Error::from_raw_os_error(libc::EPERM);
        return Some(PlaceError::NotBindable { node, source });
    }
    let count = |unit: usize| regions.iter().map(|bytes| bytes.div_ceil(unit as u64)).sum();
    match pages {
        Some(size @ PageSize::Huge2M) => require_huge_pages(node, size, HUGE_2M, count(HUGE_2M)),
        Some(size @ PageSize::Huge1G) => require_huge_pages(node, size, HUGE_1G, count(HUGE_1G)),
        _ if regions.is_empty() => Ok(()),
        _ => require_memory(node, regions.iter().sum::<u64>() as usize),
    }
    .err()
}

/// Binding to a full node invokes the out-of-memory killer, so check first.
fn require_memory(node: NodeId, bytes: usize) -> Result<(), PlaceError> {
    match topology::available_bytes(node) {
        Known::Is(available) if (bytes + bytes / 10) as u64 > available => {
            let (wanted_mib, available_mib) = (bytes as u64 >> 20, available >> 20);
            Err(PlaceError::NotEnough { node, wanted_mib, available_mib })
        }
        _ => Ok(()),
    }
}

fn require_huge_pages(
    node: NodeId,
    pages: PageSize,
    unit: usize,
    wanted: u64,
) -> Result<(), PlaceError> {
    let free = topology::free_huge_pages(node, unit as u64);
    if free >= wanted {
        return Ok(());
    }
    Err(PlaceError::NoHugePages { node, pages, kib: unit >> 10, free, wanted })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(bytes: usize, pages: Option<PageSize>) -> Request {
        let machine = topology::read(&crate::Root::live());
        let node = machine.nodes_with_cpus().find(|node| node.usable).unwrap().id;
        Request::on(&machine, node, bytes, pages)
    }

    #[test]
    fn memory_is_on_its_node_and_holds_no_zeroes() {
        let mut region = Region::place(&request(8 << 20, Some(PageSize::Base))).unwrap();
        let locality = region.locality();
        assert_eq!(locality.pages(), 2048);
        assert!((locality.share_in_place() - 1.0).abs() < f64::EPSILON, "{locality:?}");
        assert_eq!(locality.page_size, PageSize::Base);
        assert!(region.words_mut().iter().all(|&word| word != 0));
    }

    #[test]
    fn memory_that_is_dealt_out_lies_evenly_on_its_nodes() {
        let machine = topology::read(&crate::Root::live());
        let nodes: NodeSet = machine.nodes_with_memory().map(|node| node.id).collect();
        let placing = Placing::Interleave(nodes.clone());
        let dealt = Request { placing, ..request(64 << 20, Some(PageSize::Base)) };
        let locality = Region::place(&dealt).unwrap().locality();
        assert_eq!(locality.spread, nodes.iter().collect::<Vec<_>>());
        assert_eq!(locality.objection(), None, "{locality:?}");
        let elsewhere = Locality { spread: vec![NodeId(4711), locality.spread[0]], ..locality };
        let reason = elsewhere.objection().unwrap();
        assert!(reason.as_str().contains("spread evenly over the nodes"), "{reason}");
    }

    #[test]
    fn memory_that_is_touched_first_is_on_its_node_and_not_bound() {
        let touched = Request { placing: Placing::FirstTouch, ..request(8 << 20, None) };
        let locality = Region::place(&touched).unwrap().locality();
        assert_eq!((locality.objection(), locality.bound), (None, false), "{locality:?}");
        let nobody = Request { touchers_are_local: false, ..touched };
        let error = Region::place(&nobody).unwrap_err().to_string();
        assert!(error.contains("no usable CPU"), "{error}");
    }

    #[test]
    fn every_piece_tells_its_node() {
        let region = Region::place(&request(8 << 20, None)).unwrap();
        let told = region.nodes_of_pieces(1);
        let nodes = told.unwrap_or_else(|why| panic!("pages cannot be asked for here: {why}"));
        assert_eq!(nodes, vec![Some(region.node()); 2048]);
        assert_eq!(region.nodes_of_pieces(100).unwrap().len(), 21);
    }

    #[test]
    fn a_wish_beyond_the_node_is_refused_before_anything_is_touched() {
        let error = Region::place(&request(1 << 46, None)).unwrap_err().to_string();
        assert!(error.contains("MiB are wanted") && error.contains("--size"), "{error}");
    }

    #[test]
    fn reserved_pages_that_are_absent_are_named_with_their_remedy() {
        let request = request(1 << 40, Some(PageSize::Huge1G));
        let error = Region::place(&request).unwrap_err().to_string();
        assert!(error.contains("hugepages-1048576kB/nr_hugepages"), "{error}");
    }
}
