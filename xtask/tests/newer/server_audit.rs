//! MariaDB's plugin for audits, which the package of its server's programs alone does not have: it writes each call
//! down, once, and nothing of sessions that are not to be written down.

use hopcost_core::{Audit, Metric, Request, SessionChoice, VariantSettings};
use hopcost_sys::affinity;
use hopcost_testkit::kept::kept;
use hopcost_testkit::named::{self, dataset, home, workload};
use xtask::apt;

const REQUEST: Request = Request { statement: 0, arguments: [0; 4] };

#[test]
fn each_call_is_written_down_once_by_the_plugin() {
    let root = apt::unpacked("server-audit", &["mariadb-server"]).unwrap();
    let plugins = root.join("usr/lib/mysql/plugin");
    let address = format!("managed?plugin_load_add=server_audit&plugin_dir={}", plugins.display());
    let setup = named::setup(dataset("nothing"), workload("null_call"), 1, &address, kept());
    let instance = named::open("mariadb", &setup).unwrap();
    assert!(instance.identity().contains("plugin_load_add = server_audit"));
    let cpu = affinity::mask().unwrap().last();
    for audit in [Audit::Off, Audit::Statements, Audit::Trace] {
        let seat = || VariantSettings {
            home: Some(home()),
            at: Some(home()),
            workers: cpu.into_iter().collect(),
            session: SessionChoice { audit: Some(audit) },
            ..VariantSettings::default()
        };
        let mut sessions = [0, 1].map(|_| instance.first_session(&seat()).unwrap());
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
