//! A real PostgreSQL as hopcost finds it: idle, with sessions, and after they left.

use std::process::Child;
use std::time::Duration;

use hopcost_core::Known;
use hopcost_host::occupancy::servers::{self, Server};
use hopcost_sys::sockets::{Doors, sessions};
use hopcost_sys::{Root, clock, processes};

use hopcost_testkit::postgresql::PostgreSql;

trait Seen {
    fn seen(&self) -> Option<Server>;
    /// Waits some seconds until it has this many sessions.
    fn comes_to(&self, count: usize) -> Option<Server>;
}

impl Seen for PostgreSql {
    fn seen(&self) -> Option<Server> {
        let root = Root::live();
        let found = servers::find(&root, &processes::read(&root).ok()?);
        let ours = found.into_iter().find(|found| found.pid() == self.pid())?;
        let doors = Doors { ports: &[], path: "no such path" };
        let by_socket = sessions(&root, &ours.processes, &doors);
        let server = ours.describe(&root, 0.0);
        // Both ways of counting agree once sessions neither start nor end.
        (by_socket == server.sessions).then_some(server)
    }

    fn comes_to(&self, count: usize) -> Option<Server> {
        let start = clock::now();
        while start.elapsed() < Duration::from_secs(20) {
            let server = self.seen().filter(|server| server.sessions == Known::Is(count));
            if server.is_some() {
                return server;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        None
    }
}

#[test]
fn sessions_of_a_real_server_are_seen_come_and_go() {
    let server = PostgreSql::start(&[]);
    let idle = server.comes_to(0).expect("an idle server");
    assert!(!idle.is_at_work(), "{idle}");
    assert!(idle.version.get().is_some_and(|version| !version.is_empty()), "{idle:?}");
    assert!(idle.memory_bytes.get().is_some_and(|bytes| *bytes > 1 << 20), "{idle:?}");
    let mut clients: Vec<Child> = (0..3).map(|_| server.session()).collect();
    let at_work = server.comes_to(3);
    for client in &mut clients {
        client.kill().unwrap();
        client.wait().unwrap();
    }
    let at_work = at_work.expect("three sessions");
    assert!(at_work.is_at_work(), "{at_work}");
    assert!(at_work.to_string().contains(": 3 sessions"), "{at_work}");
}
