//! PostgreSQL 18, which the system does not have: what only a newer server can get wrong, tried on one
//! from a newer suite.

use std::path::Path;

use hopcost_core::{
    Answer, Gauge, Instance, Known, Look, ProofMethod, Shape, Stream, VariantSettings, gauge,
};
use hopcost_sys::affinity;
use hopcost_testkit::kept::kept;
use hopcost_testkit::named::{self, dataset, home, workload};
use xtask::newer_postgres::NewerPostgres;

/// A question of so many rows.
#[derive(Clone, Copy)]
struct Asked {
    data: &'static str,
    workload: &'static str,
    rows: u64,
}

impl Asked {
    fn shape(self) -> Shape {
        Shape { rows: self.rows, sliced: true }
    }

    fn open(self, target_name: &str, address: &str, cache: &Path) -> Box<dyn Instance> {
        let (data, workload) = (dataset(self.data), workload(self.workload));
        let setup = named::setup(data, workload, self.rows, address, cache);
        named::open(target_name, &setup).unwrap()
    }

    /// Forty answers, each held against the rules of the data.
    fn answers(self, instance: &dyn Instance) -> Vec<Answer> {
        let workload = workload(self.workload);
        let cpu = affinity::mask().unwrap().last();
        let seat = VariantSettings {
            home: Some(home()),
            at: Some(home()),
            workers: cpu.into_iter().collect(),
            ..VariantSettings::default()
        };
        let mut session = instance.first_session(&seat).unwrap();
        let stream = Stream { number: 0, of: 1, seed: 7 };
        let mut requests = workload.requests(self.shape(), stream);
        let answers = (0..40).map(|_| {
            let request = requests.next();
            let answer = session.execute(&request).unwrap();
            let checked = workload.check(self.shape(), &request, &answer);
            checked.unwrap_or_else(|why| panic!("{}: {why}", self.workload));
            answer
        });
        answers.collect()
    }
}

fn newer() -> (NewerPostgres, String) {
    let newer = NewerPostgres::ensure().unwrap();
    let address = format!("managed?version=18&programs={}", newer.programs().display());
    (newer, address)
}

#[test]
fn postgresql_18_answers_as_sqlite_does() {
    let (newer, address) = newer();
    for asked in [
        Asked { data: "tran_stats", workload: "reporting_p1", rows: 20_000 },
        Asked { data: "tran_stats", workload: "reporting_p2", rows: 60_000 },
        Asked { data: "tpcc", workload: "augmented_oltp", rows: 1 },
    ] {
        let instance = asked.open("postgres", &address, kept());
        assert!(instance.identity().starts_with(&format!("PostgreSQL {}", newer.version)));
        let answers = asked.answers(instance.as_ref());
        instance.close().unwrap();
        let plain = asked.open("sqlite", "", kept());
        assert_eq!(answers, asked.answers(plain.as_ref()), "{}", asked.workload);
    }
}

#[test]
fn postgresql_18_tells_itself_where_its_shared_buffers_are() {
    let (_, address) = newer();
    let asked = Asked { data: "tran_stats", workload: "reporting_p2", rows: 60_000 };
    let instance = asked.open("postgres", &address, kept());
    let Known::Is(found) = instance.prove(Look::Full) else { panic!("it can be told") };
    let methods: Vec<ProofMethod> = found.iter().map(|locality| locality.method).collect();
    assert_eq!(methods, [ProofMethod::MovePages, ProofMethod::BufferView]);
    assert!(found.iter().all(|locality| locality.share_in_place() >= 0.98), "{found:?}");
    // The data is some 10 MB, and the view knows of all shared buffers.
    assert!(found[0].pages() > 2_000 && found[1].pages() > 30_000, "{found:?}");
    let Known::Is(glance) = instance.prove(Look::Glance) else { panic!("it can be told") };
    assert_eq!(glance.len(), 1, "around a window the view is left alone");
    let notes = instance.close().unwrap();
    assert!(notes.iter().any(|note| note.contains("pg_buffercache_numa")), "{notes:?}");
}

#[test]
fn postgresql_18_tells_how_long_its_log_took() {
    let (_, address) = newer();
    let asked = Asked { data: "insert_test", workload: "single_row_commit", rows: 1 };
    let instance = asked.open("postgres", &address, kept());
    let read = || instance.readings();
    let value = |of: &[hopcost_core::Reading], gauge: &Gauge| {
        of.iter().find(|reading| reading.gauge == gauge).map(|reading| reading.value).unwrap()
    };
    let before = read();
    asked.answers(instance.as_ref());
    // Its session is gone, and hands in what it counted when it pleases.
    let has_come = |after: &[hopcost_core::Reading]| {
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
    super::tried(&["postgres::tls_is_spoken"], &[], "HOPCOST_TEST_POSTGRES", &newer.programs());
}
