//! Machines of each shape: topology and proofs of probes, in one boot each.

use std::path::PathBuf;

use anyhow::Result;
use xtask::vm::{Kernel, Load};

use crate::proofs::{probe, probe_proves};
use crate::shapes::{LOOK, agrees, keep};
use crate::steps::{Steps, Tried};

const USUAL: &[&str] = &["latency", "bandwidth", "cores", "switch", "log"];
const WITH_SIBLINGS: &[&str] = &["latency", "bandwidth", "cores", "switch", "log", "smt"];
/// All that place memory or threads; on one machine only, because emulation is slow.
const ALL: &[&str] =
    &["latency", "bandwidth", "cores", "switch", "log", "decommit", "pages", "smt", "loaded"];
/// Those that reach memory-only nodes, and all of many.
const REACHING: &[&str] = &["latency", "bandwidth"];

fn tries(shape: &str, kernel: Kernel, names: &[&'static str]) -> Result<Tried> {
    // The threads of these probes are independent; the others' wait for each other.
    let load = if names.len() <= REACHING.len() { Load::One } else { Load::All };
    let first = Steps::on(shape, kernel, load)?.step("machine", 60, LOOK);
    let all = names.iter().fold(first, |steps, name| steps.step(name, 240, &probe(name)));
    all.run()
}

fn check(shape: &str, kernel: Kernel, names: &[&'static str]) {
    let tried = tries(shape, kernel, names).unwrap();
    agrees(tried.step("machine"), shape);
    if let Some(recordings) = std::env::var_os("HOPCOST_KEEP_RECORDINGS") {
        let newer = if kernel == Kernel::V6_12 { "-6.12" } else { "" };
        keep(tried.step("machine"), &PathBuf::from(recordings).join(format!("{shape}{newer}")));
    }
    for name in names {
        probe_proves(&tried.step(name).is_done().json("report"), name, shape);
    }
}

macro_rules! machines {
    ($($name:ident: $shape:ident, $kernel:ident, $probes:expr;)*) => {$(
        #[test]
        fn $name() {
            check(stringify!($shape), Kernel::$kernel, $probes);
        }
    )*};
}

// Under this emulation the newer kernel, and programs just started, die more often with more CPUs.
// It gets the small machines.
machines! {
    n1: n1, V6_1, USUAL;
    n2: n2, V6_1, ALL;
    n4: n4, V6_1, USUAL;
    n8: n8, V6_1, REACHING;
    n4s2: n4s2, V6_1, WITH_SIBLINGS;
    n4cxl: n4cxl, V6_1, &[];
    n2_newer: n2, V6_12, &[];
    n2cxl_newer: n2cxl, V6_12, REACHING;
}
