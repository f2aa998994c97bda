//! Check: which other processes use the CPUs?

use super::check::{Check, Fix, Seen, Surroundings};

pub const CHECK: Check = Check {
    name: "processes",
    why: "a busy process adds noise, and a bias if it shares a core or memory with the test",
    look,
};

/// CPUs that a process may use without being named.
const NOTICEABLE: f64 = 0.03;

fn look(at: &Surroundings<'_>) -> Seen {
    let Some(activity) = at.activity.get() else { return Seen::note("processes were not watched") };
    let busy: Vec<String> = activity
        .processes
        .iter()
        .filter(|process| process.cpus >= NOTICEABLE)
        .take(4)
        .map(|p| format!("{} (pid {}) {:.0}% of a CPU", p.name, p.pid, p.cpus * 100.0))
        .collect();
    if busy.is_empty() {
        return Seen::good("no process uses the CPU");
    }
    let fix = Fix::without_undo("wait until it ends, then run again", "waiting changes nothing");
    Seen::warning(busy.join(", "), fix)
}
