//! PostgreSQL 18: what only a newer server can get wrong.

use hopcost_core::{Gauge, Known, Look, ProofMethod, Reading, gauge};
use hopcost_testkit::named::{answers, dataset, open, seat, shared_setup, workload};
use xtask::newer_postgres::NewerPostgres;

fn newer() -> (NewerPostgres, String) {
    let newer = NewerPostgres::ensure().unwrap();
    let address = format!("managed?version=18&programs={}", newer.programs().display());
    (newer, address)
}

#[test]
fn postgresql_18_answers_as_sqlite_does() {
    let (newer, address) = newer();
    for (data, asked, rows) in [
        ("tran_stats", "reporting_p1", 20_000),
        ("tran_stats", "reporting_p2", 60_000),
        ("tpcc", "augmented_oltp", 1),
    ] {
        let [setup, plain] =
            [&*address, ""].map(|at| shared_setup(dataset(data), workload(asked), rows, at));
        let instance = open("postgres", &setup).unwrap();
        assert!(instance.identity().starts_with(&format!("PostgreSQL {}", newer.version)));
        let answered = answers(&*instance, &setup, &seat());
        instance.close().unwrap();
        let sqlite = open("sqlite", &plain).unwrap();
        assert_eq!(answered, answers(&*sqlite, &plain, &seat()), "{asked}");
    }
}

#[test]
fn postgresql_18_tells_itself_where_its_shared_buffers_are() {
    let (_, address) = newer();
    let setup = shared_setup(dataset("tran_stats"), workload("reporting_p2"), 60_000, &address);
    let instance = open("postgres", &setup).unwrap();
    let Known::Is(found) = instance.prove(Look::Full) else { panic!("it can be told") };
    let methods: Vec<ProofMethod> = found.iter().map(|locality| locality.method).collect();
    assert_eq!(methods, [ProofMethod::MovePages, ProofMethod::BufferView]);
    assert!(found.iter().all(|locality| locality.share_in_place() >= 0.98), "{found:?}");
    // The data is about 10 MB, and the view covers all shared buffers.
    assert!(found[0].pages() > 2_000 && found[1].pages() > 30_000, "{found:?}");
    let Known::Is(glance) = instance.prove(Look::Glance) else { panic!("it can be told") };
    assert_eq!(glance.len(), 1, "around a window the view is left alone");
    let notes = instance.close().unwrap();
    assert!(notes.iter().any(|note| note.contains("pg_buffercache_numa")), "{notes:?}");
}

#[test]
fn postgresql_18_tells_how_long_its_log_took() {
    let (_, address) = newer();
    let setup = shared_setup(dataset("insert_test"), workload("single_row_commit"), 1, &address);
    let instance = open("postgres", &setup).unwrap();
    let read = || instance.readings();
    let value = |of: &[Reading], gauge: &Gauge| {
        of.iter().find(|reading| reading.gauge == gauge).map(|reading| reading.value).unwrap()
    };
    let before = read();
    answers(&*instance, &setup, &seat());
    // A closed session delivers its counts asynchronously.
    let has_come = |after: &[Reading]| {
        value(after, gauge::LOG_FLUSHES) - value(&before, gauge::LOG_FLUSHES) >= 40.0
    };
    let look = || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        Some(read()).filter(|after| has_come(after))
    };
    let after = (0..500).find_map(|_| look()).unwrap_or_else(read);
    let grown = |gauge: &Gauge| value(&after, gauge) - value(&before, gauge);
    assert!(grown(gauge::WAL_BYTES) >= 40.0 * 50.0, "{after:?}");
    assert!(grown(gauge::WAL_RECORDS) >= 40.0);
    assert!(grown(gauge::LOG_FLUSHES) >= 40.0 && grown(gauge::LOG_FLUSH_MS) > 0.0, "{after:?}");
    assert!(grown(gauge::SESSION_WRITES) >= 0.0 && grown(gauge::BUFFER_HITS) > 0.0);
}

#[test]
fn postgresql_18_speaks_tls_from_the_first_byte_on() {
    let (newer, _) = newer();
    let modules = ["postgres::tls_is_spoken"];
    super::tried(super::TARGETS, &modules, &[], "HOPCOST_TEST_POSTGRES", &newer.programs());
}
