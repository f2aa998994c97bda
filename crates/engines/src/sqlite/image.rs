//! A copy of the data in placed memory, and the proof of where it is.
//!
//! Method: the cached file is read into a [`Region`] of the data placement. The kernel reports the
//! node of each 4 KiB piece, and page accesses are counted by that node, not by the intended one. A
//! full look asks again.
//!
//! Limits: a piece that is on no node (swapped out) keeps its last node, and the proof counts it as
//! unknown. If the kernel reports no single pages, all pieces count for the intended node, and the
//! proof uses the counts of the mappings. Emulated nodes have no memory of their own: it is
//! verified to be where their CPUs are. If 4 KiB pages are interleaved, a database page is on two
//! nodes and counts for the first.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use hopcost_core::{Code, DataPlacement, Locality, Look, NodeId, ProofMethod, Setup, TargetError};
use hopcost_sys::memory::{PIECE, Region};
use thiserror::Error;

use super::super::{memory_of, spread_of};
use super::cache::{Cached, Unreadable};

pub const PAGE_BYTES: u32 = 8192;

/// About how many pieces a glance asks about.
const GLANCE: usize = 4096;
/// Pieces of 2 MiB, which usually are on one node.
const BLOCK: usize = 512;
/// Marks a block whose pieces are on several nodes.
const MIXED: u8 = u8::MAX;
/// SQLite may read a few bytes beyond a damaged page.
const SLACK: usize = 256;

#[derive(Debug, Error)]
pub enum ImageError {
    #[error("{0}")]
    Damaged(String),
    #[error(transparent)]
    Target(#[from] TargetError),
}

pub struct Image {
    region: Region,
    length: usize,
    /// The placement in the experiment's terms: not the real one if nodes are emulated.
    home: DataPlacement,
    /// The nodes it is interleaved over; empty for one node.
    spread: Vec<NodeId>,
    is_emulated: bool,
    /// The machine's nodes; `homes` and `blocks` hold indexes into them.
    nodes: Vec<NodeId>,
    homes: Vec<AtomicU8>,
    /// The node of each block, or [`MIXED`]. There are few enough of them that counting stays in
    /// the first-level cache.
    blocks: Vec<AtomicU8>,
    /// What the last full look found; a glance takes the page size from it.
    seen: Mutex<Locality>,
    /// Pages in place, of all that the last look asked about.
    in_place: Mutex<[u64; 2]>,
    /// Bytes on pages of the requested size, of all, at the last look.
    on_pages: Mutex<Option<[u64; 2]>>,
}

impl Image {
    pub fn read(
        setup: &Setup<'_>,
        home: DataPlacement,
        cached: &Cached,
    ) -> Result<Self, ImageError> {
        let length = usize::try_from(cached.length).unwrap_or(usize::MAX);
        let request = memory_of(setup, home, length.saturating_add(SLACK))?;
        let mut region = Region::place(&request).map_err(TargetError::from)?;
        cached.read_into(&mut region.bytes_mut()[..length]).map_err(|error| match error {
            Unreadable::Damaged(how) => ImageError::Damaged(how),
            Unreadable::System(error) => {
                let path = cached.path.display();
                TargetError::Failed(format!("reading {path}: {error}")).into()
            }
        })?;
        let nodes: Vec<NodeId> = setup.machine.nodes.iter().map(|node| node.id).collect();
        let spread = spread_of(setup, home);
        let asked = match (home.node, spread.is_empty()) {
            (Some(node), _) => vec![node],
            (None, false) => spread.clone(),
            (None, true) => vec![request.node],
        };
        let numbers = numbers(&nodes, &asked)?;
        let pieces = 0..length.div_ceil(PIECE);
        let number = |piece: usize| numbers[piece / PIECES_OF_PAGE % numbers.len()];
        let homes: Vec<AtomicU8> = pieces.map(|piece| AtomicU8::new(number(piece))).collect();
        let of_block = if numbers.len() == 1 { numbers[0] } else { MIXED };
        let blocks = (0..homes.len().div_ceil(BLOCK)).map(|_| AtomicU8::new(of_block)).collect();
        let (seen, in_place) = (Mutex::new(region.locality()), Mutex::default());
        let on_pages = Mutex::default();
        let is_emulated = setup.emulation.is_some();
        let image = Self {
            region,
            length,
            home,
            spread,
            is_emulated,
            nodes,
            homes,
            blocks,
            seen,
            in_place,
            on_pages,
        };
        image.prove(Look::Full);
        Ok(image)
    }

    pub fn len(&self) -> usize {
        self.length
    }

    /// Its memory is never written while it lives.
    pub fn as_ptr(&self) -> *const u8 {
        self.region.as_ptr()
    }

    pub fn pieces(&self) -> usize {
        self.homes.len()
    }

    /// The node of each piece, as an index into [`Image::nodes`].
    pub fn homes(&self) -> &[AtomicU8] {
        &self.homes
    }

    #[inline]
    pub fn home_of(&self, piece: usize) -> u8 {
        match self.blocks[piece / BLOCK].load(Ordering::Relaxed) {
            MIXED => self.homes[piece].load(Ordering::Relaxed),
            home => home,
        }
    }

    pub fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    pub fn home(&self) -> DataPlacement {
        self.home
    }

    pub fn in_place(&self) -> [u64; 2] {
        *self.in_place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn on_pages(&self) -> Option<[u64; 2]> {
        *self.on_pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads its location back. A glance that finds pages elsewhere becomes a full look.
    pub fn prove(&self, look: Look) -> Locality {
        let found = self.find(look);
        *self.on_pages.lock().unwrap_or_else(PoisonError::into_inner) =
            self.home.copy.pages.map(|pages| self.region.on_pages(pages));
        *self.in_place.lock().unwrap_or_else(PoisonError::into_inner) = found.in_place();
        found
    }

    fn find(&self, look: Look) -> Locality {
        if look == Look::Glance {
            let glance = self.look(self.pieces().div_ceil(GLANCE).max(1));
            if glance.objection().is_none() {
                return self.by_name(glance);
            }
        }
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = self.region.locality();
        let full = self.look(1);
        self.by_name(full)
    }

    /// Asks about every `every`-th piece. A look at all of them stores the nodes.
    fn look(&self, every: usize) -> Locality {
        let mut locality = self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Ok(mut nodes) = self.region.nodes_of_pieces(every) else {
            return self.region.locality();
        };
        nodes.truncate(self.pieces().div_ceil(every));
        locality.method = ProofMethod::MovePages;
        locality.pages_by_node.clear();
        locality.pages_unknown = 0;
        for node in &nodes {
            match node {
                Some(node) => *locality.pages_by_node.entry(*node).or_default() += 1,
                None => locality.pages_unknown += 1,
            }
        }
        if every == 1 && !self.is_emulated {
            self.keep_homes(&nodes);
        }
        locality
    }

    fn keep_homes(&self, found: &[Option<NodeId>]) {
        let numbered = self.nodes.iter().zip(0..MIXED);
        let number: BTreeMap<NodeId, u8> = numbered.map(|(node, number)| (*node, number)).collect();
        for (home, node) in self.homes.iter().zip(found) {
            if let Some(number) = node.and_then(|node| number.get(&node)) {
                home.store(*number, Ordering::Relaxed);
            }
        }
        for (block, homes) in self.blocks.iter().zip(self.homes.chunks(BLOCK)) {
            let of = |home: &AtomicU8| home.load(Ordering::Relaxed);
            let first = of(&homes[0]);
            let agree = homes.iter().all(|home| of(home) == first);
            block.store(if agree { first } else { MIXED }, Ordering::Relaxed);
        }
    }

    /// Renames a sound result to the experiment's emulated nodes.
    fn by_name(&self, mut seen: Locality) -> Locality {
        if !self.is_emulated || seen.objection().is_some() {
            return seen;
        }
        if let Some(node) = self.home.node {
            seen.pages_by_node = BTreeMap::from([(node, seen.pages_by_node.values().sum())]);
            seen.asked = node;
        } else if let Some(first) = self.spread.first() {
            seen.pages_by_node.clear();
            for home in &self.homes {
                let node = self.nodes[usize::from(home.load(Ordering::Relaxed))];
                *seen.pages_by_node.entry(node).or_default() += 1;
            }
            (seen.asked, seen.spread) = (*first, self.spread.clone());
        }
        seen
    }
}

const PIECES_OF_PAGE: usize = PAGE_BYTES as usize / PIECE;

fn numbers(nodes: &[NodeId], asked: &[NodeId]) -> Result<Vec<u8>, TargetError> {
    let number = |asked: &NodeId| {
        let number = nodes.iter().position(|node| node == asked);
        let number = number.and_then(|number| u8::try_from(number).ok());
        number.filter(|number| *number != MIXED).ok_or_else(|| {
            let words =
                format!("node {asked} is not among the first {MIXED} nodes of this machine");
            TargetError::NotHere(Code::NotPlaceable.because(words))
        })
    };
    asked.iter().map(number).collect()
}
