//! Random series: each random value is a function of a series name and a number.
//!
//! Name and number seed a generator, so that loader and checker can draw any value in any order.

use fastrand::Rng;

#[derive(Clone, Copy, Debug)]
pub struct Series(u64);

impl Series {
    pub const fn named(name: &str) -> Self {
        let (bytes, mut sum, mut at) = (name.as_bytes(), 0, 0);
        while at < bytes.len() {
            sum = mixed(sum ^ bytes[at] as u64);
            at += 1;
        }
        Self(sum)
    }

    #[inline]
    pub fn dice(self, number: u64) -> Rng {
        Rng::with_seed(self.value(number))
    }

    #[inline]
    pub const fn value(self, number: u64) -> u64 {
        mixed(self.0.wrapping_add(number))
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014); a bijection.
#[inline]
const fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_and_namesakes_have_nothing_in_common() {
        let [one, other] = ["one", "other"].map(Series::named);
        for number in 0..1000 {
            let differ = |a: u64, b: u64| (8..56).contains(&(a ^ b).count_ones());
            assert!(differ(one.value(number), one.value(number + 1)), "{number}");
            assert!(differ(one.value(number), other.value(number)), "{number}");
            assert_eq!(one.dice(number).u64(..), one.dice(number).u64(..));
        }
    }

    #[test]
    fn first_throws_are_even() {
        let series = Series::named("even");
        let mut thrown = [0; 10];
        (0..100_000).for_each(|number| thrown[series.dice(number).usize(0..10)] += 1);
        assert!(thrown.iter().all(|times| (9600..10_400).contains(times)), "{thrown:?}");
    }
}
