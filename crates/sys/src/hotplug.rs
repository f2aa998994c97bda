//! Taking CPUs off-line and bringing them back.
//!
//! Method: writes `/sys/devices/system/cpu/cpuN/online` through the settings journal. All CPUs come
//! back before another set is taken, so the journal holds at most one change per CPU.
//!
//! Limits: a thread loses its pinning with its last CPU, and the kernel does not restore it.
//! hopcost pins its threads again; other threads stay where the kernel puts them.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use hopcost_core::{Code, CpuId, CpuSet, Reason};
use thiserror::Error;

use crate::journal::{Journal, JournalError, Restored};

#[derive(Debug, Error)]
pub enum HotplugError {
    #[error(
        "CPU {cpu} cannot be taken off-line: {why}; run it as root and outside of a container, again where it \
         is busy, or leave out --allow-machine-changes: then CPUs that are not used stay on-line and idle"
    )]
    Refused { cpu: CpuId, why: String },
    #[error("{} not brought back; fix that and run 'hopcost restore'", .0.join("; "))]
    Stuck(
        /// Switch and error of each.
        Vec<String>,
    ),
    #[error(
        "CPUs that were off-line stay lost to all cpusets of cgroup version 1, which this system has; boot \
         it with version 2 (systemd.unified_cgroup_hierarchy=1), or leave out --allow-machine-changes"
    )]
    Forgetful,
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// CPUs that are still off-line come back on drop.
#[derive(Debug)]
pub struct Hotplug {
    dir: PathBuf,
    journal: Journal,
    all: CpuSet,
    off: CpuSet,
}

impl Hotplug {
    /// Fails if CPUs would be lost to cpusets of cgroup version 1 when they come back.
    pub fn new(state_dir: &Path) -> Result<Self, HotplugError> {
        if is_forgetful(&fs::read_to_string("/proc/self/cgroup").unwrap_or_default()) {
            return Err(HotplugError::Forgetful);
        }
        Ok(Self::of(Path::new("/sys/devices/system/cpu"), state_dir))
    }

    fn of(dir: &Path, state_dir: &Path) -> Self {
        let (dir, journal) = (dir.to_owned(), Journal::new(state_dir));
        let all = online(&dir);
        Self { dir, journal, all, off: CpuSet::new() }
    }

    /// Checks whether these could be taken off, as far as possible without doing it.
    pub fn check(&self, cpus: &CpuSet) -> Result<(), HotplugError> {
        for cpu in cpus.iter() {
            let refused = |why: String| HotplugError::Refused { cpu, why };
            if cpu == CpuId(0) {
                return Err(refused(
                    "the kernel needs it for itself, so each level has to use it".into(),
                ));
            }
            let switch = self.switch(cpu);
            OpenOptions::new()
                .write(true)
                .open(&switch)
                .map_err(|error| refused(format!("{}: {error}", switch.display())))?;
        }
        Ok(())
    }

    /// Takes exactly these off-line. If one refuses, all are on-line again.
    pub fn take_off(&mut self, cpus: &CpuSet) -> Result<(), HotplugError> {
        if *cpus == self.off {
            return Ok(());
        }
        self.bring_back()?;
        self.check(cpus)?;
        for cpu in cpus.iter() {
            if let Err(refused) = self.take_one_off(cpu) {
                self.bring_back()?;
                return Err(refused);
            }
        }
        self.off = cpus.clone();
        Ok(())
    }

    fn take_one_off(&mut self, cpu: CpuId) -> Result<(), HotplugError> {
        let switch = self.switch(cpu);
        let why = match self.journal.set(&switch, "0") {
            Ok(became) if became == "0" => return Ok(()),
            Ok(became) => format!("{} still reads {became}", switch.display()),
            Err(error @ JournalError::Setting { .. }) => error.to_string(),
            Err(error) => return Err(error.into()),
        };
        Err(HotplugError::Refused { cpu, why })
    }

    pub fn bring_back(&mut self) -> Result<(), HotplugError> {
        let words = |restored| match restored {
            Restored::PutBack(_) | Restored::Unchanged(_) => None,
            Restored::Failed(change, why) => Some(format!("{} ({why})", change.setting.display())),
            Restored::LeftAlone(change, now) => {
                Some(format!("{} (it reads {now})", change.setting.display()))
            }
        };
        let stuck: Vec<String> = self.journal.restore()?.into_iter().filter_map(words).collect();
        self.off = CpuSet::new();
        if stuck.is_empty() { Ok(()) } else { Err(HotplugError::Stuck(stuck)) }
    }

    pub fn objection(&self) -> Option<Reason> {
        let (wanted, found) = (self.all.difference(&self.off), online(&self.dir));
        (found != wanted).then(|| {
            Code::Misplaced
                .because(format!("CPU {found} were on-line where only {wanted} should have been"))
        })
    }

    fn switch(&self, cpu: CpuId) -> PathBuf {
        self.dir.join(format!("cpu{cpu}/online"))
    }
}

/// Whether cpusets have a hierarchy of their own: cgroup version 1.
fn is_forgetful(cgroups: &str) -> bool {
    let mut controllers = cgroups.lines().filter_map(|line| line.split(':').nth(1));
    controllers.any(|names| names.split(',').any(|name| name == "cpuset"))
}

/// Empty if unreadable, which never equals the wanted set.
fn online(dir: &Path) -> CpuSet {
    let told = fs::read_to_string(dir.join("online")).unwrap_or_default();
    CpuSet::parse_list(told.trim()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first CPU has no switch, as on new kernels.
    fn place() -> (tempfile::TempDir, Hotplug) {
        let dir = tempfile::tempdir().unwrap();
        for cpu in 1..4 {
            fs::create_dir(dir.path().join(format!("cpu{cpu}"))).unwrap();
            fs::write(dir.path().join(format!("cpu{cpu}/online")), "1\n").unwrap();
        }
        fs::write(dir.path().join("online"), "0-3\n").unwrap();
        let hotplug = Hotplug::of(dir.path(), &dir.path().join("state"));
        (dir, hotplug)
    }

    fn cpus(list: &str) -> CpuSet {
        CpuSet::parse_list(list).unwrap()
    }

    fn switches(hotplug: &Hotplug) -> String {
        let read = |cpu| fs::read_to_string(hotplug.switch(CpuId(cpu))).unwrap_or("-".into());
        (1..4).map(read).map(|text| text.trim().to_owned()).collect()
    }

    #[test]
    fn one_set_is_off_at_a_time_and_all_come_back() {
        let (dir, mut hotplug) = place();
        for (off, reads) in [("1,3", "010"), ("2-3", "100"), ("", "111"), ("1", "011")] {
            hotplug.take_off(&cpus(off)).unwrap();
            assert_eq!(switches(&hotplug), reads, "{off}");
        }
        let journals = || fs::read_dir(dir.path().join("state")).unwrap().count();
        assert_eq!(journals(), 1);
        hotplug.bring_back().unwrap();
        assert_eq!((switches(&hotplug).as_str(), journals()), ("111", 0));
    }

    #[test]
    fn what_is_dropped_comes_back() {
        let (dir, mut hotplug) = place();
        hotplug.take_off(&cpus("1-3")).unwrap();
        drop(hotplug);
        assert_eq!(fs::read_to_string(dir.path().join("cpu3/online")).unwrap(), "1");
    }

    #[test]
    fn one_that_is_refused_is_named_and_none_is_off() {
        let (_dir, mut hotplug) = place();
        let says = |hotplug: &mut Hotplug, off, words: &str| {
            let error = hotplug.take_off(&cpus(off)).unwrap_err().to_string();
            assert!(error.contains(words) && error.contains("leave out --allow"), "{error}");
        };
        says(&mut hotplug, "0-1", "CPU 0 cannot be taken off-line: the kernel needs it");
        fs::remove_file(hotplug.switch(CpuId(2))).unwrap();
        says(&mut hotplug, "1-2", "CPU 2 cannot be taken off-line: /");
        assert_eq!(switches(&hotplug), "1-1");
    }

    #[test]
    fn cpusets_of_version_1_forget() {
        assert!(is_forgetful("12:pids:/\n3:cpu,cpuset:/docker/1\n0::/init.scope\n"));
        assert!(!is_forgetful("2:cpu,cpuacct:/\n0::/cpuset\n"));
        assert!(!is_forgetful(""));
    }

    #[test]
    fn another_mask_than_was_asked_for_is_an_objection() {
        let (dir, mut hotplug) = place();
        let online = |list: &str| fs::write(dir.path().join("online"), list).unwrap();
        assert_eq!(hotplug.objection(), None);
        hotplug.take_off(&cpus("1,3")).unwrap();
        let objection = hotplug.objection().unwrap().to_string();
        assert_eq!(objection, "CPU 0-3 were on-line where only 0,2 should have been");
        online("0,2\n");
        assert_eq!(hotplug.objection(), None);
        online("");
        assert!(hotplug.objection().is_some());
    }
}
