//! How precisely local and remote accesses were told apart, and by which evidence.

use std::collections::BTreeMap;

use hopcost_core::{BlockRecord, Locality, Lookups, ProvedBy, Tier, Witness, gauge};

use super::case::Case;

impl Case<'_> {
    pub(super) fn tier(&self) -> Option<Tier> {
        let told = |which: fn(&Lookups) -> bool| {
            let mut asked = self.windows().filter(|window| window.calls > 0);
            asked.all(|window| window.lookups.as_ref().is_some_and(which))
        };
        if self.blocks.is_empty() {
            return None;
        }
        Some(if told(|lookups| !lookups.acquisitions.is_empty()) {
            Tier::EngineCounters
        } else if self.localities().next().is_some() || told(|l| !l.distinct_pages.is_empty()) {
            Tier::PageResidency
        } else {
            Tier::CpuResidency
        })
    }

    /// Evidence of memory first.
    pub(super) fn proved_by(&self) -> Vec<ProvedBy> {
        if self.blocks.is_empty() {
            return Vec::new();
        }
        let counts = |by| ProvedBy { by, found: None };
        let shares = |(by, found)| ProvedBy { by, found: Some(found) };
        let looked = |which: fn(&Lookups) -> bool| {
            self.windows().filter_map(|window| window.lookups.as_ref()).any(which)
        };
        let mut all = Vec::new();
        all.extend(looked(|l| !l.acquisitions.is_empty()).then(|| counts(Witness::LookUps)));
        all.extend(looked(|l| !l.distinct_pages.is_empty()).then(|| counts(Witness::PagesTouched)));
        let methods = self.localities().map(|l| (Witness::Pages(l.method), l.share_in_place()));
        all.extend(least(methods).into_iter().map(shares));
        all.push(counts(Witness::ThreadMasks));
        let proved = self.windows().flat_map(|window| &window.proved);
        // Other counters prove nothing about placement.
        let proved = proved.filter(|(by, [_, of])| by.is_of_place() && *of > 0);
        let proved =
            proved.map(|(by, [held, of])| (Witness::Metric(*by), *held as f64 / *of as f64));
        all.extend(least(proved).into_iter().map(shares));
        let mut observed = self.windows().flat_map(|window| &window.observations);
        let is_sampled = observed.any(|observation| observation.is(gauge::PARALLEL_WORKER_SAMPLES));
        all.extend(is_sampled.then(|| counts(Witness::ParallelWorkerSamples)));
        all
    }

    fn localities(&self) -> impl Iterator<Item = &Locality> {
        let placements = self.blocks.iter().map(|block: &BlockRecord| &block.placement);
        placements.filter_map(|placement| placement.get()).flatten()
    }
}

fn least(shares: impl Iterator<Item = (Witness, f64)>) -> BTreeMap<Witness, f64> {
    let mut least = BTreeMap::new();
    for (by, share) in shares {
        let found = least.entry(by).or_insert(share);
        *found = f64::min(*found, share);
    }
    least
}
