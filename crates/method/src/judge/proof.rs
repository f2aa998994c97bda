//! Compares an experiment's claims with what was read back.

use std::collections::BTreeMap;

use hopcost_core::{BlockRecord, Claim, Code, Metric, NodeId, Proved, Reason};

use super::case::Case;

impl Case<'_> {
    pub(super) fn proof(&self) -> Vec<Proved> {
        self.claims().flat_map(|(level, claim)| self.proved(level, claim)).collect()
    }

    fn claims(&self) -> impl Iterator<Item = (usize, &Claim)> {
        let levels = &self.plan.levels;
        self.comparison.claims.iter().filter_map(|claim| {
            Some((levels.iter().position(|level| *level == claim.level)?, claim))
        })
    }

    /// The lowest share over the bindings: a claim has to hold in each.
    fn proved(&self, level: usize, claim: &Claim) -> Vec<Proved> {
        let bindings = 0..self.plan.bindings.len();
        let least = |of_binding: &dyn Fn(usize) -> Option<f64>| {
            bindings.clone().filter_map(of_binding).min_by(f64::total_cmp)
        };
        let name = format!("{} at {}", claim.metric, claim.level);
        let found = match claim.metric {
            // Clients on several nodes are each counted at their own node.
            metric if metric.is_of_nodes() && !self.stands_on_one_node(level) => {
                let local = |binding| share(self.counts(level, binding, Metric::LocalLookups));
                let is_local = metric == Metric::LocalLookups;
                let side = |local: f64| if is_local { local } else { 1.0 - local };
                vec![(name, least(&|binding| local(binding).map(side)))]
            }
            metric if metric.is_of_nodes() => {
                let side = usize::from(metric == Metric::RemoteLookups);
                let share = |of: fn(&Sides) -> [u64; 2], binding| {
                    let sides = of(&self.lookups(level, |block| block.trial.binding == binding));
                    share([sides[side], sides[0] + sides[1]])
                };
                vec![
                    (
                        format!("{name}, acquisitions"),
                        least(&|binding| share(|sides| sides.acquisitions, binding)),
                    ),
                    (
                        format!("{name}, different pages"),
                        least(&|binding| share(|sides| sides.pages, binding)),
                    ),
                ]
            }
            metric => {
                vec![(name, least(&|binding| share(self.counts(level, binding, metric))))]
            }
        };
        let proved = |(claim_text, found)| {
            Some(Proved { claim: claim_text, least: claim.least, found: found? })
        };
        found.into_iter().filter_map(proved).collect()
    }

    pub(super) fn stands_on_one_node(&self, level: usize) -> bool {
        self.plan.placements.iter().all(|levels| levels[level].settings.at.is_some())
    }

    fn counts(&self, level: usize, binding: usize, metric: Metric) -> [u64; 2] {
        let windows = self.windows_of(level, None);
        let windows = windows.filter(|(block, _)| block.trial.binding == binding);
        windows.fold([0; 2], |[held, of], (_, window)| {
            let counts = match metric {
                Metric::RightAnswers => [window.calls.saturating_sub(window.errors), window.calls],
                metric => window.proved.get(&metric).copied().unwrap_or_default(),
            };
            [held + counts[0], of + counts[1]]
        })
    }

    pub(super) fn unproved(&self, proof: &[Proved]) -> Option<Reason> {
        if let Some(proved) = proof.iter().find(|proved| !proved.holds()) {
            let (found, least) = (100.0 * proved.found, 100.0 * proved.least);
            let claim = &proved.claim;
            return Some(
                Code::ClaimUnmet
                    .because(format!("{claim}: {found:.1}%, and {least:.0}% is needed")),
            );
        }
        let untold = self.claims().find(|(level, claim)| self.proved(*level, claim).is_empty());
        let (_, claim) = untold.filter(|_| !self.blocks.is_empty())?;
        Some(Code::ClaimUnverified.because(format!(
            "this target cannot count {}, so placement is not verified",
            claim.metric
        )))
    }

    pub(super) fn lookups(&self, level: usize, wanted: impl Fn(&BlockRecord) -> bool) -> Sides {
        let mut sides = Sides::default();
        let mut pages = BTreeMap::new();
        for (block, window) in self.windows_of(level, None).filter(|(block, _)| wanted(block)) {
            let at = self.plan.placements[block.trial.binding][level].settings.at;
            let Some(lookups) = &window.lookups else { continue };
            add_sides(&mut sides.acquisitions, &lookups.acquisitions, at);
            // Counted since the start of the session: the last window has all.
            let mut of_window = [0; 2];
            add_sides(&mut of_window, &lookups.distinct_pages, at);
            pages.insert(block.trial.binding, of_window);
        }
        for [here, there] in pages.into_values() {
            sides.pages = [sides.pages[0] + here, sides.pages[1] + there];
        }
        sides
    }
}

/// `[own node, other nodes]`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sides {
    pub acquisitions: [u64; 2],
    pub pages: [u64; 2],
}

fn share([held, of]: [u64; 2]) -> Option<f64> {
    (of > 0).then(|| held as f64 / of as f64)
}

fn add_sides(sides: &mut [u64; 2], by_node: &BTreeMap<NodeId, u64>, at: Option<NodeId>) {
    for (node, count) in by_node {
        sides[usize::from(Some(*node) != at)] += count;
    }
}
