//! Slower tests of PostgreSQL: a warehouse, an existing server, parallel workers, mail.

mod filling;
mod mail;
mod parallel;

use hopcost_core::{Known, Look, ProofMethod};
use hopcost_testkit::everything;
use hopcost_testkit::named::{dataset, open, workload};
use hopcost_testkit::postgresql::PostgreSql;

use super::postgres::{managed, tables_hold_what_they_were_made_of};
use super::{ASKED, ASKED_OF_MUCH, engine, seat, setup};

#[test]
fn tables_of_a_warehouse_hold_what_they_were_made_of() {
    tables_hold_what_they_were_made_of(&everything::LARGE);
}

#[test]
fn a_warehouse_is_answered_rightly_by_a_server_of_our_own() {
    engine("postgres", managed()).answers(&ASKED_OF_MUCH, &seat());
}

#[test]
fn every_workload_is_answered_rightly_by_a_server_that_runs() {
    let server = PostgreSql::start(&[]);
    let url = server.url("postgres");
    engine("postgres", &url).answers(&ASKED, &seat());
    engine("postgres", &url).answers(&ASKED_OF_MUCH, &seat());
    assert_eq!(server.ask("SELECT count(*) FROM pg_namespace WHERE nspname = 'hopcost'"), "0");
}

#[test]
fn the_shared_buffers_are_proved_to_be_at_home() {
    let (dataset, workload) = (dataset("tpcc"), workload("standard_oltp"));
    let setup = setup(dataset, workload, 1, managed());
    let instance = open("postgres", &setup).unwrap();
    let Known::Is(homes) = instance.prove(Look::Full) else { panic!("it can be told") };
    let read_back = homes.iter().filter(|home| home.method == ProofMethod::MovePages);
    assert_eq!(read_back.count(), 1);
    assert!(homes.iter().all(|home| home.share_in_place() >= 0.98), "{homes:?}");
    // They hold some 80 MiB of data.
    assert!(homes[0].pages() > 10_000, "{homes:?}");
}
