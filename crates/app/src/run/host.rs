//! Identity and traits of this host, stored with each run.

use hopcost_core::{Code, Known, Machine};
use hopcost_host::checks::{self, Surroundings};
use hopcost_store::{Key, Whose, host_key};
use hopcost_sys::traits::{self, Traits};
use hopcost_sys::{Root, clock};

pub struct Host {
    /// `None` in containers whose image sets the same machine id for all.
    pub key: Option<Key>,
    pub boot_id: String,
    pub begun_ns: u64,
    pub traits: Traits,
}

impl Host {
    pub fn read(machine: &Machine) -> Self {
        let root = Root::live();
        let has_id_of_its_own = machine.virtualization.container.get().is_none();
        let id = root.text("etc/machine-id").ok().filter(|id| has_id_of_its_own && !id.is_empty());
        Self {
            key: id.map(|id| host_key(&id)),
            boot_id: root.text("proc/sys/kernel/random/boot_id").ok().unwrap_or_default(),
            begun_ns: clock::unix_nanoseconds(),
            traits: traits_of(&root, machine),
        }
    }

    /// Did the run begin on this host? Runs from before host keys are matched by host name and
    /// machine.
    pub fn is_where(&self, run: &Whose, machine: &Machine) -> bool {
        match (&run.host_key, &self.key) {
            (Some(of_run), Some(own)) => of_run == own,
            _ => {
                run.host.as_ref() == machine.host.get()
                    && super::baseline::is_same_machine(&run.machine, machine)
            }
        }
    }
}

/// Without the load on the host: that takes a second, and a run looks for itself.
fn traits_of(root: &Root, machine: &Machine) -> Traits {
    let mut traits = traits::read(root);
    let version = env!("CARGO_PKG_VERSION").to_owned();
    traits.insert("hopcost".to_owned(), Known::Is(version));
    let activity =
        Known::missing(Code::NotMeasured, "a run does not watch who is at work before it");
    for finding in checks::examine_all(&Surroundings { root, machine, activity }) {
        let told = format!("{}: {}", finding.severity, finding.seen);
        traits.insert(format!("doctor.{}", finding.check), Known::Is(told));
    }
    traits
}
