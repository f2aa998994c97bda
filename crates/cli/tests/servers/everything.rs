//! Every experiment on every target it is meant for, in two halves that run in parallel.

use hopcost_data::experiments::EXPERIMENTS;

use crate::experiments::{DEFAULT, MANAGED, Trials, has_probes};

fn names(file: &str, target: &str) -> bool {
    file.contains(&format!("target = {target}"))
}

fn is_meant_for_postgresql(file: &str) -> bool {
    names(file, "\"postgres\"")
}

#[test]
fn each_experiment_in_hopcosts_own_process_leaves_the_machine_as_it_was() {
    let mut trials = Trials::without_server();
    for (name, file) in EXPERIMENTS {
        if !has_probes(file) && !is_meant_for_postgresql(file) {
            trials.tries(name, DEFAULT);
        }
    }
    trials.were_killed(15);
    trials.were_decided();
}

#[test]
fn each_experiment_on_servers_and_on_the_hardware_leaves_them_as_they_were() {
    let mut trials = Trials::beside_a_server();
    let attached = trials.attached();
    for (name, file) in EXPERIMENTS {
        if has_probes(file) {
            trials.tries(name, DEFAULT);
            continue;
        }
        if is_meant_for_postgresql(file) {
            trials.tries(name, MANAGED);
        }
        if is_meant_for_postgresql(file) || !names(file, "") {
            trials.tries(name, &attached);
        }
    }
    trials.were_killed(8);
    trials.were_decided();
}
