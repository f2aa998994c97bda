//! Which groups of tests run.

use anyhow::{Result, bail};

use super::groups::{GROUPS, Group};
use super::verified::Verified;

const TRIED_LONGEST_AGO: usize = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    First,
    /// The first tier, the groups changed since they last passed, and those that ran longest ago.
    Changed,
    All,
    /// Only these groups, and the first tier of these binaries (`hopcost/servers`).
    Named(Vec<String>),
}

impl Selection {
    pub fn has(&self, binary: &str) -> bool {
        match self {
            Self::First | Self::Changed | Self::All => true,
            Self::Named(names) => names.iter().any(|name| name == binary),
        }
    }

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
