//! Each experiment, run to its end and killed in the middle, leaves machine and server unchanged.
#![allow(clippy::print_stderr)] // how each ended is worth reading

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use hopcost_data::experiments::EXPERIMENTS;
use hopcost_testkit::postgresql::PostgreSql;
use tempfile::TempDir;

use crate::at_work::{Server, alone, text};
use crate::bench::{Bench, stdout, wait_until};

const SYSTEM: [&str; 6] = [
    "/sys/devices/system/cpu",
    "/sys/devices/system/cpu/smt",
    "/sys/kernel/mm/hugepages",
    "/sys/kernel/mm/transparent_hugepage",
    "/proc/sys/vm",
    "/proc/sys/kernel",
];
/// They change by themselves.
const RESTLESS: [&str; 3] = ["ns_last_pid", "/random/", "perf_event_max_sample_rate"];

/// Just enough to measure something.
const SHORT: [&str; 4] = ["--quick", "--set=units=8", "--set=window=20ms", "--set=guard=5ms"];
/// For data sets scaled by rows, not by warehouses.
const FEW_ROWS: &str = "--scale=20000";

/// Tried in turn: a machine of one node needs emulation to compare anything.
const EMULATED: [&str; 3] = ["", "--emulate=nodes=2", "--emulate=nodes=1,siblings=1.2"];

/// The file's target, or the default.
pub const DEFAULT: &str = "";
pub const MANAGED: &str = "--target=postgres:managed";

#[test]
fn experiments_without_a_server_leave_the_machine_as_it_was() {
    let mut trials = Trials::without_server();
    trials.tries("remote-memory", DEFAULT);
    trials.tries("log-distance", DEFAULT);
    trials.were_killed(2);
}

#[test]
fn experiments_on_servers_leave_them_as_they_were() {
    let mut trials = Trials::beside_a_server();
    trials.tries("client-distance", MANAGED);
    let attached = trials.attached();
    trials.tries("placebo", &attached);
    trials.were_killed(2);
}

pub struct Trials {
    bench: Bench,
    /// Data of managed servers: the file's own directory must be accessible to all users.
    cache: TempDir,
    server: Option<PostgreSql>,
    before: State,
    measured: usize,
    /// Of those, with a verdict or too few figures for one.
    decided: usize,
    /// Of those, killed while measuring.
    killed: usize,
}

impl Trials {
    pub fn without_server() -> Self {
        Self::with(None)
    }

    pub fn beside_a_server() -> Self {
        Self::with(Some(PostgreSql::start(&[])))
    }

    fn with(server: Option<PostgreSql>) -> Self {
        let cache = tempfile::tempdir().unwrap();
        fs::set_permissions(cache.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let before = State::of(server.as_ref());
        Self { bench: Bench::with(&[]), cache, server, before, measured: 0, decided: 0, killed: 0 }
    }

    pub fn attached(&self) -> String {
        format!("--target={}", self.server.as_ref().unwrap().target())
    }

    pub fn tries(&mut self, name: &str, target: &str) {
        let Some(arguments) = self.applicable(name, target) else {
            eprintln!("{name} {target}: does not apply here");
            return;
        };
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = self.bench.hopcost(&arguments);
        // Short runs may be refused a verdict or disturbed throughout, and a server's settings may
        // not be changeable.
        let said = text(&output);
        let is_remark = |line: &&str| line.starts_with("hopcost: at work here");
        let told = said.lines().find(|line| !is_remark(line));
        eprintln!("{name} {target}: {}", told.unwrap_or_default());
        let does_not_apply = output.status.code() == Some(3);
        let is_disturbed = output.status.code() == Some(5);
        let is_decided = output.status.success();
        let is_ended = does_not_apply || is_disturbed || is_decided || said.contains("VOID");
        assert!(is_ended, "{arguments:?}: {said}");
        self.measured += usize::from(!does_not_apply);
        self.decided += usize::from(is_decided);
        self.must_be_as_before(&format!("after {arguments:?}"));
        self.kill(&arguments);
    }

    pub fn were_killed(&self, least: usize) {
        let Self { measured, killed, .. } = *self;
        assert!(measured >= least, "only {measured} measured something");
        // Runs that ended before measuring may have been killed too.
        assert!(killed >= measured, "only {killed} kills met one of {measured}");
    }

    /// Half of many experiments give valid figures on any busy machine.
    pub fn were_decided(&self) {
        let Self { measured, decided, .. } = *self;
        eprintln!("{decided} of {measured} were decided");
        assert!(2 * decided >= measured, "only {decided} of {measured} came to figures that count");
    }

    /// Its arguments, if it can run here.
    fn applicable(&self, name: &str, target: &str) -> Option<Vec<String>> {
        let (_, file) = EXPERIMENTS.iter().find(|(known, _)| *known == name).unwrap();
        let rows = if file.contains("tpcc") { "--scale=1" } else { FEW_ROWS };
        // A scaling law needs three client counts.
        let is_law = file.contains("find = \"scaling\"");
        let streams = if is_law { "--set=streams=1+2+3" } else { "--set=streams=2" };
        let cache = format!("--cache-dir={}", self.cache.path().display());
        EMULATED.into_iter().find_map(|emulated| {
            let chosen = [target, emulated].into_iter().filter(|option| !option.is_empty());
            let options: Vec<&str> = if has_probes(file) {
                vec!["--quick", "--budget=1s"]
            } else {
                SHORT.into_iter().chain([streams, rows, &cache]).chain(chosen).collect()
            };
            let with = |command| [&[command, name], &options[..]].concat();
            let output = self.bench.hopcost(&with("plan"));
            let is_answered = matches!(output.status.code(), Some(0 | 3));
            assert!(is_answered, "{name} {options:?}: {}", text(&output));
            let run = || with("run").into_iter().map(str::to_owned).collect();
            output.status.success().then(run)
        })
    }

    fn kill(&mut self, arguments: &[&str]) {
        let _ = fs::remove_file(self.bench.path("hopcost.db"));
        let mut command = self.bench.command(arguments);
        let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // A probe has no blocks, and is killed when the next begins.
        let measures = "EXISTS (SELECT * FROM block) OR EXISTS (SELECT * FROM probe_report)";
        let mut has_ended = false;
        wait_until("it measures", || {
            has_ended = run.try_wait().unwrap().is_some();
            has_ended || self.bench.has(measures)
        });
        if arguments.contains(&MANAGED) && !has_ended {
            assert!(self.has_servers(), "a server that is left over would not be seen");
        }
        run.kill().unwrap();
        run.wait().unwrap();
        // Any test may restore what is left.
        let _alone = alone();
        self.killed += usize::from(!has_ended);
        let restored = self.bench.hopcost(&["restore"]);
        let ours = self.server.as_ref().map(|server| server.directory().display().to_string());
        let is_ours = |line: &str| ours.as_ref().is_some_and(|ours| line.contains(ours));
        let left = stdout(&restored);
        assert!(!left.lines().any(|line| line.starts_with("NOT ") && is_ours(line)), "{left}");
        self.must_be_as_before(&format!("killed in the middle of {arguments:?}"));
    }

    fn must_be_as_before(&self, when: &str) {
        // A managed server outlives a killed hopcost for a moment.
        wait_until("hopcost's own servers have ended", || !self.has_servers());
        let now = State::of(self.server.as_ref());
        for (path, content) in &self.before.system {
            assert_eq!(now.system.get(path), Some(content), "{path} {when}");
        }
        assert_eq!(now.server, self.before.server, "{when}");
    }

    fn has_servers(&self) -> bool {
        let own = self.cache.path().display().to_string();
        let is_one = |entry: fs::DirEntry| {
            let title = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&title).contains(&own)
        };
        fs::read_dir("/proc").unwrap().flatten().any(is_one)
    }
}

pub fn has_probes(file: &str) -> bool {
    file.contains("probes = ")
}

struct State {
    system: BTreeMap<String, String>,
    server: Option<[String; 2]>,
}

impl State {
    fn of(server: Option<&PostgreSql>) -> Self {
        let mut system = BTreeMap::new();
        for directory in SYSTEM {
            read_all(Path::new(directory), &mut system, 2);
        }
        let settings = "SELECT string_agg(concat_ws(' ', name, setting, source), E'\\n' ORDER BY name) \
                        FROM pg_settings";
        Self { system, server: server.map(|server| [server.ask(settings), server.dump()]) }
    }
}

fn read_all(directory: &Path, into: &mut BTreeMap<String, String>, depth: u32) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) && depth > 0 {
            read_all(&path, into, depth - 1);
        }
        let name = path.display().to_string();
        let is_setting = entry.metadata().is_ok_and(|file| file.permissions().mode() & 0o200 != 0);
        if !is_setting || RESTLESS.iter().any(|restless| name.contains(restless)) {
            continue;
        }
        if let Ok(content) = fs::read_to_string(&path) {
            into.insert(name, content);
        }
    }
}
