//! SQLite in guests: placement and proof, moved pages, pinning, lack of room; one boot per machine.

use anyhow::Result;
use serde_json::Value;
use xtask::vm::{Kernel, Load};

use crate::aboard::{Aboard, CACHE, QUICK, ROWS, SHIPPED, WORKING, shipped};
use crate::sqlite::{RUN, places_both_arms, remote_memory};
use crate::steps::{Boot, Steps};
use crate::theft::{moved_data, refuses_as_moved};

fn on(shape: &str) -> Result<Steps> {
    let steps = Steps::on(shape, Kernel::V6_1, Load::One)?;
    Ok(Aboard::sqlite("reporting_p1")?.comes_with(steps))
}

static N2: Boot = Boot::of(|| {
    let steps = on("n2")?
        .with_saboteur("page_thief")?
        .with("/usr/bin/taskset".as_ref(), "/usr/local/bin/taskset");
    let steps = shipped(steps)
        .step("few-moved", 400, &moved_data(5))
        .step("all-moved", 400, &moved_data(100))
        .step("pinned", 400, &pinned())
        .step("full", 400, &format!("{CACHE}{FULL}"));
    SHIPPED.iter().fold(steps, |steps, (name, _)| steps.step(name, 400, &placed(name))).run()
});

static N4S2: Boot = Boot::of(|| {
    on("n4s2")?.step("idle", 400, &idle()).step("off", 400, &format!("{CACHE}{OFF}")).run()
});

fn places_both_arms_on(shape: &str, bindings: usize) {
    let tried = on(shape).unwrap().step("sqlite", 400, &remote_memory()).run().unwrap();
    places_both_arms(tried.step("sqlite"), bindings);
}

#[test]
fn both_arms_are_placed_on_n4() {
    places_both_arms_on("n4", 12);
}

#[test]
fn both_arms_are_placed_on_n8() {
    places_both_arms_on("n8", 8);
}

#[test]
fn few_moved_pages_refuse_a_run() {
    refuses_as_moved(N2.step("few-moved"), 5);
}

#[test]
fn moving_all_pages_refuses_a_run() {
    refuses_as_moved(N2.step("all-moved"), 100);
}

/// Huge pages would be too few for an even interleave of so little data. Unbound memory stays where
/// it was touched only without automatic balancing.
fn placed(name: &str) -> String {
    format!(
        "{CACHE}balancing=/proc/sys/kernel/numa_balancing
         huge=/sys/kernel/mm/transparent_hugepage/enabled
         was=$(cat $balancing); echo 0 > $balancing; echo never > $huge
         trap 'echo $was > $balancing; echo always > $huge' EXIT
         hopcost run /{name}.toml --scale {ROWS} --set streams=4 {QUICK} --starts 1 --budget 1s > run & run=$!
         {WORKING}
         cat /proc/$run/numa_maps > maps
         wait $run; echo $? > code"
    )
}

/// The kernel and its mapping summary agree on every policy's pages; with an instance per node each
/// client uses its own.
fn is_placed((name, text): (&'static str, &str), bindings: usize) {
    let step = N2.step(name).is_done();
    assert_eq!(step.word("code"), "0", "{}", step.said());
    let result = step.json("run");
    crate::proofs::proves(&result, bindings, text.matches(" >= ").count(), 0.98);
    let maps = step.read("maps");
    is_dealt_out(maps);
    assert!(maps.contains(" bind:0 ") && maps.contains(" bind:1 "), "{maps}");
}

#[test]
fn policies_are_placed() {
    is_placed(SHIPPED[0], 2);
}

#[test]
fn instances_are_placed() {
    is_placed(SHIPPED[1], 1);
}

/// The largest interleaved mapping has as many pages on one node as on the other.
fn is_dealt_out(maps: &str) {
    let pages = |line: &str, node: &str| -> f64 {
        let count = line.split_whitespace().find_map(|word| word.strip_prefix(node));
        count.and_then(|count| count.parse().ok()).unwrap_or(0.0)
    };
    let dealt = maps.lines().filter(|line| line.contains(" interleave:0-1 "));
    let counts = dealt.map(|line| ["N0=", "N1="].map(|node| pages(line, node)));
    let most = counts.max_by(|[a, b], [c, d]| (a + b).total_cmp(&(c + d)));
    let [first, second] = most.unwrap_or_else(|| panic!("nothing is interleaved: {maps}"));
    assert!(first > 500.0 && (first / second - 1.0).abs() < 0.02, "{first} and {second}: {maps}");
}

fn pinned() -> String {
    format!(
        "{CACHE}{RUN} --budget 60s > run & run=$!
         {WORKING}; sleep 2
         for task in /proc/$run/task/*; do
             [ ${{task##*/}} = $run ] || taskset -pc 3 ${{task##*/}}
         done
         wait $run; echo $? > code"
    )
}

#[test]
fn a_worker_pinned_by_somebody_else_refuses_the_run() {
    let step = N2.step("pinned").is_done();
    let result = step.json("run");
    assert_eq!(result["verdict"], "REFUSED", "{}", result["reason"]);
    let reason = result["reason"].as_str().unwrap();
    assert!(reason.contains("was re-pinned to CPU 3"), "{reason}");
    assert_eq!(step.word("code"), "1");
}

fn idle() -> String {
    format!(
        "{CACHE}hopcost run smt-reporting --scale {ROWS} --set streams=8 {QUICK} --budget 1s > run
         echo $? > code"
    )
}

#[test]
fn siblings_are_left_idle_on_n4s2() {
    let step = N4S2.step("idle").is_done();
    assert_eq!(step.word("code"), "0", "{}", step.said());
    let result = step.json("run");
    let proof = result["proof"].as_array().unwrap();
    assert_eq!(proof[0]["claim"], "cores_unshared at idle", "{proof:?}");
    assert!(proof.iter().all(|proved| proved["found"] == 1.0), "{proof:?}");
    let levels = result["details"]["arms"].as_array().unwrap().iter().map(|arm| &arm["level"]);
    assert_eq!(levels.collect::<Vec<_>>(), ["idle", "used"], "half of one core is none");
}

const OFF: &str = "\
    online=/sys/devices/system/cpu/online
    all=$(cat $online)
    run() {
        hopcost run smt-reporting --allow-machine-changes --quick --scale 20000 --set streams=8 \
            --set window=0.3s --set guard=50ms --json --store store.db $*
    }
    fewer() { until [ $(cat $online) != $all ]; do [ -d /proc/$1 ] || return 1; sleep 0.1; done; }
    run --budget 5s > run 2> told; echo $? > code; cat $online > after_run
    run --budget 60s > meddled & run=$!
    while fewer $run; do
        sleep 0.3; echo 1 > /sys/devices/system/cpu/cpu1/online
        until [ $(cat $online) = $all ]; do sleep 0.1; done
    done
    wait $run; cat $online > after_meddling
    run --budget 60s > /dev/null 2>&1 & run=$!
    fewer $run || exit 1
    kill -INT $(pidof hopcost); wait $run; echo $? > stopped; cat $online > after_stop
    run --budget 60s > /dev/null 2>&1 & run=$!
    fewer $run || exit 2
    kill -9 $(pidof hopcost); wait $run; cat $online > after_kill
    hopcost restore > restore || exit 3
    cat $online > after_restore
    ls -A /var/lib/hopcost > state; echo $all > all";

/// Idle siblings are offline in their variant's windows, and online again afterwards, after Ctrl-C,
/// and by `hopcost restore` after a kill. If another process brings one back, the run is refused.
#[test]
fn siblings_are_truly_off_on_n4s2() {
    let step = N4S2.step("off").is_done();
    assert_eq!(step.word("code"), "0", "{}", step.said());
    let result = step.json("run");
    assert_eq!(result["proof"][0]["claim"], "cores_unshared at idle", "{}", result["proof"]);
    assert_eq!(result["proof"][0]["found"], 1.0, "{}", result["proof"]);
    let notes = result["details"]["notes"].as_array().unwrap();
    let is_told = |note: &&Value| note.as_str().unwrap().contains("truly off in its windows");
    let told = notes.iter().find(is_told).unwrap_or_else(|| panic!("{notes:?}"));
    assert!(told.as_str().unwrap().ends_with(": idle CPU 1,3,5,7"), "{told}");
    let meddled = step.json("meddled");
    assert_eq!(meddled["verdict"], "REFUSED", "{}", meddled["reason"]);
    let reason = meddled["reason"].as_str().unwrap();
    assert!(reason.contains("CPU 0-2,4,6 were on-line where only 0,2,4,6 should"), "{reason}");
    assert_eq!(step.word("stopped"), "130");
    for name in ["after_run", "after_meddling", "after_stop", "after_restore"] {
        assert_eq!(step.word(name), step.word("all"), "{name}");
    }
    assert_ne!(step.word("after_kill"), step.word("all"), "a kill cannot put anything back");
    assert!(
        step.word("restore").contains("put back   /sys/devices/system/cpu/cpu"),
        "{}",
        step.word("restore")
    );
    assert_eq!(step.word("state"), "");
}

const FULL: &str = "\
    mkdir /small && mount -t tmpfs -o size=400k none /small || exit 1
    hopcost run remote-memory --quick --scale 20000 --set streams=1 --set window=50ms --set guard=10ms \
        --set units=400 --set half_width=0.01% --store /small/store.db > text 2> told
    echo $? > code
    hopcost report --store /small/store.db > report 2>&1; echo $? > reported
    umount /small";

#[test]
fn a_full_disk_keeps_what_was_finished() {
    let step = N2.step("full").is_done();
    let said = step.read("told");
    assert_eq!(step.word("code"), "1", "{}", step.said());
    assert!(said.contains("/small/store.db") && said.contains("disk is full"), "{said}");
    let report = step.read("report");
    assert_eq!(step.word("reported"), "0", "{report}");
    assert!(report.contains("was not finished"), "{report}");
    assert!(report.contains("what it had is shown"), "{report}");
    let blocks = report.split(" blocks").next().unwrap().rsplit(' ').next().unwrap();
    assert!(blocks.parse::<u32>().unwrap() > 0, "{report}");
}
