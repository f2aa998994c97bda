//! Check: may the clock exceed its rated frequency?

use hopcost_core::Known;

use super::check::{Check, Fix, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "turbo",
    why: "turbo depends on heat and on the number of busy cores, so a few clients run faster than many",
    look,
};

const NO_TURBO: &str = "sys/devices/system/cpu/intel_pstate/no_turbo";
const BOOST: &str = "sys/devices/system/cpu/cpufreq/boost";

fn look(at: &Surroundings<'_>) -> Seen {
    let no_turbo = at.root.number::<u8>(NO_TURBO);
    let boost = at.root.number::<u8>(BOOST);
    let (on, fix) = match (no_turbo, boost) {
        (Known::Is(off), _) => (off == 0, [NO_TURBO, "1", "0"]),
        (_, Known::Is(boost)) => (boost == 1, [BOOST, "0", "1"]),
        _ => return Seen::note("the kernel does not report it"),
    };
    if on {
        let [file, off, on] = fix;
        let fix = Fix::new(format!("echo {off} > /{file}"), format!("echo {on} > /{file}"));
        return Seen::fixable("on", fix);
    }
    Seen::good("off")
}
