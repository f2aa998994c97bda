//! An existing server: nothing foreign is touched, and hopcost leaves nothing behind.

use hopcost_core::{Code, Dataset, Workload};
use hopcost_testkit::conformance::{ASKED, Engine};

use super::{dataset, engine, open, seat, setup, target, workload};
use hopcost_testkit::mariadb::MariaDb;

pub const OURS: &str =
    "SELECT count(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'hopcost'";

fn small() -> (&'static dyn Dataset, &'static dyn Workload) {
    (dataset("tran_stats"), workload("reporting_p1"))
}

fn guest(url: &str) -> Engine<'_> {
    Engine { target: target(engine().0), address: url }
}

#[test]
fn a_server_that_runs_is_left_as_it_was_found() {
    let server = MariaDb::start(&[]);
    let url = server.url("");
    guest(&url).is_a_guest(ASKED[2], &|| server.ask(OURS) != "0");
    server.ask("CREATE DATABASE hopcost");
    server.ask("CREATE TABLE hopcost.theirs (n INT)");
    guest(&url).leaves_others_alone(ASKED[2]);
    assert_eq!(server.ask("SELECT count(*) FROM hopcost.theirs"), "0");
}

#[test]
fn what_is_kept_serves_who_needs_less() {
    let server = MariaDb::start(&[]);
    let (dataset, workload) = small();
    let url = server.url("");
    let setup = setup(dataset, workload, 1_000, &url);
    let made = || {
        server.ask("SELECT CREATE_TIME FROM information_schema.TABLES WHERE TABLE_NAME = 'made_by_hopcost'")
    };
    open(engine().0, &hopcost_core::Setup { keep_data: true, ..setup }).unwrap().close().unwrap();
    let first = made();
    assert!(!first.is_empty());
    let less = super::workload("reporting_p2");
    open(engine().0, &super::setup(dataset, less, 1_000, &url)).unwrap().close().unwrap();
    assert_eq!(made(), first);
}

#[test]
fn a_password_lets_in_and_a_wrong_one_is_told_without_it() {
    let server = MariaDb::start(&[]);
    server.ask("CREATE USER me@'127.0.0.1' IDENTIFIED BY 'right one'");
    server.ask("GRANT ALL ON *.* TO me@'127.0.0.1'");
    let null = (dataset("nothing"), workload("null_call"));
    let url = server.url_of("me:right%20one");
    let instance = open(engine().0, &setup(null.0, null.1, 1, &url)).unwrap();
    instance.first_session(&seat()).unwrap();
    instance.close().unwrap();
    for wrong in ["me:wrong", "me", "nobody:right%20one"] {
        let url = server.url_of(wrong);
        let words = open(engine().0, &setup(null.0, null.1, 1, &url)).err().unwrap().to_string();
        assert!(words.contains("Access denied") && !words.contains("right"), "{words}");
        assert!(!words.contains("wrong"), "{words}");
    }
}

#[test]
fn a_server_that_does_not_fit_says_so() {
    let server = MariaDb::start(&["--read-only", "--local-infile=OFF"]);
    let (dataset, workload) = small();
    let url = server.url("");
    let refusal = |name: &str| open(name, &setup(dataset, workload, 1_000, &url)).err().unwrap();
    let refused = |name: &str, code: Code, words: &str| {
        let refusal = refusal(name);
        assert!(refusal.code() == code && refusal.to_string().contains(words), "{refusal}");
    };
    let (this, other, is) = match engine().0 {
        "mysql" => ("mysql", "mariadb", "this server is MySQL"),
        _ => ("mariadb", "mysql", "this server is MariaDB"),
    };
    refused(other, Code::WrongServer, is);
    refused(this, Code::ReadOnly, "read_only");
    server.ask("SET GLOBAL read_only = OFF");
    refused(this, Code::ReadOnly, "local_infile");
    assert_eq!(server.ask(OURS), "0");
}
