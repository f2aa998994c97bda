//! An allocator over one placed region.
//!
//! Method: the region is placed, faulted in and proved as a whole, and allocations are parts of it.
//! So they are where they were asked for and on pages of one size, however small.
//!
//! Limits: nothing is freed before all of it is.

use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use allocator_api2::alloc::{AllocError, Allocator};
use hopcost_core::{Locality, PageSize};

use super::region::{PlaceError, Region, Request};

#[derive(Debug)]
struct ArenaRegion {
    region: Region,
    dealt_out: AtomicUsize,
}

/// Clones allocate from the same region.
#[derive(Clone, Debug)]
pub struct Arena(Arc<ArenaRegion>);

/// The region's alignment, and the most that an allocation may ask for.
const MOST_ALIGNED: usize = 4096;

impl Arena {
    pub fn place(request: &Request) -> Result<Self, PlaceError> {
        let (region, dealt_out) = (Region::place(request)?, AtomicUsize::new(0));
        Ok(Self(Arc::new(ArenaRegion { region, dealt_out })))
    }

    pub fn locality(&self) -> Locality {
        self.0.region.locality()
    }

    /// `[bytes on pages of this size, all bytes]`.
    pub fn on_pages(&self, pages: PageSize) -> [u64; 2] {
        self.0.region.on_pages(pages)
    }
}

// SAFETY: pieces are disjoint parts of a mapping that lives as long as any clone, at addresses that never
// change, and none is dealt out twice: `dealt_out` only grows.
unsafe impl Allocator for Arena {
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        let ArenaRegion { region, dealt_out } = &*self.0;
        if layout.align() > MOST_ALIGNED {
            return Err(AllocError);
        }
        let begin = |from: usize| from.next_multiple_of(layout.align());
        let end =
            |from: usize| begin(from).checked_add(layout.size()).filter(|end| *end <= region.len());
        let from = dealt_out
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, end)
            .map_err(|_| AllocError)?;
        // SAFETY: the piece ends within the region, which is aligned to at least as much as its layout.
        let piece = unsafe { NonNull::new_unchecked(region.as_ptr().add(begin(from))) };
        Ok(NonNull::slice_from_raw_parts(piece, layout.size()))
    }

    unsafe fn deallocate(&self, _piece: NonNull<u8>, _layout: Layout) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::locate;
    use crate::{Root, topology};

    fn arena(bytes: usize, pages: PageSize) -> Arena {
        let machine = topology::read(&Root::live());
        let node = machine.nodes_with_memory().next().unwrap().id;
        Arena::place(&Request::on(&machine, node, bytes, Some(pages))).unwrap()
    }

    #[test]
    fn pieces_are_disjoint_aligned_and_end_with_the_room() {
        let arena = arena(1 << 21, PageSize::Base);
        let mut end = 0;
        for (size, align) in [(1, 1), (100, 64), (3, 8), (1 << 20, 4096)] {
            let piece = arena.allocate(Layout::from_size_align(size, align).unwrap()).unwrap();
            let begin = piece.cast::<u8>().as_ptr() as usize;
            assert!(begin >= end && begin.is_multiple_of(align) && piece.len() == size);
            end = begin + size;
        }
        assert!(
            arena.clone().allocate(Layout::new::<[u8; 1 << 20]>()).is_err(),
            "there is no room"
        );
        assert!(arena.allocate(Layout::new::<[u8; 1 << 19]>()).is_ok(), "but for less there is");
        let too_aligned = Layout::from_size_align(1, 1 << 20).unwrap();
        assert!(arena.allocate(too_aligned).is_err());
    }

    #[test]
    fn its_memory_is_on_the_pages_asked_for() {
        let small = arena(16 << 20, PageSize::Base);
        assert_eq!(small.on_pages(PageSize::Base), [16 << 20, 16 << 20]);
        assert_eq!(small.on_pages(PageSize::Transparent), [0, 16 << 20]);
        assert_eq!(small.locality().pages(), (16 << 20) / 4096);
        let mut found = Vec::new();
        while found.len() < 5 && found.iter().all(|bytes| *bytes < 15 << 20) {
            found.push(arena(16 << 20, PageSize::Transparent).on_pages(PageSize::Transparent)[0]);
        }
        assert!(found.last() >= Some(&(15 << 20)) || !kernel_has_large_pages(), "{found:?}");
    }

    /// The kernel gives none if they are disabled, and none for a while after it found no whole
    /// one.
    fn kernel_has_large_pages() -> bool {
        const BYTES: usize = 16 << 20;
        let writable = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping of our own, written within its bounds and unmapped once.
        unsafe {
            let start = libc::mmap(std::ptr::null_mut(), BYTES, writable, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            libc::madvise(start, BYTES, libc::MADV_HUGEPAGE);
            start.cast::<u8>().write_bytes(1, BYTES);
            let found = locate::page_size(&(start as usize..start as usize + BYTES));
            libc::munmap(start, BYTES);
            found.is_some_and(|(pages, _)| pages == PageSize::Transparent)
        }
    }
}
