//! What the kit has, by name, and the machine that tests run on.

use std::sync::OnceLock;

use hopcost_core::{Dataset, Machine, NodeId, Target, Workload};
use hopcost_kit::datasets::DATASETS;
use hopcost_kit::targets::TARGETS;
use hopcost_kit::workloads::WORKLOADS;
use hopcost_sys::{Root, topology};

pub fn target(name: &str) -> &'static dyn Target {
    *TARGETS.iter().find(|target| target.name() == name).unwrap()
}

pub fn dataset(name: &str) -> &'static dyn Dataset {
    *DATASETS.iter().find(|dataset| dataset.name() == name).unwrap()
}

pub fn workload(name: &str) -> &'static dyn Workload {
    *WORKLOADS.iter().find(|workload| workload.name() == name).unwrap()
}

pub fn machine() -> &'static Machine {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    MACHINE.get_or_init(|| topology::read(&Root::live()))
}

pub fn home() -> NodeId {
    machine().nodes_with_memory().next().unwrap().id
}

#[allow(clippy::unnecessary_wraps)] // a promise may fail
pub fn nothing_promised() -> Result<(), String> {
    Ok(())
}
