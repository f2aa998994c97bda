//! Tests of occupancy on recorded hosts.

use std::fmt::Write as _;

use super::*;

struct Recorded {
    text: String,
}

impl Recorded {
    fn new(worked: u64, rested: u64) -> Self {
        let mut host = Self { text: "hopcost machine recording, version 1\n".into() };
        let mut stat = String::new();
        for cpu in 0..4 {
            let _ = writeln!(stat, "cpu{cpu} {worked} 0 0 {rested} 0 0 0 0 0 0");
        }
        host.file("proc/stat", &format!("{stat}procs_running 3"));
        host.file("proc/meminfo", "MemTotal: 16384 kB\nMemAvailable: 8192 kB");
        host.file("proc/self/stat", "900 (hopcost) R 1");
        host.process(1, "systemd", 0, 0, "/sbin/init");
        host.process(900, "hopcost", 1, 0, "hopcost survey");
        host
    }

    fn file(&mut self, path: &str, content: &str) -> &mut Self {
        let _ = writeln!(self.text, "> {path}\n{content}");
        self
    }

    fn process(&mut self, pid: u32, name: &str, parent: u32, ticks: u64, title: &str) -> &mut Self {
        let stat = format!("{pid} ({name}) S {parent} 0 0 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0");
        self.file(&format!("proc/{pid}/stat"), &stat);
        self.file(
            &format!("proc/{pid}/status"),
            "Uid:\t27\t27\nRssAnon:\t1024 kB\nRssShmem:\t4096 kB",
        );
        self.file(&format!("proc/{pid}/cmdline"), title)
    }

    fn postgresql(&mut self, ticks: u64, backends: &[&str]) -> &mut Self {
        let head = "/usr/lib/postgresql/17/bin/postgres -D /var/lib/postgresql/17/main";
        self.process(100, "postgres", 1, 0, head);
        let house = [
            "checkpointer",
            "background writer",
            "walwriter",
            "autovacuum launcher",
            "logical replication launcher",
            "io worker 0",
            "parallel worker for PID 120",
            "walreceiver streaming 0/3000060",
        ];
        for (n, what) in house.iter().enumerate() {
            let title = format!("postgres: 17/main: {what}");
            self.process(101 + n as u32, "postgres", 100, 0, &title);
        }
        for (n, who) in backends.iter().enumerate() {
            let title = format!("postgres: 17/main: {who}");
            self.process(120 + n as u32, "postgres", 100, ticks, &title);
        }
        self
    }

    fn mysql(&mut self, ticks: u64, connections: u32) -> &mut Self {
        let mut tcp = String::from("sl local rem st tx tr when uid timeout inode");
        let mut socket = |n: u32, state: &str| {
            let _ = write!(
                tcp,
                "\n{n}: 0100007F:0CEA 00000000:0000 {state} 0:0 0:0 0 27 0 {} 1",
                700 + n
            );
        };
        socket(0, "0A");
        (1..=connections).for_each(|n| socket(n, "01"));
        self.process(300, "mysqld", 1, ticks, "/usr/sbin/mysqld");
        self.file("proc/300/net/tcp", &tcp).file("proc/300/fd/21", "socket:[700]")
    }

    fn root(&self) -> Root {
        Root::from_text(&self.text).unwrap()
    }
}

const SECOND: Duration = Duration::from_secs(1);

fn seen(before: &Recorded, after: &Recorded) -> Occupancy {
    let moment = |host: &Recorded| Moment::read(&host.root());
    between(&after.root(), &moment(before), &moment(after), SECOND)
}

fn reasons(occupancy: &Occupancy) -> Vec<String> {
    match presence(occupancy) {
        Presence::Idle => Vec::new(),
        Presence::AtWork { reasons } => reasons,
    }
}

#[test]
fn an_idle_host_is_idle() {
    let occupancy = seen(&Recorded::new(0, 0), &Recorded::new(2, 98));
    assert_eq!(presence(&occupancy), Presence::Idle);
    assert!(occupancy.servers.is_empty());
    assert_eq!(occupancy.host.idle_cpus.to_string(), "0-3");
    assert_eq!((occupancy.host.cpus, &occupancy.host.runnable), (4, &Known::Is(3)));
    assert_eq!(occupancy.host.available_bytes, Known::Is(8 << 20));
}

#[test]
fn a_server_as_its_package_starts_it_is_no_work() {
    let mut host = Recorded::new(0, 0);
    host.postgresql(0, &[]);
    let occupancy = seen(&host, &host);
    assert_eq!(presence(&occupancy), Presence::Idle);
    assert_eq!(glance(&host.root()), Presence::Idle);
    let [server] = &occupancy.servers[..] else { panic!("{occupancy:?}") };
    assert_eq!(server.to_string(), "PostgreSQL 17 (pid 100): 0 sessions, 0% of a CPU");
    assert_eq!((server.processes, &server.sessions), (9, &Known::Is(0)));
    // Nine processes of 1 MiB, and 4 MiB that they share.
    assert_eq!(server.memory_bytes, Known::Is(13 << 20));
}

#[test]
fn backends_at_work_are_counted_with_their_cpu() {
    let backends = [
        "app sales 10.0.0.7(40312) SELECT",
        "app sales 10.0.0.7(40313) idle",
        "app sales ::1(40314) idle in transaction",
        "my user my base [local] COMMIT",
        "postgres bench [local] SELECT",
        "postgres bench [local] SELECT",
        "postgres bench [local] authentication",
        "walsender replica 10.0.0.9(51000) streaming 0/3000060",
    ];
    let (mut before, mut after) = (Recorded::new(0, 0), Recorded::new(40, 60));
    before.postgresql(10, &backends);
    after.postgresql(30, &backends);
    let occupancy = seen(&before, &after);
    let server = &occupancy.servers[0];
    assert_eq!(server.sessions, Known::Is(8));
    assert!(occupancy.host.idle_cpus.is_empty());
    // The kernel's ticks are 10 ms everywhere but on old Alphas.
    assert!((server.cpus - 1.6).abs() < 1e-9, "{server}");
    let at_a_glance = vec!["PostgreSQL 17 (pid 100): 8 sessions".to_owned()];
    assert_eq!(glance(&after.root()), Presence::AtWork { reasons: at_a_glance });
    let reasons = reasons(&occupancy);
    assert_eq!(reasons[0], "PostgreSQL 17 (pid 100): 8 sessions, 1.6 CPUs");
    assert!(
        reasons[1].starts_with("others use 1.6 of this host's 4 CPUs, most of all postgres"),
        "{reasons:?}"
    );
}

#[test]
fn work_of_backends_that_came_and_went_is_not_lost() {
    let (mut before, mut after) = (Recorded::new(0, 0), Recorded::new(0, 0));
    before.postgresql(10, &["app sales [local] SELECT"]);
    after.postgresql(0, &[]);
    // The first process has reaped children that no sample showed.
    let head = "100 (postgres) S 1 0 0 0 -1 0 0 0 0 0 0 0 60 0 20 0 1 0";
    after.file("proc/100/stat", head);
    let occupancy = seen(&before, &after);
    let server = &occupancy.servers[0];
    assert!((server.cpus - 0.5).abs() < 1e-9, "{server}");
}

#[test]
fn sessions_of_mysql_are_its_connections() {
    for (connections, ticks, expected) in [
        (3, 0, Some("MySQL (pid 300): 3 sessions, 0% of a CPU")),
        (0, 0, None),
        (0, 1, None),
        (0, 30, Some("MySQL (pid 300): 0 sessions, 30% of a CPU")),
    ] {
        let (mut before, mut after) = (Recorded::new(0, 0), Recorded::new(0, 0));
        before.mysql(0, connections);
        after.mysql(ticks, connections);
        let expected: Vec<&str> = expected.into_iter().collect();
        assert_eq!(reasons(&seen(&before, &after)), expected, "{connections} {ticks}");
    }
}

#[test]
fn sessions_that_cannot_be_told_may_be_there() {
    let mut host = Recorded::new(0, 0);
    host.process(300, "mysqld", 1, 0, "/usr/sbin/mysqld");
    let reasons = reasons(&seen(&host, &host));
    assert!(reasons[0].contains("sessions unknown (there is no /proc/300/net/tcp)"), "{reasons:?}");
}

#[test]
fn a_host_whose_processes_are_hidden_may_hold_anything() {
    let mut host = Recorded::new(0, 0);
    host.text = host.text.replace("> proc/1/", "> proc/nobody/");
    let reasons = reasons(&seen(&host, &host));
    assert!(reasons[0].contains("hidepid"), "{reasons:?}");
}

#[test]
fn a_large_host_is_busy_before_a_tenth_of_it_is() {
    let host = |cpus, others_cpus| {
        let mut host = seen(&Recorded::new(0, 0), &Recorded::new(0, 0)).host;
        (host.cpus, host.others_cpus) = (cpus, others_cpus);
        host.is_busy()
    };
    for (cpus, others, busy) in [
        (2, 0.19, false),
        (2, 0.21, true),
        (16, 1.5, false),
        (16, 1.7, true),
        (192, 1.9, false),
        (192, 2.1, true),
    ] {
        assert_eq!(host(cpus, others), busy, "{others} of {cpus}");
    }
}

#[test]
fn our_own_work_is_nobody_elses() {
    let (before, mut after) = (Recorded::new(0, 0), Recorded::new(50, 50));
    after.process(900, "hopcost", 1, 200, "hopcost survey");
    let occupancy = seen(&before, &after);
    assert!(occupancy.host.others_cpus < 1e-9, "{occupancy:?}");
    assert!(occupancy.host.busiest.is_empty());
    assert_eq!(presence(&occupancy), Presence::Idle);
}

#[test]
fn every_kind_is_recognised_once() {
    for kind in servers::KINDS {
        let name = kind.processes[0].replace('*', "x");
        let mut host = Recorded::new(0, 0);
        host.process(400, &name, 1, 0, &format!("{name} {}", kind.title));
        let servers = seen(&host, &host).servers;
        let kinds: Vec<&str> = servers.iter().map(|server| server.kind).collect();
        assert_eq!(kinds, [kind.name], "{name}");
        assert!(name.len() <= 15, "{name}: Linux cuts it");
    }
    let mut host = Recorded::new(0, 0);
    host.process(400, "java", 1, 0, "java -jar shop.jar").process(401, "oracle-cloud-ag", 1, 0, "");
    assert!(seen(&host, &host).servers.is_empty());
}

#[test]
fn the_processes_of_an_oracle_instance_are_one_server() {
    let mut host = Recorded::new(0, 0);
    host.process(500, "ora_pmon_SALES", 1, 0, "ora_pmon_SALES");
    host.process(501, "ora_lgwr_SALES", 1, 0, "ora_lgwr_SALES");
    host.process(502, "oracle_502_sale", 1, 0, "oracleSALES (LOCAL=NO)");
    let servers = seen(&host, &host).servers;
    let [server] = &servers[..] else { panic!("{servers:?}") };
    assert_eq!((server.pid, server.processes, &server.sessions), (500, 3, &Known::Is(1)));
}

#[test]
fn a_server_that_has_ended_is_none() {
    let mut host = Recorded::new(0, 0);
    host.process(700, "postgres", 1, 5, "");
    host.text = host.text.replace("700 (postgres) S", "700 (postgres) Z");
    assert!(seen(&host, &host).servers.is_empty());
}

#[test]
fn two_servers_of_a_kind_are_two() {
    let mut host = Recorded::new(0, 0);
    host.process(600, "redis-server", 1, 0, "").process(601, "redis-server", 1, 0, "");
    assert_eq!(seen(&host, &host).servers.len(), 2);
}

#[test]
fn a_version_is_told_where_it_costs_nothing() {
    let version = |cmdline: &str, more: &[(&str, &str)]| {
        let mut host = Recorded::new(0, 0);
        host.process(100, "postgres", 1, 0, cmdline);
        for (path, content) in more {
            host.file(path, content);
        }
        seen(&host, &host).servers[0].version.clone()
    };
    for (cmdline, expected) in [
        ("/usr/pgsql-16/bin/postgres -D /srv/data", Some("16")),
        ("/usr/lib/postgresql/9.6/bin/postgres", Some("9.6")),
        ("postgres -p 5432 -D /srv/1", None),
    ] {
        assert_eq!(version(cmdline, &[]).get().map(String::as_str), expected, "{cmdline}");
    }
    let data = [("proc/100/cwd/PG_VERSION", "18")];
    assert_eq!(version("postgres -p 5432", &data), Known::Is("18".into()));
}

#[test]
fn the_live_host_is_read() {
    let occupancy = look(&Root::live(), Duration::from_millis(50));
    assert!(occupancy.host.cpus > 0 && occupancy.host.available_bytes.get().is_some());
    assert!(reasons(&occupancy).iter().all(|reason| !reason.is_empty()));
}
