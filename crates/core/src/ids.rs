//! CPU and node numbers, and sets of them.
//!
//! The kernel numbers both sparsely (a real server has nodes 0–2, 33, 34, 45, 72, 73) and without a
//! useful upper bound, so a set is a growing bitmap.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};
use thiserror::Error;

pub trait Id: Copy + Ord + From<u32> + Into<u32> {}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl Id for $name {}

        /// From a number, or from text as it stands for the key of a map.
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Number).map(Self)
            }
        }

        impl From<u32> for $name {
            fn from(number: u32) -> Self {
                Self(number)
            }
        }

        impl From<$name> for u32 {
            fn from(id: $name) -> u32 {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A logical CPU, by the kernel's number.
    CpuId
);
id!(
    /// A memory node, by the kernel's number.
    NodeId
);

struct Number;

impl Visitor<'_> for Number {
    type Value = u32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u32, E> {
        u32::try_from(number).map_err(E::custom)
    }

    fn visit_str<E: Error>(self, digits: &str) -> Result<u32, E> {
        digits.parse().map_err(E::custom)
    }
}

pub type CpuSet = IdSet<CpuId>;
pub type NodeSet = IdSet<NodeId>;

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct IdSet<I> {
    /// Number n is bit `n % 64` of word `n / 64`; no trailing zero words.
    words: Vec<u64>,
    of: PhantomData<I>,
}

#[derive(Debug, Error, PartialEq, Eq)]
#[error("'{part}' in '{text}' is not {wanted}")]
pub struct ParseSetError {
    text: String,
    part: String,
    wanted: &'static str,
}

impl ParseSetError {
    fn of(text: &str, part: &str, wanted: &'static str) -> Self {
        Self { text: text.trim().to_owned(), part: part.to_owned(), wanted }
    }
}

impl<I: Id> IdSet<I> {
    /// The largest number in any set. The kernel's limits are 8,192 CPUs and 1,024 nodes; damaged
    /// or mistyped text such as `0-4000000000` must not become a gigabyte of bitmap.
    pub const LARGEST: u32 = (1 << 16) - 1;

    pub const fn new() -> Self {
        Self { words: Vec::new(), of: PhantomData }
    }

    /// True if `id` was not in the set. Numbers beyond [`Self::LARGEST`] are ignored.
    pub fn insert(&mut self, id: I) -> bool {
        if id.into() > Self::LARGEST {
            return false;
        }
        let (word, bit) = Self::locate(id);
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        let fresh = self.words[word] & bit == 0;
        self.words[word] |= bit;
        fresh
    }

    pub fn contains(&self, id: I) -> bool {
        let (word, bit) = Self::locate(id);
        self.words.get(word).is_some_and(|w| w & bit != 0)
    }

    pub fn len(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = I> + '_ {
        self.words.iter().enumerate().flat_map(|(word, &bits)| {
            (0..64)
                .filter(move |bit| bits >> bit & 1 == 1)
                .map(move |bit| I::from(word as u32 * 64 + bit))
        })
    }

    pub fn first(&self) -> Option<I> {
        self.iter().next()
    }

    pub fn last(&self) -> Option<I> {
        self.iter().last()
    }

    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self::from_words(self.words.iter().zip(&other.words).map(|(a, b)| a & b).collect())
    }

    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let theirs = other.words.iter().copied().chain(std::iter::repeat(0));
        Self::from_words(self.words.iter().zip(theirs).map(|(a, b)| a & !b).collect())
    }

    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.iter().chain(other.iter()).collect()
    }

    pub fn intersects(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }

    pub fn is_subset(&self, other: &Self) -> bool {
        self.difference(other).is_empty()
    }

    /// Lowest numbers first, as the system calls expect.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    pub fn from_words(mut words: Vec<u64>) -> Self {
        words.truncate(Self::LARGEST as usize / 64 + 1);
        while words.last() == Some(&0) {
            words.pop();
        }
        Self { words, of: PhantomData }
    }

    /// The kernel's list notation, `0-3,8,10-11`. A blank text is the empty set.
    pub fn parse_list(text: &str) -> Result<Self, ParseSetError> {
        let bad = |part| ParseSetError::of(text, part, "a number or a range such as 0-3");
        let number = |digits: &str| {
            digits.trim().parse::<u32>().ok().filter(|number| *number <= Self::LARGEST)
        };
        let mut set = Self::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (low, high) = part.split_once('-').unwrap_or((part, part));
            let range = number(low).zip(number(high)).filter(|(low, high)| low <= high);
            let (low, high) = range.ok_or_else(|| bad(part))?;
            set.extend((low..=high).map(I::from));
        }
        Ok(set)
    }

    /// The kernel's mask notation, 32-bit groups in hexadecimal, highest first:
    /// `00000000,0000000f`.
    pub fn parse_mask(text: &str) -> Result<Self, ParseSetError> {
        let mut set = Self::new();
        for (group, digits) in text.trim().rsplit(',').enumerate() {
            let bits = u32::from_str_radix(digits.trim(), 16).ok();
            let base = group as u32 * 32;
            let bits = bits.filter(|bits| *bits == 0 || base <= Self::LARGEST);
            let bits = bits
                .ok_or_else(|| ParseSetError::of(text, digits, "a hexadecimal group of a mask"))?;
            set.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| I::from(base + bit)));
        }
        Ok(set)
    }

    fn locate(id: I) -> (usize, u64) {
        let number: u32 = id.into();
        (number as usize / 64, 1 << (number % 64))
    }
}

impl<I: Id> Default for IdSet<I> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Id> FromIterator<I> for IdSet<I> {
    fn from_iter<T: IntoIterator<Item = I>>(ids: T) -> Self {
        let mut set = Self::new();
        set.extend(ids);
        set
    }
}

impl<I: Id> Extend<I> for IdSet<I> {
    fn extend<T: IntoIterator<Item = I>>(&mut self, ids: T) {
        for id in ids {
            self.insert(id);
        }
    }
}

impl<I: Id> fmt::Display for IdSet<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut numbers = self.iter().map(Into::<u32>::into).peekable();
        let mut separator = "";
        while let Some(low) = numbers.next() {
            let mut high = low;
            while let Some(next) = numbers.next_if(|&n| n == high + 1) {
                high = next;
            }
            match high - low {
                0 => write!(f, "{separator}{low}")?,
                _ => write!(f, "{separator}{low}-{high}")?,
            }
            separator = ",";
        }
        Ok(())
    }
}

impl<I: Id> fmt::Debug for IdSet<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

impl<I: Id> Serialize for IdSet<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Into::<u32>::into))
    }
}

impl<'de, I: Id> Deserialize<'de> for IdSet<I> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let numbers = Vec::<u32>::deserialize(deserializer)?;
        if numbers.iter().any(|&number| number > Self::LARGEST) {
            return Err(D::Error::custom(format!("a number beyond {}", Self::LARGEST)));
        }
        Ok(numbers.into_iter().map(I::from).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn set(list: &str) -> CpuSet {
        CpuSet::parse_list(list).unwrap()
    }

    #[test]
    fn reads_what_the_kernel_writes() {
        assert_eq!(set("0-3,8\n").iter().map(|c| c.0).collect::<Vec<_>>(), [0, 1, 2, 3, 8]);
        assert_eq!(set("\n"), CpuSet::new());
        assert_eq!(CpuSet::parse_mask("00000001,80000000\n").unwrap(), set("31-32"));
        assert_eq!(CpuSet::parse_mask("00000000,00000000\n").unwrap(), CpuSet::new());
    }

    #[test]
    fn numbers_beyond_a_fixed_mask_are_ordinary() {
        let many = set("0,1023-1025,2047");
        assert_eq!(many.len(), 5);
        assert!(many.contains(CpuId(2047)) && !many.contains(CpuId(2046)));
        assert_eq!(many.words().len(), 32);
    }

    #[test]
    fn says_which_part_is_wrong() {
        let message = CpuSet::parse_list("0-3,x,9").unwrap_err().to_string();
        assert_eq!(message, "'x' in '0-3,x,9' is not a number or a range such as 0-3");
        assert!(CpuSet::parse_list("7-3").is_err());
        assert!(CpuSet::parse_list("0-4000000000").is_err());
        assert!(CpuSet::parse_mask("zz").is_err());
        let beyond = format!("1{}", ",0".repeat(1 << 12));
        assert!(CpuSet::parse_mask(&beyond).is_err());
        assert_eq!(CpuSet::from_iter([CpuId(u32::MAX)]), CpuSet::new());
    }

    proptest! {
        #[test]
        fn list_notation_survives_a_round_trip(ids in prop::collection::btree_set(0u32..5000, 0..60)) {
            let set: CpuSet = ids.iter().copied().map(CpuId).collect();
            prop_assert_eq!(&CpuSet::parse_list(&set.to_string()).unwrap(), &set);
            prop_assert_eq!(set.iter().map(|c| c.0).collect::<Vec<_>>(), ids.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(set.len(), ids.len());
        }

        #[test]
        fn set_algebra_agrees_with_the_standard_library(
            a in prop::collection::btree_set(0u32..300, 0..40),
            b in prop::collection::btree_set(0u32..300, 0..40),
        ) {
            let of = |ids: &std::collections::BTreeSet<u32>| ids.iter().copied().map(CpuId).collect::<CpuSet>();
            let (x, y) = (of(&a), of(&b));
            prop_assert_eq!(x.intersection(&y), of(&(&a & &b)));
            prop_assert_eq!(x.difference(&y), of(&(&a - &b)));
            prop_assert_eq!(x.union(&y), of(&(&a | &b)));
            prop_assert_eq!(x.intersects(&y), !a.is_disjoint(&b));
            prop_assert_eq!(x.is_subset(&y), a.is_subset(&b));
        }
    }
}
