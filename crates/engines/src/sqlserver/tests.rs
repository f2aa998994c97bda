//! A server's life with hopcost, as far as one that stands in can show it.

use std::collections::BTreeMap;

use hopcost_core::{
    Audit, Code, CpuId, CpuSet, DataPlacement, Instance, Known, Look, Metric, NodeId, Request,
    SessionChoice, Setup, Shape, TargetError, VariantSettings,
};
use hopcost_sys::{Root, topology};

use super::super::server::wire::Wire as _;
use super::standin::{BOUND, StandIn};
use super::wire::Wire;
use super::{SqlServer, address_of};
use hopcost_core::Target;
use hopcost_data::datasets::DATASETS;
use hopcost_data::workloads::WORKLOADS;

/// Opens it for single-row inserts, with data on the first node.
fn open(address: &str, allow_changes: bool) -> Result<Box<dyn Instance>, TargetError> {
    open_to(address, allow_changes, false)
}

/// A load, of which each session makes its own table.
fn open_load(address: &str) -> Result<Box<dyn Instance>, TargetError> {
    open_for(("big_table_im", "bulk_load"), address, false, false)
}

/// The same, perhaps to keep the data.
fn open_to(
    address: &str,
    allow_server_changes: bool,
    keep_data: bool,
) -> Result<Box<dyn Instance>, TargetError> {
    open_for(("insert_test", "single_row_commit"), address, allow_server_changes, keep_data)
}

pub fn open_for(
    (dataset_named, workload_named): (&str, &str),
    address: &str,
    allow_server_changes: bool,
    keep_data: bool,
) -> Result<Box<dyn Instance>, TargetError> {
    let machine = topology::read(&Root::live());
    let node = machine.nodes_with_memory().next().unwrap().id;
    let setup = Setup {
        machine: &machine,
        ground: &machine,
        dataset: DATASETS.iter().copied().find(|dataset| dataset.name() == dataset_named),
        workload: *WORKLOADS
            .iter()
            .find(|workload| workload.info().name == workload_named)
            .unwrap(),
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
    SqlServer.open(&setup, &mut |_| true)
}

const REQUEST: Request = Request { statement: 0, arguments: [1, 0, 0, 0] };

pub fn seat() -> VariantSettings {
    VariantSettings { at: Some(NodeId(0)), ..VariantSettings::default() }
}

/// The server's words, where it does not open.
fn refusal(server: &StandIn, user: &str) -> String {
    open(&server.url(user), false).err().unwrap().to_string()
}

#[test]
fn the_binding_is_changed_where_that_is_allowed_and_put_back() {
    let server = StandIn::start();
    for is_allowed in [false, true] {
        let instance = open(&server.url("me"), is_allowed).unwrap();
        let mut session = instance.first_session(&seat()).unwrap();
        instance.enter_variant(&seat()).unwrap();
        session.execute(&REQUEST).unwrap();
        assert_eq!(server.state().affinity != BOUND, is_allowed);
        if !is_allowed {
            // A worker's place can be told only where it was bound.
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
        assert_eq!(server.state().affinity, BOUND);
        assert!(server.state().database.is_none());
    }
}

#[test]
fn a_connection_that_is_lost_while_the_binding_is_changed_leaves_it_as_it_was() {
    for was in [BOUND, "AUTO"] {
        let server = StandIn::start();
        server.state().affinity = was.to_owned();
        // It was bound, and nobody was told.
        server.state().cut_at = Some("AFFINITY CPU = ");
        assert!(open(&server.url("me"), true).is_err());
        assert_ne!(server.state().affinity, was);
        server.state().cut_at = None;
        // What is written in the server outlives us: `hopcost restore` finds it, as the next run would.
        let words = SqlServer.clear(&server.url("me")).unwrap();
        assert!(words.contains(&format!("bound the server to CPU {was} again")), "{words}");
        assert_eq!(server.state().affinity, was);
        assert!(server.state().database.is_none());
    }
}

#[test]
fn who_cannot_reach_the_server_at_the_end_says_so_and_restore_does_it() {
    let server = StandIn::start();
    let instance = open(&server.url("me"), true).unwrap();
    let mut session = instance.first_session(&seat()).unwrap();
    instance.enter_variant(&seat()).unwrap();
    session.execute(&REQUEST).unwrap();
    drop(session);
    server.state().is_down = true;
    assert!(instance.close().is_err());
    assert_ne!(server.state().affinity, BOUND);
    assert!(SqlServer.clear(&server.url("me")).is_err());
    server.state().is_down = false;
    SqlServer.clear(&server.url("me")).unwrap();
    assert_eq!(server.state().affinity, BOUND);
}

#[test]
fn what_cannot_be_dropped_at_first_is_dropped_over_a_connection_of_its_own() {
    let server = StandIn::start();
    let instance = open(&server.url("me"), true).unwrap();
    let refused = open(&server.url("me"), true).err().unwrap();
    assert_eq!(refused.code(), Code::ServerInUse, "{refused}");
    server.state().refuses = Some("DROP DATABASE");
    instance.close().unwrap();
    assert!(server.state().database.is_none());
    assert_eq!(server.state().affinity, BOUND);
}

#[test]
fn data_that_was_kept_is_found_and_the_server_is_left_unbound() {
    let server = StandIn::start();
    open_to(&server.url("me"), true, true).unwrap().close().unwrap();
    assert!(server.state().database.is_some());
    assert_eq!(server.state().affinity, BOUND);
    // As a killed run leaves it.
    server.state().affinity = "7".to_owned();
    server.state().database.as_mut().unwrap().push(format!("affinity {BOUND}"));
    let instance = open(&server.url("me"), true).unwrap();
    let mut session = instance.first_session(&seat()).unwrap();
    instance.enter_variant(&seat()).unwrap();
    session.execute(&REQUEST).unwrap();
    assert_eq!(server.state().affinity, BOUND);
    drop(session);
    let notes = instance.close().unwrap().join("\n");
    assert!(notes.contains("was there already"), "{notes}");
    assert!(server.state().database.is_some(), "it is somebody's who kept it");
}

#[test]
fn what_a_killed_load_has_left_is_no_data_that_somebody_kept() {
    let server = StandIn::start();
    server.state().database = Some(Vec::new());
    open_load(&server.url("me")).unwrap().close().unwrap();
    assert!(server.state().database.is_none());
}

#[test]
fn an_address_that_is_written_down_is_read_as_it_was() {
    for given in [
        "//me@host/db?node0=1500&node1=1501",
        "//me@host/db?sslmode=verify-full&sslrootcert=/ca.pem&node0=1500",
        "//me@host:1500/?sslmode=disable",
        "//me@host:1433/?sslmode=require&sslnegotiation=direct&trace=sql-trace",
    ] {
        let told = SqlServer.address(given).unwrap();
        assert_eq!(SqlServer.address(&told).unwrap(), told, "{given}");
        for part in given.split(['?', '&']).skip(1) {
            assert!(told.contains(part), "{told}");
        }
    }
}

#[test]
fn look_ups_and_homes_are_as_the_server_counts_them() {
    let server = StandIn::start();
    let instance = open(&server.url("me"), true).unwrap();
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
    let instance = open(&server.url("me"), false).unwrap();
    assert!(instance.readings().is_empty());
    let mut session = instance.first_session(&seat()).unwrap();
    assert!(session.counted().lookups.is_none());
    drop(session);
    let notes = instance.close().unwrap().join("\n");
    assert!(notes.contains("VIEW SERVER STATE") && notes.contains("GRANT"), "{notes}");
}

#[test]
fn calls_that_are_written_down_are_counted_and_what_was_set_up_is_taken_away() {
    let server = StandIn::start();
    let instance = open(&server.url("me"), true).unwrap();
    for (audit, is_on) in [
        (Audit::Off, [Some(false), Some(false), None]),
        (Audit::Statements, [Some(true), Some(false), None]),
        (Audit::Trace, [Some(false), Some(true), None]),
    ] {
        let seat = VariantSettings { session: SessionChoice { audit: Some(audit) }, ..seat() };
        let mut session = instance.first_session(&seat).unwrap();
        for calls in [3, 1] {
            instance.enter_variant(&seat).unwrap();
            for _ in 0..calls {
                session.execute(&REQUEST).unwrap();
                assert_eq!(server.state().audits, is_on);
            }
            assert_eq!(session.counted().proved[&Metric::AuditedAsAsked], [calls; 2]);
            let audits = server.state().audits;
            assert_eq!(audits, [Some(false), Some(false), None], "between windows");
        }
    }
    let written = server.state().database.clone().unwrap();
    let line = written.iter().find(|line| line.starts_with("audit hopcost_")).unwrap();
    assert!(line.ends_with(" /var/opt/logs/"), "{line}");
    let notes = instance.close().unwrap().join("\n");
    assert_eq!(server.state().audits, [None; 3]);
    assert!(server.state().database.is_none());
    assert!(!notes.contains("sqlaudit"), "{notes}");
    assert!(server.state().written.iter().all(BTreeMap::is_empty), "the files are gone");
}

#[test]
fn sql_trace_traces_where_it_is_asked_for() {
    let server = StandIn::start();
    let address = server.url_with("me:secret", "sslmode=disable&trace=sql-trace");
    let instance = open(&address, true).unwrap();
    let seat = |audit| VariantSettings { session: SessionChoice { audit: Some(audit) }, ..seat() };
    let mut traced = instance.first_session(&seat(Audit::Trace)).unwrap();
    for calls in [3, 1] {
        instance.enter_variant(&seat(Audit::Trace)).unwrap();
        for _ in 0..calls {
            traced.execute(&REQUEST).unwrap();
            assert_eq!(server.state().audits, [Some(false), None, Some(true)]);
        }
        assert_eq!(traced.counted().proved[&Metric::AuditedAsAsked], [calls; 2]);
        assert_eq!(server.state().audits[2], Some(false));
    }
    // Each time it is another file.
    let begun = |n: u32| server.state().said.iter().any(|sql| sql.contains(&format!("_0A1B_{n}'")));
    assert!(begun(2) && begun(3), "{:?}", server.state().said);
    let mut off = instance.first_session(&seat(Audit::Off)).unwrap();
    instance.enter_variant(&seat(Audit::Off)).unwrap();
    off.execute(&REQUEST).unwrap();
    server.state().audits[2] = Some(true);
    assert_eq!(off.counted().proved[&Metric::AuditedAsAsked], [0, 1]);
    // A killed run's is ended, too.
    std::mem::forget(instance);
    server.state().locked_by = None;
    SqlServer.clear(&address).unwrap();
    assert_eq!(server.state().audits, [None, None, Some(false)]);
    assert!(server.state().written.iter().all(BTreeMap::is_empty), "the files are gone");
}

#[test]
fn a_call_that_is_not_written_down_is_missed() {
    let server = StandIn::start();
    let instance = open(&server.url("me"), true).unwrap();
    let seat =
        VariantSettings { session: SessionChoice { audit: Some(Audit::Statements) }, ..seat() };
    let mut session = instance.first_session(&seat).unwrap();
    instance.enter_variant(&seat).unwrap();
    server.state().forgets = 1;
    for _ in 0..3 {
        session.execute(&REQUEST).unwrap();
    }
    assert_eq!(session.counted().proved[&Metric::AuditedAsAsked], [2, 3]);
}

#[test]
fn what_goes_on_though_it_was_ended_or_cannot_be_counted_is_no_proof() {
    let server = StandIn::start();
    let instance = open(&server.url("me"), true).unwrap();
    let audited =
        |audit| VariantSettings { session: SessionChoice { audit: Some(audit) }, ..seat() };
    let mut off = instance.first_session(&audited(Audit::Off)).unwrap();
    instance.enter_variant(&audited(Audit::Off)).unwrap();
    off.execute(&REQUEST).unwrap();
    server.state().audits[1] = Some(true);
    assert_eq!(off.counted().proved[&Metric::AuditedAsAsked], [0, 1]);
    drop(off);
    let notes = instance.close().unwrap().join("\n");
    assert!(notes.contains("could not be counted: it goes on though it was ended"), "{notes}");
    // Who may set it up and not read it is told at once.
    server.state().refuses = Some("SELECT session_id, COUNT");
    let instance = open(&server.url("me"), true).unwrap();
    let words = instance.first_session(&audited(Audit::Statements)).err().unwrap().to_string();
    assert!(words.contains("in use"), "{words}");
    instance.close().unwrap();
    assert_eq!(server.state().audits, [None; 3]);
    // What a load brings is no statement.
    let instance = open_for(("big_table_im", "bulk_load"), &server.url("me"), true, false).unwrap();
    let words = instance.first_session(&audited(Audit::Statements)).err().unwrap().to_string();
    assert!(words.contains("are no statements"), "{words}");
}

#[test]
fn audits_of_a_killed_run_are_ended_and_files_that_stay_are_named() {
    let server = StandIn::start();
    server.state().version = "14.0.3456.2";
    let instance = open(&server.url("me"), true).unwrap();
    let seat = VariantSettings { session: SessionChoice { audit: Some(Audit::Trace) }, ..seat() };
    let mut session = instance.first_session(&seat).unwrap();
    instance.enter_variant(&seat).unwrap();
    session.execute(&REQUEST).unwrap();
    // Nobody closes it, as after kill -9; its connections end with their process.
    std::mem::forget(instance);
    server.state().locked_by = None;
    let words = SqlServer.clear(&server.url("me")).unwrap();
    assert!(words.contains("ended what it wrote down"), "{words}");
    assert!(words.contains("the server keeps the files /var/opt/logs/hopcost_"), "{words}");
    assert_eq!(server.state().audits, [None; 3]);
}

#[test]
fn nothing_is_written_down_where_the_server_may_not_be_changed_or_is_too_old() {
    let server = StandIn::start();
    let instance = open(&server.url("me"), false).unwrap();
    let seat =
        || VariantSettings { session: SessionChoice { audit: Some(Audit::Statements) }, ..seat() };
    let refused = instance.first_session(&seat()).err().unwrap();
    assert_eq!(refused.code(), Code::RightsMissing, "{refused}");
    assert_eq!(server.state().audits, [None; 3]);
    instance.close().unwrap();
    server.state().version = "12.0.6024.0";
    let instance = open(&server.url("me"), true).unwrap();
    let refused = instance.first_session(&seat()).err().unwrap();
    assert_eq!(refused.code(), Code::WrongVersion, "{refused}");
    assert!(refused.to_string().contains("no statement 'begin_audit' for version 12"));
    instance.close().unwrap();
    assert!(server.state().database.is_none());
}

#[test]
fn who_inserts_is_as_far_from_the_log_writers_as_is_asked_for() {
    let server = StandIn::start();
    let instance = open(&server.url("me"), true).unwrap();
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
        let mut session = instance.first_session(&seat(asked)).unwrap();
        instance.enter_variant(&seat(asked)).unwrap();
        session.execute(&REQUEST).unwrap();
        assert_eq!(server.state().affinity, belongs.to_string(), "{writer} {asked}");
        let proved = session.counted().proved;
        assert_eq!(
            (proved[&Metric::LogWriterInPlace], proved[&Metric::AnsweredInPlace]),
            ([1, 1], [1, 1])
        );
        // What the server moves is no longer as far.
        server.state().log_writers = vec![writer.0, if writer == first { second } else { first }.0];
        assert_eq!(session.counted().proved[&Metric::LogWriterInPlace], [1, 2]);
    }
    let words = instance.first_session(&seat(first)).err().unwrap().to_string();
    assert!(words.contains("same-cpu: no CPU here is that far"), "{words}");
    instance.close().unwrap();
    assert_eq!(server.state().affinity, BOUND);
    let instance = open(&server.url("me"), false).unwrap();
    let words = instance.first_session(&seat(first)).err().unwrap().to_string();
    assert!(words.contains("--allow-server-changes"), "{words}");
}

#[test]
fn azure_is_bound_to_nothing() {
    let server = StandIn::start();
    server.state().engine = 5;
    assert!(refusal(&server, "me").contains("Azure SQL Database"));
    server.state().engine = 8;
    let instance = open(&server.url("me"), true).unwrap();
    let mut session = instance.first_session(&seat()).unwrap();
    instance.enter_variant(&seat()).unwrap();
    session.execute(&REQUEST).unwrap();
    drop(session);
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
    // Nobody has a ticket for it.
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
