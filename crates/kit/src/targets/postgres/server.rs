//! A server of our own: started in a chosen place, asked to stop at the end, gone with us.
//!
//! Method: it runs in the foreground as a child of ours, in a directory of its own, reachable by a Unix
//! socket that nobody else can reach. It begins on the CPUs of the node where its data is to be, so that
//! what it and the process that warms it touch first lies there; a node without CPUs is bound instead.
//! Afterwards each connection's process is pinned on its own.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use hopcost_core::TargetError;
use hopcost_sys::child::{self, Stop};
use hopcost_sys::clock;

use super::address::{Address, PATIENCE, Place, Tls, Wait};
use super::programs::Programs;
use super::wire::Wire;

/// The user and owner of everything in it.
const USER: &str = "hopcost";
const STARTING: Duration = Duration::from_mins(1);
const STOPPING: Duration = Duration::from_secs(30);
/// Lines of the server's log that are shown when it fails.
const LAST_WORDS: usize = 5;

/// A directory of one run, removed at its end.
pub struct Quarters {
    directory: tempfile::TempDir,
    /// Held as long as we live.
    _lock: File,
}

impl Quarters {
    /// Below `home`, after what killed runs left there is gone.
    pub fn take(programs: &Programs, home: &Path) -> Result<Self, TargetError> {
        clear_up(home);
        let take = || -> io::Result<Self> {
            let directory = tempfile::Builder::new().prefix(PREFIX).tempdir_in(home)?;
            programs.give(directory.path())?;
            let lock = File::create(directory.path().join(LOCK))?;
            lock.lock()?;
            Ok(Self { directory, _lock: lock })
        };
        take().map_err(|error| TargetError::Failed(format!("{}: {error}", home.display())))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

const PREFIX: &str = "run-";
const LOCK: &str = "lock";

/// Removes the directories of runs that were killed: nobody holds their locks.
fn clear_up(home: &Path) {
    for entry in home.read_dir().into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let is_left = File::open(entry.path().join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok());
        if is_left {
            // What cannot be removed now is tried again by the next run.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A server that runs.
pub struct Server {
    child: Child,
    /// How it is reached.
    pub address: Address,
    /// Where it writes what it has to say.
    pub log: PathBuf,
}

/// How a server is to be started.
pub struct Start<'a> {
    pub programs: &'a Programs,
    /// Its data.
    pub data: &'a Path,
    /// A directory for its socket and its log.
    pub beside: &'a Path,
    /// `-c name=value`, the last one counts.
    pub settings: &'a [(String, String)],
    pub place: child::Place,
    pub wait: Wait,
}

impl Server {
    /// Starts it, and waits until it answers.
    pub fn start(start: &Start<'_>) -> Result<Self, TargetError> {
        let failed = |words: String| TargetError::Failed(format!("starting PostgreSQL: {words}"));
        let log = start.beside.join("log");
        let log_file = File::create(&log).map_err(|e| failed(format!("{}: {e}", log.display())))?;
        let mut command = start.programs.command("postgres");
        command.arg("-D").arg(start.data).current_dir(start.beside).stderr(Stdio::from(log_file));
        let socket = ("unix_socket_directories".to_owned(), start.beside.display().to_string());
        for (name, value) in start.settings.iter().chain([&socket]) {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        let child = child::start(&mut command, &start.place).map_err(|e| failed(e.to_string()))?;
        let address = Address {
            place: Place::Directory(start.beside.to_owned()),
            port: 5432,
            user: USER.to_owned(),
            password: None,
            database: "postgres".to_owned(),
            tls: Tls::Disable,
            root_certificates: None,
            wait: start.wait,
            patience: PATIENCE,
        };
        let mut server = Self { child, address, log };
        server.be_ready().map_err(failed)?;
        Ok(server)
    }

    fn be_ready(&mut self) -> Result<(), String> {
        let begun = clock::now();
        loop {
            let error = match Wire::connect(&self.address) {
                Ok(_) => return Ok(()),
                Err(error) => error.to_string(),
            };
            if let Ok(Some(_)) = self.child.try_wait() {
                return Err(format!("it ended at once: {}", last_words(&self.log)));
            }
            if begun.elapsed() > STARTING {
                return Err(format!("it does not answer ({error}): {}", last_words(&self.log)));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Has it written everything down, and ended?
    pub fn stop(mut self) -> Result<(), TargetError> {
        if self.ask_to_stop(Stop::Soon) {
            return Ok(());
        }
        Err(TargetError::Failed("PostgreSQL does not stop".to_owned()))
    }

    fn ask_to_stop(&mut self, how: Stop) -> bool {
        let begun = clock::now();
        let _ = child::stop(&self.child, how);
        while begun.elapsed() < STOPPING {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) && !self.ask_to_stop(Stop::AtOnce) {
            // It had half a minute for that.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn last_words(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LAST_WORDS)..].join("; ")
}

/// An empty database cluster, whose text is ordered by its bytes.
pub fn create(programs: &Programs, data: &Path) -> Result<(), TargetError> {
    let mut command = programs.command("initdb");
    command.arg("-D").arg(data).args(["-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C"]);
    command.args(["--no-sync", "--no-instructions"]);
    command.current_dir(data.parent().unwrap_or(Path::new(".")));
    run(&mut command, "initdb")
}

/// A copy of a directory, in the server's user's hands.
pub fn copy(programs: &Programs, from: &Path, to: &Path) -> Result<(), TargetError> {
    let mut command = programs.as_user(Path::new("cp"));
    command.args(["-a", "--reflink=auto"]).arg(from).arg(to);
    command.current_dir(to.parent().unwrap_or(Path::new(".")));
    run(&mut command, "copying the data")
}

fn run(command: &mut std::process::Command, what: &str) -> Result<(), TargetError> {
    let failed = |words: &str| TargetError::Failed(format!("{what}: {words}"));
    let output = command.output().map_err(|error| failed(&error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim()))
}
