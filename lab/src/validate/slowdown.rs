//! Does hopcost find a slow-down of known size, injected from outside?
//!
//! Method: hopcost compares two equal managed PostgreSQL servers (`instance = 1` and `instance =
//! 2`). All processes of the second are put into a control group that may run in half of each
//! period of 20 ms. The true cost comes from the kernel alone: a backend sleeps once per call, and
//! the kernel counts that. The truth is 1 − b / f, with b and f the calls per second of a
//! continuously busy backend, bounded and free. Both are read every 20 ms; the edges of busy
//! stretches are left out. The bound's nominal share would be too small: an interrupted process
//! takes 2 to 3% longer per call, perhaps for cold caches. Limits: it takes root, and two CPUs
//! that share a cache. Other work is assumed to affect both servers equally; both groups have
//! priority over it.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use hopcost_core::Known;
use hopcost_sys::processes::{self, Processes};
use hopcost_sys::{Root, clock};

use super::ended::Ended;
use super::group::{Group, PERIOD_US, QUOTA_US};

const RUNS: u64 = 10;
const LEAST_COVERED: usize = 9;

/// Calls of about a millisecond, so that the server computes nearly all of the time. The client is
/// on another CPU; on the same one it would run before the server sleeps.
const ROWS: &str = "1000";
const EXPERIMENT: &str = r#"
question = "What does it cost that the second server is held back from outside?"

[subject]
target = "postgres"
dataset = "tran_stats"
scale = { quick = 1_000, full = 1_000 }
workload = "reporting_p2"

[factor.server]
free = { instance = 1, cpus = 1, client = "same-l3" }
bounded = { instance = 2, cpus = 1, client = "same-l3" }

[measure]
response = "calls_per_second"
prove = [
  "answered_in_place >= 99% when server = free",
  "answered_in_place >= 99% when server = bounded",
]
"#;

const SERVER: &str = "postgres";
const STARTING: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_millis(20);

pub fn run(hopcost: &Path, dir: &Path) -> Result<bool> {
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(dir, all)?;
    fs::write(dir.join("experiment.toml"), EXPERIMENT)?;
    let trial = Trial { hopcost, dir, free: Group::free("free")? };
    println!(
        "slowdown: {RUNS} runs; the second of two servers may compute {QUOTA_US} of {PERIOD_US} µs"
    );
    trial.load()?;
    let mut covered = 0;
    for seed in 1..=RUNS {
        let (ended, rates) = trial.run(seed)?;
        let Some([point, low, high]) = ended.estimate else {
            println!("  seed {seed}: no estimate; {} {}", ended.verdict, ended.reason);
            continue;
        };
        let truth = 1.0 - rates[1] / rates[0];
        let holds = low <= truth && truth <= high;
        covered += usize::from(holds);
        let percent = |share: f64| 100.0 * share;
        println!(
            "  seed {seed}: answered {:.0} and {:.0} a second: {:.2}% planted; {:.2}% found \
             ({:.2} … {:.2}%): {}; {}, {:.0} s",
            rates[0],
            rates[1],
            percent(truth),
            percent(point),
            percent(low),
            percent(high),
            if holds { "holds it" } else { "does not hold it" },
            ended.verdict,
            ended.seconds
        );
    }
    println!("  covered in {covered} of {RUNS} ({LEAST_COVERED} needed)");
    Ok(covered >= LEAST_COVERED)
}

struct Trial<'a> {
    hopcost: &'a Path,
    dir: &'a Path,
    /// hopcost and all that it starts, except the bounded server.
    free: Group,
}

impl Trial<'_> {
    fn load(&self) -> Result<()> {
        let mut drive = self.command("drive");
        drive.args(["postgres:managed", "--workload", "reporting_p2", "--scale", ROWS]);
        let status = drive.args(["--duration", "0.1s"]).stdout(Stdio::null()).status()?;
        ensure!(status.success(), "hopcost drive: {status}");
        Ok(())
    }

    /// Returns the outcome, and the calls per second of each busy server.
    fn run(&self, seed: u64) -> Result<(Ended, [f64; 2])> {
        let bound = Group::bounded("bounded")?;
        let store = self.dir.join("slowdown.db");
        let mut run = self.command("run");
        run.arg(self.dir.join("experiment.toml")).args(["--target", "postgres:managed", "--quick"]);
        run.args(["--set", "units=8", "--set", "window=400ms", "--set", "guard=60ms"]);
        run.args(["--seed", &seed.to_string(), "--json", "--store"]).arg(&store);
        let told = self.dir.join("told.json");
        run.stdout(fs::File::create(&told)?);
        let mut run = self.start(&mut run)?;
        let both = run.wait_for("its second server", |processes, hopcost| {
            <[u32; 2]>::try_from(servers(processes, hopcost)).ok()
        })?;
        bound.admit(both[1])?;
        for pid in see()?.tree(both[1]) {
            let _ = bound.admit(pid);
        }
        ensure!(bound.members() > 0, "the second server is not in its control group");
        let rates = run.rates_until_it_ends(both)?;
        fs::remove_file(&store).with_context(|| store.display().to_string())?;
        // A refusal exits with 1 and is an ordinary outcome.
        let status = run.0.wait()?;
        ensure!(matches!(status.code(), Some(0 | 1)), "hopcost run: {status}");
        Ok((Ended::read(&fs::read(&told)?)?, rates))
    }

    fn start(&self, command: &mut Command) -> Result<Alive> {
        let started = Alive(command.spawn().context("hopcost")?);
        self.free.admit(started.0.id())?;
        Ok(started)
    }

    fn command(&self, command: &str) -> Command {
        let mut hopcost = Command::new("nice");
        hopcost
            .args(["-n", "-20"])
            .arg(self.hopcost)
            .arg(command)
            .arg("--cache-dir")
            .arg(self.dir.join("cache"));
        hopcost
    }
}

struct Alive(Child);

impl Alive {
    fn wait_for<T>(
        &mut self,
        what: &str,
        mut look: impl FnMut(&Processes, u32) -> Option<T>,
    ) -> Result<T> {
        let begun = clock::now();
        while begun.elapsed() < STARTING {
            if let Some(found) = look(&see()?, self.0.id()) {
                return Ok(found);
            }
            if let Some(status) = self.0.try_wait()? {
                bail!("hopcost ended before {what} was there: {status}");
            }
            std::thread::sleep(PAUSE);
        }
        bail!("{what} does not come")
    }

    fn rates_until_it_ends(&mut self, servers: [u32; 2]) -> Result<[f64; 2]> {
        let mut seen = servers.map(|_| Vec::new());
        let begun = clock::now();
        while self.0.try_wait()?.is_none() {
            let processes = see()?;
            for (server, seen) in servers.into_iter().zip(&mut seen) {
                let children = processes.iter().filter(|(_, process)| process.parent == server);
                let answered = children.filter_map(|(pid, _)| Some((pid, slept(pid)?)));
                seen.push(Look { at: begun.elapsed(), answered: answered.collect() });
            }
            std::thread::sleep(PAUSE);
        }
        let [free, bounded] = seen.map(|looks| busy_rate(&looks));
        Ok([free, bounded].map(|rate| rate.unwrap_or(f64::NAN)))
    }
}

struct Look {
    at: Duration,
    answered: BTreeMap<u32, u64>,
}

/// Steps left out at each end of a busy stretch: a window's guard and the partial steps.
const EDGES: usize = 5;
/// Calls in a step of a busy process; others wake up occasionally.
const BUSY: f64 = 3.0;
const TOGETHER: usize = 5;

/// The median over busy stretches, by a few periods, so that pauses between windows do not count.
fn busy_rate(looks: &[Look]) -> Option<f64> {
    let step = |pair: &[Look]| {
        let more = |(pid, after): (&u32, &u64)| {
            let before = pair[0].answered.get(pid)?;
            Some(after.saturating_sub(*before) as f64)
        };
        let most = pair[1].answered.iter().filter_map(more).fold(0.0, f64::max);
        [most, pair[1].at.saturating_sub(pair[0].at).as_secs_f64()]
    };
    let steps: Vec<[f64; 2]> = looks.windows(2).map(step).collect();
    let is_busy = |[answered, _]: &[f64; 2]| *answered >= BUSY;
    let at_work: Vec<bool> = steps.windows(2).map(|two| two.iter().any(is_busy)).collect();
    let mut rates = Vec::new();
    for stretch in stretches(&at_work) {
        let inner = stretch.start + EDGES..stretch.end.saturating_sub(EDGES);
        for together in steps.get(inner).unwrap_or_default().windows(TOGETHER) {
            let sum = |n: usize| together.iter().map(|step| step[n]).sum::<f64>();
            rates.push(sum(0) / sum(1));
        }
    }
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied()
}

fn stretches(states: &[bool]) -> Vec<Range<usize>> {
    let mut stretches: Vec<Range<usize>> = Vec::new();
    for (n, _) in states.iter().enumerate().filter(|(_, state)| **state) {
        match stretches.last_mut() {
            Some(last) if last.end == n => last.end = n + 1,
            _ => stretches.push(n..n + 1),
        }
    }
    stretches
}

impl Drop for Alive {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

fn see() -> Result<Processes> {
    match processes::read(&Root::live()) {
        Known::Is(processes) => Ok(processes),
        Known::Missing(reason) => bail!("{reason}"),
    }
}

/// In the order of their start: pids rise.
fn servers(processes: &Processes, hopcost: u32) -> Vec<u32> {
    let is_one = |process: &processes::Process| process.parent == hopcost && process.name == SERVER;
    processes.iter().filter(|(_, process)| is_one(process)).map(|(pid, _)| pid).collect()
}

/// Voluntary context switches; `None` if it has ended.
fn slept(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let rest = status.split("\nvoluntary_ctxt_switches:").nth(1)?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every 20 ms, of two processes of which one alternates between half a second of work and of
    /// rest.
    fn looks(rate: f64) -> Vec<Look> {
        let mut answered = 0.0;
        let look = |n: u32| {
            let is_asked = n / 25 % 2 == 1;
            answered += if is_asked { 0.02 * rate } else { 0.0 };
            let answered = [(7, answered as u64), (8, u64::from(n / 10))];
            Look { at: PAUSE * n, answered: answered.into() }
        };
        (0..200).map(look).collect()
    }

    #[test]
    fn the_rate_of_busy_stretches_is_found_and_pauses_do_not_count() {
        for rate in [1000.0, 500.0, 300.0] {
            let found = busy_rate(&looks(rate)).unwrap();
            assert!((found / rate - 1.0).abs() < 0.02, "{rate} found as {found}");
        }
        assert_eq!(busy_rate(&looks(0.0)), None);
    }

    #[test]
    fn stretches_begin_and_end_where_the_state_changes() {
        assert_eq!(stretches(&[false, true, true, false, true]), [1..3, 4..5]);
        assert!(stretches(&[false; 3]).is_empty());
    }
}
