//! A slow-down of known size, planted outside hopcost: does it find it?
//!
//! Method: hopcost compares two PostgreSQL servers of its own that differ in nothing (`instance = 1` and
//! `instance = 2`). From outside, without its knowledge, all processes of the second are put into a control
//! group that may compute in half of each period of 10 ms. A server that has work for a share d of the time
//! and gets a share q of it does q / d of what it would do: the cost is 1 − q / d. q is the group's bound; d
//! is measured before each run, by the kernel's account of the CPU time of a connection's process under the
//! same load, without a bound and without a figure of hopcost's.
//!
//! Limits: it takes root. Who shares the CPU with the free server takes from d: hopcost and that server are
//! in a group of their own, without a bound, and both groups come before all others. That keeps other work
//! on the machine small, and no more: of caches and of the hypervisor's time it takes what it takes.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use hopcost_core::{CpuId, Known};
use hopcost_sys::processes::{self, Processes};
use hopcost_sys::{Root, affinity, clock};

use super::group::{Group, PERIOD_US, QUOTA_US};
use super::live::Ended;

const RUNS: u64 = 10;
const LEAST_COVERED: usize = 9;

/// Calls of a millisecond or so: the server computes nearly all of the time.
const ROWS: &str = "10000";
const EXPERIMENT: &str = r#"
question = "What does it cost that the second server is held back from outside?"

[subject]
target = "postgres"
dataset = "tran_stats"
scale = { quick = 10_000, full = 10_000 }
workload = "reporting_p2"

[factor.server]
free = { instance = 1, cpus = 1 }
bounded = { instance = 2, cpus = 1 }

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
/// For the server to warm up, and for what its demand is measured over.
const WARMING: Duration = Duration::from_secs(1);
const MEASURING: Duration = Duration::from_secs(2);

/// All runs; does the interval hold the truth in enough of them?
pub fn run(hopcost: &Path, dir: &Path) -> Result<bool> {
    // The server's user has to reach its data.
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(dir, all)?;
    fs::write(dir.join("experiment.toml"), EXPERIMENT)?;
    let cpu = affinity::mask()?.first().context("no CPU to stand on")?;
    let trial = Trial { hopcost, dir, cpu, free: Group::free("free")? };
    let quota = f64::from(QUOTA_US) / f64::from(PERIOD_US);
    println!(
        "slowdown: {RUNS} runs; the second of two servers gets {:.0} % of a CPU",
        100.0 * quota
    );
    // Brings the data, too: from then on servers start at once.
    trial.demand()?;
    let mut covered = 0;
    for seed in 1..=RUNS {
        let demand = trial.demand()?;
        let truth = 1.0 - quota / demand;
        let (ended, throttled) = trial.run(seed)?;
        let Some([point, low, high]) = ended.estimate else {
            println!("  seed {seed}: no estimate; {} {}", ended.verdict, ended.reason);
            continue;
        };
        let holds = low <= truth && truth <= high;
        covered += usize::from(holds);
        let [demand, truth, point, low, high] =
            [demand, truth, point, low, high].map(|share| 100.0 * share);
        println!(
            "  seed {seed}: demand {demand:.2} %, planted {truth:.2} %; found {point:.2} % \
             ({low:.2} … {high:.2} %): {}; {}, held back in {throttled} periods, {:.0} s",
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
    cpu: CpuId,
    /// Of hopcost and all that it starts, as long as nobody puts it elsewhere.
    free: Group,
}

impl Trial<'_> {
    /// The share of the time in which a connection's process computes when nothing holds it back.
    fn demand(&self) -> Result<f64> {
        let cpu = self.cpu.to_string();
        let seconds = (WARMING + MEASURING).as_secs() + 4;
        let mut drive = self.command("drive");
        drive.args(["postgres:managed", "--workload", "reporting_p2", "--scale", ROWS]);
        drive.args(["--duration", &format!("{seconds}s")]);
        drive.args(["--client-cpus", &cpu, "--worker-cpus", &cpu]);
        let mut drive = self.start(drive.stdout(Stdio::null()))?;
        let backend = drive.wait_for("a busy connection", busy_process)?;
        std::thread::sleep(WARMING);
        let (begun, before) = (clock::now(), computed(backend)?);
        std::thread::sleep(MEASURING);
        let (took, after) = (begun.elapsed(), computed(backend)?);
        let status = drive.0.wait()?;
        ensure!(status.success(), "hopcost drive: {status}");
        Ok(after.saturating_sub(before).as_secs_f64() / took.as_secs_f64())
    }

    /// A comparison whose second server is bounded as soon as it is there.
    fn run(&self, seed: u64) -> Result<(Ended, u64)> {
        let bound = Group::bounded("bounded")?;
        let store = self.dir.join("slowdown.db");
        let mut run = self.command("run");
        run.arg(self.dir.join("experiment.toml")).args(["--target", "postgres:managed", "--quick"]);
        run.args(["--set", "units=8", "--set", "window=300ms", "--set", "guard=60ms"]);
        run.args(["--seed", &seed.to_string(), "--json", "--store"]).arg(&store);
        let told = self.dir.join("told.json");
        run.stdout(fs::File::create(&told)?);
        let mut run = self.start(&mut run)?;
        let second = run.wait_for("its second server", |processes, hopcost| {
            servers(processes, hopcost).get(1).copied()
        })?;
        // What it has started by now, and then what it starts later by itself.
        bound.admit(second)?;
        for pid in see()?.tree(second) {
            // One that has ended meanwhile needs no bound.
            let _ = bound.admit(pid);
        }
        ensure!(bound.members() > 0, "the second server is not in its control group");
        let throttled = run.until_it_ends(&bound)?;
        fs::remove_file(&store).with_context(|| store.display().to_string())?;
        // A refusal ends with 1 and is an outcome like any other.
        let status = run.0.wait()?;
        ensure!(matches!(status.code(), Some(0 | 1)), "hopcost run: {status}");
        Ok((Ended::read(&fs::read(&told)?)?, throttled))
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

/// A hopcost that is at work; it ends with us.
struct Alive(Child);

impl Alive {
    /// Waits until something is seen of it.
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

    /// How often the group had to wait, as it was last seen.
    fn until_it_ends(&mut self, bound: &Group) -> Result<u64> {
        let mut throttled = 0;
        while self.0.try_wait()?.is_none() {
            throttled = bound.throttled()?;
            std::thread::sleep(PAUSE);
        }
        Ok(throttled)
    }
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

/// Its servers, in the order in which they were started: their numbers rise.
fn servers(processes: &Processes, hopcost: u32) -> Vec<u32> {
    let is_one = |process: &processes::Process| process.parent == hopcost && process.name == SERVER;
    processes.iter().filter(|(_, process)| is_one(process)).map(|(pid, _)| pid).collect()
}

/// A process of a server's that has computed for a while: that of the connection that is asked.
fn busy_process(processes: &Processes, hopcost: u32) -> Option<u32> {
    let servers = servers(processes, hopcost);
    let busy = processes.iter().filter(|(_, process)| servers.contains(&process.parent));
    let used = |pid: u32| computed(pid).unwrap_or_default();
    let most = busy.map(|(pid, _)| pid).max_by_key(|pid| used(*pid))?;
    (used(most) > WARMING / 2).then_some(most)
}

/// The CPU time that a process has used: the first figure of its `schedstat`, in nanoseconds.
fn computed(pid: u32) -> Result<Duration> {
    let path = format!("/proc/{pid}/schedstat");
    let text = fs::read_to_string(&path).with_context(|| path.clone())?;
    let ns = text.split_whitespace().next().and_then(|ns| ns.parse().ok());
    ns.map(Duration::from_nanos).with_context(|| format!("{path}: '{text}'"))
}
