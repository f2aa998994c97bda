//! Check: how long does it take to wake an idle CPU?

use hopcost_core::{CpuId, Known};

use super::check::{Check, Fix, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "idle",
    why: "waking an idle CPU takes time, and hopcost measures it as part of the distance between CPUs",
    look,
};

const CPUIDLE: &str = "sys/devices/system/cpu/cpuidle";
const POLLS_FOR: &str = "sys/module/haltpoll/parameters/guest_halt_poll_ns";
/// What the kernel sets if the host offers polling.
const USUAL_POLL_NS: u64 = 200_000;
/// As long as a commit to a fast disk.
const SLOW_US: u64 = 100;
/// Idle states that take longer than this to leave are switched off.
const FAST_US: u64 = 10;

fn look(at: &Surroundings<'_>) -> Seen {
    let driver = match at.root.text(&format!("{CPUIDLE}/current_driver")) {
        Known::Is(driver) => driver,
        Known::Missing(reason) => return Seen::note(format!("unknown: {reason}")),
    };
    // A guest with another driver controls the states of the real CPU.
    let is_guest = at.machine.virtualization.guest == Known::Is(true);
    if driver == "haltpoll" || (driver == "none" && is_guest) {
        return of_guest(at, &driver);
    }
    of_states(at, &driver)
}

fn of_guest(at: &Surroundings<'_>, driver: &str) -> Seen {
    let polls = at.root.number::<u64>(POLLS_FOR);
    let governor = at.root.text(&format!("{CPUIDLE}/current_governor"));
    let governor = governor.ok().unwrap_or_else(|| "haltpoll".to_owned());
    let is_polling = driver == "haltpoll" && governor == "haltpoll";
    if let (true, Known::Is(ns @ 1..)) = (is_polling, &polls) {
        return Seen::good(format!("idle CPUs poll for up to {} µs before they halt", ns / 1000));
    }
    let hypervisor = at.machine.virtualization.hypervisor.get().map(String::as_str);
    let (Known::Is(polls), true) = (polls, driver == "haltpoll" || hypervisor == Some("KVM"))
    else {
        return Seen::note("idle CPUs halt without polling; this kernel or hypervisor cannot poll");
    };
    let (mut remedy, mut undo) = (Vec::new(), Vec::new());
    if driver != "haltpoll" {
        remedy.push("modprobe cpuidle_haltpoll force=1".to_owned());
        undo.push("rmmod cpuidle_haltpoll".to_owned());
    } else if governor != "haltpoll" {
        let set = |governor: &str| format!("echo {governor} > /{CPUIDLE}/current_governor");
        remedy.push(set("haltpoll"));
        undo.push(set(&governor));
    }
    if polls == 0 {
        remedy.push(format!("echo {USUAL_POLL_NS} > /{POLLS_FOR}"));
        undo.push(format!("echo 0 > /{POLLS_FOR}"));
    }
    let seen = format!(
        "idle CPUs of this guest halt without polling (driver {driver}, governor {governor}, \
         guest_halt_poll_ns {polls})"
    );
    Seen::fixable(seen, Fix::new(remedy.join("; "), undo.join("; ")))
}

struct State {
    number: u32,
    name: String,
    exit_us: u64,
    is_enabled: bool,
}

fn of_states(at: &Surroundings<'_>, driver: &str) -> Seen {
    let states = at.machine.limits.cpus.first().map(|cpu| states(at, cpu)).unwrap_or_default();
    let enabled = states.iter().filter(|state| state.is_enabled);
    let Some(deepest) = enabled.max_by_key(|state| state.exit_us) else {
        return Seen::note(format!("no idle states are shown (driver {driver})"));
    };
    let seen = format!("idle CPUs need up to {} µs to leave {}", deepest.exit_us, deepest.name);
    if deepest.exit_us < SLOW_US {
        return Seen::good(seen);
    }
    // -E enables them all.
    let disabled = states.iter().filter(|state| !state.is_enabled);
    let again = disabled.map(|state| format!("; cpupower idle-set -d {}", state.number));
    let undo = format!("cpupower idle-set -E{}", again.collect::<String>());
    Seen::fixable(seen, Fix::new(format!("cpupower idle-set -D {FAST_US}"), undo))
}

fn states(at: &Surroundings<'_>, cpu: CpuId) -> Vec<State> {
    let dir = format!("sys/devices/system/cpu/cpu{cpu}/cpuidle");
    let numbers = at.root.numbered(&dir, "state").ok().unwrap_or_default();
    let state = |number: u32| {
        let dir = format!("{dir}/state{number}");
        let name = at.root.text(&format!("{dir}/name")).ok();
        Some(State {
            number,
            name: name.unwrap_or_else(|| format!("state {number}")),
            exit_us: at.root.number(&format!("{dir}/latency")).ok()?,
            is_enabled: at.root.number::<u8>(&format!("{dir}/disable")).get() != Some(&1),
        })
    };
    numbers.into_iter().filter_map(state).collect()
}

#[cfg(test)]
mod tests {
    use hopcost_core::{Finding, Severity};

    use super::super::tests::{quiet, say};
    use super::*;

    const KVM: &str = "> proc/cpuinfo\nflags : fpu hypervisor\n> sys/hypervisor/type\nKVM\n";
    const BARE: &str = "> proc/cpuinfo\nflags : fpu tsc\n";

    fn driven(machine: &str, driver: &str, files: &[(&str, &str)]) -> Finding {
        let driver = (&*format!("{CPUIDLE}/current_driver"), driver);
        let files = files.iter().chain([&driver]);
        let files: String = files.map(|(file, text)| format!("> {file}\n{text}\n")).collect();
        let tree = format!("{machine}{files}");
        say(&CHECK, &tree, quiet())
    }

    fn fix(finding: &Finding) -> (&str, &str) {
        (finding.remedy.as_deref().unwrap(), finding.undo.as_deref().unwrap())
    }

    #[test]
    fn a_guest_whose_cpus_halt_at_once_is_told_how_to_poll_and_back() {
        let finding = driven(KVM, "none", &[(POLLS_FOR, "0")]);
        assert_eq!(finding.severity, Severity::Note);
        let (remedy, undo) = fix(&finding);
        assert_eq!(
            remedy,
            "modprobe cpuidle_haltpoll force=1; \
             echo 200000 > /sys/module/haltpoll/parameters/guest_halt_poll_ns"
        );
        assert_eq!(
            undo,
            "rmmod cpuidle_haltpoll; echo 0 > /sys/module/haltpoll/parameters/guest_halt_poll_ns"
        );
        let finding = driven(KVM, "haltpoll", &[(POLLS_FOR, "0")]);
        assert!(!fix(&finding).0.contains("modprobe"), "{finding:?}");
        let governor = format!("{CPUIDLE}/current_governor");
        let menu = [(POLLS_FOR, "200000"), (governor.as_str(), "menu")];
        let finding = driven(KVM, "haltpoll", &menu);
        assert_eq!(
            fix(&finding),
            (
                "echo haltpoll > /sys/devices/system/cpu/cpuidle/current_governor",
                "echo menu > /sys/devices/system/cpu/cpuidle/current_governor"
            )
        );
    }

    #[test]
    fn a_guest_that_polls_is_good_and_one_that_cannot_has_no_fix() {
        let finding = driven(KVM, "haltpoll", &[(POLLS_FOR, "200000")]);
        assert_eq!(finding.severity, Severity::Good);
        assert!(finding.seen.contains("200 µs"), "{finding:?}");
        let xen = KVM.replace("KVM", "xen");
        for (machine, files) in [(KVM, &[][..]), (&xen, &[(POLLS_FOR, "0")])] {
            let finding = driven(machine, "none", files);
            assert_eq!((finding.severity, finding.remedy), (Severity::Note, None));
        }
    }

    #[test]
    fn the_deepest_enabled_state_counts() {
        let state = |number: u32, name: &str, us: u32, disabled: u8| {
            let dir = format!("> sys/devices/system/cpu/cpu0/cpuidle/state{number}");
            format!("{dir}/name\n{name}\n{dir}/latency\n{us}\n{dir}/disable\n{disabled}\n")
        };
        let states = |c6_off| {
            let (c1, c6) = (state(0, "C1", 2, 0), state(1, "C6", 133, c6_off));
            driven(&format!("{BARE}{c1}{c6}{}", state(2, "C10", 900, 1)), "intel_idle", &[])
        };
        let deep = states(0);
        assert_eq!(deep.severity, Severity::Note);
        assert!(deep.seen.contains("133 µs to leave C6"), "{deep:?}");
        // What was off before is off again.
        let undo = "cpupower idle-set -E; cpupower idle-set -d 2";
        assert_eq!(fix(&deep), ("cpupower idle-set -D 10", undo));
        let shallow = states(1);
        assert_eq!((shallow.severity, shallow.remedy), (Severity::Good, None));
        let none = driven(BARE, "none", &[]);
        assert_eq!((none.severity, none.remedy), (Severity::Note, None));
    }
}
