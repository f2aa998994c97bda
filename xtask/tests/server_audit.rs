//! MariaDB's plugin for audits, which the package of its server's programs alone does not have: it writes each call
//! down, once, and nothing of sessions that are not to be written down.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use hopcost_core::{Audit, Request, Seat};
use hopcost_sys::affinity;
use hopcost_testkit::named::{self, dataset, home, workload};
use xtask::apt;

#[test]
fn each_call_is_written_down_once_by_the_plugin() {
    let [unpacked, cache] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    // Another user's server has to read both.
    for dir in [&unpacked, &cache] {
        std::fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    }
    let root = apt::unpack(&["mariadb-server"], unpacked.path()).unwrap();
    let plugins = root.join("usr/lib/mysql/plugin");
    let address = format!("managed?plugin_load_add=server_audit&plugin_dir={}", plugins.display());
    let setup = named::setup(dataset("tpcc"), workload("standard_oltp"), 1, &address, cache.path());
    let instance = named::open("mariadb", &setup).unwrap();
    assert!(instance.identity().contains("plugin_load_add = server_audit"));
    let cpu = affinity::mask().unwrap().last();
    for audit in [Audit::Off, Audit::Statements, Audit::Trace] {
        let seat = || Seat {
            home: Some(home().into()),
            at: Some(home()),
            worker: cpu,
            audit: Some(audit),
            ..Seat::default()
        };
        let mut sessions = [0, 1].map(|_| instance.session(seat()).unwrap());
        for calls in [1, 300] {
            for session in &mut sessions {
                for n in 0..calls {
                    let request = Request { statement: (n % 2) as usize, arguments: [1, 1, 1, 1] };
                    session.execute(&request).unwrap();
                }
            }
            for session in &mut sessions {
                assert_eq!(session.counted().proved["audited_as_asked"], [calls; 2], "{audit:?}");
            }
        }
    }
    instance.close().unwrap();
}
