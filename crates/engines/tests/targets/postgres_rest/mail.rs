//! A worker that sends and receives for many connections gets the same answers.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use hopcost_core::{CallError, Mail, Remote, Request};

use hopcost_testkit::named::open;

use super::super::{seat, setup};
use hopcost_testkit::named::{dataset, workload};
use hopcost_testkit::postgresql::PostgreSql;

fn socket(remote: &dyn Remote) -> UnixStream {
    UnixStream::from(remote.socket().try_clone_to_owned().unwrap())
}

#[test]
fn an_answer_is_the_same_however_much_of_it_others_have_received() {
    let server = PostgreSql::start(&[]);
    let address = server.url("postgres");
    let setup = setup(dataset("archive_view"), workload("newest_bounded"), 500, &address);
    let instance = open("postgres", &setup).unwrap();
    let mut session = instance.first_session(&seat()).unwrap();
    let stream = hopcost_core::Stream { number: 0, of: 1, seed: 7 };
    let request = setup.workload.requests(setup.shape, stream).next();
    let answer = session.execute(&request).unwrap();
    assert!(answer.rows > 0);
    let remote = session.remote().unwrap();
    assert!(remote.takes_mail());
    let mut socket = socket(remote);
    let mut room = vec![0; 1 << 20];
    for part in [1, 2, 5, 6, 7, 40, 500, room.len()] {
        let mut out = Vec::new();
        remote.send(&request, Mail { out: Some(&mut out), came: None }).unwrap();
        assert!(!out.is_empty());
        socket.write_all(&out).unwrap();
        let count = socket.read(&mut room[..part]).unwrap();
        let came = Mail { out: Some(&mut out), came: Some(Ok(&room[..count])) };
        assert_eq!(remote.receive(came).unwrap(), Some(answer), "after {count} bytes");
    }
    // Afterwards the session sends and receives by itself again.
    assert_eq!(session.execute(&request).unwrap(), answer);
    drop(session);
    instance.close().unwrap();
}

#[test]
fn an_end_that_others_have_seen_is_told() {
    let server = PostgreSql::start(&[]);
    let address = server.url("postgres");
    let setup = setup(dataset("nothing"), workload("null_call"), 1, &address);
    let instance = open("postgres", &setup).unwrap();
    let request = Request { statement: 0, arguments: [0; 4] };
    let reset = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
    for (came, words) in [
        (Ok(&[][..]), "null_call: the server has closed the connection"),
        (Err(reset), "null_call: the connection was reset"),
    ] {
        let mut session = instance.first_session(&seat()).unwrap();
        let remote = session.remote().unwrap();
        let mut out = Vec::new();
        remote.send(&request, Mail { out: Some(&mut out), came: None }).unwrap();
        let lost = remote.receive(Mail { out: Some(&mut out), came: Some(came) });
        let Err(CallError::Lost(lost)) = lost else { panic!("it is gone") };
        assert!(lost.contains(words), "{lost}");
    }
    // The server's last message tells more than the closed connection.
    let mut session = instance.first_session(&seat()).unwrap();
    let remote = session.remote().unwrap();
    let mut out = Vec::new();
    remote.send(&request, Mail { out: Some(&mut out), came: None }).unwrap();
    server.ask(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hopcost'",
    );
    let mut room = vec![0; 1 << 10];
    let count = socket(remote).read(&mut room).unwrap();
    let lost = remote.receive(Mail { out: Some(&mut out), came: Some(Ok(&room[..count])) });
    let Err(CallError::Lost(lost)) = lost else { panic!("it is gone") };
    assert!(lost.contains("terminating connection due to administrator command"), "{lost}");
}
