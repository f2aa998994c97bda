//! MariaDB on managed servers: SQLite's answers, placement, clear errors.

mod attached;
mod faults;

use std::sync::OnceLock;

use hopcost_core::{
    Audit, CallError, Metric, Request, Session, SessionChoice, Stream, VariantSettings, gauge,
};

pub use attached::OURS;
use hopcost_testkit::certificate::certificate;
use hopcost_testkit::everything::{self, Everything};
use hopcost_testkit::mariadb;
use hopcost_testkit::named::{dataset, open, target, workload};

use super::{ASKED, seat, setup};

#[test]
fn small_tables_hold_what_they_were_made_of() {
    tables_hold_what_they_were_made_of(&everything::SMALL);
}

pub fn tables_hold_what_they_were_made_of(sets: &[(&str, u64)]) {
    for (name, rows) in sets {
        let dataset = dataset(name);
        let (everything, made) = Everything::of(dataset, *rows);
        let setup = setup(dataset, &everything, *rows, managed());
        let instance = open(engine().0, &setup).unwrap();
        let mut session = instance.first_session(&seat()).unwrap();
        everything.assert_is(&made, engine().0, &mut *session);
    }
}

/// The system's MariaDB, or the MySQL in the directory `HOPCOST_TEST_MYSQL`.
pub fn engine() -> &'static (&'static str, String) {
    static ENGINE: OnceLock<(&str, String)> = OnceLock::new();
    ENGINE.get_or_init(|| match mariadb::chosen() {
        (name, Some(programs)) => (name, format!("managed?programs={}", programs.display())),
        (name, None) => (name, "managed".to_owned()),
    })
}

pub fn managed() -> &'static str {
    &engine().1
}

#[test]
fn every_workload_is_answered_rightly_by_a_server_of_our_own() {
    super::engine(engine().0, managed()).answers(&ASKED, &seat());
}

#[test]
fn rows_of_all_streams_are_counted_once() {
    for (name, calls, rows) in [("memory_insert", 30, 1), ("bulk_load", 2, 5_000)] {
        let workload = workload(name);
        let setup = setup(dataset("big_table_im"), workload, 1_000_000, managed());
        let instance = open(engine().0, &setup).unwrap();
        let mut sessions: Vec<Box<dyn Session>> = (0..2)
            .map(|stream| instance.session(&seat(), seat().of_stream(stream, 0)).unwrap())
            .collect();
        for (number, session) in sessions.iter_mut().enumerate() {
            session.begin_counting();
            let stream = Stream { number: number as u32, of: 2, seed: 0 };
            let mut requests = workload.requests(setup.shape, stream);
            for _ in 0..calls {
                session.execute(&requests.next()).unwrap();
            }
        }
        let of_all = instance.leave_variant(&seat());
        let of_sessions = sessions.iter_mut().map(|session| session.counted());
        let counted: Vec<[u64; 2]> = [of_all]
            .into_iter()
            .chain(of_sessions)
            .filter_map(|counted| counted.proved.get(&Metric::RowsCounted).copied())
            .collect();
        let all = counted.iter().fold([0, 0], |sum, [held, of]| [sum[0] + held, sum[1] + of]);
        assert_eq!(all, [2 * calls * rows; 2], "{name}: {counted:?}");
    }
}

#[test]
fn what_its_threads_wait_for_is_seen() {
    let setup = setup(dataset("tran_stats"), workload("reporting_p1"), 20_000, managed());
    let instance = open(engine().0, &setup).unwrap();
    let seen = || {
        let readings = instance.readings();
        let of_threads = readings.iter().filter(|reading| reading.gauge == gauge::WAIT_SAMPLES);
        of_threads.map(|reading| reading.value).sum::<f64>()
    };
    seen();
    let mut session = instance.first_session(&seat()).unwrap();
    let mut requests = setup.workload.requests(setup.shape, Stream { number: 0, of: 1, seed: 1 });
    // A backend that is always busy is soon sampled.
    let is_seen = (0..2_000).any(|_| {
        session.execute(&requests.next()).unwrap();
        seen() > 0.0
    });
    assert!(is_seen, "{:?}", instance.readings());
}

#[test]
fn a_server_that_is_killed_has_closed_the_connection() {
    let setup = setup(dataset("nothing"), workload("null_call"), 1, managed());
    let instance = open(engine().0, &setup).unwrap();
    let mut session = instance.first_session(&seat()).unwrap();
    let thread = instance.workers()[0];
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap();
    let pid = status.lines().find_map(|line| line.strip_prefix("Tgid:")).unwrap().trim().to_owned();
    assert!(std::process::Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    let request = Request { statement: 0, arguments: [0; 4] };
    let error = session.execute(&request).unwrap_err();
    assert!(matches!(error, CallError::Lost(_)), "{error:?}");
    let words = error.to_string();
    assert!(words.contains("closed the connection") || words.contains("was reset"), "{words}");
}

#[test]
fn what_it_cannot_do_is_said() {
    let (dataset, workload) = (dataset("nothing"), workload("null_call"));
    let refusal = |option: &str| {
        let between = if managed().contains('?') { '&' } else { '?' };
        let address = format!("{}{between}{option}", managed());
        open(engine().0, &setup(dataset, workload, 1, &address)).err().unwrap().to_string()
    };
    let words = refusal("version=3");
    assert!(words.contains(" 3 was found"), "{words}");
    let words = refusal("nonsense=1");
    assert!(words.contains("nonsense"), "{words}");
}

#[test]
fn each_call_is_written_down_once_where_that_is_asked_for() {
    let setup = setup(dataset("nothing"), workload("null_call"), 1, managed());
    let instance = open(engine().0, &setup).unwrap();
    let request = Request { statement: 0, arguments: [0; 4] };
    for audit in [Audit::Off, Audit::Statements, Audit::Trace] {
        let seat = || VariantSettings { session: SessionChoice { audit: Some(audit) }, ..seat() };
        let mut sessions = [0, 1].map(|_| instance.first_session(&seat()).unwrap());
        for calls in [1, 300] {
            for session in &mut sessions {
                (0..calls).for_each(|_| {
                    session.execute(&request).unwrap();
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
}
