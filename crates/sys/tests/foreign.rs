//! Damaged kernel files cause no panic, and memory stays bounded.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

mod mutations;

use std::collections::BTreeSet;
use std::time::Duration;

use hopcost_core::{Known, Limit};
use hopcost_sys::activity::{self, Moment};
use hopcost_sys::kernels::decommit::shoot_downs;
use hopcost_sys::memory::numa_maps;
use hopcost_sys::sockets::{self, Doors};
use hopcost_sys::strain::Watch;
use hopcost_sys::{Root, Tree, processes, samples, standing, titles, topology, traits};
use mutations::{Files, damage, host, peaks_mib};
use proptest::prelude::*;

macro_rules! machine {
    ($name:literal) => {
        include_str!(concat!("../../../fixtures/machines/", $name, ".tree"))
    };
}

const MACHINES: [&str; 6] = [
    machine!("hand-8-sockets"),
    machine!("hand-gpu-memory"),
    machine!("hand-hybrid"),
    machine!("hand-sparse"),
    machine!("vm-n1"),
    machine!("vm-n2cxl-6.12"),
];

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Address space and memory: far less than one damaged list of CPUs could ask for.
const MOST_MIB: [u64; 2] = [2048, 256];

fn assert_bounded() {
    let peaks = peaks_mib();
    assert!(peaks[0] < MOST_MIB[0] && peaks[1] < MOST_MIB[1], "{peaks:?} MiB");
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn a_damaged_machine_is_a_smaller_machine(which in 0..MACHINES.len(), damage in damage()) {
        let root = Files::of(MACHINES[which]).damaged(&damage);
        let machine = topology::read(&root);
        let json = serde_json::to_string(&machine).unwrap();
        prop_assert!(json.len() < 16 << 20, "{} bytes", json.len());
        prop_assert!(machine.page_bytes.is_power_of_two());
        if let Known::Is(Limit::At(cpus)) = machine.limits.cpu_quota {
            prop_assert!(cpus.is_finite() && cpus > 0.0);
        }
        let caches = machine.caches.iter().filter_map(|cache| cache.bytes.get());
        prop_assert!(caches.copied().all(|bytes| bytes <= 1 << 40));
        prop_assert!(machine.in_order_of_use(&machine.limits.cpus).len() <= machine.cpus.len());
        machine.available_bytes();
        traits::read(&root);
        assert_bounded();
    }

    #[test]
    fn damaged_accounts_of_processes_are_missing_or_bounded(damage in damage()) {
        let files = Files::of(&host());
        let (whole, damaged) = (files.damaged(&Vec::new()), files.damaged(&damage));
        let server = BTreeSet::from([50, 51, 52]);
        let all = processes::read(&damaged).ok().unwrap_or_default();
        all.used_ms(&all.trees([1, 50, u32::MAX]));
        let moments = [&whole, &damaged].map(Moment::read);
        for [before, after] in [[0, 1], [1, 0]] {
            let over = Duration::from_secs(1);
            let activity = activity::between(&moments[before], &moments[after], over);
            prop_assert!(activity.busy.values().all(|share| (0.0..=1.0).contains(share)));
            prop_assert!((0.0..=1.0).contains(&activity.stolen));
        }
        let mut watch = Watch::over(vec![("PostgreSQL".into(), 50)]);
        for root in [&whole, &damaged, &whole] {
            let strain = watch.look(root, &server);
            prop_assert!((0.0..=1.0).contains(&strain.stolen));
            watch.recount();
        }
        read_one_by_one(&damaged, &server);
        assert_bounded();
    }

    #[test]
    fn a_damaged_recording_is_refused_or_written_again(at in 0.0..1.0, bits: u8, damage in damage()) {
        let whole = machine!("vm-n1");
        let mut bytes = whole.as_bytes().to_vec();
        bytes[(whole.len() as f64 * at) as usize] ^= bits;
        if let Ok(tree) = Tree::parse(&String::from_utf8_lossy(&bytes)) {
            prop_assert!(Tree::parse(&tree.to_text()).is_ok());
        }
        Files::of(whole).damaged(&damage);
    }
}

fn read_one_by_one(root: &Root, server: &BTreeSet<u32>) {
    for pid in [50, 60, u32::MAX] {
        let at = standing::of_process(pid);
        let _ = (standing::cpus(root, &at), standing::last_cpu(root, &at));
        let _ = (standing::began_s(root, &at), standing::name(root, &at));
        let _ = (standing::own_number(root, pid), standing::resident(root, pid));
        let _ = (processes::user(root, pid), processes::of_thread(root, pid));
        let _ = (processes::turns(root, pid), activity::worker_time(root, pid));
        let _ = numa_maps::read(root, pid);
        let title = processes::title(root, pid).ok().unwrap_or_default();
        let _ = (titles::of_title(&title), titles::is_postgresql_session(&title));
    }
    let doors = Doors { ports: &[3306], path: "mysqld" };
    let _ = (sockets::sessions(root, server, &doors), sockets::listening(root, server));
    let _ = (processes::memory_bytes(root, server), processes::turns_are_counted(root));
    let _ = (samples::Doors::read(root), shoot_downs(root));
}
