//! Before a load, and beside it: who is at work here, what the load may take, and who watches it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hopcost_core::{Code, Known, Machine, Reason};
use hopcost_drive::load_monitor::{Charge, Guardian};
use hopcost_host::occupancy::{self, Occupancy, Presence};
use hopcost_method::bounds::{Allowance, Bounds};
use hopcost_sys::{Root, affinity, topology};

use crate::{Control, Failure, Outcome};

/// Long enough for a hundred of the kernel's ticks: one of them is 1 % of a CPU.
const LOOK: Duration = Duration::from_secs(1);

/// Who is at work here. It takes a second.
pub(crate) fn look(root: &Root) -> Occupancy {
    occupancy::look(root, LOOK)
}

/// What a load may do here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    /// Whatever it likes: nobody is at work.
    Free,
    /// What was allowed.
    Within(Bounds),
    /// Nothing: somebody is at work, for these reasons, and nothing was allowed.
    ReadOnly {
        /// In words.
        reasons: Vec<String>,
    },
}

/// What a load may do beside those who are at work, given what was allowed; or what is wrong with
/// that.
pub(crate) fn permitted(
    presence: Presence,
    allowance: Option<&Allowance>,
    machine: &Machine,
) -> Outcome<Permission> {
    match (allowance, presence) {
        (Some(allowance), _) => {
            let bounds = allowance.on(machine);
            let wrong = |wrong| Failure::usage(Code::BadValue, format!("--allow-load: {wrong}"));
            bounds.map(Permission::Within).map_err(wrong)
        }
        (None, Presence::Idle) => Ok(Permission::Free),
        (None, Presence::AtWork { reasons }) => Ok(Permission::ReadOnly { reasons }),
    }
}

/// Leave to load this machine.
#[derive(Debug)]
pub struct Leave {
    /// The machine as far as it may be loaded.
    pub machine: Machine,
    /// What is watched meanwhile; nothing where nothing was bounded.
    charge: Option<Charge>,
}

impl Leave {
    /// For a load that the user asks for by name: it is given, with a warning where a database is at
    /// work and nothing was bounded. To be asked for before there is any other thread: those that
    /// come later stay on the CPUs of this one.
    pub fn to_load(allowance: Option<&Allowance>, control: &mut Control<'_>) -> Outcome<Self> {
        let root = Root::live();
        let machine = topology::read(&root);
        // What is asked for by name waits for no long look.
        let occupancy = allowance.map(|_| look(&root));
        let presence = match &occupancy {
            Some(occupancy) => occupancy::presence(occupancy),
            None => occupancy::glance(&root),
        };
        match permitted(presence, allowance, &machine)? {
            Permission::Free => Ok(Self { machine, charge: None }),
            Permission::Within(bounds) => Self::within(&bounds, &machine, occupancy.as_ref()),
            Permission::ReadOnly { reasons } => {
                control.remark(&format!(
                    "at work here: {}; this load may hurt it. With --allow-load=cpus:LIST,mem:SIZE \
                     it stays within bounds, and stops where others suffer",
                    reasons.join("; ")
                ));
                Ok(Self { machine, charge: None })
            }
        }
    }

    /// Within bounds, which this thread is pinned to, beside what was seen at work.
    pub(crate) fn within(
        bounds: &Bounds,
        machine: &Machine,
        occupancy: Option<&Occupancy>,
    ) -> Outcome<Self> {
        affinity::pin(&bounds.cpus)?;
        let servers = occupancy.into_iter().flat_map(|occupancy| &occupancy.servers);
        let servers = servers.map(|server| (server.name(), server.pid));
        let charge = Charge { servers: servers.collect(), memory_bytes: Some(bounds.memory_bytes) };
        Ok(Self { machine: bounds.narrow(machine), charge: Some(charge) })
    }

    /// Who watches the load, and sets `stop` if others suffer; nobody if nothing was bounded.
    /// To be called right before the load begins, and kept until it is over.
    pub fn guard(&self, stop: &Arc<AtomicBool>) -> Outcome<Guard> {
        let Some(charge) = &self.charge else { return Ok(Guard(None)) };
        match Guardian::stand(charge.clone(), Arc::clone(stop)) {
            Known::Is(guardian) => Ok(Guard(Some(guardian))),
            Known::Missing(reason) => Err(Failure::not_here(
                reason.code(),
                format!(
                    "--allow-load: {reason}, so that it would not be seen whether others suffer"
                ),
            )),
        }
    }
}

/// Watches a load, until it is dropped.
#[derive(Debug)]
pub struct Guard(Option<Guardian>);

impl Guard {
    /// What made it stop the load, if that was it.
    pub fn complaint(&self) -> Option<&Reason> {
        self.0.as_ref().and_then(Guardian::complaint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beside_others_a_load_needs_leave() {
        let machine = topology::read(&Root::live());
        let at_work = || Presence::AtWork { reasons: vec!["MySQL".into()] };
        let ask = |presence, allowance| permitted(presence, allowance, &machine).unwrap();
        assert_eq!(ask(Presence::Idle, None), Permission::Free);
        let reasons = vec!["MySQL".into()];
        assert_eq!(ask(at_work(), None), Permission::ReadOnly { reasons });
        let anything = Allowance::default();
        for presence in [Presence::Idle, at_work()] {
            let Permission::Within(bounds) = ask(presence, Some(&anything)) else { panic!() };
            assert_eq!(bounds.cpus, machine.limits.cpus);
        }
        let elsewhere = hopcost_method::bounds::read("cpus:4711").unwrap();
        let wrong = permitted(Presence::Idle, Some(&elsewhere), &machine).unwrap_err();
        assert!(wrong.to_string().starts_with("--allow-load: cpus:4711: CPU 4711 cannot be used"));
    }
}
