//! What the kit has, by name, and the machine that tests run on.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
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

/// Data that is kept between the tests of one run, which everybody may reach. Nothing tells when the last test is
/// over: what earlier runs have left is removed by the next.
#[allow(dead_code)] // each test file uses its part
pub fn kept(of: &str) -> &'static Path {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    DIR.get_or_init(|| {
        let prefix = format!("hopcost-{of}-");
        let all = fs::read_dir(std::env::temp_dir()).unwrap().filter_map(Result::ok);
        let is_left = |name: &str| {
            name.strip_prefix(&prefix).is_some_and(|pid| !Path::new("/proc").join(pid).exists())
        };
        for left in all.filter(|entry| entry.file_name().to_str().is_some_and(is_left)) {
            // Another run may be at it.
            let _ = fs::remove_dir_all(left.path());
        }
        let dir = std::env::temp_dir().join(format!("{prefix}{}", std::process::id()));
        fs::create_dir(&dir).unwrap();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
        dir
    })
}
