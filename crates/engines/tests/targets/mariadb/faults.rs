//! Errors of an existing server are reported, and nothing foreign is touched.

use hopcost_core::{CallError, Code, Instance, Request, Session, Setup, Stream};

use super::{certificate, dataset, open, seat, setup, target, workload};
use hopcost_testkit::mariadb::MariaDb;

const REQUEST: Request = Request { statement: 0, arguments: [1, 0, 0, 0] };
const OURS_AT_WORK: &str =
    "SELECT ID FROM information_schema.PROCESSLIST WHERE DB = 'hopcost' AND ID <> CONNECTION_ID()";

fn lost(session: &mut dyn Session) -> String {
    match session.execute(&REQUEST) {
        Err(CallError::Lost(words)) => words,
        other => panic!("it is gone, and said {other:?}"),
    }
}

fn failed(session: &mut dyn Session) -> String {
    match session.execute(&REQUEST) {
        Err(CallError::Failed(words)) => words,
        other => panic!("it cannot be answered, and said {other:?}"),
    }
}

#[test]
fn what_breaks_is_told() {
    let server = MariaDb::start(&["--max-connections=10"]);
    let address = server.url("");
    let setup = setup(dataset("insert_test"), workload("single_row_commit"), 1, &address);
    let instance = open("mariadb", &setup).unwrap();

    let there = server.rows(OURS_AT_WORK);
    let mut session = instance.first_session(&seat()).unwrap();
    let now = server.rows(OURS_AT_WORK);
    let number = now.iter().find(|number| !there.contains(number)).unwrap();
    server.ask(&format!("KILL {number}"));
    let words = lost(&mut *session);
    assert!(words.contains("closed the connection") || words.contains("killed"), "{words}");

    let mut sessions = Vec::new();
    let error = loop {
        match instance.first_session(&seat()) {
            Ok(session) => sessions.push(session),
            Err(error) => break error.to_string(),
        }
        assert!(sessions.len() < 12, "there are eleven in all");
    };
    assert!(error.contains("Too many connections"), "{error}");
    drop(sessions);

    // The server takes a moment to end the sessions.
    let let_in = || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        instance.first_session(&seat()).ok()
    };
    let mut session = (0..200).find_map(|_| let_in()).expect("there is room again");
    server.ask("DROP TABLE hopcost.insert_test");
    let words = failed(&mut *session);
    assert!(words.contains("Table 'hopcost.insert_test' doesn't exist"), "{words}");

    server.kill();
    let words = lost(&mut *session);
    assert!(words.contains("closed the connection") || words.contains("reset"), "{words}");
    assert!(instance.close().is_err(), "the database could not be dropped, and that is said");
}

#[test]
fn a_statement_that_takes_too_long_fails_and_the_next_goes_on() {
    let server = MariaDb::start(&[]);
    let address = server.url("");
    let setup = setup(dataset("archive_view"), workload("newest_unbounded"), 1000, &address);
    let instance = open("mariadb", &setup).unwrap();
    // It applies to later sessions.
    server.ask("SET GLOBAL max_statement_time = 1");
    let mut session = instance.first_session(&seat()).unwrap();
    let mut other = server.connect().unwrap();
    other.rows("LOCK TABLES hopcost.txn_2020 WRITE").unwrap();
    let words = failed(&mut *session);
    assert!(words.contains("max_statement_time exceeded"), "{words}");
    server.ask("SET GLOBAL max_statement_time = 0");
    let words = failed(&mut *session);
    assert!(words.contains("max_statement_time exceeded"), "still the same session: {words}");
    other.rows("UNLOCK TABLES").unwrap();
    session.execute(&REQUEST).unwrap();
    instance.first_session(&seat()).unwrap().execute(&REQUEST).unwrap();
}

#[test]
fn tls_is_spoken_and_certificates_are_looked_at() {
    let certificates = tempfile::tempdir().unwrap();
    certificate(certificates.path(), "localhost");
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(certificates.path(), all).unwrap();
    let file = |name: &str| certificates.path().join(name);
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(file("server.key"), readable).unwrap();
    let options = [("ssl-cert", "server.crt"), ("ssl-key", "server.key")]
        .map(|(option, name)| format!("--{option}={}", file(name).display()));
    let server = MariaDb::start(&[&options[0], &options[1]]);
    server.ask("CREATE USER me@'%' IDENTIFIED BY 'secret' REQUIRE SSL");
    server.ask("GRANT ALL ON *.* TO me@'%'");
    let asked = |options: &str| {
        let address = server.url_of("me:secret").replace("127.0.0.1", "localhost");
        let address = format!("{address}?{options}");
        let setup = setup(dataset("nothing"), workload("null_call"), 1, &address);
        let instance = open("mariadb", &setup).map_err(|error| error.to_string())?;
        instance.first_session(&seat()).unwrap().execute(&REQUEST).unwrap();
        instance.close().map(drop).map_err(|error| error.to_string())
    };
    asked("sslmode=require").unwrap();
    asked("").unwrap();
    let known = format!("sslmode=verify-full&sslrootcert={}", file("server.crt").display());
    asked(&known).unwrap();
    let refused = asked("sslmode=disable").unwrap_err();
    assert!(refused.contains("Access denied"), "{refused}");
    // An unknown authority, and a known one with another host name.
    let other = tempfile::tempdir().unwrap();
    certificate(other.path(), "localhost");
    let stranger = other.path().join("server.crt").display().to_string();
    for options in
        [format!("sslmode=verify-ca&sslrootcert={stranger}"), format!("{known}&host=127.0.0.1")]
    {
        let refused = asked(&options).unwrap_err();
        assert!(refused.contains("TLS: invalid peer certificate"), "{refused}");
        assert!(!refused.contains("secret"), "{refused}");
    }
}

#[test]
fn a_server_that_others_follow_is_left_alone() {
    let server = MariaDb::start(&["--log-bin=log", "--server-id=1"]);
    let _follower = MariaDb::follow(&server);
    let followers =
        "SELECT count(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'";
    let is_followed = || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        server.ask(followers) == "1"
    };
    assert!((0..600).any(|_| is_followed()), "the follower never came");
    let address = server.url("");
    let setup = setup(dataset("insert_test"), workload("single_row_commit"), 1, &address);
    let refused = open("mariadb", &setup).err().unwrap();
    assert_eq!(refused.code(), Code::ReadOnly);
    let words = refused.to_string();
    assert!(words.contains("1 servers follow this one"), "{words}");
    let before = server.dump();
    open("mariadb", &Setup { allow_server_changes: true, ..setup }).unwrap().close().unwrap();
    assert_eq!(server.dump(), before);
}

#[test]
fn other_peoples_tables_stay_as_they_are() {
    let server = MariaDb::start(&[]);
    server.ask("CREATE DATABASE theirs");
    server.ask(
        "CREATE TABLE theirs.numbers (n INT PRIMARY KEY, word TEXT) AS WITH RECURSIVE s(n) AS \
         (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 1000) SELECT n, MD5(n) AS word FROM s",
    );
    let before = server.dump();
    let address = server.url("theirs");
    let (dataset, workload) = (dataset("insert_test"), workload("single_row_commit"));
    let setup = setup(dataset, workload, 1, &address);
    let work = || {
        let instance = open("mariadb", &setup).unwrap();
        let mut session = instance.first_session(&seat()).unwrap();
        let mut requests = workload.requests(setup.shape, Stream { number: 0, of: 1, seed: 1 });
        for _ in 0..20 {
            session.execute(&requests.next()).unwrap();
        }
        instance
    };
    work().close().unwrap();
    assert_eq!(server.dump(), before);
    // As a killed run leaves it for `hopcost restore`.
    let instance: Box<dyn Instance> = work();
    assert_ne!(server.dump(), before);
    std::mem::forget(instance);
    for number in server.rows(OURS_AT_WORK) {
        server.ask(&format!("KILL {number}"));
    }
    assert_eq!(target("mariadb").clear(&address).unwrap(), "dropped the database hopcost");
    assert_eq!(server.dump(), before);
}
