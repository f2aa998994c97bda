//! A histogram of call durations with 3% precision over any range.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Counts of durations in nanoseconds. A bucket is at most 1/32 of its value wide.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    /// Exact: buckets are too coarse for a mean.
    total_ns: u64,
}

const PER_OCTAVE: u64 = 32;
const SHIFT: u32 = PER_OCTAVE.trailing_zeros();

impl Histogram {
    pub fn record(&mut self, ns: u64) {
        let bucket = bucket(ns);
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.total_ns = self.total_ns.saturating_add(ns);
    }

    pub fn add(&mut self, other: &Self) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (into, from) in self.counts.iter_mut().zip(&other.counts) {
            *into += from;
        }
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
    }

    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The duration that this share of the calls did not exceed; `None` without calls.
    pub fn quantile_ns(&self, share: f64) -> Option<f64> {
        let wanted = (share * self.count() as f64).max(1.0);
        let mut seen = 0;
        self.counts.iter().enumerate().find_map(|(bucket, count)| {
            seen += count;
            let (low, high) = bounds(bucket);
            (*count > 0 && seen as f64 >= wanted).then(|| f64::midpoint(low as f64, high as f64))
        })
    }

    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(bucket, count)| {
            let (low, high) = bounds(bucket);
            (f64::midpoint(low as f64, high as f64), *count)
        })
    }

    pub fn mean_and_deviation_ns(&self) -> Option<(f64, f64)> {
        let n = self.count() as f64;
        let mean = self.total_ns as f64 / n;
        let square = |(ns, count): (f64, u64)| (ns - mean).powi(2) * count as f64;
        (n > 0.0).then(|| (mean, (self.buckets().map(square).sum::<f64>() / n).sqrt()))
    }
}

fn bucket(ns: u64) -> usize {
    if ns < PER_OCTAVE {
        return ns as usize;
    }
    let octave = ns.ilog2() - SHIFT;
    (u64::from(octave + 1) * PER_OCTAVE + (ns >> octave) - PER_OCTAVE) as usize
}

fn bounds(bucket: usize) -> (u64, u64) {
    let bucket = bucket as u64;
    if bucket < PER_OCTAVE {
        return (bucket, bucket);
    }
    let octave = bucket / PER_OCTAVE - 1;
    let low = (bucket % PER_OCTAVE + PER_OCTAVE) << octave;
    (low, low + ((1 << octave) - 1))
}

#[derive(Serialize, Deserialize)]
struct Written {
    total_ns: u64,
    buckets: BTreeMap<usize, u64>,
}

impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let filled = self.counts.iter().copied().enumerate().filter(|(_, count)| *count > 0);
        Written { total_ns: self.total_ns, buckets: filled.collect() }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Written { total_ns, buckets } = Written::deserialize(deserializer)?;
        let length = buckets.keys().next_back().map_or(0, |last| last + 1);
        if length > bucket(u64::MAX) + 1 {
            return Err(serde::de::Error::custom("a bucket beyond all durations"));
        }
        let counts = (0..length).map(|n| buckets.get(&n).copied().unwrap_or(0)).collect();
        Ok(Self { counts, total_ns })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_duration_lies_in_its_bucket_and_the_bucket_is_narrow(ns in any::<u64>()) {
            let (low, high) = bounds(bucket(ns));
            prop_assert!(low <= ns && ns <= high, "{ns} in {low}..={high}");
            prop_assert!(high - low <= low / PER_OCTAVE);
        }

        #[test]
        fn quantiles_are_those_of_the_values(mut all in prop::collection::vec(0u64..1 << 40, 1..200)) {
            let mut histogram = Histogram::default();
            for ns in &all {
                histogram.record(*ns);
            }
            all.sort_unstable();
            let median = all[(all.len() - 1) / 2] as f64;
            let found = histogram.quantile_ns(0.5).unwrap();
            prop_assert!((found - median).abs() <= median / 32.0 + 1.0, "{found} for {median}");
            let text = serde_json::to_string(&histogram).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Histogram>(&text).unwrap(), &histogram);
        }
    }

    #[test]
    fn mean_and_deviation_are_near_those_of_the_values() {
        let mut histogram = Histogram::default();
        for ns in [1_000, 3_000] {
            histogram.record(ns);
        }
        let (mean, deviation) = histogram.mean_and_deviation_ns().unwrap();
        assert!((mean - 2_000.0).abs() < 1e-9 && (deviation - 1_000.0).abs() < 60.0);
        assert_eq!(Histogram::default().mean_and_deviation_ns(), None);
    }
}
