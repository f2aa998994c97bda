//! Tests of server placement on a synthetic host with two PostgreSQL servers.

use std::fmt::Write as _;

use hopcost_core::{Code, CpuId, CpuSet, NodeId};
use hopcost_sys::topology;

use super::told::Backend;
use super::*;

const MACHINE: &str = include_str!("../../../../fixtures/machines/vm-n4.tree");
const BOOT_S: i64 = 1_700_000_000;

struct Recorded {
    text: String,
}

impl Recorded {
    fn new() -> Self {
        let mut host = Self { text: MACHINE.to_owned() };
        host.file("proc/stat", &format!("cpu0 0 0 0 0\nbtime {BOOT_S}"));
        host.process(1, "systemd", 0, "/sbin/init", "0-7");
        host
    }

    /// Two servers: 100 on the CPUs of nodes 0 and 1, 200 on CPU 7; each with its background
    /// processes and a session.
    fn with_two_servers() -> Self {
        let mut host = Self::new();
        for (head, port, cpus) in [(100, 5432, "0-3"), (200, 5433, "7")] {
            let line = format!("/usr/lib/postgresql/15/bin/postgres -D /srv/{port}");
            host.process(head, "postgres", 1, &line, cpus);
            let began_s = BOOT_S + i64::from(head);
            let file = format!("{head}\n/srv/{port}\n{began_s}\n{port}\n/run/{port}\n\n1 2\nready");
            host.file(&format!("proc/{head}/cwd/postmaster.pid"), &file);
            for (n, title) in [
                "checkpointer",
                "background writer",
                "app shop [local] idle",
                "parallel worker for PID 103",
            ]
            .iter()
            .enumerate()
            {
                let title = format!("postgres: 15/main: {title}");
                host.process(head + 1 + n as u32, "postgres", head, &title, cpus);
            }
        }
        host
    }

    fn file(&mut self, path: &str, content: &str) -> &mut Self {
        let _ = writeln!(self.text, "> {path}\n{content}");
        self
    }

    /// It started `pid` seconds after the host's boot, and was last on the last of its CPUs.
    fn process(&mut self, pid: u32, name: &str, parent: u32, title: &str, cpus: &str) -> &mut Self {
        let last = CpuSet::parse_list(cpus).unwrap().last().unwrap();
        let ticks = pid * 100;
        let stat = format!(
            "{pid} ({name}) S {parent} 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {ticks} 1 1 1 1 1 0 0 0 0 0 \
             0 0 0 0 0 17 {last} 0 0"
        );
        self.file(&format!("proc/{pid}/stat"), &stat);
        let status = format!("Uid:\t26\t26\nNSpid:\t{pid}\nCpus_allowed_list:\t{cpus}");
        self.file(&format!("proc/{pid}/status"), &status);
        self.file(&format!("proc/{pid}/comm"), name);
        self.file(&format!("proc/{pid}/cmdline"), title)
    }

    fn memory(&mut self, pid: u32, shared: &str) -> &mut Self {
        let maps = "1000-9000 rw-p 00000000 00:00 0 [heap]\n\
                    100000-400000 rw-s 00000000 00:01 9 /dev/zero (deleted)";
        let counts = format!("1000 default heap anon=2 N0=2\n100000 interleave:0-1 {shared}");
        self.file(&format!("proc/{pid}/maps"), maps);
        self.file(&format!("proc/{pid}/numa_maps"), &counts)
    }

    fn root(&self) -> Root {
        Root::from_text(&self.text).unwrap()
    }

    fn find(&self, target: &str) -> Result<Vec<Located>, String> {
        let asked = read(target).map_err(|wrong| wrong.to_string())?;
        let root = self.root();
        let found = find(&root, &topology::read(&root), &asked);
        found.map(|found| found.servers).map_err(|error| error.to_string())
    }

    fn same(&self, told: &Told) -> (Option<u32>, Known<bool>, String) {
        let root = self.root();
        let machine = topology::read(&root);
        let ground = Ground::look(&root, &machine).unwrap();
        let sameness = Sameness::of(&ground, told);
        (sameness.server.map(Found::pid), sameness.is_here, sameness.because)
    }
}

/// What server 200 reports to session 203, over TCP.
fn told() -> Told {
    let closed = || Known::missing(Code::Unreadable, "the server says: permission denied");
    let backend = |pid, role: Known<String>| Backend { pid, role, leader: None };
    Told {
        version: "15.18".to_owned(),
        data_directory: closed(),
        ports: Known::Is(BTreeSet::from([5433])),
        sockets: Known::missing(Code::Unreadable, "the server says: permission denied"),
        head: Known::missing(Code::Unreadable, "the server says: permission denied"),
        began_s: Known::Is(BOOT_S + 201),
        address: Known::Is("10.0.0.5".to_owned()),
        host: closed(),
        boot_id: closed(),
        backends: vec![
            backend(
                201,
                Known::missing(Code::NotMeasured, "the server does not show it to this user"),
            ),
            backend(203, Known::Is("client backend".to_owned())),
        ],
        own: 203,
        own_began_s: Known::Is(BOOT_S + 203),
    }
}

fn roles(server: &Located) -> Vec<String> {
    server.processes.iter().map(|process| format!("{} {}", process.pid, process.role)).collect()
}

#[test]
fn two_servers_of_a_kind_are_told_apart() {
    let host = Recorded::with_two_servers();
    for name in ["postgres", "PostgreSQL"] {
        let servers = host.find(name).unwrap();
        let [first, second] = &servers[..] else { panic!("{servers:?}") };
        assert_eq!((&first.pid, &second.pid), (&Known::Is(100), &Known::Is(200)));
        assert_eq!(first.data_directory, Known::Is("/srv/5432".into()));
        assert_eq!(second.ports, Known::Is(BTreeSet::from([5433])));
        assert_eq!(second.sockets, Known::Is(BTreeSet::from(["/run/5433/.s.PGSQL.5433".into()])));
        assert_eq!(second.began_s, Known::Is(BOOT_S + 200));
        assert_eq!(
            roles(first),
            [
                "100 postmaster",
                "101 checkpointer",
                "102 background writer",
                "103 client backend",
                "104 parallel worker"
            ]
        );
        assert_eq!(first.processes[4].leader, Some(103));
        let [here, there] = [&first.processes[1], &second.processes[1]];
        assert_eq!(here.nodes.get().unwrap().to_string(), "0-1");
        assert_eq!((&there.last_cpu, &there.node), (&Known::Is(CpuId(7)), &Known::Is(NodeId(3))));
    }
}

#[test]
fn a_process_leads_to_its_server() {
    let host = Recorded::with_two_servers();
    assert_eq!(host.find("202").unwrap()[0].pid, Known::Is(200));
    let init = &host.find("1").unwrap()[0];
    assert_eq!((init.name.as_str(), roles(init)), ("systemd", vec!["1 systemd".to_owned()]));
    assert!(init.version.to_string().contains("no database server"));
    assert_eq!(host.find("99").unwrap_err(), "there is no process 99 here");
}

#[test]
fn what_is_not_there_or_not_known_is_said() {
    let mut host = Recorded::new();
    assert_eq!(host.find("mysql").unwrap_err(), "no MySQL server runs here");
    host.text = host.text.replace("> proc/1/", "> proc/nobody/");
    host.process(300, "cron", 1, "cron", "0");
    let hidden = host.find("postgres").unwrap_err();
    assert!(hidden.starts_with("no PostgreSQL server runs here that can be seen; "), "{hidden}");
    for (target, words) in [
        ("postgrez", "no kind of server that hopcost knows; known: PostgreSQL, MariaDB"),
        ("", "no kind of server"),
        ("java", "no kind of server"),
        ("0", "the number of no process"),
        ("99999999999", "the number of no process"),
    ] {
        let error = read(target).unwrap_err();
        assert!(error.as_str().contains(words), "{target}: {error}");
    }
}

#[test]
fn every_kind_goes_by_its_name() {
    for kind in KINDS {
        let Ok(Asked::Kind(found)) = read(kind.name) else { panic!("{}", kind.name) };
        assert_eq!(found.name, kind.name);
    }
}

#[test]
fn memory_is_by_node_and_shared_memory_counts_once() {
    let mut host = Recorded::with_two_servers();
    host.memory(100, "N0=100").memory(101, "N0=200 N1=100").memory(103, "N1=50");
    let server = &host.find("100").unwrap()[0];
    let shared = server.shared.get().unwrap();
    assert_eq!(shared.bytes, Known::Is(3 << 20));
    assert_eq!(shared.by_node, [(NodeId(0), 200 << 12), (NodeId(1), 100 << 12)].into());
    let head = &server.processes[0];
    assert_eq!(head.private_by_node, Known::Is([(NodeId(0), 2 << 12)].into()));
    // The two mappings have different policies.
    assert_eq!(head.policy, Known::Is("interleave:0-1".into()));
    let closed = &server.processes[2].private_by_node;
    assert_eq!(*closed, Known::missing(Code::Unreadable, "there is no /proc/PID/maps"));
}

#[test]
fn threads_of_one_name_stand_together() {
    let mut host = Recorded::new();
    host.process(300, "mysqld", 1, "/usr/sbin/mysqld --datadir=/srv/my", "0-7");
    for (tid, name, cpus) in [
        (300, "mysqld", "0-7"),
        (301, "ib_io-1", "0-1"),
        (302, "ib_io-2", "0-1"),
        (303, "ib_io-3", "4"),
    ] {
        let file = |name: &str| format!("proc/300/task/{tid}/{name}");
        host.file(&file("comm"), name);
        host.file(&file("status"), &format!("Cpus_allowed_list:\t{cpus}"));
    }
    let server = &host.find("mysqld").unwrap()[0];
    assert_eq!(server.data_directory, Known::Is("/srv/my".into()));
    let threads = &server.processes[0].threads;
    let told = threads.iter().map(|t| format!("{} {:?} {}", t.name, t.tids, t.cpus.get().unwrap()));
    let expected = ["mysqld [300] 0-7", "ib_io-* [301, 302] 0-1", "ib_io-3 [303] 4"];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

#[test]
fn the_server_that_answers_is_known_by_numbers_and_births() {
    let host = Recorded::with_two_servers();
    let (server, is_here, because) = host.same(&told());
    assert_eq!((server, is_here), (Some(200), Known::Is(true)), "{because}");
    let mut contained = Recorded::with_two_servers();
    contained.text = contained.text.replace("NSpid:\t203\n", "NSpid:\t203\t31\n");
    let (server, ..) = contained.same(&Told { own: 31, ..told() });
    assert_eq!(server, Some(200));
}

#[test]
fn equal_numbers_of_another_host_fool_nobody() {
    let host = Recorded::with_two_servers();
    let later = |seconds: i64| Known::Is(BOOT_S + seconds);
    for (told, words) in [
        (Told { own: 777, ..told() }, "it has no process 777"),
        (Told { own_began_s: later(303), ..told() }, "process 203 began at another time"),
        (
            Told { own_began_s: Known::missing(Code::NotMeasured, "untold"), ..told() },
            "began at another time",
        ),
        (Told { began_s: later(2000), ..told() }, "it began at another time"),
        (Told { data_directory: Known::Is("/srv/x".into()), ..told() }, "not in /srv/x"),
    ] {
        let (server, is_here, because) = host.same(&told);
        assert_eq!((server, is_here), (None, Known::Is(false)), "{words}");
        assert!(because.contains(words), "{because}");
    }
    let (_, is_here, because) = Recorded::new().same(&told());
    assert_eq!((is_here, because.as_str()), (Known::Is(false), "no PostgreSQL server runs here"));
    // A server at a Unix socket may be here, and hidden.
    let by_socket =
        Told { own: 777, address: Known::missing(Code::NotMeasured, "a socket"), ..told() };
    let (_, is_here, because) = host.same(&by_socket);
    assert!(is_here.get().is_none() && because.starts_with("it cannot be told"), "{because}");
    let mut contained = Recorded::new();
    contained.file("proc/self/ns/pid", "pid:[4026532000]");
    let (_, is_here, because) = contained.same(&told());
    assert!(is_here.get().is_none() && because.contains("look on the host"), "{because}");
    assert!(contained.find("mysql").unwrap_err().contains("in a container"));
}

#[test]
fn a_kernels_number_decides() {
    let mut host = Recorded::with_two_servers();
    host.file("proc/sys/kernel/random/boot_id", "ours");
    let with_id = |id: &str| Told { boot_id: Known::Is(id.to_owned()), ..told() };
    assert_eq!(host.same(&with_id("ours")).0, Some(200));
    assert_eq!(host.same(&with_id("theirs")).1, Known::Is(false));
    let (server, is_here, because) = host.same(&Told { own: 777, ..with_id("ours") });
    assert_eq!((server, is_here), (None, Known::Is(true)), "{because}");
}

#[test]
fn a_server_elsewhere_is_as_it_tells() {
    let told = Told { host: Known::Is("db2".into()), head: Known::Is(9), ..told() };
    let machine = topology::read(&Recorded::new().root());
    let server = told.alone(&machine, Known::Is(false), "no PostgreSQL server runs here");
    assert_eq!(server.host.name, Known::Is("db2".into()));
    assert_eq!(server.host.known_by, Some("its /etc/hostname, by pg_read_file"));
    let shown = "missing, because the server does not show it to this user";
    assert_eq!(
        roles(&server),
        ["9 postmaster".to_owned(), format!("201 {shown}"), "203 client backend".to_owned()]
    );
    assert!(server.processes[0].cpus.to_string().ends_with("it runs on another host"));
    // Local facts are completed with what the server reports, and keep what it does not.
    let host = Recorded::with_two_servers();
    let here = host.find("200").unwrap().remove(0);
    let full = told.completes(here, "because".to_owned());
    assert_eq!(full.version, Known::Is("15.18".into()));
    assert_eq!(full.data_directory, Known::Is("/srv/5433".into()));
    assert_eq!(full.host.address, Known::Is("10.0.0.5".into()));
}

#[test]
fn a_kernel_without_nodes_still_tells_how_much_lies_on_the_only_one() {
    let mut host = Recorded::new();
    host.text =
        host.text.replace(MACHINE, include_str!("../../../../fixtures/machines/vm-n1.tree"));
    host.process(300, "mysqld", 1, "/usr/sbin/mysqld", "0-1").file("proc/300/maps", "");
    host.file("proc/300/status", "Cpus_allowed_list:\t0-1\nRssAnon:\t12 kB\nRssShmem:\t8 kB");
    let server = &host.find("mysql").unwrap()[0];
    let process = &server.processes[0];
    assert_eq!(process.private_by_node, Known::Is([(NodeId(0), 12 << 10)].into()));
    assert_eq!(server.shared.get().unwrap().by_node, [(NodeId(0), 8 << 10)].into());
    let none = "there is no /proc/PID/numa_maps: this kernel keeps no account of memory by node";
    assert_eq!(process.policy, Known::missing(Code::NotTold, none));
    assert_eq!(server.shared.get().unwrap().bytes, Known::missing(Code::NotTold, none));
}
