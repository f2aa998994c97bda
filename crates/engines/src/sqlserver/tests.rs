//! Tests of whole runs against the stand-in server.

use std::collections::BTreeMap;

use hopcost_core::{
    Audit, Code, CpuId, CpuSet, DataPlacement, Instance, Known, Look, Metric, NodeId, Request,
    Session, SessionChoice, Setup, Shape, Target, TargetError, VariantSettings,
};
use hopcost_data::workloads::WORKLOADS;
use hopcost_sys::{Root, topology};

use super::super::server::target::Server;
use super::super::server::wire::Wire as _;
use super::super::server::{dataset_named, foreign};
use super::answers::{done, let_in, not_encrypted, packets, part, returned, rows};
use super::standin::{BOUND, StandIn};
use super::tokens::token;
use super::{SqlServer, Wire, address_of, calls};

const TARGET: Server<SqlServer> = Server(SqlServer);
/// Data set and workload; each session of a load creates its own table.
const LOAD: (&str, &str) = ("big_table_im", "bulk_load");
const INSERTS: (&str, &str) = ("insert_test", "single_row_commit");
const REQUEST: Request = Request { statement: 0, arguments: [1, 0, 0, 0] };

pub fn open_for(
    (dataset, workload): (&str, &str),
    address: &str,
    allow_server_changes: bool,
    keep_data: bool,
) -> Result<Box<dyn Instance>, TargetError> {
    let machine = topology::read(&Root::live());
    let node = machine.nodes_with_memory().next().unwrap().id;
    let setup = Setup {
        machine: &machine,
        ground: &machine,
        dataset: dataset_named(dataset),
        workload: *WORKLOADS.iter().find(|known| known.info().name == workload).unwrap(),
        shape: Shape { rows: 1, sliced: true },
        levels: &[],
        homes: vec![DataPlacement::from(node)],
        emulation: None,
        cache_dir: std::env::temp_dir(),
        address,
        sessions: 1,
        keep_data,
        allow_server_changes,
        promise: &|| Ok(()),
    };
    TARGET.open(&setup, &mut |_| true)
}

fn open(server: &StandIn, allow_changes: bool) -> Box<dyn Instance> {
    open_for(INSERTS, &server.url("me"), allow_changes, false).unwrap()
}

pub fn seat() -> VariantSettings {
    VariantSettings { at: Some(NodeId(0)), ..VariantSettings::default() }
}

pub fn audited(audit: Audit) -> VariantSettings {
    VariantSettings { session: SessionChoice { audit: Some(audit) }, ..seat() }
}

/// A session in a window, after one call.
fn at_work(instance: &dyn Instance, variant: &VariantSettings) -> Box<dyn Session> {
    let mut session = instance.first_session(variant).unwrap();
    instance.enter_variant(variant).unwrap();
    session.execute(&REQUEST).unwrap();
    session
}

/// [logged as asked, all].
fn audited_calls(session: &mut dyn Session) -> [u64; 2] {
    session.counted().proved[&Metric::AuditedAsAsked]
}

fn refusal(server: &StandIn, user: &str) -> String {
    open_for(INSERTS, &server.url(user), false, false).err().unwrap().to_string()
}

fn is_as_it_was(server: &StandIn) -> bool {
    let state = server.state();
    let has_no_files = state.written.iter().all(BTreeMap::is_empty);
    state.database.is_none() && state.affinity == BOUND && has_no_files
}

fn clear(address: &str) -> String {
    TARGET.clear(address).unwrap()
}

#[test]
fn the_binding_is_changed_where_that_is_allowed_and_put_back() {
    let server = StandIn::start();
    for is_allowed in [false, true] {
        let instance = open(&server, is_allowed);
        let session = at_work(&*instance, &seat());
        assert_eq!(server.state().affinity != BOUND, is_allowed);
        if !is_allowed {
            // Without binding, a worker's CPU is unknown.
            let far = VariantSettings {
                workers: vec![CpuId(0)],
                log_writer: Some(CpuSet::from_iter([CpuId(0)])),
                ..seat()
            };
            assert_eq!(instance.first_session(&far).err().unwrap().code(), Code::NotPlaceable);
        }
        let written = server.state().database.clone().unwrap();
        assert_eq!(written.contains(&format!("affinity {BOUND}")), is_allowed);
        drop(session);
        instance.close().unwrap();
        assert!(is_as_it_was(&server));
    }
}

#[test]
fn a_connection_that_is_lost_while_the_binding_is_changed_leaves_it_as_it_was() {
    for was in [BOUND, "AUTO"] {
        let server = StandIn::start();
        server.state().affinity = was.to_owned();
        // The binding took effect, but hopcost got no answer.
        server.state().cut_at = Some("AFFINITY CPU = ");
        assert!(open_for(INSERTS, &server.url("me"), true, false).is_err());
        assert_ne!(server.state().affinity, was);
        server.state().cut_at = None;
        // The journal is in the server: the next run, too, would find it.
        let words = clear(&server.url("me"));
        assert!(words.contains(&format!("bound the server to CPU {was} again")), "{words}");
        assert_eq!(server.state().affinity, was);
        assert!(server.state().database.is_none());
    }
}

#[test]
fn who_cannot_reach_the_server_at_the_end_says_so_and_restore_does_it() {
    let server = StandIn::start();
    let instance = open(&server, true);
    drop(at_work(&*instance, &seat()));
    server.state().is_down = true;
    assert!(instance.close().is_err());
    assert_ne!(server.state().affinity, BOUND);
    assert!(TARGET.clear(&server.url("me")).is_err());
    server.state().is_down = false;
    clear(&server.url("me"));
    assert_eq!(server.state().affinity, BOUND);
}

#[test]
fn what_cannot_be_dropped_at_first_is_dropped_over_a_connection_of_its_own() {
    let server = StandIn::start();
    let instance = open(&server, true);
    let refused = open_for(INSERTS, &server.url("me"), true, false).err().unwrap();
    assert_eq!(refused.code(), Code::ServerInUse, "{refused}");
    server.state().refuses = Some("DROP DATABASE");
    instance.close().unwrap();
    assert!(is_as_it_was(&server));
}

#[test]
fn data_that_was_kept_is_found_and_the_server_is_left_unbound() {
    let server = StandIn::start();
    open_for(INSERTS, &server.url("me"), true, true).unwrap().close().unwrap();
    assert!(server.state().database.is_some());
    assert_eq!(server.state().affinity, BOUND);
    server.state().affinity = "7".to_owned();
    server.state().database.as_mut().unwrap().push(format!("affinity {BOUND}"));
    let instance = open(&server, true);
    drop(at_work(&*instance, &seat()));
    assert_eq!(server.state().affinity, BOUND);
    let notes = instance.close().unwrap().join("\n");
    assert!(notes.contains("was there already"), "{notes}");
    assert!(server.state().database.is_some(), "it is somebody's who kept it");
}

#[test]
fn what_a_killed_load_has_left_is_no_data_that_somebody_kept() {
    let server = StandIn::start();
    server.state().database = Some(Vec::new());
    open_for(LOAD, &server.url("me"), false, false).unwrap().close().unwrap();
    assert!(server.state().database.is_none());
}

#[test]
fn an_address_that_is_written_down_is_read_as_it_was() {
    let words = TARGET.address("managed").unwrap_err();
    assert!(words.as_str().contains("no SQL Server of its own"), "{words}");
    for given in [
        "//me@host/db?node0=1500&node1=1501",
        "//me@host/db?sslmode=verify-full&sslrootcert=/ca.pem&node0=1500",
        "//me@host:1500/?sslmode=disable",
        "//me@host:1433/?sslmode=require&sslnegotiation=direct&trace=sql-trace",
    ] {
        let told = TARGET.address(given).unwrap();
        assert_eq!(TARGET.address(&told).unwrap(), told, "{given}");
        for part in given.split(['?', '&']).skip(1) {
            assert!(told.contains(part), "{told}");
        }
    }
}

#[test]
fn look_ups_and_homes_are_as_the_server_counts_them() {
    let server = StandIn::start();
    let instance = open(&server, true);
    let Known::Is(homes) = instance.prove(Look::Full) else { panic!("it can be told") };
    assert_eq!(homes[0].pages(), 1234);
    assert!(homes[0].share_in_place() >= 1.0);
    let mut session = instance.first_session(&seat()).unwrap();
    instance.enter_variant(&seat()).unwrap();
    assert!(session.counted().lookups.is_none(), "it is counted for all at once");
    let lookups = instance.leave_variant(&seat()).lookups.unwrap().acquisitions;
    assert_eq!(lookups.into_iter().collect::<Vec<_>>(), [(NodeId(0), 5), (NodeId(1), 95)]);
}

#[test]
fn a_login_that_may_not_look_is_told_what_is_missing() {
    let server = StandIn::start();
    server.state().may_look = false;
    let instance = open(&server, false);
    assert!(instance.readings().is_empty());
    let mut session = instance.first_session(&seat()).unwrap();
    assert!(session.counted().lookups.is_none());
    drop(session);
    let notes = instance.close().unwrap().join("\n");
    assert!(notes.contains("VIEW SERVER STATE") && notes.contains("GRANT"), "{notes}");
}

/// Two windows of an audit variant: what is on during the calls and between the windows.
fn two_windows(server: &StandIn, instance: &dyn Instance, audit: Audit) -> [[Option<bool>; 3]; 2] {
    let mut session = instance.first_session(&audited(audit)).unwrap();
    let mut seen = Vec::new();
    for calls in [3, 1] {
        instance.enter_variant(&audited(audit)).unwrap();
        for _ in 0..calls {
            session.execute(&REQUEST).unwrap();
        }
        let during = server.state().audits;
        assert_eq!(audited_calls(&mut *session), [calls; 2]);
        seen.push([during, server.state().audits]);
    }
    assert_eq!(seen[0], seen[1]);
    seen[0]
}

#[test]
fn calls_that_are_written_down_are_counted_and_what_was_set_up_is_taken_away() {
    let server = StandIn::start();
    let instance = open(&server, true);
    let none = [Some(false), Some(false), None];
    for (audit, is_on) in [
        (Audit::Off, none),
        (Audit::Statements, [Some(true), Some(false), None]),
        (Audit::Trace, [Some(false), Some(true), None]),
    ] {
        assert_eq!(two_windows(&server, &*instance, audit), [is_on, none]);
    }
    let written = server.state().database.clone().unwrap();
    let line = written.iter().find(|line| line.starts_with("audit hopcost_")).unwrap();
    assert!(line.ends_with(" /var/opt/logs/"), "{line}");
    let notes = instance.close().unwrap().join("\n");
    assert!(!notes.contains("sqlaudit"), "{notes}");
    assert!(is_as_it_was(&server) && server.state().audits == [None; 3]);
}

#[test]
fn sql_trace_traces_where_it_is_asked_for() {
    let server = StandIn::start();
    let address = server.url_with("me:secret", "sslmode=disable&trace=sql-trace");
    let instance = open_for(INSERTS, &address, true, false).unwrap();
    let [is_on, is_off] = [true, false].map(|is_on| [Some(false), None, Some(is_on)]);
    assert_eq!(two_windows(&server, &*instance, Audit::Trace), [is_on, is_off]);
    let begun = |n: u32| server.state().said.iter().any(|sql| sql.contains(&format!("_0A1B_{n}'")));
    assert!(begun(2) && begun(3), "{:?}", server.state().said);
    let mut off = at_work(&*instance, &audited(Audit::Off));
    server.state().audits[2] = Some(true);
    assert_eq!(audited_calls(&mut *off), [0, 1]);
    std::mem::forget(instance);
    server.state().locked_by = None;
    clear(&address);
    assert!(is_as_it_was(&server) && server.state().audits == [None, None, Some(false)]);
}

#[test]
fn a_call_that_is_not_written_down_is_missed() {
    let server = StandIn::start();
    let instance = open(&server, true);
    let mut session = at_work(&*instance, &audited(Audit::Statements));
    server.state().forgets = 1;
    for _ in 0..2 {
        session.execute(&REQUEST).unwrap();
    }
    assert_eq!(audited_calls(&mut *session), [2, 3]);
}

#[test]
fn what_goes_on_though_it_was_ended_or_cannot_be_counted_is_no_proof() {
    let server = StandIn::start();
    let instance = open(&server, true);
    let mut off = at_work(&*instance, &audited(Audit::Off));
    server.state().audits[1] = Some(true);
    assert_eq!(audited_calls(&mut *off), [0, 1]);
    drop(off);
    let notes = instance.close().unwrap().join("\n");
    assert!(notes.contains("could not be counted: it goes on though it was ended"), "{notes}");
    // Rights to set an audit up but not to read it: refused at once.
    server.state().refuses = Some("SELECT session_id, COUNT");
    let instance = open(&server, true);
    let words = instance.first_session(&audited(Audit::Statements)).err().unwrap().to_string();
    assert!(words.contains("in use"), "{words}");
    instance.close().unwrap();
    assert_eq!(server.state().audits, [None; 3]);
    // Rows of a load are not statements.
    let instance = open_for(LOAD, &server.url("me"), true, false).unwrap();
    let words = instance.first_session(&audited(Audit::Statements)).err().unwrap().to_string();
    assert!(words.contains("no statements to log"), "{words}");
}

#[test]
fn audits_of_a_killed_run_are_ended_and_files_that_stay_are_named() {
    let server = StandIn::start();
    server.state().version = "14.0.3456.2";
    let instance = open(&server, true);
    let _session = at_work(&*instance, &audited(Audit::Trace));
    // As after `kill -9`: nothing is closed, and the connections end.
    std::mem::forget(instance);
    server.state().locked_by = None;
    let words = clear(&server.url("me"));
    assert!(words.contains("ended what it wrote down"), "{words}");
    assert!(words.contains("the server keeps the files /var/opt/logs/hopcost_"), "{words}");
    assert_eq!(server.state().audits, [None; 3]);
}

#[test]
fn nothing_is_written_down_where_the_server_may_not_be_changed_or_is_too_old() {
    let server = StandIn::start();
    for (version, is_allowed, code, words) in [
        ("16.0.4135.4", false, Code::RightsMissing, "--allow-server-changes"),
        ("12.0.6024.0", true, Code::WrongVersion, "no statement 'begin_audit' for version 12"),
    ] {
        server.state().version = version;
        let instance = open(&server, is_allowed);
        let refused = instance.first_session(&audited(Audit::Statements)).err().unwrap();
        assert_eq!(refused.code(), code, "{refused}");
        assert!(refused.to_string().contains(words), "{refused}");
        assert!(is_allowed || server.state().audits == [None; 3]);
        instance.close().unwrap();
        assert!(server.state().database.is_none());
    }
}

#[test]
fn who_inserts_is_as_far_from_the_log_writers_as_is_asked_for() {
    let server = StandIn::start();
    let instance = open(&server, true);
    let cpus: Vec<CpuId> = topology::read(&Root::live()).limits.cpus.iter().take(2).collect();
    let [first, second] = cpus[..] else { panic!("this test needs two CPUs") };
    let seat = |log_writer| VariantSettings {
        workers: vec![first],
        log_writer: Some(CpuSet::from_iter([log_writer])),
        ..seat()
    };
    for (writer, asked, belongs) in [
        (first, first, first),
        (second, first, second),
        (second, second, first),
        (first, second, second),
    ] {
        server.state().log_writers = vec![writer.0];
        let mut session = at_work(&*instance, &seat(asked));
        assert_eq!(server.state().affinity, belongs.to_string(), "{writer} {asked}");
        let proved = session.counted().proved;
        let places = [Metric::LogWriterInPlace, Metric::AnsweredInPlace];
        assert_eq!(places.map(|metric| proved[&metric]), [[1, 1]; 2]);
        // A log writer on another CPU breaks the distance.
        server.state().log_writers = vec![writer.0, if writer == first { second } else { first }.0];
        assert_eq!(session.counted().proved[&Metric::LogWriterInPlace], [1, 2]);
    }
    let words = instance.first_session(&seat(first)).err().unwrap().to_string();
    assert!(words.contains("same-cpu: no CPU here is that far"), "{words}");
    instance.close().unwrap();
    assert_eq!(server.state().affinity, BOUND);
    let instance = open(&server, false);
    let words = instance.first_session(&seat(first)).err().unwrap().to_string();
    assert!(words.contains("--allow-server-changes"), "{words}");
}

#[test]
fn azure_is_bound_to_nothing() {
    let server = StandIn::start();
    server.state().engine = 5;
    assert!(refusal(&server, "me").contains("Azure SQL Database"));
    server.state().engine = 8;
    let instance = open(&server, true);
    drop(at_work(&*instance, &seat()));
    let notes = instance.close().unwrap().join("\n");
    assert!(notes.contains("Azure SQL Managed Instance"), "{notes}");
    assert!(!server.state().said.iter().any(|sql| sql.starts_with("ALTER SERVER")));
}

#[test]
fn a_user_of_the_systems_shows_what_the_server_asks_for() {
    let server = StandIn::start();
    let address = address_of(&server.url_with("me", "sslmode=disable")).unwrap();
    for (answer, is_let_in) in [("more", true), ("other", false)] {
        let wire = Wire::connect_with(&address, &mut |by_server| match by_server {
            b"" => Ok(b"first".to_vec()),
            b"and" => Ok(answer.as_bytes().to_vec()),
            other => Err(format!("{other:?} was not said").into()),
        });
        assert_eq!(wire.is_ok(), is_let_in, "{:?}", wire.err().map(|error| error.to_string()));
    }
    let words = Wire::connect(&address).err().unwrap().to_string();
    assert!(words.contains("no password is known"), "{words}");
}

#[test]
fn tls_is_spoken_from_the_first_byte_on_where_that_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    hopcost_testkit::certificate::certificate(dir.path(), "localhost");
    let server = StandIn::within_tls(dir.path());
    let root = dir.path().join("server.crt").display().to_string();
    let strictly = "sslnegotiation=direct&sslmode";
    for (options, outcome) in [
        (format!("{strictly}=verify-full&sslrootcert={root}"), Ok("16.0.4135.4")),
        (format!("{strictly}=require"), Ok("16.0.4135.4")),
        (format!("{strictly}=verify-full&sslrootcert={root}&host=127.0.0.1"), Err("certificate")),
        ("sslmode=require".to_owned(), Err("closed")),
    ] {
        let address = address_of(&server.url_with("me:secret", &options)).unwrap();
        match (Wire::connect(&address), outcome) {
            (Ok(wire), Ok(version)) => assert_eq!(wire.version(), version),
            (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{error}"),
            (got, _) => panic!("{options}: {:?}", got.err().map(|error| error.to_string())),
        }
    }
    let words = address_of("//me@host/?sslnegotiation=direct").unwrap_err();
    assert!(words.as_str().contains("sslmode=require"), "{words}");
}

#[test]
fn who_is_not_let_in_and_what_is_too_old_is_told() {
    let server = StandIn::start();
    let words = refusal(&server, "nobody");
    assert!(words.contains("Login failed") && !words.contains("secret"), "{words}");
    server.state().version = "10.50.6000.34";
    let words = refusal(&server, "me");
    assert!(words.contains("older than 2012"), "{words}");
}

/// A login, its version, a query, a prepared statement and its call.
fn conversation() -> Vec<u8> {
    let two = |values: [&str; 2]| rows(&[values.map(str::to_owned).to_vec()]);
    let collation = part(token::ENVIRONMENT, &[&[7, 5, 9, 4]]);
    let missing = vec![token::ROW_WITH_MISSING, 3];
    [
        packets(&[not_encrypted()]),
        packets(&[let_in("SQL"), collation, done(Some(0))]),
        packets(&[two(["16.0", "7"]), done(Some(1))]),
        packets(&[two(["a", "b"]), missing, done(Some(2))]),
        packets(&[returned(1), done(Some(0))]),
        packets(&[two(["c", "d"]), part(token::INFO, &[&[1, 1]]), done(Some(1))]),
    ]
    .concat()
}

#[test]
fn whatever_a_server_answers_is_an_answer_or_an_error() {
    let variant = VariantSettings::default();
    foreign::withstands::<Wire>("socket", &conversation(), |wire| {
        let _ = wire.query("SELECT 1");
        let call = calls::of(wire, &foreign::STATEMENT, &foreign::asked(&variant));
        foreign::call(wire, call);
    });
}

#[test]
fn who_lets_nobody_in_is_given_up_in_the_time_that_was_said() {
    foreign::gives_up::<Wire>("socket", &[4, 0, 0, 9, 0, 0, 1, 0, 1]);
}
