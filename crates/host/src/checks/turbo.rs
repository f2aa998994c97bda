//! Check: may the clock exceed its rated frequency?

use hopcost_core::Known;

use super::check::{Check, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "turbo",
    why: "turbo depends on heat and on how many cores work, so few streams run faster than many",
    look,
};

fn look(at: &Surroundings<'_>) -> Seen {
    let no_turbo = at.root.number::<u8>("sys/devices/system/cpu/intel_pstate/no_turbo");
    let boost = at.root.number::<u8>("sys/devices/system/cpu/cpufreq/boost");
    let (on, switch_off) = match (no_turbo, boost) {
        (Known::Is(off), _) => (off == 0, "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo"),
        (_, Known::Is(boost)) => (boost == 1, "echo 0 > /sys/devices/system/cpu/cpufreq/boost"),
        _ => return Seen::note("the kernel does not tell"),
    };
    if on {
        let remedy = format!("to compare core counts, switch it off: {switch_off}");
        return Seen::Note("on".into(), Some(remedy));
    }
    Seen::good("off")
}
