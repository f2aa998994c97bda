//! Check: may memory be placed, and its placement be read?

use hopcost_sys::text::field;
use hopcost_sys::{Root, memory};

use super::check::{Check, Fix, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "placement",
    why: "without mbind the first thread to touch memory decides its node; without move_pages the node of a page cannot be verified",
    look,
};

const CAP_SYS_NICE: u32 = 23;

fn look(at: &Surroundings<'_>) -> Seen {
    if !at.root.is_live() {
        return Seen::note("not part of a recording");
    }
    match memory::forbidden_calls() {
        Ok(forbidden) => explain(at.root, &forbidden),
        Err(error) => Seen::note(format!("could not be tried: {error}")),
    }
}

fn explain(root: &Root, forbidden: &[&str]) -> Seen {
    if forbidden.is_empty() {
        return Seen::good("mbind and move_pages are allowed");
    }
    let calls = forbidden.join(" and ");
    if root.text("proc/self/numa_maps").get().is_none() {
        let fix = Fix::new("boot a kernel built with CONFIG_NUMA", "boot this kernel again");
        return Seen::warning(format!("{calls} not in this kernel: it knows no memory nodes"), fix);
    }
    let status = root.text("proc/self/status").ok().unwrap_or_default();
    if field(&status, "Seccomp").is_none_or(|mode| mode == "0") {
        let fix = Fix::without_undo("run hopcost outside this sandbox", "nothing is changed");
        return Seen::warning(format!("{calls} forbidden, but not by seccomp"), fix);
    }
    let capabilities = field(&status, "CapEff").and_then(|mask| u64::from_str_radix(mask, 16).ok());
    let is_nice = capabilities.is_some_and(|mask| mask >> CAP_SYS_NICE & 1 == 1);
    let seen = format!(
        "{calls} forbidden by seccomp ({} CAP_SYS_NICE)",
        if is_nice { "with" } else { "without" }
    );
    // Docker's own profile allows mbind with CAP_SYS_NICE, and never move_pages.
    let option = match forbidden {
        ["mbind"] if !is_nice => "--cap-add SYS_NICE",
        _ => "--security-opt seccomp=PROFILE.json, a profile that allows mbind and move_pages",
    };
    let fix = Fix::new(
        format!("start the container with {option}"),
        "start the container without this option",
    );
    Seen::warning(seen, fix)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(status: &str, forbidden: &[&str]) -> (String, String) {
        let text = format!(
            "hopcost machine recording, version 1\n> proc/self/numa_maps\n0 default\n\
             > proc/self/status\n{status}\n"
        );
        let Seen::Warning(seen, fix) = explain(&Root::from_text(&text).unwrap(), forbidden) else {
            panic!("{forbidden:?} is no alarm");
        };
        (seen, fix.remedy)
    }

    #[test]
    fn a_forbidden_call_is_blamed_on_what_forbids_it() {
        let filtered = "Seccomp:\t2\nCapEff:\t00000000a80425fb";
        let (seen, remedy) = said(filtered, &["mbind"]);
        assert!(seen.contains("by seccomp (without CAP_SYS_NICE)"), "{seen}");
        assert!(remedy.ends_with("--cap-add SYS_NICE"), "{remedy}");
        // The capability would not help: it is there, or move_pages needs more.
        let (seen, remedy) = said("Seccomp:\t2\nCapEff:\t0000000000800000", &["mbind"]);
        assert!(seen.contains("with CAP_SYS_NICE") && remedy.contains("PROFILE.json"), "{remedy}");
        let (_, remedy) = said(filtered, &["mbind", "move_pages"]);
        assert!(remedy.contains("--security-opt seccomp="), "{remedy}");
        let (seen, _) = said("Seccomp:\t0", &["move_pages"]);
        assert!(seen.contains("not by seccomp"), "{seen}");
        let bare = Root::from_text("hopcost machine recording, version 1\n").unwrap();
        let Seen::Warning(seen, _) = explain(&bare, &["mbind"]) else { panic!("no alarm") };
        assert!(seen.contains("knows no memory nodes"), "{seen}");
        assert!(matches!(explain(&bare, &[]), Seen::Good(_)));
    }
}
