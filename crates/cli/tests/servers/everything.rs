//! Every experiment on every target that it is meant for, in two halves that go on side by side.

use hopcost_kit::experiments::EXPERIMENTS;

use crate::experiments::{DEFAULT, MANAGED, Trials, has_probes};

/// The target that a file names.
fn names(file: &str, target: &str) -> bool {
    file.contains(&format!("target = {target}"))
}

/// The built-in default or what the file names, and servers of hopcost's own.
#[test]
fn each_experiment_on_targets_of_hopcosts_own_leaves_the_machine_as_it_was() {
    let mut trials = Trials::without_server();
    for (name, file) in EXPERIMENTS {
        trials.tries(name, if names(file, "\"postgres\"") { MANAGED } else { DEFAULT });
    }
    trials.measured(15);
}

/// What a file does not name otherwise can be asked of a server that runs.
#[test]
fn each_experiment_on_a_server_that_runs_leaves_it_as_it_was() {
    let mut trials = Trials::beside_a_server();
    let attached = trials.attached();
    for (name, file) in EXPERIMENTS {
        let names_another = names(file, "") && !names(file, "\"postgres\"");
        if !has_probes(file) && !names_another {
            trials.tries(name, &attached);
        }
    }
    trials.measured(6);
}
