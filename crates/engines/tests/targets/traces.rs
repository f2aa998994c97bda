//! Golden test: each byte that a session sends to a server, for each workload.

use std::fmt::Write as _;
use std::path::PathBuf;

use hopcost_core::{Audit, Parallel, SessionChoice, Stream, VariantSettings};

use hopcost_testkit::named::{dataset, open, workload};
use hopcost_testkit::proxy::Proxy;
use hopcost_testkit::transcript::transcript;
use hopcost_testkit::{mariadb::MariaDb, postgresql::PostgreSql};

use super::{seat, setup};

/// Without bulk loads: their tables are named after a process.
const ASKED: [(&str, &str, u64); 8] = [
    ("tran_stats", "reporting_p1", 500),
    ("tran_stats", "reporting_p2", 500),
    ("archive_view", "newest_bounded", 500),
    ("archive_view", "newest_unbounded", 500),
    ("insert_test", "single_row_commit", 1),
    ("big_table_im", "memory_insert", 1_000),
    ("big_table_im", "point_select", 1_000),
    ("nothing", "null_call", 1),
];
const CALLS: usize = 2;

#[test]
fn a_session_sends_postgresql_what_it_always_sent() {
    let server = PostgreSql::start(&[]);
    let network = Proxy::that_listens_in(server.socket());
    let url = format!("//me@localhost:{}/postgres?sslmode=disable", network.port());
    let parallel = Some(Parallel { dop: 2, ..Parallel::default() });
    let mut all = traces("postgres", &url, &network);
    let two = VariantSettings { parallel, ..seat() };
    trace(&mut all, "postgres", &url, &network, ASKED[0], ("two processes", two));
    assert_golden("postgres", &all);
}

#[test]
fn a_session_sends_mariadb_what_it_always_sent() {
    let server = MariaDb::start(&[]);
    let network = Proxy::that_listens_in(server.socket());
    let url = format!("//root@localhost:{}/?sslmode=disable", network.port());
    assert_golden("mariadb", &traces("mariadb", &url, &network));
}

fn traces(target: &str, url: &str, network: &Proxy) -> String {
    let mut all = String::new();
    for asked in ASKED {
        trace(&mut all, target, url, network, asked, ("", seat()));
    }
    for (name, audit) in
        [("off", Audit::Off), ("statements", Audit::Statements), ("trace", Audit::Trace)]
    {
        let audited = VariantSettings { session: SessionChoice { audit: Some(audit) }, ..seat() };
        trace(&mut all, target, url, network, ASKED[4], (name, audited));
    }
    all
}

fn trace(
    all: &mut String,
    target: &str,
    url: &str,
    network: &Proxy,
    (data, name, rows): (&str, &str, u64),
    (how, seat): (&str, VariantSettings),
) {
    let (dataset, workload) = (dataset(data), workload(name));
    let setup = setup(dataset, workload, rows, url);
    let _ = writeln!(all, "# {name} {how}");
    let instance = open(target, &setup).unwrap();
    let client = network.clients();
    let mut session = match instance.first_session(&seat) {
        Ok(session) => session,
        Err(refusal) => {
            let _ = writeln!(all, "refused: {refusal}");
            return;
        }
    };
    instance.enter_variant(&seat).unwrap();
    let mut requests = workload.requests(setup.shape, Stream { number: 0, of: 1, seed: 7 });
    for _ in 0..CALLS {
        session.execute(&requests.next()).unwrap();
    }
    session.counted();
    drop(session);
    let mut sent = network.sent_by(client);
    if target == "mariadb" {
        hide_statements(&mut sent);
    }
    let _ = writeln!(all, "{}", transcript(&sent));
    instance.close().unwrap();
}

/// The server numbers statements differently each time.
fn hide_statements(mut packets: &mut [u8]) {
    const EXECUTE: u8 = 0x17;
    while let [low, middle, high, _, rest @ ..] = packets {
        let length = usize::from(*low) + (usize::from(*middle) << 8) + (usize::from(*high) << 16);
        let (packet, after) = rest.split_at_mut(length);
        if let [EXECUTE, number @ ..] = packet {
            number[..4].copy_from_slice(b"STMT");
        }
        packets = after;
    }
}

fn assert_golden(name: &str, traces: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(PathBuf::from("../../../../fixtures/goldens"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(format!("sent-to-{name}"), traces));
}
