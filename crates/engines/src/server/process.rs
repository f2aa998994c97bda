//! A managed server's process: started in place, waited for, stopped, and ended with hopcost.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use hopcost_core::{CpuId, CpuSet, TargetError};
use hopcost_sys::child::{self, Stop};
use hopcost_sys::{Root, affinity, clock, processes};

use super::address::{Address, Place};

const STARTING: Duration = Duration::from_mins(1);
const STOPPING: Duration = Duration::from_secs(30);
const LAST_WORDS: usize = 5;

pub struct Process {
    name: &'static str,
    child: Child,
    log: PathBuf,
    at_once: Stop,
}

impl Process {
    /// Starts it in its place with standard error in `log`; `at_once` stops it with hopcost.
    pub fn start(
        name: &'static str,
        mut command: Command,
        place: &child::Place,
        log: &Path,
        at_once: Stop,
    ) -> Result<Self, TargetError> {
        let failed = |words: String| TargetError::Failed(format!("starting {name}: {words}"));
        let file = File::create(log).map_err(|e| failed(format!("{}: {e}", log.display())))?;
        command.stderr(Stdio::from(file));
        let child =
            child::start(&mut command, place, at_once).map_err(|e| failed(e.to_string()))?;
        Ok(Self { name, child, log: log.to_owned(), at_once })
    }

    pub fn be_ready(
        mut self,
        mut try_it: impl FnMut() -> Result<(), String>,
    ) -> Result<Self, TargetError> {
        let begun = clock::now();
        let failed = |words: &str, log: &Path, name: &str| {
            let said = last_words(log);
            Err(TargetError::Failed(format!("starting {name}: {words}: {said}")))
        };
        loop {
            let Err(error) = try_it() else { return Ok(self) };
            if let Ok(Some(_)) = self.child.try_wait() {
                return failed("it ended at once", &self.log, self.name);
            }
            if begun.elapsed() > STARTING {
                return failed(&format!("it does not answer ({error})"), &self.log, self.name);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn take_output(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    pub fn last_words(&self) -> String {
        last_words(&self.log)
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn log(&self) -> &Path {
        &self.log
    }

    pub fn stop(mut self, how: Stop) -> Result<(), TargetError> {
        if self.ask_to_stop(how) {
            return Ok(());
        }
        Err(TargetError::Failed(format!("{} does not stop", self.name)))
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

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) && !self.ask_to_stop(self.at_once) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Is the server on this host, judged by its address?
pub fn is_near(address: &Address) -> bool {
    match &address.place {
        Place::Unix(_) => true,
        Place::Host(host) => ["localhost", "127.0.0.1", "::1"].contains(&host.as_str()),
    }
}

/// The process of a backend on this host, if hopcost may place it.
pub fn is_here(address: &Address, thread: u32, names: &[&str]) -> Option<u32> {
    let (pid, _) = processes::of_thread(&Root::live(), thread)
        .filter(|(_, name)| is_near(address) && names.contains(&name.as_str()))?;
    let mask = affinity::mask_of(thread).ok()?;
    affinity::pin_other(thread, &mask).is_ok().then_some(pid)
}

/// Is a thread pinned to this CPU alone, and was it last seen there?
pub fn is_at(thread: u32, cpu: CpuId) -> bool {
    affinity::last_cpu_of(thread) == Some(cpu)
        && affinity::mask_of(thread).is_ok_and(|mask| mask == CpuSet::from_iter([cpu]))
}

fn last_words(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LAST_WORDS)..].join("; ")
}
