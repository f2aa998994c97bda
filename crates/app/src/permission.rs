//! Permission to load this host: what else runs on it, and what a load may use.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hopcost_core::{Code, Known, Machine, Reason};
use hopcost_drive::load_monitor::{Charge, Guardian};
use hopcost_host::occupancy::{self, Occupancy, Presence};
use hopcost_method::bounds::{Allowance, Bounds};
use hopcost_sys::{Root, affinity, topology};

use crate::{Control, Failure, Outcome};

/// A hundred kernel ticks: one tick is 1% of a CPU.
const LOOK: Duration = Duration::from_secs(1);

pub(crate) fn look(root: &Root) -> Occupancy {
    occupancy::look(root, LOOK)
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    Free,
    Within(Bounds),
    ReadOnly {
        /// Why the host counts as in use.
        reasons: Vec<String>,
    },
}

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

#[derive(Debug)]
pub struct Leave {
    pub machine: Machine,
    /// What the load monitor checks. `None` without bounds.
    charge: Option<Charge>,
}

impl Leave {
    /// For a load that the user asks for explicitly: always granted, with a warning if a database
    /// is running and no bounds are set. Call it before starting threads, which inherit this
    /// thread's CPUs.
    pub fn to_load(allowance: Option<&Allowance>, control: &mut Control<'_>) -> Outcome<Self> {
        let root = Root::live();
        let machine = topology::read(&root);
        // Without bounds, skip the one-second look.
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

    /// Pins this thread to the bounds.
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

    /// Starts the load monitor, which sets `stop` if the load harms other processes. No-op without
    /// bounds. Call it right before the load, and keep the guard until the load ends.
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

#[derive(Debug)]
pub struct Guard(Option<Guardian>);

impl Guard {
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
