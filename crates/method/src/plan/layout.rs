//! The plan: what is measured where.

use std::collections::BTreeSet;

use hopcost_core::{Binding, CpuSet, DataPlacement, Reason, Trial, VariantSettings};
use hopcost_stats::Boundary;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    #[serde(flatten)]
    pub settings: VariantSettings,
    #[serde(default, skip_serializing_if = "CpuSet::is_empty")]
    pub spare: CpuSet,
    pub client: Option<CpuSet>,
}

impl Placement {
    /// The CPUs used by the first `streams` clients.
    pub fn callers(&self, streams: u32) -> CpuSet {
        let workers = self.settings.workers.iter().take(streams as usize);
        self.client.clone().unwrap_or_else(|| workers.copied().collect())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub what: String,
    #[serde(flatten)]
    pub reason: Reason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Point {
    pub streams: u32,
    pub level: usize,
}

impl Point {
    pub fn of(trial: &Trial) -> Self {
        Self { streams: trial.streams, level: trial.level }
    }

    pub fn in_streams(self) -> String {
        format!("{} {}", self.streams, if self.streams == 1 { "stream" } else { "streams" })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub bindings: Vec<Binding>,
    /// By binding, then by variant.
    pub placements: Vec<Vec<Placement>>,
    /// The baseline first.
    pub levels: Vec<String>,
    /// A score has only points of variant 0.
    pub points: Vec<Point>,
    pub left_out: Vec<LeftOut>,
    /// By variant; empty unless the scaling law is searched for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boundaries: Vec<Vec<Boundary>>,
}

impl Plan {
    pub fn homes(&self) -> Vec<DataPlacement> {
        let homes = self.placements.iter().flatten().flat_map(|placed| placed.settings.copies());
        homes.collect::<BTreeSet<_>>().into_iter().collect()
    }

    pub fn is_score(&self) -> bool {
        self.levels.len() == 1
    }

    pub fn is_of_law(&self) -> bool {
        !self.boundaries.is_empty()
    }

    /// The variants that leave CPUs unused, with these CPUs in each binding.
    pub fn spares(&self) -> Vec<(&str, BTreeSet<String>)> {
        let of_level = |(number, level): (usize, _)| {
            let spares = self.placements.iter().map(|levels| &levels[number].spare);
            let texts = spares.filter(|spare| !spare.is_empty()).map(ToString::to_string);
            (String::as_str(level), texts.collect())
        };
        let all = self.levels.iter().enumerate().map(of_level);
        all.filter(|(_, spares): &(_, BTreeSet<_>)| !spares.is_empty()).collect()
    }

    /// CPU 0 cannot be taken offline, so bindings without first threads are dropped.
    pub fn unturned(&mut self) {
        let bindings = std::mem::take(&mut self.bindings).into_iter();
        let both = bindings.zip(std::mem::take(&mut self.placements));
        (self.bindings, self.placements) = both.filter(|(binding, _)| !binding.turned).unzip();
    }

    /// Where anything that is measured may run.
    pub fn cpus(&self) -> CpuSet {
        let of = |placement: &Placement| {
            let Placement { settings, client, .. } = placement;
            let groups = [settings.log_writer.as_ref(), client.as_ref()].into_iter().flatten();
            groups
                .flat_map(CpuSet::iter)
                .chain(settings.workers.iter().copied())
                .collect::<Vec<_>>()
        };
        self.placements.iter().flatten().flat_map(of).collect()
    }

    pub fn most_streams(&self) -> u32 {
        self.points.iter().map(|point| point.streams).max().unwrap_or(1)
    }
}
