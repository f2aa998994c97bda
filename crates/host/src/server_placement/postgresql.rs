//! PostgreSQL on this host: the roles of its processes, and its pid file.

use std::collections::BTreeMap;

use hopcost_core::{Code, Known};
use hopcost_sys::{processes, standing, titles};

use super::ground::{Ground, Part};
use super::told::Told;
use crate::occupancy::servers::Found;

pub fn is_it(found: &Found) -> bool {
    found.kind.name == "PostgreSQL"
}

/// By the pids that the server itself sees, which differ in a container.
pub fn by_own_number(ground: &Ground<'_>, found: &Found) -> BTreeMap<u32, u32> {
    let numbers = found.processes.iter();
    numbers.map(|pid| (standing::own_number(ground.root, *pid), *pid)).collect()
}

/// Roles from SQL if the server was asked, else from process titles.
pub fn parts(ground: &Ground<'_>, found: &Found, told: Option<&Told>) -> Vec<Part> {
    let here = by_own_number(ground, found);
    let part = |(own, pid): (&u32, &u32)| {
        let said = told.and_then(|told| told.backends.iter().find(|backend| backend.pid == *own));
        let title = processes::title(ground.root, *pid).ok().unwrap_or_default();
        let shown = titles::of_title(&title);
        let leader = said.and_then(|backend| backend.leader);
        let leader = leader.or(shown.as_ref().and_then(|role| role.leader));
        let role = match (said.and_then(|backend| backend.role.get()), shown) {
            (Some(role), _) => Known::Is(role.clone()),
            (None, Some(shown)) => Known::Is(shown.name),
            (None, None) => without_title(ground, found, *pid),
        };
        Part { role, pid: *pid, leader: leader.and_then(|own| here.get(&own).copied()) }
    };
    here.iter().map(part).collect()
}

/// The first process shows its command line; so do commands that it runs and new children.
fn without_title(ground: &Ground<'_>, found: &Found, pid: u32) -> Known<String> {
    if found.heads.contains(&pid) {
        return Known::Is("postmaster".to_owned());
    }
    let (name, of_head) = (ground.name(pid), ground.name(found.pid()));
    if name == of_head { Known::missing(Code::NotTold, "it shows no title yet") } else { name }
}
