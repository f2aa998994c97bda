//! Memory policies and pages in an experiment file.

use hopcost_core::{PageSize, Policy};

use super::{Flaw, LevelTable, named};

/// The memory policies, as they are written.
const POLICIES: [(&str, Policy); 4] = [
    ("first-touch", Policy::FirstTouch),
    ("interleave", Policy::Interleave),
    ("bind", Policy::Bind),
    ("per-node", Policy::PerNode),
];

/// The pages of a level's data, as they are written.
const PAGES: [(&str, PageSize); 2] = [("small", PageSize::Base), ("large", PageSize::Transparent)];

/// The pages of a level, where it names them.
pub(super) fn pages_of(table: &LevelTable) -> Result<Option<PageSize>, Flaw> {
    named("size of pages", table.pages.as_ref(), &PAGES)
}

/// The policy of a level, where it names one that fits what it says of its data.
pub(super) fn of(table: &LevelTable) -> Result<Option<Policy>, Flaw> {
    let Some(text) = &table.policy else { return Ok(None) };
    let policy = named("policy", Some(text), &POLICIES)?;
    let is_of_one_node = matches!(policy, Some(Policy::FirstTouch | Policy::Bind));
    let flaw = |message: String, advice| Err(Flaw::of(text, message, advice));
    match &table.data {
        None if is_of_one_node => {
            flaw(format!("'{}' of no node", text.get_ref()), "say on which node: data = \"node:A\"")
        }
        Some(_) if !is_of_one_node => flaw(
            format!("'{}' puts data on all nodes", text.get_ref()),
            "leave out 'data', or take first-touch or bind",
        ),
        _ => Ok(policy),
    }
}
