//! Runs jobs: shared ones in parallel, one per CPU, then the exclusive ones.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::clock;

use super::job::{Job, Kind};
use super::lock::Turn;
use super::place::{Own, Place, log_of};

const REMARKS: [&str; 2] = ["not tried: ", "tried on "];
const MOST: Duration = Duration::from_mins(30);
const FAREWELL: Duration = Duration::from_secs(15);
const LOOK: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub struct Ended {
    pub job: Job,
    pub seconds: f64,
    pub passed: usize,
    pub failed: usize,
    /// Reasons for failure other than failed tests.
    pub complaints: Vec<String>,
    /// Measurements that tests repeated because the machine was disturbed.
    pub again: usize,
    pub remarks: Vec<String>,
    pub died: usize,
    pub log: PathBuf,
}

impl Ended {
    pub fn is_ok(&self) -> bool {
        self.failed == 0 && self.complaints.is_empty()
    }
}

#[derive(Debug, Default)]
pub struct Round {
    pub ended: Vec<Ended>,
    pub not_begun: Vec<String>,
}

pub struct Queue<'a> {
    place: &'a Place,
    latest_begin: Instant,
    round: Mutex<Round>,
}

impl<'a> Queue<'a> {
    pub fn new(place: &'a Place, latest_begin: Instant) -> Self {
        Self { place, latest_begin, round: Mutex::default() }
    }

    pub fn run(self, jobs: &[Job]) -> Result<Round> {
        let (alone, beside): (Vec<&Job>, Vec<&Job>) =
            jobs.iter().partition(|job| job.kind == Kind::Alone);
        let waiting = Mutex::new(beside.into_iter());
        let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || -> Result<()> {
            while let Some(job) = next() {
                self.take(job, Turn::beside)?;
            }
            Ok(())
        };
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            let workers: Vec<_> = (0..cpus).map(|_| scope.spawn(work)).collect();
            workers
                .into_iter()
                .try_for_each(|worker| worker.join().map_err(|_| anyhow::anyhow!("a job"))?)
        })?;
        for job in alone {
            self.take(job, Turn::alone)?;
        }
        Ok(self.round.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn take(&self, job: &Job, turn: fn() -> Result<Turn>) -> Result<()> {
        let is_too_late = job.group.is_some() && clock::now() > self.latest_begin;
        let ended = if is_too_late { None } else { Some(self.begin(job, &turn()?)?) };
        let mut round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        match ended {
            Some(ended) => {
                tell(&ended);
                round.ended.push(ended);
            }
            None => round.not_begun.push(job.name.clone()),
        }
        Ok(())
    }

    fn begin(&self, job: &Job, _turn: &Turn) -> Result<Ended> {
        let begun = clock::now();
        let (mut command, own) = self.place.command(job)?;
        if job.is_lints() {
            command = super::cargo();
            command.args(&job.arguments);
        } else {
            command.arg("--show-output");
        }
        let log = log_of(job)?;
        let file = File::create(&log).with_context(|| log.display().to_string())?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let child = command.spawn().with_context(|| job.name.clone())?;
        let status = wait(child, &own)?;
        let seconds = (clock::now() - begun).as_secs_f64();
        let said = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
        let [passed, failed, ignored] = counts(&said);
        let mut complaints = Vec::new();
        match status {
            None => complaints.push(format!("did not end within {} minutes", MOST.as_secs() / 60)),
            Some(status) if !status.success() && failed == 0 => complaints.push(status.to_string()),
            Some(_) if passed + failed + ignored != job.tests => {
                complaints.push(format!("ran {} of {} tests", passed + failed, job.tests));
            }
            Some(_) => {}
        }
        complaints.extend(left_behind(&own));
        let remarks =
            said.lines().filter(|line| REMARKS.iter().any(|words| line.starts_with(words)));
        let remarks = remarks.map(str::to_owned).collect();
        let again = said.lines().filter(|line| line.contains(" was refused, ")).count();
        let died = said.lines().filter_map(deaths).sum();
        Ok(Ended {
            job: job.clone(),
            seconds,
            passed,
            failed,
            complaints,
            again,
            remarks,
            died,
            log,
        })
    }
}

fn wait(mut child: Child, own: &Own) -> Result<Option<ExitStatus>> {
    let begun = clock::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if clock::now() - begun > MOST {
            end(&own.processes());
            let _ = child.kill();
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(LOOK);
    }
}

/// Of `xtask: n2: 32 s; the kernel died 2 times while it booted`.
fn deaths(line: &str) -> Option<usize> {
    line.split_once("the kernel died ")?.1.split_once(" times while it booted")?.0.parse().ok()
}

/// The sums of `test result: ok. 12 passed; 1 failed; …`.
fn counts(said: &str) -> [usize; 3] {
    let results = said.lines().filter(|line| line.starts_with("test result: "));
    results.fold([0; 3], |sums, line| {
        let count = |what: &str| -> usize {
            let before = line.split(what).next().unwrap_or_default();
            before
                .rsplit([' ', '.'])
                .find(|word| !word.is_empty())
                .and_then(|n| n.parse().ok())
                .unwrap_or(0)
        };
        [(" passed;", 0), (" failed;", 1), (" ignored;", 2)].map(|(what, n)| sums[n] + count(what))
    })
}

fn left_behind(own: &Own) -> Vec<String> {
    let begun = clock::now();
    let mut left = own.processes();
    while !left.is_empty() && clock::now() - begun < FAREWELL {
        thread::sleep(LOOK);
        left = own.processes();
    }
    end(&left);
    left.into_iter().map(|(pid, line)| format!("left process {pid} behind: {line}")).collect()
}

fn end(processes: &[(u32, String)]) {
    for (pid, _) in processes {
        let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
    }
}

fn tell(ended: &Ended) {
    let word = if ended.is_ok() { "ok" } else { "FAILED" };
    println!("{word:6} {:6.1} s  {:4} passed  {}", ended.seconds, ended.passed, ended.job.name);
    for complaint in &ended.complaints {
        println!("       {complaint}");
    }
    if !ended.is_ok() {
        let said = fs::read_to_string(&ended.log).unwrap_or_default();
        let from = said.find("\nfailures:\n").unwrap_or(said.len().saturating_sub(LAST_BYTES));
        let from = (from..said.len()).find(|at| said.is_char_boundary(*at)).unwrap_or(0);
        println!("{}\nall of it: {}", &said[from..], ended.log.display());
    }
}

const LAST_BYTES: usize = 8192;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_counted() {
        let said = "test a ... ok\n\ntest result: ok. 12 passed; 0 failed; 0 ignored; 0 measured\n\
                    test result: FAILED. 3 passed; 2 failed; 1 ignored; 0 measured\n";
        assert_eq!(counts(said), [15, 2, 1]);
        assert_eq!(counts("nothing"), [0; 3]);
        assert_eq!(deaths("xtask: n2: 32 s; the kernel died 2 times while it booted"), Some(2));
    }
}
