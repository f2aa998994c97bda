//! Compares machine state that tests could have changed, before and after a run.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::clock;

const SETTINGS: [&str; 6] = [
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
    "/sys/kernel/mm/hugepages",
    "/sys/kernel/mm/transparent_hugepage",
    "/proc/sys/vm",
    "/proc/sys/kernel",
];
const RESTLESS: [&str; 3] = ["ns_last_pid", "/random/", "perf_event_max_sample_rate"];
const DEPTH: u32 = 3;
/// Time for another run on this machine to restore its changes.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct State(BTreeMap<String, String>);

impl State {
    pub fn of_machine() -> Self {
        let mut all = BTreeMap::new();
        for directory in SETTINGS {
            read_settings(Path::new(directory), &mut all, DEPTH);
        }
        for directory in own_directories() {
            read_names(&directory, &mut all);
        }
        Self(all)
    }

    pub fn differences(&self) -> Vec<String> {
        let begun = clock::now();
        loop {
            let found = self.differences_now();
            if found.is_empty() || clock::now() - begun > PATIENCE {
                return found;
            }
            thread::sleep(Duration::from_secs(1));
        }
    }

    fn differences_now(&self) -> Vec<String> {
        let now = Self::of_machine().0;
        let names: std::collections::BTreeSet<&String> = self.0.keys().chain(now.keys()).collect();
        let differs = names.into_iter().filter(|name| self.0.get(*name) != now.get(*name));
        let value =
            |of: Option<&String>| of.map_or("nothing".to_owned(), |value| value.trim().to_owned());
        differs
            .map(|name| {
                format!("{name}: was {}, is {}", value(self.0.get(name)), value(now.get(name)))
            })
            .collect()
    }
}

fn own_directories() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let of_user = |variable: &str, usual: &str| {
        let named = std::env::var_os(variable).map(PathBuf::from);
        Some(named.or_else(|| Some(home.as_ref()?.join(usual)))?.join("hopcost"))
    };
    let users = [of_user("XDG_CACHE_HOME", ".cache"), of_user("XDG_STATE_HOME", ".local/state")];
    let mut all = vec!["/var/lib/hopcost".into(), "/var/cache/hopcost".into()];
    all.extend(users.into_iter().flatten());
    all
}

fn read_names(directory: &Path, into: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        into.insert(path.display().to_string(), "there".to_owned());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            read_names(&path, into);
        }
    }
}

fn read_settings(directory: &Path, into: &mut BTreeMap<String, String>, depth: u32) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) && depth > 0 {
            read_settings(&path, into, depth - 1);
        }
        let name = path.display().to_string();
        let is_setting = entry.metadata().is_ok_and(|file| file.permissions().mode() & 0o200 != 0);
        if is_setting && !RESTLESS.iter().any(|restless| name.contains(restless)) {
            into.extend(fs::read_to_string(&path).ok().map(|content| (name, content)));
        }
    }
}
