//! Pointer chasing: dependent loads, each address known only after the previous load.
//!
//! Method: memory is cut into slots of one stride. A line of each slot holds the address of the
//! next, in one random cycle through all slots (uniform, after S. Sattolo, 1986), so that no
//! prefetcher can guess it. The line varies by slot: at a fixed place, a prefetcher that learns
//! distances made memory look a third nearer. Several cycles can share the memory on different
//! lines.

use std::hint::black_box;
use std::ops::Range;
use std::sync::atomic::Ordering;

use fastrand::Rng;
use hopcost_core::Locality;

use crate::memory::Region;

/// 64 on x86-64, and a divisor of the line of every other processor.
pub const LINE_BYTES: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Each load may also miss the TLB.
    Random,
    /// Groups in random order, each finished before the next: TLB misses are rare.
    Grouped {
        /// Bytes of a group.
        bytes: usize,
    },
}

#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Offset in the region, at a line.
    pub from: usize,
    pub bytes: usize,
    pub stride: usize,
    /// Line within a slot, counted from a line that varies by slot.
    pub line: usize,
    pub order: Order,
}

/// Memory with cycles laid in it. Nothing else may write there: a walk follows what it finds.
#[derive(Debug)]
pub struct Course {
    region: Region,
    cycles: Vec<Cycle>,
}

#[derive(Debug)]
struct Cycle {
    /// Addresses spread evenly along the cycle, for parallel chains.
    starts: Vec<usize>,
    slots: usize,
    plan: Plan,
}

impl Plan {
    fn word_of(&self, slot: u32) -> usize {
        let lines = self.stride / LINE_BYTES;
        let line = (first_line(slot) + self.line) % lines;
        (self.from + slot as usize * self.stride + line * LINE_BYTES) / 8
    }

    fn meets(&self, other: &Self) -> bool {
        let is_apart =
            self.from + self.bytes <= other.from || other.from + other.bytes <= self.from;
        // Line numbers are comparable only if both count them from the same slots.
        let is_alike = self.from == other.from && self.stride == other.stride;
        !(is_apart || is_alike && self.line != other.line)
    }
}

pub const MOST_CHAINS: usize = 16;

impl Course {
    pub fn new(region: Region) -> Self {
        Self { region, cycles: Vec::new() }
    }

    /// Lays one more cycle, on unused lines; returns its number.
    pub fn lay(&mut self, plan: &Plan, rng: &mut Rng) -> usize {
        assert!(plan.from + plan.bytes <= self.region.len(), "the cycle leaves its region");
        assert!(plan.from.is_multiple_of(LINE_BYTES), "a cycle begins at a line");
        assert!(plan.line < plan.stride / LINE_BYTES, "a slot has no such line");
        assert!(!self.cycles.iter().any(|cycle| cycle.plan.meets(plan)), "the line is taken");
        let order = visits(plan, rng);
        let base = self.region.as_ptr() as usize;
        let words = self.region.words_mut();
        let address_of = |slot: u32| base + plan.word_of(slot) * 8;
        // First compute the successors, in an array that fits the caches; then write memory in one
        // pass. Writing in the order of the visits would wait for memory at every slot.
        let mut followers = vec![0; order.len()];
        for (at, &slot) in order.iter().enumerate() {
            followers[slot as usize] = order[(at + 1) % order.len()];
        }
        for (slot, &next) in followers.iter().enumerate() {
            words[plan.word_of(slot as u32)] = address_of(next) as u64;
        }
        let chains = MOST_CHAINS.min(order.len());
        let starts = (0..chains).map(|chain| address_of(order[chain * order.len() / chains]));
        let (starts, slots) = (starts.collect(), order.len());
        self.cycles.push(Cycle { starts, slots, plan: *plan });
        self.cycles.len() - 1
    }

    pub fn slots(&self, cycle: usize) -> usize {
        self.cycles[cycle].slots
    }

    /// Reads every line of a cycle in memory order, so that the caches hold what they can of it.
    pub fn bring_near(&self, cycle: usize) {
        let Cycle { slots, plan, .. } = &self.cycles[cycle];
        let words = self.region.atomics();
        let read = |slot| words[plan.word_of(slot)].load(Ordering::Relaxed);
        black_box((0..*slots as u32).fold(0, |all, slot| all ^ read(slot)));
    }

    pub fn locality(&self) -> Locality {
        self.region.locality()
    }

    /// Follows `chains` places of a cycle at once, `steps` loads each. The next walk goes on from
    /// there.
    pub fn walk(&mut self, cycle: usize, chains: usize, steps: usize) {
        let starts = &mut self.cycles[cycle].starts;
        match chains {
            1 => follow::<1>(starts, steps),
            2 => follow::<2>(starts, steps),
            3 => follow::<3>(starts, steps),
            4 => follow::<4>(starts, steps),
            6 => follow::<6>(starts, steps),
            8 => follow::<8>(starts, steps),
            12 => follow::<12>(starts, steps),
            16 => follow::<16>(starts, steps),
            _ => panic!("{chains} chains: the kernel has 1, 2, 3, 4, 6, 8, 12 and 16"),
        }
    }
}

/// Enough loads to hide the loop's own cost.
const UNROLL: usize = 64;

fn follow<const CHAINS: usize>(starts: &mut [usize], steps: usize) {
    let mut at = [0usize; CHAINS];
    at.copy_from_slice(&starts[..CHAINS]);
    for _ in 0..steps / UNROLL {
        for _ in 0..UNROLL {
            for address in &mut at {
                // SAFETY: every address is one that `lay` wrote: a word of the region that the
                // course owns and nobody else writes to, holding the address of another such word.
                *address = unsafe { *(*address as *const usize) };
            }
        }
    }
    starts[..CHAINS].copy_from_slice(&black_box(at));
}

/// The line from which a slot's lines are counted: without a pattern, and the same for every cycle,
/// so that none meets another.
fn first_line(slot: u32) -> usize {
    Rng::with_seed(slot.into()).u32(..) as usize
}

fn visits(plan: &Plan, rng: &mut Rng) -> Vec<u32> {
    let slots = u32::try_from(plan.bytes / plan.stride).expect("at most 2^32 slots");
    assert!(slots > 0, "a cycle needs a slot");
    let mut order: Vec<u32> = (0..slots).collect();
    match plan.order {
        Order::Random => rng.shuffle(&mut order),
        Order::Grouped { bytes } => {
            let size = (bytes / plan.stride).max(1);
            let mut groups: Vec<Range<usize>> = (0..order.len())
                .step_by(size)
                .map(|start| start..order.len().min(start + size))
                .collect();
            rng.shuffle(&mut groups);
            let slots = order.clone();
            order.clear();
            for group in groups {
                let from = order.len();
                order.extend_from_slice(&slots[group]);
                rng.shuffle(&mut order[from..]);
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Request;
    use crate::{Root, topology};

    fn region(bytes: usize) -> Region {
        let machine = topology::read(&Root::live());
        let node = machine.nodes_with_cpus().find(|node| node.usable).unwrap().id;
        Region::place(&Request::on(&machine, node, bytes, None)).unwrap()
    }

    fn round(course: &mut Course, cycle: usize) -> Vec<usize> {
        let at = &mut course.cycles[cycle].starts[0];
        let start = *at;
        let mut met = Vec::new();
        loop {
            // SAFETY: as in `follow`.
            *at = unsafe { *(*at as *const usize) };
            met.push(*at - course.region.as_ptr() as usize);
            if *at == start {
                return met;
            }
        }
    }

    #[test]
    fn one_way_round_visits_every_slot_once_on_a_line_that_no_other_cycle_uses() {
        let mut course = Course::new(region(1 << 20));
        let mut rng = Rng::with_seed(7);
        let orders = [Order::Random, Order::Grouped { bytes: 4096 }, Order::Random, Order::Random];
        for (line, order) in orders.into_iter().enumerate() {
            course.lay(&Plan { from: 0, bytes: 1 << 20, stride: 256, line, order }, &mut rng);
        }
        let mut used = std::collections::HashSet::new();
        for cycle in 0..orders.len() {
            let met = round(&mut course, cycle);
            let mut slots: Vec<usize> = met.iter().map(|address| address / 256).collect();
            slots.sort_unstable();
            assert!(slots.iter().copied().eq(0..4096));
            assert!(met.iter().all(|address| used.insert(address / 64)), "a line used twice");
            for line in 0..4 {
                let share = met.iter().filter(|address| *address / 64 % 4 == line).count();
                assert!((824..1224).contains(&share), "line {line} of a slot in {share} of 4,096");
            }
        }
    }

    #[test]
    fn cycles_lie_side_by_side_and_never_on_a_line_of_another() {
        let mut course = Course::new(region(1 << 20));
        let mut rng = Rng::with_seed(7);
        let part =
            |from, bytes, stride| Plan { from, bytes, stride, line: 0, order: Order::Random };
        let parts =
            [part(0, 4096, 64), part(4096, 192 << 10, 64), part(256 << 10, 512 << 10, 4096)];
        let cycles = parts.map(|plan| course.lay(&plan, &mut rng));
        for (cycle, plan) in cycles.into_iter().zip(&parts) {
            course.bring_near(cycle);
            let met = round(&mut course, cycle);
            assert_eq!(met.len(), plan.bytes / plan.stride);
            assert!(met.iter().all(|at| (plan.from..plan.from + plan.bytes).contains(at)));
        }
        assert!(parts[1].meets(&part(0, 8192, 64)) && !parts[0].meets(&parts[1]));
        assert!(parts[0].meets(&Plan { line: 1, ..part(0, 4096, 128) }), "slots of another size");
    }

    #[test]
    fn a_grouped_cycle_finishes_each_group_before_the_next() {
        let mut course = Course::new(region(1 << 20));
        let order = Order::Grouped { bytes: 4096 };
        let plan = Plan { from: 0, bytes: 1 << 20, stride: 256, line: 0, order };
        let cycle = course.lay(&plan, &mut Rng::with_seed(7));
        let met = round(&mut course, cycle);
        let changes = met.windows(2).filter(|pair| pair[0] / 4096 != pair[1] / 4096).count();
        // Each group is entered once, except perhaps the one in which the walk began.
        assert!((255..=256).contains(&changes), "{changes}");
    }

    #[test]
    fn a_walk_goes_on_where_the_last_one_stopped() {
        let mut course = Course::new(region(1 << 20));
        let plan = Plan { from: 0, bytes: 1 << 20, stride: 256, line: 0, order: Order::Random };
        let cycle = course.lay(&plan, &mut Rng::with_seed(7));
        let start = course.cycles[cycle].starts.clone();
        course.walk(cycle, 1, 1024);
        assert_ne!(course.cycles[cycle].starts[0], start[0]);
        course.walk(cycle, 1, 4096 - 1024);
        assert_eq!(course.cycles[cycle].starts[0], start[0], "4,096 loads are one way round");
        course.walk(cycle, 16, 4096);
        assert_eq!(course.cycles[cycle].starts, start);
    }
}
