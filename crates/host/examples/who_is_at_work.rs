//! Prints whether this host is in use: `cargo run -p hopcost-host --example who_is_at_work`.
#![allow(clippy::print_stdout)] // it is a program of its own

use std::time::Duration;

use hopcost_host::occupancy::{Presence, look, presence};
use hopcost_sys::Root;

fn main() {
    let occupancy = look(&Root::live(), Duration::from_secs(1));
    for server in &occupancy.servers {
        let memory = server.memory_bytes.get().map_or(0, |bytes| bytes >> 20);
        println!("{server}, {} processes, {memory} MiB", server.processes);
    }
    let host = &occupancy.host;
    println!("{host}; {} could run, {:.1}% stolen", host.runnable, host.stolen * 100.0);
    match presence(&occupancy) {
        Presence::Idle => println!("idle"),
        Presence::AtWork { reasons } => println!("at work:\n  {}", reasons.join("\n  ")),
    }
}
