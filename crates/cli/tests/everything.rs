//! Every experiment, run to its end and killed in the middle: the machine and the server are then as they
//! were.
#![allow(clippy::print_stderr, clippy::unwrap_used)] // how each ended is worth reading; a test may fail

mod on_postgresql;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use hopcost_kit::experiments::EXPERIMENTS;

use on_postgresql::Bench;
use on_postgresql::at_work::{alone, text, wait_until};

/// What of the machine anybody could have changed.
const SYSTEM: [&str; 6] = [
    "/sys/devices/system/cpu",
    "/sys/devices/system/cpu/smt",
    "/sys/kernel/mm/hugepages",
    "/sys/kernel/mm/transparent_hugepage",
    "/proc/sys/vm",
    "/proc/sys/kernel",
];
/// What changes by itself though it can be written.
const RESTLESS: [&str; 2] = ["ns_last_pid", "/random/"];

/// Enough to measure something, and no more.
const SHORT: [&str; 4] = ["--quick", "--set=units=8", "--set=window=20ms", "--set=guard=5ms"];
/// Rows, where a scale is no number of warehouses.
const FEW_ROWS: &str = "--scale=20000";

/// Where a machine of one node has nothing to compare, it is tried on an emulated one.
const EMULATED: [&str; 3] = ["", "--emulate=nodes=2", "--emulate=nodes=1,siblings=1.2"];

#[test]
fn each_experiment_leaves_the_machine_and_the_server_as_they_were() {
    let _alone = alone();
    let bench = Bench::new(&[]);
    let before = State::of(&bench);
    let mut kills = 0;
    for (name, file) in EXPERIMENTS {
        for target in targets(&bench, file) {
            let Some(arguments) = applicable(&bench, name, file, &target) else {
                eprintln!("{name} {target}: does not apply here");
                continue;
            };
            let output = bench.hopcost(&arguments).output().unwrap();
            // So little is measured that a verdict may be refused; a server that runs may not be ours to
            // change.
            let said = text(&output);
            let has_ended = matches!(output.status.code(), Some(0 | 3)) || said.contains("REFUSED");
            assert!(has_ended, "{arguments:?}: {said}");
            before.must_be_that_of(&bench, &format!("after {arguments:?}"));
            let was_killed = killed(&bench, &arguments);
            before.must_be_that_of(&bench, &format!("killed in the middle of {arguments:?}"));
            kills += u32::from(was_killed);
            eprintln!("{name} {target}: {}", said.lines().next().unwrap_or_default());
        }
    }
    assert!(kills >= 15, "only {kills} kills met a run");
}

/// The built-in default or what the file names, a server of hopcost's own, and one that runs.
fn targets(bench: &Bench, file: &str) -> Vec<String> {
    let default = vec![String::new()];
    let names_another = file.contains("target = ") && !file.contains("target = \"postgres\"");
    if file.contains("probes = ") || names_another {
        return default;
    }
    let attached = format!("--target={}", bench.url());
    let managed = "--target=postgres:managed".to_owned();
    if file.contains("target = ") {
        vec![managed, attached]
    } else {
        [default, vec![attached]].concat()
    }
}

/// How it can be run here, if it can.
fn applicable<'a>(
    bench: &Bench,
    name: &'a str,
    file: &str,
    target: &'a str,
) -> Option<Vec<&'a str>> {
    let rows = if file.contains("tpcc") { "--scale=1" } else { FEW_ROWS };
    // A law takes three numbers of streams.
    let is_law = file.contains("find = \"scaling\"");
    let streams = if is_law { "--set=streams=1+2+3" } else { "--set=streams=2" };
    EMULATED.into_iter().find_map(|emulated| {
        let chosen = [target, emulated].into_iter().filter(|option| !option.is_empty());
        let options: Vec<&str> = if file.contains("probes = ") {
            vec!["--quick"]
        } else {
            SHORT.into_iter().chain([streams, rows]).chain(chosen).collect()
        };
        let plan = [&["plan", name][..], &options].concat();
        let output = bench.hopcost(&plan).output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 3)), "{plan:?}: {}", text(&output));
        output.status.success().then(|| [&["run", name][..], &options].concat())
    })
}

/// Kills a run once it has begun to measure, and restores. Did the kill meet it?
fn killed(bench: &Bench, arguments: &[&str]) -> bool {
    let _ = fs::remove_file(bench.dir.path().join("hopcost.db"));
    let mut command = bench.hopcost(arguments);
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let ended = loop {
        if bench.blocks() > 0 {
            break None;
        }
        if let Some(status) = run.try_wait().unwrap() {
            break Some(status);
        }
        sleep(Duration::from_millis(5));
    };
    run.kill().unwrap();
    run.wait().unwrap();
    let restored: Output = bench.hopcost(&["restore"]).output().unwrap();
    assert_eq!(restored.status.code(), Some(0), "{}", text(&restored));
    ended.is_none()
}

/// All that could have been changed.
struct State {
    system: BTreeMap<String, String>,
    settings: String,
    dump: String,
}

impl State {
    fn of(bench: &Bench) -> Self {
        let mut system = BTreeMap::new();
        for directory in SYSTEM {
            read_all(Path::new(directory), &mut system, 2);
        }
        let settings = "SELECT string_agg(concat_ws(' ', name, setting, source), E'\\n' ORDER BY name) \
                        FROM pg_settings";
        Self { system, settings: bench.server.ask(settings), dump: bench.server.dump() }
    }

    fn must_be_that_of(&self, bench: &Bench, when: &str) {
        // One whose hopcost was killed ends in its own time.
        wait_until("hopcost's own servers have ended", || !has_servers(bench));
        let now = Self::of(bench);
        for (path, content) in &self.system {
            assert_eq!(now.system.get(path), Some(content), "{path} {when}");
        }
        assert_eq!(now.settings, self.settings, "{when}");
        assert_eq!(now.dump, self.dump, "{when}");
    }
}

/// What the files of a directory hold that can be read and written, and those of directories below.
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

/// Does a server of hopcost's own run on what this test has made?
fn has_servers(bench: &Bench) -> bool {
    let own = bench.dir.path().display().to_string();
    let is_one = |entry: fs::DirEntry| {
        let title = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let title = String::from_utf8_lossy(&title).into_owned();
        title.contains("postgres") && title.contains(&own)
    };
    fs::read_dir("/proc").unwrap().flatten().any(is_one)
}
