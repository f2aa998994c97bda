//! Check: does each start get addresses of its own?

use hopcost_core::Known;

use super::check::{Check, Fix, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "address-layout",
    why: "starts that get the same addresses share their luck with caches and pages, so they differ less than \
          those of a production server",
    look,
};

fn look(at: &Surroundings<'_>) -> Seen {
    match at.root.number::<u8>("proc/sys/kernel/randomize_va_space") {
        Known::Is(0) => Seen::warning(
            "not randomized",
            Fix::new(
                "sysctl -w kernel.randomize_va_space=2",
                "sysctl -w kernel.randomize_va_space=0",
            ),
        ),
        Known::Is(_) => Seen::good("randomized"),
        Known::Missing(reason) => Seen::good(format!("unknown: {reason}")),
    }
}
