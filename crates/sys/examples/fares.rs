//! Example: prints every 250 ms the CPU use and waiting of others, as the load monitor sees it.
//!
//! ```text
//! cargo run -p hopcost-sys --example fares -- PID…      # the first processes of servers
//! ```
#![allow(clippy::print_stdout)] // it is a program of its own

use std::collections::BTreeSet;
use std::time::Duration;

use hopcost_sys::Root;
use hopcost_sys::strain::Watch;

fn main() {
    let pids = std::env::args().skip(1).filter_map(|pid| pid.parse().ok());
    let servers = pids.map(|pid: u32| (format!("server {pid}"), pid)).collect();
    let (mut watch, root) = (Watch::over(servers), Root::live());
    loop {
        let (strain, took) = hopcost_sys::clock::time(|| watch.look(&root, &BTreeSet::new()));
        let fares = strain.others.iter().filter(|fare| fare.ran_cpus + fare.waited_cpus > 0.01);
        let told = fares.map(|f| format!("{} {:.2}+{:.2}", f.who, f.ran_cpus, f.waited_cpus));
        let told: Vec<String> = told.collect();
        println!("{took:?} · stolen {:.1}% · {}", strain.stolen * 100.0, told.join(" · "));
        std::thread::sleep(Duration::from_millis(250));
    }
}
