//! Arithmetic without memory access: what a core does when it waits for nothing.
//!
//! Eight independent chains of shift, exclusive or and multiplication keep the one multiplier of
//! most cores busy, so that a second thread of the core has to share it.

use std::hint::black_box;

const CHAINS: usize = 8;
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Runs `steps` of every chain; the result depends on all of them.
pub fn reckon(steps: usize) -> u64 {
    let mut chains: [u64; CHAINS] = black_box(std::array::from_fn(|n| n as u64 + 1));
    for _ in 0..steps {
        for chain in &mut chains {
            *chain = (*chain ^ (*chain >> 29)).wrapping_mul(FACTOR);
        }
    }
    black_box(chains).into_iter().fold(0, |all, chain| all ^ chain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_of_every_chain_is_done() {
        let chain = |first: u64, steps| {
            (0..steps).fold(first, |x: u64, _| (x ^ (x >> 29)).wrapping_mul(FACTOR))
        };
        for steps in [0, 1, 7, 1000] {
            let by_hand = (1..=CHAINS as u64).fold(0, |all, first| all ^ chain(first, steps));
            assert_eq!(reckon(steps), by_hand);
        }
    }
}
