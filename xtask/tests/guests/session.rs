//! One machine with two sockets and a memory-only node: each contract once, in one boot.

use anyhow::Result;
use serde_json::Value;
use xtask::vm::{Kernel, Load};

use crate::aboard::{Aboard, ROWS};
use crate::proofs::{by_id, cells, numbers, probe, probe_proves, serves_both_arms};
use crate::shapes;
use crate::sqlite::{places_both_arms, remote_memory};
use crate::steps::{Boot, Step, Steps, Tried};
use crate::theft::{moved_data, reads_as_moved, refuses_as_moved, robbed};

const SHAPE: &str = "n2cxl";
/// Files are in memory: two copies of a server's data with its log, beside its own memory. If a
/// node is full, the kernel uses another.
const MIB_PER_NODE: u32 = 2048;
/// hopcost or the step itself undoes each change to the machine.
fn step(name: &'static str) -> Step<'static> {
    static BOOT: Boot = Boot::of(tries);
    BOOT.step(name)
}

fn tries() -> Result<Tried> {
    let (sqlite, postgres, mariadb) =
        (Aboard::sqlite("reporting_p1")?, Aboard::postgres(ROWS)?, Aboard::mariadb()?);
    let mut steps = Steps::on(SHAPE, Kernel::V6_1, Load::One)?
        .mib_per_node(MIB_PER_NODE)
        .with_saboteur("page_thief")?
        .with_saboteur("forbid_placement")?;
    for database in [&sqlite, &postgres, &mariadb] {
        steps = database.comes_with(steps);
    }
    steps
        .step("machine", 60, shapes::LOOK)
        .step("latency", 60, &probe("latency"))
        .step("bandwidth", 60, &probe("bandwidth"))
        .step("unmoved", 60, &robbed(0))
        .step("moved", 60, &robbed(50))
        .step("forbidden", 60, FORBIDDEN)
        .step("cpuset", 60, CPUSET)
        .step("user", 60, USER)
        .step("settings", 120, SETTINGS)
        .step("sqlite", 120, &remote_memory())
        .step("moved-data", 120, &moved_data(50))
        .step("postgres", 180, &postgres.both_arms())
        .step("mariadb", 180, &mariadb.both_arms())
        .step("left", 60, LEFT)
        .run()
}

#[test]
fn the_machine_is_what_the_kernel_and_its_peers_say() {
    shapes::agrees(step("machine"), SHAPE);
}

#[test]
fn latency_proves_where_its_memory_is() {
    probe_proves(&step("latency").is_done().json("report"), "latency", SHAPE);
}

#[test]
fn bandwidth_proves_where_its_memory_is() {
    probe_proves(&step("bandwidth").is_done().json("report"), "bandwidth", SHAPE);
}

#[test]
fn moved_pages_void_a_probe() {
    reads_as_moved(step("moved"), 50);
}

#[test]
fn pages_that_stay_leave_a_probe_valid() {
    reads_as_moved(step("unmoved"), 0);
}

/// The kernel would move unbound memory to the reading node, and the probe would rightly call that
/// void.
const FORBIDDEN: &str = "\
    balancing=/proc/sys/kernel/numa_balancing; was=$(cat $balancing)
    echo 0 > $balancing; trap 'echo $was > $balancing' EXIT
    forbid_placement hopcost probe latency --quick --starts 1 --budget 1s --size 4M --json > json || exit 1
    forbid_placement hopcost probe latency --quick --starts 1 --budget 1s --size 4M > text || exit 2
    forbid_placement hopcost doctor > doctor; echo $? > code";

/// Under a container's seccomp filter: first touch, proved by mapping, and both are reported.
#[test]
fn probes_fall_back_where_binding_is_forbidden() {
    let step = step("forbidden").is_done();
    for cell in cells(&step.json("json")) {
        if cell["column"]["node"] == 2 {
            let reason = cell["outcome"]["missing"].as_str().unwrap();
            assert!(reason.contains("no usable CPU to touch it first"), "{reason}");
            continue;
        }
        let locality = &cell["proof"][1]["memory"][0];
        let how = (&locality["method"], &locality["bound"]);
        assert_eq!(how, (&"numa_maps".into(), &false.into()));
        assert!(cell["outcome"].get("measured").is_some(), "{}", cell["outcome"]);
    }
    let text = step.read("text");
    assert!(text.contains("placed by first touch, binding is forbidden here"), "{text}");
    assert_eq!(step.word("code"), "1", "the doctor warns");
    assert!(step.read("doctor").contains("mbind and move_pages forbidden"));
}

const CPUSET: &str = "\
    box=/sys/fs/cgroup/box
    echo +cpuset > /sys/fs/cgroup/cgroup.subtree_control && mkdir $box || exit 1
    echo 2-3 > $box/cpuset.cpus && echo 1 > $box/cpuset.mems || exit 2
    (
        sh -c 'echo $PPID' > $box/cgroup.procs || exit 3
        hopcost machine --json > machine || exit 4
        hopcost machine > text || exit 5
        hopcost probe latency --quick --starts 1 --budget 1s --size 4M --json > latency || exit 6
        hopcost probe latency --quick --starts 1 --size 4M --nodes 0; echo $? > code
    ) || exit $?
    rmdir $box && echo -cpuset > /sys/fs/cgroup/cgroup.subtree_control";

#[test]
fn a_cpuset_hides_the_other_nodes() {
    let step = step("cpuset").is_done();
    let machine = step.json("machine");
    assert_eq!(numbers(&machine["limits"]["cpus"]), [2, 3]);
    assert_eq!(numbers(&machine["limits"]["nodes"]), [1]);
    let usable = by_id(&machine["nodes"]).into_iter().filter(|(_, node)| node["usable"] == true);
    assert_eq!(usable.map(|(id, _)| id).collect::<Vec<_>>(), [1]);
    for cell in cells(&step.json("latency")) {
        assert_eq!(cell["row"]["node"], 1);
        assert!(cell["outcome"].get("measured").is_some());
    }
    let text = step.read("text");
    assert!(text.contains("CPUs 2-3 usable · memory of node 1 usable"), "{text}");
    assert_eq!(step.word("code"), "3", "a node that is closed to us");
}

const USER: &str = "\
    mkdir -m 1777 /elsewhere && cp /usr/local/bin/hopcost /elsewhere/alone && cd /elsewhere || exit 1
    as_user() { su nobody -s /bin/sh -c \"/elsewhere/alone $*\"; }
    as_user machine --json > $OLDPWD/machine || exit 2
    as_user probe latency --quick --starts 1 --budget 1s --size 4M > $OLDPWD/probe || exit 3
    as_user doctor > $OLDPWD/doctor; rm -r /elsewhere";

#[test]
fn an_ordinary_user_is_served_and_told_what_is_closed() {
    let step = step("user").is_done();
    let machine = step.json("machine");
    let closed = machine["distances"]["hmat"]["missing"].as_str().unwrap();
    assert!(closed.ends_with("may not be read by this user"), "{closed}");
    assert!(step.read("probe").contains("pages proved 100% in place (move_pages)"));
    let doctor = step.read("doctor");
    assert!(doctor.contains("an ordinary user, without: "), "{doctor}");
}

/// Stopped after a second of CPU time, so that it has results.
const SETTINGS: &str = "\
    pool=/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages
    echo 3 > $pool
    wants='probe latency --quick --starts 1 --budget 2s --size 16M --pages 2m --nodes 1 --allow-machine-changes'
    grown() { for i in $(seq 200); do [ $(cat $pool) -gt 3 ] && return 0; sleep 0.05; done; return 1; }
    spent() { awk '{ print $14 + $15 }' /proc/$1/stat; }
    hopcost $wants --json > whole || exit 1
    cat $pool > after_whole
    hopcost $wants > stopped & grown || exit 2
    begun=$(spent $!)
    until [ $(($(spent $!) - begun)) -gt 100 ]; do [ -d /proc/$! ] || exit 6; sleep 0.1; done
    kill -INT $!; wait $!; echo $? > code; cat $pool > after_stopped
    hopcost $wants > /dev/null & grown || exit 3
    kill -9 $!; wait $!; cat $pool > after_kill
    hopcost restore > restore || exit 4
    cat $pool > after_restore
    hopcost restore > again || exit 5
    ls -A /var/lib/hopcost > state
    echo 0 > $pool";

/// A huge page pool that hopcost may grow: restored at the end, after Ctrl-C, and by `hopcost
/// restore` after a kill.
#[test]
fn settings_are_put_back_on_every_way_out() {
    let step = step("settings").is_done();
    let report = step.json("whole");
    let locality = &report["probes"][0]["cells"][0]["proof"][0]["memory"][0];
    assert_eq!(locality["page_size"], "2M", "{locality}");
    assert_eq!((step.word("after_whole"), step.word("after_stopped")), ("3", "3"));
    assert_eq!(step.word("code"), "130");
    assert!(step.read("stopped").contains("before its end"), "{}", step.read("stopped"));
    assert_ne!(step.word("after_kill"), "3", "a kill cannot put anything back");
    assert_eq!(step.word("after_restore"), "3");
    assert!(step.read("restore").contains("put back"), "{}", step.read("restore"));
    assert!(step.read("again").contains("Nothing to put back"));
    assert_eq!(step.word("state"), "");
}

#[test]
fn both_arms_are_placed_in_sqlite() {
    places_both_arms(step("sqlite"), 2);
}

#[test]
fn moved_pages_refuse_a_run() {
    refuses_as_moved(step("moved-data"), 50);
}

#[test]
fn both_arms_are_placed_in_postgresql() {
    serves_both_arms(step("postgres"), 2, 4);
}

#[test]
fn both_arms_are_placed_in_mariadb() {
    serves_both_arms(step("mariadb"), 2, 6);
}

const LEFT: &str = "\
    hopcost machine --json > machine.json || exit 1
    ls -A /var/lib/hopcost > state
    ps | grep -E 'hopcost|postgres|mariadb' | grep -v grep > processes
    true";

#[test]
fn nothing_is_left_of_all_that() {
    let step = step("left").is_done();
    assert_eq!(step.word("state"), "");
    assert_eq!(step.word("processes"), "");
    let [now, before] = [step, self::step("machine")].map(|step| {
        let mut machine = step.json("machine.json");
        for node in machine["nodes"].as_array_mut().unwrap() {
            // The files that the steps left use memory.
            node["free_bytes"] = Value::Null;
            node["available_bytes"] = Value::Null;
        }
        machine
    });
    assert_eq!(now, before);
}
