//! Probes with missing resources or lost placement, in one boot.

use anyhow::Result;
use xtask::vm::{Kernel, Load};

use crate::proofs::{cells, numbers};
use crate::steps::{Boot, Step, Steps, Tried};
use crate::theft::{reads_as_moved, robbed};

fn step(name: &'static str) -> Step<'static> {
    static BOOT: Boot = Boot::of(tries);
    BOOT.step(name)
}

fn tries() -> Result<Tried> {
    Steps::on("n2", Kernel::V6_1, Load::One)?
        .with_saboteur("page_thief")?
        .step("few-moved", 60, &robbed(5))
        .step("all-moved", 60, &robbed(100))
        .step(
            "no-memory",
            60,
            "hopcost probe latency --quick --starts 1 --size 4G > text; echo $? > code",
        )
        .step("offline", 300, OFFLINE)
        .run()
}

#[test]
fn few_moved_pages_void_a_probe() {
    reads_as_moved(step("few-moved"), 5);
}

#[test]
fn moving_all_pages_voids_a_probe() {
    reads_as_moved(step("all-moved"), 100);
}

#[test]
fn without_memory_left_the_column_is_missing_and_the_code_says_so() {
    let step = step("no-memory").is_done();
    let text = step.read("text");
    assert!(text.contains("8192 MiB are wanted") && text.contains("--size"), "{text}");
    assert_eq!(step.word("code"), "3");
}

const OFFLINE: &str = "\
    online=/sys/devices/system/cpu/cpu3/online
    echo 0 > $online || exit 1
    hopcost machine --json > machine || exit 2
    hopcost machine > text || exit 3
    hopcost probe cores --quick --budget 1s --json > cores || exit 4
    hopcost probe cores --quick --cpus 3; echo $? > code
    echo 1 > $online";

#[test]
fn an_offline_cpu_is_shown_and_left_out() {
    let step = step("offline").is_done();
    let machine = step.json("machine");
    let cpu = &machine["cpus"][3];
    assert_eq!((&cpu["online"], &cpu["usable"]), (&false.into(), &false.into()));
    assert_eq!(cpu["socket"]["missing"], "the CPU is off-line");
    let text = step.read("text");
    assert!(text.contains("CPU 3 off-line"), "{text}");
    for cell in cells(&step.json("cores")) {
        assert!(!numbers(&cell["cpus"]).contains(&3));
    }
    assert_eq!(step.word("code"), "2", "a CPU that cannot be used");
}
