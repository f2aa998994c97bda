//! Data sets, workloads and engines by name, and the machine that tests run on.

use std::path::Path;
use std::sync::OnceLock;

use hopcost_core::{
    Answer, Audit, Dataset, Instance, Machine, NodeId, SessionChoice, Setup, Shape, Stream, Target,
    TargetError, VariantSettings, Workload,
};
use hopcost_data::datasets::DATASETS;
use hopcost_data::workloads::WORKLOADS;
use hopcost_engines::TARGETS;
use hopcost_sys::{Root, affinity, topology};

use crate::kept::kept;

pub fn target(name: &str) -> &'static dyn Target {
    *TARGETS.iter().find(|target| target.name() == name).unwrap()
}

pub fn dataset(name: &str) -> &'static dyn Dataset {
    *DATASETS.iter().find(|dataset| dataset.name() == name).unwrap()
}

pub fn workload(name: &str) -> &'static dyn Workload {
    *WORKLOADS.iter().find(|workload| workload.info().name == name).unwrap()
}

pub fn machine() -> &'static Machine {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    MACHINE.get_or_init(|| topology::read(&Root::live()))
}

pub fn home() -> NodeId {
    machine().nodes_with_memory().next().unwrap().id
}

pub fn setup<'a>(
    dataset: &'a dyn Dataset,
    workload: &'a dyn Workload,
    rows: u64,
    address: &'a str,
    cache: &Path,
) -> Setup<'a> {
    Setup {
        machine: machine(),
        ground: machine(),
        dataset: Some(dataset),
        workload,
        shape: Shape { rows, sliced: true },
        levels: &[],
        homes: vec![home().into()],
        emulation: None,
        cache_dir: cache.to_owned(),
        address,
        sessions: 4,
        keep_data: false,
        allow_server_changes: false,
        promise: &|| Ok(()),
    }
}

pub fn shared_setup<'a>(
    dataset: &'a dyn Dataset,
    workload: &'a dyn Workload,
    rows: u64,
    address: &'a str,
) -> Setup<'a> {
    setup(dataset, workload, rows, address, kept())
}

/// A variant on the machine's first node, on its last CPU.
pub fn seat() -> VariantSettings {
    VariantSettings {
        home: Some(home()),
        at: Some(home()),
        workers: affinity::mask().unwrap().last().into_iter().collect(),
        ..VariantSettings::default()
    }
}

pub fn audited(audit: Audit) -> VariantSettings {
    VariantSettings { session: SessionChoice { audit: Some(audit) }, ..seat() }
}

pub fn open(name: &str, setup: &Setup<'_>) -> Result<Box<dyn Instance>, TargetError> {
    target(name).open(setup, &mut |_| true)
}

/// The answers to a client's first forty requests, each checked by the workload.
pub fn answers(instance: &dyn Instance, setup: &Setup<'_>, seat: &VariantSettings) -> Vec<Answer> {
    let mut session = instance.first_session(seat).unwrap();
    let mut requests = setup.workload.requests(setup.shape, Stream { number: 0, of: 1, seed: 7 });
    let mut answer = || {
        let request = requests.next();
        let answer = session.execute(&request);
        let answer = answer.unwrap_or_else(|why| panic!("{}: {why}", setup.workload.info().name));
        let checked = setup.workload.check(setup.shape, &request, &answer);
        checked.unwrap_or_else(|why| panic!("{}: {why}", setup.workload.info().name));
        answer
    };
    (0..40).map(|_| answer()).collect()
}
