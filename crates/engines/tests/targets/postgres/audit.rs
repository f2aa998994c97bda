//! The audit log of a server.

use hopcost_core::{Audit, Metric, Request, Session, SessionChoice, TargetError, VariantSettings};

use super::{managed, open, seat, setup};
use hopcost_testkit::named::{dataset, workload};
use hopcost_testkit::postgresql::PostgreSql;

fn audited(audit: Audit) -> VariantSettings {
    VariantSettings { session: SessionChoice { audit: Some(audit) }, ..seat() }
}

fn ask(session: &mut dyn Session, calls: u64) {
    let request = Request { statement: 0, arguments: [0; 4] };
    for _ in 0..calls {
        session.execute(&request).unwrap();
    }
}

#[test]
fn each_call_is_written_down_once_where_that_is_asked_for() {
    let setup = setup(dataset("nothing"), workload("null_call"), 1, managed());
    let instance = open("postgres", &setup).unwrap();
    for audit in [Audit::Off, Audit::Statements, Audit::Trace] {
        let [mut one, mut other] = [0, 1].map(|_| instance.first_session(&audited(audit)).unwrap());
        for calls in [1, 300] {
            ask(one.as_mut(), calls);
            ask(other.as_mut(), 2);
            assert_eq!(one.counted().proved[&Metric::AuditedAsAsked], [calls, calls], "{audit:?}");
            assert_eq!(other.counted().proved[&Metric::AuditedAsAsked], [2, 2], "{audit:?}");
        }
    }
    instance.close().unwrap();
}

#[test]
fn the_log_of_a_server_that_runs_is_left_alone() {
    let server = PostgreSql::start(&[]);
    let address = server.url("postgres");
    let setup = setup(dataset("nothing"), workload("null_call"), 1, &address);
    let instance = open("postgres", &setup).unwrap();
    let Err(TargetError::NotHere(reason)) = instance.first_session(&audited(Audit::Statements))
    else {
        panic!("its log is not ours")
    };
    assert!(reason.to_string().contains("Use postgres:managed"), "{reason}");
    instance.close().unwrap();
}
