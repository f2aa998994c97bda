//! Control groups that bound the CPU time of processes from outside.
//!
//! Each is a group below the root of version 1's `cpu` hierarchy, or of version 2 if that has the
//! controller. On drop its processes move back and it is removed. The next run removes groups of
//! killed runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// CPU time per period.
pub const QUOTA_US: u32 = 10_000;
/// Short against a window.
pub const PERIOD_US: u32 = 20_000;

const PREFIX: &str = "hopcost-slowdown-";

pub struct Group {
    parent: PathBuf,
    dir: PathBuf,
    is_first_version: bool,
}

struct Hierarchy {
    root: PathBuf,
    is_first_version: bool,
}

impl Group {
    /// Unbounded, with priority over all other groups.
    pub fn free(name: &str) -> Result<Self> {
        let Hierarchy { root, is_first_version } = hierarchy()?;
        clear_up(&root);
        let dir = root.join(format!("{PREFIX}{}-{name}", std::process::id()));
        fs::create_dir(&dir).with_context(|| format!("making {}", dir.display()))?;
        let group = Self { parent: root, dir, is_first_version };
        let [file, most] =
            if is_first_version { ["cpu.shares", "262144"] } else { ["cpu.weight", "10000"] };
        group.write(file, most)?;
        Ok(group)
    }

    pub fn bounded(name: &str) -> Result<Self> {
        let group = Self::free(name)?;
        if group.is_first_version {
            group.write("cpu.cfs_period_us", &PERIOD_US.to_string())?;
            group.write("cpu.cfs_quota_us", &QUOTA_US.to_string())?;
        } else {
            group.write("cpu.max", &format!("{QUOTA_US} {PERIOD_US}"))?;
        }
        Ok(group)
    }

    /// Its later children are included.
    pub fn admit(&self, pid: u32) -> Result<()> {
        self.write("cgroup.procs", &pid.to_string())
    }

    pub fn members(&self) -> usize {
        fs::read_to_string(self.dir.join("cgroup.procs")).map_or(0, |pids| pids.lines().count())
    }

    fn write(&self, file: &str, text: &str) -> Result<()> {
        let path = self.dir.join(file);
        fs::write(&path, text).with_context(|| format!("writing '{text}' to {}", path.display()))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A group stays busy for a moment after its processes have ended.
        for _ in 0..100 {
            let left = fs::read_to_string(self.dir.join("cgroup.procs")).unwrap_or_default();
            for pid in left.lines() {
                let _ = fs::write(self.parent.join("cgroup.procs"), pid);
            }
            if fs::remove_dir(&self.dir).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        eprintln!("{} could not be removed: rmdir it", self.dir.display());
    }
}

fn hierarchy() -> Result<Hierarchy> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").context("/proc/self/mountinfo")?;
    if let Some(found) = mounts.lines().find_map(hierarchy_of) {
        return Ok(found);
    }
    let groups: Vec<&str> = mounts.lines().filter(|line| line.contains(" - cgroup")).collect();
    bail!("no control group here bounds CPU time; mounted are: {}", groups.join("; "))
}

/// `32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu`
fn hierarchy_of(mount: &str) -> Option<Hierarchy> {
    let (place, kind) = mount.split_once(" - ")?;
    let root = PathBuf::from(place.split_whitespace().nth(4)?);
    let mut words = kind.split_whitespace();
    let (kind, options) = (words.next()?, words.nth(1)?);
    let bounds_children = || {
        let file = root.join("cgroup.subtree_control");
        fs::read_to_string(file).is_ok_and(|names| names.split_whitespace().any(|n| n == "cpu"))
    };
    match kind {
        "cgroup" if options.split(',').any(|option| option == "cpu") => {
            Some(Hierarchy { root, is_first_version: true })
        }
        "cgroup2" if bounds_children() => Some(Hierarchy { root, is_first_version: false }),
        _ => None,
    }
}

/// Groups of killed runs: the number in the name is the pid of the creator.
fn clear_up(root: &Path) {
    for entry in root.read_dir().into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let maker = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if maker.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hierarchy_that_bounds_cpu_time_is_told_from_others() {
        let found = |mount: &str| hierarchy_of(mount).map(|found| found.root.display().to_string());
        let line = |kind| format!("32 31 0:29 / /sys/fs/cgroup/x rw,relatime shared:9 - {kind}");
        for kind in ["cgroup cgroup rw,cpu", "cgroup cgroup rw,cpu,cpuacct"] {
            assert_eq!(found(&line(kind)), Some("/sys/fs/cgroup/x".to_owned()), "{kind}");
        }
        // Version 2 needs its controller, which is missing in this file system.
        for kind in ["cgroup cgroup rw,cpuset", "tmpfs tmpfs rw", "cgroup2 cgroup2 rw"] {
            assert_eq!(found(&line(kind)), None, "{kind}");
        }
    }
}
