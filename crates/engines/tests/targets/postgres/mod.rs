//! PostgreSQL on servers of the tests: SQLite's answers, nothing foreign touched, clear errors.

mod audit;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hopcost_core::{
    CallError, Code, CopyChoice, DataPlacement, Known, Look, Metric, NodeSet, Policy, Request,
    Session, Setup, TargetError,
};
use hopcost_sys::{Root, processes};

use hopcost_testkit::everything::{self, Everything};
use hopcost_testkit::named::{dataset, home, machine, open, target, workload};
use hopcost_testkit::postgresql::{self, PostgreSql};
use hopcost_testkit::{certificate, kept::kept};

use super::{ASKED, engine, seat, setup};

pub fn managed() -> &'static str {
    static MANAGED: OnceLock<String> = OnceLock::new();
    MANAGED.get_or_init(|| match postgresql::chosen() {
        Some(programs) => format!("managed?programs={}", programs.display()),
        None => "managed".to_owned(),
    })
}

#[test]
fn tables_hold_the_same_in_postgresql_as_in_sqlite_and_as_they_were_made() {
    tables_hold_what_they_were_made_of(&everything::SMALL);
}

pub fn tables_hold_what_they_were_made_of(sets: &[(&str, u64)]) {
    for (name, rows) in sets {
        let dataset = dataset(name);
        let (everything, made) = Everything::of(dataset, *rows);
        for (target, address) in [("sqlite", ""), ("postgres", managed())] {
            let setup = setup(dataset, &everything, *rows, address);
            let instance = open(target, &setup).unwrap();
            let mut session = instance.first_session(&seat()).unwrap();
            everything.assert_is(&made, target, &mut *session);
        }
    }
}

#[test]
fn every_workload_is_answered_rightly_by_a_server_of_our_own() {
    engine("postgres", managed()).answers(&ASKED, &seat());
}

#[test]
fn each_server_has_the_memory_policy_of_its_home() {
    let node = Some(home());
    let nodes: NodeSet = machine().nodes_with_memory().map(|node| node.id).collect();
    let policies = [
        (node, Policy::FirstTouch, "default".to_owned()),
        (node, Policy::Bind, format!("bind:{}", home())),
        (node, Policy::PerNode, format!("bind:{}", home())),
        (None, Policy::Interleave, format!("interleave:{nodes}")),
    ];
    let homes = policies.iter().map(|(node, policy, _)| {
        DataPlacement { node: *node, ..DataPlacement::default() }.by(*policy)
    });
    let homes: Vec<DataPlacement> = homes.collect();
    let setup = setup(dataset("nothing"), workload("null_call"), 1, "managed");
    let setup = Setup { homes: homes.clone(), ..setup };
    let instance = open("postgres", &setup).unwrap();
    let placed = instance.prove(Look::Full);
    assert!(placed.get().unwrap().iter().all(|locality| locality.objection().is_none()));
    for (home, (_, policy, told)) in homes.into_iter().zip(policies) {
        let before = instance.workers();
        let mut session = instance.first_session(&seat().on(home)).unwrap();
        let pid = instance.workers().into_iter().find(|pid| !before.contains(pid)).unwrap();
        let maps = std::fs::read_to_string(format!("/proc/{pid}/numa_maps")).unwrap();
        let heap = maps.lines().find(|line| line.contains(" heap ")).unwrap();
        assert_eq!(heap.split_whitespace().nth(1).unwrap(), told, "{policy:?}");
        let [there, pages] = session.counted().proved[&Metric::PagesInPlace];
        assert!(pages > 100 && there * 100 >= pages * 98, "{policy:?}: {there} of {pages}");
    }
}

#[test]
fn reserved_huge_pages_are_left_alone_or_asked_for_as_the_level_says() {
    let on_huge_pages = |huge_pages| {
        let copy = CopyChoice { huge_pages: Some(huge_pages), ..CopyChoice::default() };
        let homes = vec![DataPlacement::from(copy)];
        let setup = setup(dataset("nothing"), workload("null_call"), 1, "managed");
        let instance = open("postgres", &Setup { homes: homes.clone(), ..setup })?;
        let mut session = instance.first_session(&seat().on(homes[0])).unwrap();
        let setting = session.counted().proved[&Metric::PagesAsAsked];
        Ok((setting, instance.identity()))
    };
    let (proved, identity) = on_huge_pages(false).unwrap();
    assert_eq!(proved, [1, 1], "{identity}");
    // A machine with reserved huge pages provides them; another reports what is missing.
    match on_huge_pages(true) {
        Ok((proved, identity)) => {
            assert_eq!(proved, [1, 1], "{identity}");
            assert!(identity.contains("2 MiB"), "{identity}");
        }
        Err(TargetError::Failed(words)) => assert!(words.contains("huge pages"), "{words}"),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_server_for_each_number_and_none_of_a_server_that_runs() {
    let copy = |instance| CopyChoice { instance: Some(instance), ..CopyChoice::default() };
    let twins = [1, 2].map(|instance| DataPlacement::from(copy(instance))).to_vec();
    let setup = setup(dataset("nothing"), workload("null_call"), 1, "managed");
    let setup = Setup { homes: twins.clone(), ..setup };
    let instance = open("postgres", &setup).unwrap();
    let sessions: Vec<_> =
        twins.iter().map(|home| instance.first_session(&seat().on(*home)).unwrap()).collect();
    let servers = instance.workers().into_iter().map(parent_of).collect::<BTreeSet<u32>>();
    assert_eq!((sessions.len(), servers.len()), (2, 2), "{servers:?}");
    let server = PostgreSql::start(&[]);
    let address = server.url("postgres");
    let error = open("postgres", &Setup { address: &address, ..setup }).err().unwrap();
    assert_eq!(error.code(), Code::Unsupported, "{error}");
    assert!(error.to_string().contains("postgres:managed"), "{error}");
}

fn parent_of(pid: u32) -> u32 {
    let Known::Is(processes) = processes::read(&Root::live()) else { panic!("/proc is there") };
    processes.get(pid).unwrap().parent
}

#[test]
fn nothing_is_left_of_a_server_of_our_own() {
    let setup = setup(dataset("nothing"), workload("null_call"), 1, managed());
    // Other tests use the shared directory.
    let alone = kept().join("alone");
    let setup = Setup { cache_dir: alone.clone(), ..setup };
    let instance = open("postgres", &setup).unwrap();
    let session = instance.first_session(&seat()).unwrap();
    let pids = instance.workers();
    assert_eq!(pids.len(), 1);
    drop((session, instance));
    assert!(!Path::new(&format!("/proc/{}", pids[0])).exists());
    let kept = std::fs::read_dir(alone.join("postgres")).unwrap().flatten();
    let left = kept.filter(|entry| entry.file_name().to_string_lossy().starts_with("run-"));
    assert_eq!(left.count(), 0);
}

#[test]
fn other_peoples_tables_stay_as_they_are() {
    let server = PostgreSql::start(&[]);
    server.ask(
        "CREATE TABLE theirs AS SELECT n, md5(n::text) AS word FROM generate_series(1, 5000) AS n",
    );
    server.ask("CREATE SCHEMA shop; CREATE TABLE shop.orders (id integer PRIMARY KEY)");
    let before = (server.dump(), server.ask(CHECKSUM));
    let address = server.url("postgres");
    let promised = AtomicUsize::new(0);
    let promise = || {
        // The promise is recorded before anything is made.
        assert_eq!(server.ask("SELECT count(*) FROM pg_namespace WHERE nspname = 'hopcost'"), "0");
        promised.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    let setup = setup(dataset("archive_view"), workload("newest_bounded"), 500, &address);
    let setup = Setup { promise: &promise, ..setup };
    let instance = open("postgres", &setup).unwrap();
    assert_eq!(promised.load(Ordering::Relaxed), 1);
    let logged = "SELECT count(*) FROM pg_class AS c, pg_namespace AS n WHERE n.oid = relnamespace \
                  AND nspname = 'hopcost' AND relkind = 'r' AND relpersistence <> 'u'";
    assert_eq!(server.ask(logged), "0", "all of ours is unlogged");
    // As a killed run leaves it for `hopcost restore`.
    std::mem::forget(instance);
    server.ask(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hopcost'",
    );
    let words = target("postgres").clear(&address).unwrap();
    assert_eq!(words, "dropped the schema hopcost");
    assert_eq!((server.dump(), server.ask(CHECKSUM)), before);
}

const CHECKSUM: &str = "SELECT md5(string_agg(t::text, ',' ORDER BY n)) FROM theirs AS t";

#[test]
fn a_server_that_runs_is_left_as_it_was_found() {
    let server = PostgreSql::start(&[]);
    let address = server.url("postgres");
    let guest = engine("postgres", &address);
    let ours = "SELECT count(*) FROM pg_namespace WHERE nspname = 'hopcost'";
    guest.is_a_guest(ASKED[2], &|| server.ask(ours) != "0");
    server.ask("CREATE SCHEMA hopcost; CREATE TABLE hopcost.precious (n integer)");
    guest.leaves_others_alone(ASKED[2]);
    assert_eq!(server.ask("SELECT count(*) FROM hopcost.precious"), "0");
}

/// Backends of closed sessions may take a moment to end.
fn once_there_is_room(
    session: impl Fn() -> Result<Box<dyn Session>, TargetError>,
) -> Box<dyn Session> {
    for _ in 0..1000 {
        match session() {
            Err(error) if error.to_string().contains("SQLSTATE 53300") => {
                std::thread::sleep(Duration::from_millis(10));
            }
            said => return said.unwrap(),
        }
    }
    panic!("sessions that are over keep their places");
}

#[test]
fn what_breaks_is_told() {
    let server = PostgreSql::start(&["-c", "max_connections=8"]);
    let address = server.url("postgres");
    let setup = setup(dataset("insert_test"), workload("single_row_commit"), 1, &address);
    let instance = open("postgres", &setup).unwrap();
    let request = Request { statement: 0, arguments: [1, 0, 0, 0] };

    let mut session = instance.first_session(&seat()).unwrap();
    server.ask(&format!("SELECT pg_terminate_backend({})", instance.workers()[0]));
    let Err(CallError::Lost(words)) = session.execute(&request) else { panic!("it is gone") };
    assert!(words.contains("terminating connection due to administrator command"), "{words}");

    let mut sessions = Vec::new();
    let error = loop {
        match instance.first_session(&seat()) {
            Ok(session) => sessions.push(session),
            Err(error) => break error.to_string(),
        }
        assert!(sessions.len() < 8, "there are eight in all");
    };
    assert!(error.contains("too many clients") || error.contains("reserved"), "{error}");
    drop(sessions);

    let mut session = once_there_is_room(|| instance.first_session(&seat()));
    server.ask("DROP TABLE hopcost.insert_test");
    let Err(CallError::Failed(words)) = session.execute(&request) else { panic!("no table") };
    assert!(words.contains("\"insert_test\" does not exist (SQLSTATE 42P01)"), "{words}");

    server.kill();
    let mut words = String::new();
    // The first call may still read the server's last message.
    for _ in 0..2 {
        if let Err(CallError::Lost(lost)) = session.execute(&request) {
            words = lost;
        }
    }
    assert!(words.contains("server") || words.contains("terminating"), "{words}");
    assert!(instance.close().is_err(), "the schema could not be dropped, and that is said");
}

#[test]
fn a_statement_that_takes_too_long_fails_and_the_next_goes_on() {
    let server = PostgreSql::start(&[]);
    let address = server.url("postgres");
    let setup = setup(dataset("archive_view"), workload("newest_unbounded"), 20_000, &address);
    let instance = open("postgres", &setup).unwrap();
    let mut session = instance.first_session(&seat()).unwrap();
    // So that it applies to existing sessions alone.
    server.ask("ALTER ROLE me SET statement_timeout = 0");
    server.ask("ALTER SYSTEM SET statement_timeout = '1ms'");
    server.ask("SELECT pg_reload_conf()");
    let request = Request { statement: 0, arguments: [0; 4] };
    // The backend may take a moment to reload its settings.
    let mut refused = (0..1000).filter_map(|_| session.execute(&request).err());
    for _ in 0..2 {
        let Some(CallError::Failed(words)) = refused.next() else { panic!("1 ms") };
        assert!(words.contains("statement timeout"), "{words}");
    }
    server.ask("ALTER SYSTEM RESET statement_timeout");
    server.ask("SELECT pg_reload_conf()");
    drop(session);
    instance.close().unwrap();
}

#[test]
fn who_may_not_come_in_is_told_why() {
    let server = PostgreSql::with_passwords("right");
    let (dataset, workload) = (dataset("nothing"), workload("null_call"));
    for (address, words) in [
        (server.tcp("me:wrong", ""), "password authentication failed for user \"me\""),
        (server.tcp("me", ""), "none is known"),
        (server.tcp("me:right", "?sslmode=require"), "the server has no TLS"),
    ] {
        let error = open("postgres", &setup(dataset, workload, 1, &address)).err().unwrap();
        assert!(error.to_string().contains(words), "{error}");
        assert!(!error.to_string().contains("wrong"), "no password is repeated: {error}");
    }
    let address = server.tcp("me:right", "");
    let instance = open("postgres", &setup(dataset, workload, 1, &address)).unwrap();
    assert!(!instance.identity().contains("right"));
    instance.close().unwrap();
}

#[test]
fn tls_is_spoken_and_certificates_are_looked_at() {
    let certificate = tempfile::tempdir().unwrap();
    let server = PostgreSql::with_tls("right", certificate.path());
    let (dataset, workload) = (dataset("nothing"), workload("null_call"));
    let root = certificate.path().join("server.crt").display().to_string();
    for options in [
        "?sslmode=require".to_owned(),
        format!("?sslmode=verify-ca&sslrootcert={root}"),
        format!("?sslmode=verify-full&sslrootcert={root}"),
    ] {
        let address = server.tcp("me:right", &options);
        let instance = open("postgres", &setup(dataset, workload, 1, &address));
        let instance = instance.unwrap_or_else(|error| panic!("{options}: {error}"));
        let mut session = instance.first_session(&seat()).unwrap();
        let request = Request { statement: 0, arguments: [0; 4] };
        assert_eq!(session.execute(&request).unwrap().rows, 1);
        assert!(!session.remote().unwrap().takes_mail(), "who is not in it cannot read it");
        assert_eq!(server.ask("SELECT count(*) > 0 FROM pg_stat_ssl WHERE ssl"), "t");
        drop(session);
        instance.close().unwrap();
    }
    // Direct TLS needs a server that supports it.
    let address = server.tcp("me:right", "?sslmode=require&sslnegotiation=direct");
    let instance = open("postgres", &setup(dataset, workload, 1, &address));
    match instance {
        Ok(instance) => drop(instance.close().unwrap()),
        Err(error) => {
            let version: u32 = server.ask("SHOW server_version_num").parse().unwrap();
            let words = error.to_string();
            assert!(version < 170_000 && words.contains("TLS: the server has closed"), "{words}");
        }
    }
    let other = tempfile::tempdir().unwrap();
    certificate::certificate(other.path(), "localhost");
    let stranger = other.path().join("server.crt").display().to_string();
    for options in [
        format!("?sslmode=verify-ca&sslrootcert={stranger}"),
        // A known certificate for another host name.
        format!("?sslmode=verify-full&sslrootcert={root}&host=127.0.0.1"),
    ] {
        let address = server.tcp("me:right", &options);
        let error = open("postgres", &setup(dataset, workload, 1, &address)).err().unwrap();
        assert!(error.to_string().contains("TLS: invalid peer certificate"), "{error}");
    }
}

#[test]
fn a_primary_that_others_follow_is_left_alone() {
    let server = PostgreSql::start(&[
        "-c",
        "synchronous_standby_names=one",
        "-c",
        "synchronous_commit=local",
    ]);
    let address = server.url("postgres");
    let setup = setup(dataset("nothing"), workload("null_call"), 1, &address);
    let error = open("postgres", &setup).err().unwrap().to_string();
    assert!(error.contains("--allow-server-changes"), "{error}");
    let setup = Setup { allow_server_changes: true, ..setup };
    open("postgres", &setup).unwrap().close().unwrap();
}
