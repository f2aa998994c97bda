//! Tests with invented servers.

use std::collections::BTreeMap;

use hopcost_core::{BytesByNode, Code, CpuId, Host, NodeId, SharedBytes, Standing, Threads};

use hopcost_sys::{Root, topology};

use super::*;

const MIB: u64 = 1 << 20;

fn on(nodes: &[(u32, u64)]) -> BytesByNode {
    nodes.iter().map(|(node, mib)| (NodeId(*node), mib * MIB)).collect()
}

fn process(pid: u32, role: &str, cpus: &str, last: u32) -> Standing {
    let cpus = CpuSet::parse_list(cpus).unwrap();
    let nodes = cpus.iter().map(|cpu| NodeId(cpu.0 / 8)).collect();
    Standing {
        role: Known::Is(role.to_owned()),
        pid,
        leader: None,
        cpus: Known::Is(cpus),
        nodes: Known::Is(nodes),
        last_cpu: Known::Is(CpuId(last)),
        node: Known::Is(NodeId(last / 8)),
        policy: Known::Is("default".to_owned()),
        private_by_node: Known::Is(on(&[(last / 8, 2)])),
        shared_by_node: Known::Is(on(&[(0, 62), (1, 38)])),
        threads: Vec::new(),
    }
}

fn server(pid: u32, processes: Vec<Standing>) -> Located {
    Located {
        name: "PostgreSQL".to_owned(),
        version: Known::Is("15.18".to_owned()),
        pid: Known::Is(pid),
        data_directory: Known::Is(format!("/var/lib/postgresql/{pid}")),
        ports: Known::Is(BTreeSet::from([5432])),
        sockets: Known::missing(Code::NotMeasured, "not asked"),
        began_s: Known::Is(1_795_218_590),
        host: Host {
            name: Known::Is("db1".to_owned()),
            known_by: Some("this host's own name"),
            address: Known::missing(Code::NotAsked, "the server was not connected to"),
            is_here: Known::Is(true),
            because: None,
        },
        processes,
        shared: Known::Is(SharedBytes {
            bytes: Known::Is(100 * MIB),
            by_node: on(&[(0, 62), (1, 38)]),
        }),
        remote_clients: Known::Is(BTreeMap::new()),
    }
}

fn machine(name: &str) -> Machine {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines");
    topology::read(&Root::recorded(format!("{dir}/{name}.tree").as_ref()).unwrap())
}

#[test]
fn on_one_node_binding_changes_nothing() {
    let found = |is_here| {
        let mut server = server(1, Vec::new());
        server.host.is_here = Known::Is(is_here);
        Whereabouts { version: 1, host: Known::Is("db1".to_owned()), servers: vec![server] }
    };
    let said = |is_here, name| whereabouts(&found(is_here), &machine(name), 120);
    assert!(said(true, "vm-n1").contains("In one place"));
    assert!(!said(true, "vm-n4").contains("In one place"));
    assert!(!said(false, "vm-n1").contains("In one place"));
}

fn text(servers: Vec<Located>, columns: usize) -> String {
    let host = Known::Is("db1".to_owned());
    let found = Whereabouts { version: 1, host, servers };
    crate::xml::plain(&whereabouts(&found, &machine("vm-n4"), columns))
}

fn missing<T>(reason: &'static str) -> Known<T> {
    Known::missing(Code::NotMeasured, reason)
}

fn without_memory(processes: &mut [Standing], reason: &'static str) {
    for process in processes {
        process.policy = missing(reason);
        process.private_by_node = missing(reason);
        process.shared_by_node = missing(reason);
    }
}

fn busy_server() -> Located {
    let mut processes = vec![
        process(4711, "postmaster", "0-15", 3),
        process(4712, "checkpointer", "0-15", 4),
        process(4720, "client backend", "0-7", 1),
        process(4721, "client backend", "0-7", 3),
        process(4722, "client backend", "8-15", 9),
    ];
    let worker = Standing { leader: Some(4720), ..process(4730, "parallel worker", "0-7", 2) };
    processes.push(worker);
    server(4711, processes)
}

#[test]
fn the_first_sentence_answers() {
    let text = text(vec![busy_server()], 120);
    let sentence: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
    assert_eq!(
        sentence.join(" "),
        "PostgreSQL 15.18 (pid 4711, /var/lib/postgresql/4711, port 5432) runs on this host, db1: 6 \
         processes on CPUs 0-15 of nodes 0 and 1; its shared memory, 100 MiB, is 62% on node 0, 38% \
         on node 1"
    );
}

#[test]
fn what_is_alike_is_one_line_and_what_is_not_is_two() {
    let text = text(vec![busy_server()], 120);
    let row = |begin: &str| {
        text.lines().find(|line| line.trim_start().starts_with(begin)).expect(begin).to_owned()
    };
    let two = row("2 × client backend");
    assert!(two.contains("4720 …") && two.contains("0-7") && two.contains("1,3"), "{two}");
    assert!(two.contains("4 MiB 100/0"), "{two}");
    assert!(row("client backend").contains("4722"));
    assert!(row("parallel worker of 4720").contains("4730"));
    let all = row("total, shared memory once");
    assert!(all.contains("12 MiB 83/17"), "{all}");
    assert!(all.contains("100 MiB 62/38"), "{all}");
    assert!(text.contains("all of them  policy default"), "{text}");
    assert!(text.contains("private 0/1%") && text.contains("  0/1%         percent"), "{text}");
}

#[test]
fn a_narrow_terminal_has_memory_below() {
    let wide = text(vec![busy_server()], 120);
    let narrow = text(vec![busy_server()], 60);
    assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
    assert!(narrow.contains("private 0/1% 12 MiB 83/17"), "{narrow}");
    assert!(narrow.lines().count() > wide.lines().count());
}

#[test]
fn what_is_refused_says_so_in_its_row() {
    let mut server = busy_server();
    let closed = "/proc/PID/maps may not be read by this user";
    without_memory(&mut server.processes[1..3], closed);
    let text = text(vec![server], 120);
    let row = text.lines().find(|line| line.contains("checkpointer")).unwrap();
    assert_eq!(row.matches("– (1)").count(), 3, "{row}");
    assert!(text.contains(&format!("– (1) missing, because {closed}")), "{text}");
    assert!(!text.contains("2 × client backend"), "{text}");
}

#[test]
fn what_is_missing_of_all_is_said_once() {
    let mut server = busy_server();
    let none = "there is no /proc/PID/numa_maps: this kernel keeps no account of memory by node";
    without_memory(&mut server.processes, none);
    server.shared = missing(none);
    let text = text(vec![server], 200);
    assert!(text.contains("the nodes of its memory are unknown: there is no"), "{text}");
    assert!(text.contains("policy, private, shared: missing, because there is no"), "{text}");
    assert!(!text.contains("– ("), "{text}");
}

#[test]
fn a_server_elsewhere_is_sent_for() {
    let mut server = busy_server();
    let away = "it runs on another host";
    without_memory(&mut server.processes, away);
    for process in &mut server.processes {
        (process.cpus, process.last_cpu) = (missing(away), missing(away));
        process.node = missing(away);
    }
    server.shared = missing(away);
    server.host = Host {
        name: Known::Is("db2".to_owned()),
        known_by: Some("its /etc/hostname, by pg_read_file"),
        address: Known::Is("10.0.0.5".to_owned()),
        is_here: Known::Is(false),
        because: Some("no PostgreSQL server runs here".to_owned()),
    };
    let text = text(vec![server], 120);
    assert!(text.contains("runs on another host, db2 (10.0.0.5). To see its"), "{text}");
    assert!(
        text.contains("the host's name is its /etc/hostname, by pg_read_file; no Postg"),
        "{text}"
    );
    assert!(
        text.contains("CPUs, last CPU, node, policy, private, shared: missing, because it"),
        "{text}"
    );
    assert!(text.contains("3 × client backend") && !text.contains("shared memory once"), "{text}");
    let network = "The network between this host and 10.0.0.5 was not measured.";
    assert!(text.contains(network), "{text}");
}

#[test]
fn clients_over_a_network_are_named_and_the_network_is_not_measured() {
    let with = |clients: &[(&str, usize)]| {
        let mut server = busy_server();
        let clients = clients.iter().map(|(address, count)| ((*address).to_owned(), *count));
        server.remote_clients = Known::Is(clients.collect());
        text(vec![server], 120)
    };
    assert!(!with(&[]).contains("network"));
    let one = with(&[("10.0.0.7", 1)]);
    let expected = "1 connection over a network, from 10.0.0.7: that network was not measured.";
    assert!(one.contains(expected), "{one}");
    let many = with(&[("10.0.0.1", 4), ("10.0.0.2", 1), ("10.0.0.3", 1), ("a", 2), ("b", 1)]);
    let expected = "9 connections over a network, from 10.0.0.1, 10.0.0.2, 10.0.0.3 and 2 more:";
    assert!(many.contains(expected), "{many}");
}

#[test]
fn threads_stand_below_their_process() {
    let mut database = process(300, "mysqld", "0-7", 2);
    let threads = |name: &str, tids: &[u32]| Threads {
        name: name.to_owned(),
        tids: tids.to_vec(),
        cpus: Known::Is(CpuSet::parse_list("0-7").unwrap()),
        nodes: Known::Is(NodeSet::parse_list("0").unwrap()),
        last_cpus: CpuSet::parse_list("1,5").unwrap(),
        last_nodes: NodeSet::parse_list("0").unwrap(),
    };
    database.threads = vec![threads("mysqld", &[300]), threads("ib_io_rd-*", &[301, 302, 303])];
    database.private_by_node = Known::Is(on(&[(0, 300)]));
    database.shared_by_node = Known::Is(BytesByNode::new());
    let server = Located {
        name: "MySQL".to_owned(),
        version: Known::missing(
            Code::NotTold,
            "only the server itself could tell, and it is not asked",
        ),
        ports: Known::Is(BTreeSet::from([3306, 33060])),
        shared: Known::Is(SharedBytes { bytes: Known::Is(0), by_node: BytesByNode::new() }),
        ..server(300, vec![database])
    };
    let text = text(vec![server], 120);
    let sentence = text.lines().take(2).collect::<Vec<_>>().join(" ");
    assert!(
        sentence.contains(
            "ports 3306 and 33060) runs on this host, db1: 1 process with 4 threads \
                               on CPUs 0-7 of node 0; its memory, 300 MiB, is on node 0"
        ),
        "{text}"
    );
    assert!(text.contains("    3 × ib_io_rd-*"), "{text}");
    assert!(
        text.contains("all of them  last on node 0, policy default, memory on node 0"),
        "{text}"
    );
}

#[test]
fn several_servers_are_counted_first() {
    let other = server(5000, vec![process(5000, "postmaster", "8", 8)]);
    let text = text(vec![busy_server(), other], 120);
    assert!(text.starts_with("2 PostgreSQL servers run on this host, db1.\n"), "{text}");
    assert!(text.contains("(pid 5000, /var/lib/postgresql/5000, port 5432)"), "{text}");
    assert!(text.contains("1 process on CPU 8 of node 1"), "{text}");
}

#[test]
fn words_are_joined_as_people_do() {
    let words =
        |list: &[&str]| and(&list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    assert_eq!([words(&[]), words(&["1"])], ["", "1"]);
    assert_eq!([words(&["1", "2"]), words(&["1", "2", "3"])], ["1 and 2", "1, 2 and 3"]);
}

#[test]
fn shared_memory_of_unknown_size_is_what_is_touched() {
    let mut server = busy_server();
    let sentence = |server: &Located| text(vec![server.clone()], 120).replace('\n', " ");
    server.shared =
        Known::Is(SharedBytes { bytes: Known::Is(400 * MIB), by_node: on(&[(1, 100)]) });
    let text = sentence(&server);
    assert!(
        text.contains("its shared memory, 400 MiB (100 MiB of it touched), is on node 1"),
        "{text}"
    );
    server.shared = Known::Is(SharedBytes {
        bytes: Known::missing(Code::NotMeasured, "closed"),
        by_node: on(&[(1, 100)]),
    });
    let text = sentence(&server);
    assert!(text.contains("its shared memory, 100 MiB of it touched, is on node 1"), "{text}");
}

#[test]
fn what_is_not_seen_is_said_once() {
    let mut server = busy_server();
    let unseen = "its processes are not seen from here";
    without_memory(&mut server.processes, unseen);
    for process in &mut server.processes {
        process.cpus = missing(unseen);
    }
    server.shared = missing(unseen);
    let text = text(vec![server], 120).replace('\n', " ");
    assert!(text.contains(&format!("6 processes; their CPUs are unknown: {unseen}")), "{text}");
    assert!(!text.contains("the nodes of its memory"), "{text}");
}

#[test]
fn memory_of_many_nodes_is_where_most_of_it_is() {
    let mut server = busy_server();
    let many: Vec<(u32, u64)> = (0..8).map(|node| (node, 10 + u64::from(node))).collect();
    server.processes[0].shared_by_node = Known::Is(on(&many));
    server.shared = Known::Is(SharedBytes { bytes: Known::Is(108 * MIB), by_node: on(&many) });
    let text = text(vec![server], 120).replace('\n', " ");
    assert!(text.contains("is 16% on node 7, 15% on node 6, …"), "{text}");
    assert!(text.contains("108 MiB: 16% on 7, 15% on 6, 14% on 5, …"), "{text}");
}

#[test]
fn only_nothing_is_nothing_and_only_all_is_all() {
    let cases = [(0, 0), (1, 1), (500, 50), (999, 99), (1000, 100)];
    for (part, expected) in cases {
        assert_eq!(percent(part, 1000), expected, "{part}");
    }
}
