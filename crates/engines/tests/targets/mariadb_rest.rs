//! Slower tests of MariaDB: a TPC-C warehouse, and all workloads on an existing server.

use hopcost_core::{Known, Look, ProofMethod, Stream, gauge};
use hopcost_testkit::everything;
use hopcost_testkit::mariadb::MariaDb;
use hopcost_testkit::named::{dataset, open, workload};

use super::mariadb::{OURS, engine, managed, tables_hold_what_they_were_made_of};
use super::{ASKED, ASKED_OF_MUCH, seat, setup};

#[test]
fn tables_of_a_warehouse_hold_what_they_were_made_of() {
    tables_hold_what_they_were_made_of(&everything::LARGE);
}

#[test]
fn a_warehouse_is_answered_rightly_by_a_server_of_our_own() {
    super::engine(engine().0, managed()).answers(&ASKED_OF_MUCH, &seat());
}

#[test]
fn every_workload_is_answered_rightly_by_a_server_that_runs() {
    let server = MariaDb::start(&[]);
    let url = server.url("");
    super::engine(engine().0, &url).answers(&ASKED, &seat());
    super::engine(engine().0, &url).answers(&ASKED_OF_MUCH, &seat());
    assert_eq!(server.ask(OURS), "0");
}

#[test]
fn the_buffer_pool_is_proved_to_be_at_home_and_nothing_is_read_from_disk() {
    let (dataset, workload) = (dataset("tpcc"), workload("standard_oltp"));
    let setup = setup(dataset, workload, 1, managed());
    let instance = open(engine().0, &setup).unwrap();
    let Known::Is(homes) = instance.prove(Look::Full) else { panic!("it can be told") };
    assert_eq!(homes.len(), 1);
    assert_eq!(homes[0].method, ProofMethod::MovePages);
    assert!(homes[0].share_in_place() >= 0.98, "{homes:?}");
    // It holds some 80 MiB of data.
    assert!(homes[0].pages() > 10_000, "{homes:?}");
    let reads = || {
        let readings = instance.readings();
        readings.iter().find(|reading| reading.gauge == gauge::BUFFER_READS).unwrap().value
    };
    let mut session = instance.first_session(&seat()).unwrap();
    let mut requests = workload.requests(setup.shape, Stream { number: 0, of: 1, seed: 3 });
    let mut calls = |calls: usize| {
        for _ in 0..calls {
            session.execute(&requests.next()).unwrap();
        }
    };
    // The first writing calls touch pages of no table: free-space maps, and 128 undo logs in turn.
    calls(600);
    let before = reads();
    calls(200);
    let read = reads() - before;
    assert!(read < 1.0, "{read} pages were read");
}
