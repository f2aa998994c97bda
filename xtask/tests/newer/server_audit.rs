//! MariaDB's audit plugin logs each call once, and no sessions that are excluded from the log.

use hopcost_core::{Audit, Metric, Request};
use hopcost_testkit::named::{audited, dataset, open, shared_setup, workload};
use xtask::apt;

const REQUEST: Request = Request { statement: 0, arguments: [0; 4] };

#[test]
fn each_call_is_written_down_once_by_the_plugin() {
    let root = apt::unpacked("server-audit", &["mariadb-server"]).unwrap();
    let plugins = root.join("usr/lib/mysql/plugin");
    let address = format!("managed?plugin_load_add=server_audit&plugin_dir={}", plugins.display());
    let setup = shared_setup(dataset("nothing"), workload("null_call"), 1, &address);
    let instance = open("mariadb", &setup).unwrap();
    assert!(instance.identity().contains("plugin_load_add = server_audit"));
    for audit in [Audit::Off, Audit::Statements, Audit::Trace] {
        let mut sessions = [0, 1].map(|_| instance.first_session(&audited(audit)).unwrap());
        for calls in [1, 300] {
            for session in &mut sessions {
                (0..calls).for_each(|_| {
                    session.execute(&REQUEST).unwrap();
                });
            }
            for session in &mut sessions {
                assert_eq!(
                    session.counted().proved[&Metric::AuditedAsAsked],
                    [calls; 2],
                    "{audit:?}"
                );
            }
        }
    }
    instance.close().unwrap();
}
