//! Which groups of tests are tried.

use anyhow::{Result, bail};

use super::groups::{GROUPS, Group};
use super::verified::Verified;

/// Groups that a run of [`Selection::Changed`] tries beside those that are called for.
const TRIED_LONGEST_AGO: usize = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    First,
    /// The first tier, the groups whose files have changed since they last passed, and those tried longest ago.
    Changed,
    All,
    /// These groups, and what the first tier has of these binaries (`hopcost/servers`), alone.
    Named(Vec<String>),
}

impl Selection {
    /// Does the first tier of this binary belong to it?
    pub fn has(&self, binary: &str) -> bool {
        match self {
            Self::First | Self::Changed | Self::All => true,
            Self::Named(names) => names.iter().any(|name| name == binary),
        }
    }

    /// Its groups, in their order.
    pub fn groups(&self, verified: &Verified) -> Result<Vec<&'static Group>> {
        let is_chosen: Box<dyn Fn(&Group) -> bool> = match self {
            Self::First => Box::new(|_| false),
            Self::All => Box::new(|_| true),
            Self::Changed => {
                let oldest = verified.tried_longest_ago(TRIED_LONGEST_AGO);
                let changed = verified.changed()?;
                Box::new(move |group| changed.contains(&group.name) || oldest.contains(&group.name))
            }
            Self::Named(names) => {
                let is_known = |name: &&String| {
                    name.contains('/') || GROUPS.iter().any(|group| group.name == **name)
                };
                if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
                    let all: Vec<_> = GROUPS.iter().map(|group| group.name).collect();
                    bail!("no group '{unknown}'; there are {}", all.join(", "));
                }
                Box::new(|group| names.iter().any(|name| group.name == name))
            }
        };
        Ok(GROUPS.iter().filter(|group| is_chosen(group)).collect())
    }
}
