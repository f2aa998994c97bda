//! Arbitrary content in files of the kernel and of servers: no panic, bounded memory.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

#[path = "../../sys/tests/mutations/mod.rs"]
mod mutations;

use std::time::Duration;

use hopcost_core::Known;
use hopcost_host::checks::{Surroundings, examine_all};
use hopcost_host::{occupancy, server_placement};
use hopcost_sys::activity::{self, Moment};
use hopcost_sys::topology;
use mutations::{Files, damage, host, peaks_mib};
use proptest::prelude::*;

const OVER: Duration = Duration::from_secs(1);

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_of_a_host_are_told_or_missing(damage in damage()) {
        let files = Files::of(&host());
        let (whole, root) = (files.damaged(&Vec::new()), files.damaged(&damage));
        let machine = topology::read(&root);
        let [before, after] = [&whole, &root].map(Moment::read);
        for occupancy in
            [occupancy::between(&root, &before, &after, OVER), occupancy::between(&root, &after, &before, OVER)]
        {
            prop_assert!(occupancy.host.others_cpus.is_finite());
            occupancy::presence(&occupancy);
        }
        occupancy::glance(&root);
        for target in ["50", "1", "postgres", "mysql"] {
            let asked = server_placement::read(target).unwrap();
            let _ = server_placement::find(&root, &machine, &asked);
        }
        let activity = Known::Is(activity::between(&before, &after, OVER));
        let findings = examine_all(&Surroundings { root: &root, machine: &machine, activity });
        let told: usize = findings.iter().map(|finding| finding.seen.len()).sum();
        prop_assert!(told < 4 << 20, "{told} bytes");
        let [address_space, memory] = peaks_mib();
        prop_assert!(address_space < 2048 && memory < 256, "{address_space} and {memory} MiB");
    }
}
