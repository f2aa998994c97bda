//! The directories of a test run, below cargo's target directory, removed at its end.
//!
//! Method: as root each test binary gets a mount namespace in which the temporary directory and
//! hopcost's system directories are the run's. Tests see none of the machine's own state, paths are
//! short and accessible to every user, and processes left in the namespace are detected. Other
//! users get environment variables instead.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result};

use crate::{command, is_root, project, target};

use super::build::{self, Built};
use super::job::Job;
use super::lock::Turn;

const OF_ROOT: [&str; 2] = ["/var/lib/hopcost", "/var/cache/hopcost"];
/// Candidates for a test's temporary directory; must not contain the project.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/mnt"];

const UNSHARED: [&str; 3] = ["--mount", "--propagation", "private"];
const NO_NAMESPACE: &str = "root's tests need a mount namespace each, which this root may not have (a container without \
                            CAP_SYS_ADMIN, a chroot): run them as an ordinary user";

/// Set if a test has a private mount namespace.
pub const MOUNTS: &str = "HOPCOST_TEST_MOUNTS";

/// Arguments: the job's directory, the shared directory, the binary.
const ENTER: &str = r#"set -e
own=$1 shared=$2 temporary=$3
shift 3
mount --bind "$own/state" /var/lib/hopcost
mount --bind "$own/cache" /var/cache/hopcost
mount --bind "$own/t" "$temporary"
mkdir "$temporary/kept"
mount --bind "$shared" "$temporary/kept"
exec "$@"
"#;

pub struct Place {
    root: PathBuf,
    programs: (&'static str, PathBuf),
    jobs: AtomicU32,
    _lock: File,
}

impl Place {
    /// Also removes the directories of runs that have ended.
    pub fn take(binaries: &[Built]) -> Result<Self> {
        let all = target().join("tests");
        fs::create_dir_all(&all)?;
        // Serialized: a new run's lock that is not held yet looks like that of an ended run.
        let turn = File::open(&all)?;
        turn.lock()?;
        for entry in all.read_dir()?.flatten() {
            let is_run = entry.file_name().to_string_lossy().starts_with("run-");
            let is_over =
                || File::open(entry.path().join("lock")).is_ok_and(|lock| lock.try_lock().is_ok());
            if is_run && is_over() {
                fs::remove_dir_all(entry.path())?;
            }
        }
        let root = all.join(format!("run-{}", std::process::id()));
        fs::create_dir_all(root.join("kept"))?;
        let lock = File::create(root.join("lock"))?;
        lock.lock()?;
        if is_root() {
            let mut unshare = Command::new("unshare");
            command::output(unshare.args(UNSHARED).arg("true")).context(NO_NAMESPACE)?;
            for directory in OF_ROOT {
                fs::create_dir_all(directory).context(directory)?;
            }
        }
        let root = root.canonicalize()?;
        let programs = build::written(binaries, root.join("programs"))?;
        Ok(Self { root, programs, jobs: AtomicU32::new(0), _lock: lock })
    }

    pub fn command(&self, job: &Job) -> Result<(Command, Own)> {
        // Short, because socket paths are limited in length.
        let number = self.jobs.fetch_add(1, Ordering::Relaxed);
        let own = Own { directory: self.root.join(number.to_string()) };
        for part in ["state", "cache", "t"] {
            fs::create_dir_all(own.directory.join(part))?;
        }
        fs::set_permissions(own.directory.join("t"), Permissions::from_mode(0o1777))?;
        let shared = self.root.join("kept");
        let mut command = if is_root() {
            let temporary = temporary();
            let mut command = Command::new("unshare");
            command.args(UNSHARED).args(["sh", "-c", ENTER, "enter"]);
            command.arg(&own.directory).arg(&shared).arg(temporary).arg(&job.program);
            command.env("TMPDIR", temporary).env("HOPCOST_TEST_CACHE", temporary.join("kept"));
            command.env(MOUNTS, "");
            command
        } else {
            let mut command = Command::new(&job.program);
            command.env("TMPDIR", own.directory.join("t")).env("HOPCOST_TEST_CACHE", &shared);
            command.env("XDG_STATE_HOME", own.directory.join("state"));
            command.env("XDG_CACHE_HOME", own.directory.join("cache"));
            command
        };
        command.args(&job.arguments).current_dir(&job.directory);
        command.env("CARGO_MANIFEST_DIR", &job.directory);
        command.env(self.programs.0, &self.programs.1);
        if std::env::var_os("HOPCOST_TEST_BINARY").is_none() {
            command.env("HOPCOST_TEST_BINARY", target().canonicalize()?.join("debug/hopcost"));
        }
        Ok((command, own))
    }
}

pub fn log_of(job: &Job) -> Result<PathBuf> {
    let logs = target().join("tests/logs");
    fs::create_dir_all(&logs)?;
    let name = job.name.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    Ok(logs.join(name).with_extension("log"))
}

fn temporary() -> &'static Path {
    let holds = |directory: &Path, what: &Path| {
        what.canonicalize().is_ok_and(|what| what.starts_with(directory))
    };
    let is_free = |directory: &&str| {
        let directory = Path::new(directory);
        directory.is_dir() && !holds(directory, project()) && !holds(directory, &target())
    };
    Path::new(TEMPORARY.into_iter().find(is_free).unwrap_or(TEMPORARY[0]))
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
        // These directories must stay if another run has mounted something there.
        if is_root() && Turn::alone_at_once().is_some() {
            for directory in OF_ROOT {
                // A directory that is not empty existed before, and stays.
                let _ = fs::remove_dir(directory);
            }
        }
    }
}

pub struct Own {
    directory: PathBuf,
}

impl Own {
    /// The mountinfo text that identifies this run's namespaces: the path of its state directory on
    /// the project's file system.
    fn mounted(&self) -> String {
        let name = |path: Option<&Path>| {
            path.and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned()
        };
        let (run, job) = (name(self.directory.parent()), name(Some(&self.directory)));
        format!("/{run}/{job}/state {} ", OF_ROOT[0])
    }

    pub fn processes(&self) -> Vec<(u32, String)> {
        // With a trailing slash, so that job 1 does not match job 10.
        let directory = format!("{}/", self.directory.display());
        let mounted = self.mounted();
        let mut left = Vec::new();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let link = |name: &str| {
                fs::read_link(entry.path().join(name))
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned()
            };
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            let is_in = if is_root() {
                // Not by the namespace's number, which the kernel reuses immediately.
                let mounts = fs::read_to_string(entry.path().join("mountinfo")).unwrap_or_default();
                mounts.contains(&mounted)
            } else {
                is_of(&directory, &line, &link("cwd"))
            };
            if is_in {
                left.push((pid, line));
            }
        }
        left
    }
}

fn is_of(directory: &str, line: &str, cwd: &str) -> bool {
    line.contains(directory) || format!("{cwd}/").starts_with(directory)
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Stdio};
    use std::time::Duration;

    use super::super::job::Kind;
    use super::*;

    fn job(name: &str, program: &str, arguments: &[&str]) -> Job {
        Job {
            name: name.to_owned(),
            group: None,
            kind: Kind::Beside,
            program: program.into(),
            arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
            directory: project().to_owned(),
            tests: 0,
            last: None,
        }
    }

    fn begin(place: &Place, job: &Job) -> (Child, Own) {
        let (mut command, own) = place.command(job).unwrap();
        (command.stdin(Stdio::null()).spawn().unwrap(), own)
    }

    #[test]
    fn a_job_is_told_from_one_whose_number_begins_as_its_own() {
        let is_of_first = |line, cwd| is_of("/x/run-7/1/", line, cwd);
        assert!(is_of_first("mariadbd --socket=/x/run-7/1/t/socket", "/"));
        assert!(is_of_first("sh", "/x/run-7/1") && is_of_first("sh", "/x/run-7/1/t/data"));
        assert!(!is_of_first("mariadbd --socket=/x/run-7/10/t/socket", "/x/run-7/10"));
    }

    #[test]
    fn a_job_that_is_over_has_left_nothing_of_another() {
        let place = Place::take(&[]).unwrap();
        let (mut short, over) = begin(&place, &job("short", "true", &[]));
        assert!(short.wait().unwrap().success());
        let (mut long, going) = begin(&place, &job("long", "sleep", &["60"]));
        let is_there = || going.processes().iter().any(|(_, line)| line.contains("sleep 60"));
        let begun = crate::clock::now();
        while is_root() && !is_there() && crate::clock::now() - begun < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let found = (over.processes(), !is_root() || is_there());
        long.kill().unwrap();
        long.wait().unwrap();
        assert_eq!(found, (Vec::new(), true));
    }
}
