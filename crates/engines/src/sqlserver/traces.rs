//! Golden test of every byte that a session sends to SQL Server.

use std::fmt::Write as _;

use hopcost_core::{Audit, VariantSettings};
use hopcost_testkit::transcript::transcript;

use super::standin::StandIn;
use super::tests::{audited, open_for, seat};
use hopcost_data::workloads::WORKLOADS;

const ASKED: [(&str, &str); 3] =
    [("insert_test", "single_row_commit"), ("big_table_im", "bulk_load"), ("nothing", "null_call")];

#[test]
fn a_session_sends_sql_server_what_it_always_sent() {
    let mut all = String::new();
    for asked in ASKED {
        trace(&mut all, asked, "", &seat());
    }
    for (how, audit) in
        [("off", Audit::Off), ("statements", Audit::Statements), ("trace", Audit::Trace)]
    {
        trace(&mut all, ASKED[0], how, &audited(audit));
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../../../fixtures/goldens");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("sent-to-sqlserver", all));
}

fn trace(all: &mut String, asked: (&str, &str), how: &str, seat: &VariantSettings) {
    let server = StandIn::start();
    let _ = writeln!(all, "# {} {how}", asked.1);
    let instance = open_for(asked, &server.url("me"), true, false).unwrap();
    let mut session = instance.first_session(seat).unwrap();
    // Other connections may be opened first: the session's own is the last.
    let own = server.state().sent.len() - 1;
    instance.enter_variant(seat).unwrap();
    let workload = WORKLOADS.iter().find(|workload| workload.info().name == asked.1).unwrap();
    let shape = hopcost_core::Shape { rows: 1, sliced: true };
    let stream = hopcost_core::Stream { number: 0, of: 1, seed: 7 };
    let mut requests = workload.requests(shape, stream);
    for _ in 0..2 {
        session.execute(&requests.next()).unwrap();
    }
    session.counted();
    drop(session);
    let sent = server.state().sent.values().nth(own).cloned().unwrap_or_default();
    let _ = writeln!(all, "{}", transcript(&sent));
    instance.close().unwrap();
}
