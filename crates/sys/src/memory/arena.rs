//! Memory for tables that grow: a region that is dealt out piece by piece from its start.
//!
//! Method: room for all that may come is mapped and told its pages and nodes, and each page is there once
//! somebody touches it. So a table's memory is on pages of one size however small its pieces are, and where it
//! lies can be read back.
//!
//! Limits: nothing is given back before all of it is: a table that doubles leaves its old half behind.

use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use allocator_api2::alloc::{AllocError, Allocator};
use hopcost_core::{Locality, PageSize};

use super::region::{PlaceError, Region, Request};

/// What all pieces come from.
#[derive(Debug)]
struct Room {
    region: Region,
    dealt_out: AtomicUsize,
}

/// Memory that is dealt out; clones deal out the same.
#[derive(Clone, Debug)]
pub struct Arena(Arc<Room>);

impl Arena {
    /// Room for so much, nothing of it touched yet.
    pub fn reserve(request: &Request) -> Result<Self, PlaceError> {
        let (region, dealt_out) = (Region::reserve(request)?, AtomicUsize::new(0));
        Ok(Self(Arc::new(Room { region, dealt_out })))
    }

    /// Where what was dealt out lies now.
    pub fn locality(&self) -> Locality {
        self.0.region.locality_of(self.0.dealt_out.load(Ordering::Relaxed))
    }

    /// The bytes that are on pages of this size, of all that were dealt out.
    pub fn on_pages(&self, pages: PageSize) -> [u64; 2] {
        self.0.region.on_pages(pages, self.0.dealt_out.load(Ordering::Relaxed))
    }
}

// SAFETY: pieces are disjoint parts of a mapping that lives as long as any clone, at addresses that never
// change, and none is dealt out twice: `dealt_out` only grows.
unsafe impl Allocator for Arena {
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        let Room { region, dealt_out } = &*self.0;
        let begin = |from: usize| from.checked_next_multiple_of(layout.align());
        let end = |from: usize| {
            begin(from)?.checked_add(layout.size()).filter(|end| *end <= region.len())
        };
        let from = dealt_out
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, end)
            .map_err(|_| AllocError)?;
        let begin = begin(from).ok_or(AllocError)?;
        // SAFETY: begin + size is within the region, which is aligned to more than any layout asks for.
        let piece = unsafe { NonNull::new_unchecked(region.as_ptr().add(begin)) };
        Ok(NonNull::slice_from_raw_parts(piece, layout.size()))
    }

    unsafe fn deallocate(&self, _piece: NonNull<u8>, _layout: Layout) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Root, topology};

    fn arena(bytes: usize, pages: PageSize) -> Arena {
        let machine = topology::read(&Root::live());
        let node = machine.nodes[0].id;
        Arena::reserve(&Request::on(&machine, node, bytes, Some(pages))).unwrap()
    }

    #[test]
    fn pieces_are_disjoint_aligned_and_end_with_the_room() {
        let arena = arena(1 << 21, PageSize::Base);
        let layouts = [(1, 1), (100, 64), (3, 8), (1 << 20, 4096)];
        let mut end = 0;
        for (size, align) in layouts {
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
    }

    #[test]
    fn what_was_dealt_out_is_on_the_pages_asked_for() {
        const BYTES: usize = 16 << 20;
        let arena = arena(64 << 20, PageSize::Base);
        let piece = arena.allocate(Layout::from_size_align(BYTES, 64).unwrap()).unwrap();
        // SAFETY: the piece is ours, and so large.
        unsafe { piece.cast::<u8>().as_ptr().write_bytes(1, BYTES) };
        let [small, of] = arena.on_pages(PageSize::Base);
        assert_eq!((small, of), (BYTES as u64, BYTES as u64));
        assert_eq!(arena.on_pages(PageSize::Transparent), [0, of]);
        assert_eq!(arena.locality().pages(), (BYTES / 4096) as u64, "and no page that nobody has");
    }
}
