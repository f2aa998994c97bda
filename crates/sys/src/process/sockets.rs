//! Sessions of a server: connections established to the sockets it listens on.
//!
//! Method: `/proc/PID/net/tcp`, `tcp6` and `unix` of the server's network namespace. Its open files
//! identify its listening sockets; if they are closed to us, the sockets' user and usual ports do.
//!
//! Limits: a root server is only found at its usual ports unless hopcost is root. Sessions through
//! a proxy or pooler are those that the proxy has open.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hopcost_core::{Code, Known};

use super::processes;
use crate::Root;

#[derive(Clone, Copy, Debug)]
pub struct Doors {
    pub ports: &'static [u16],
    /// A part of their Unix socket's path; empty if they have none.
    pub path: &'static str,
}

pub fn sessions(root: &Root, server: &BTreeSet<u32>, doors: &Doors) -> Known<usize> {
    let Some(first) = server.first() else {
        return Known::missing(Code::Ended, "the server has ended");
    };
    let table = |name: &str| root.text(&format!("proc/{first}/net/{name}"));
    let open = Open::of(root, server);
    table("tcp").map(|tcp| {
        // A kernel may lack IPv6 or Unix sockets.
        let [tcp6, unix] = ["tcp6", "unix"].map(|name| table(name).ok().unwrap_or_default());
        let tcp: Vec<Tcp> = tcp.lines().chain(tcp6.lines()).filter_map(Tcp::parse).collect();
        let unix: Vec<Unix<'_>> = unix.lines().filter_map(Unix::parse).collect();
        over_tcp(&tcp, &open, doors) + over_unix(&unix, &open, doors)
    })
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listening {
    pub ports: BTreeSet<u16>,
    /// Unix sockets; abstract ones begin with `@`.
    pub paths: BTreeSet<String>,
}

pub fn listening(root: &Root, server: &BTreeSet<u32>) -> Known<Listening> {
    let Some(first) = server.first() else {
        return Known::missing(Code::Ended, "the server has ended");
    };
    let Open::Sockets(own) = Open::of(root, server) else {
        return Known::missing(Code::Unreadable, "its open files may not be read by this user");
    };
    let table = |name: &str| root.text(&format!("proc/{first}/net/{name}")).ok();
    let [tcp, tcp6, unix] = ["tcp", "tcp6", "unix"].map(|name| table(name).unwrap_or_default());
    let tcp = tcp.lines().chain(tcp6.lines()).filter_map(Tcp::parse);
    let tcp = tcp.filter(|socket| socket.state == Tcp::LISTENS && own.contains(&socket.number));
    let unix = unix.lines().filter_map(Unix::parse);
    let unix = unix.filter(|socket| socket.listens && own.contains(&socket.number));
    Known::Is(Listening {
        ports: tcp.map(|socket| socket.port).collect(),
        paths: unix.map(|socket| socket.path.to_owned()).collect(),
    })
}

/// Connections to these ports of a server from other addresses than this host's, by address.
/// Containers on this host have such addresses, too.
pub fn remote_clients(
    root: &Root,
    server: u32,
    ports: &BTreeSet<u16>,
) -> Known<BTreeMap<String, usize>> {
    let table = |name: &str| root.text(&format!("proc/{server}/net/{name}"));
    table("tcp").map(|tcp| {
        let tcp6 = table("tcp6").ok().unwrap_or_default();
        let all: Vec<Tcp> = tcp.lines().chain(tcp6.lines()).filter_map(Tcp::parse).collect();
        let open = || all.iter().filter(|socket| socket.state == Tcp::ESTABLISHED);
        // The client's end is in the table as well if it is on this host.
        let own: BTreeSet<IpAddr> = open().map(|socket| socket.address).collect();
        let mut clients = BTreeMap::new();
        for socket in open().filter(|socket| ports.contains(&socket.port)) {
            if !socket.peer.is_loopback() && !own.contains(&socket.peer) {
                *clients.entry(socket.peer.to_string()).or_default() += 1;
            }
        }
        clients
    })
}

enum Open {
    Sockets(BTreeSet<u64>),
    /// Its user, if its open files cannot be read.
    Of(Option<u32>),
}

impl Open {
    fn of(root: &Root, server: &BTreeSet<u32>) -> Self {
        let (mut sockets, mut readable) = (BTreeSet::new(), false);
        for pid in server {
            let dir = format!("proc/{pid}/fd");
            for file in root.numbered(&dir, "").ok().unwrap_or_default() {
                let Known::Is(target) = root.link(&format!("{dir}/{file}")) else { continue };
                readable = true;
                sockets.extend(socket_number(&target));
            }
        }
        if readable {
            return Self::Sockets(sockets);
        }
        Self::Of(server.first().and_then(|pid| processes::user(root, *pid)))
    }

    fn is_door(&self, socket: &Tcp, doors: &Doors) -> bool {
        match self {
            Self::Sockets(sockets) => sockets.contains(&socket.number),
            // Root also listens for others.
            Self::Of(user) => {
                doors.ports.contains(&socket.port)
                    || (*user == Some(socket.user) && socket.user != 0)
            }
        }
    }

    fn is_path(&self, socket: &Unix<'_>, doors: &Doors) -> bool {
        match self {
            Self::Sockets(sockets) => sockets.contains(&socket.number),
            Self::Of(_) => !doors.path.is_empty() && socket.path.contains(doors.path),
        }
    }
}

/// `socket:[1234]`
fn socket_number(target: &str) -> Option<u64> {
    target.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// A row of `tcp` or `tcp6`.
struct Tcp {
    address: IpAddr,
    port: u16,
    peer: IpAddr,
    state: u8,
    user: u32,
    number: u64,
}

impl Tcp {
    const ESTABLISHED: u8 = 1;
    const LISTENS: u8 = 10;

    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (address, port) = words.get(1)?.rsplit_once(':')?;
        let (peer, _) = words.get(2)?.rsplit_once(':')?;
        Some(Self {
            address: ip(address)?,
            peer: ip(peer)?,
            port: u16::from_str_radix(port, 16).ok()?,
            state: u8::from_str_radix(words.get(3)?, 16).ok()?,
            user: words.get(7)?.parse().ok()?,
            number: words.get(9)?.parse().ok()?,
        })
    }
}

/// `0100007F`, or four such words. An IPv4 address in IPv6 is the IPv4 address.
fn ip(hex: &str) -> Option<IpAddr> {
    let word = |at: usize| {
        let word = u32::from_str_radix(hex.get(8 * at..8 * at + 8)?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    if hex.len() == 8 {
        return Some(Ipv4Addr::from(word(0)?).into());
    }
    let words = [word(0)?, word(1)?, word(2)?, word(3)?];
    let bytes: [u8; 16] = words.concat().try_into().ok()?;
    Some(Ipv6Addr::from(bytes).to_canonical())
}

fn over_tcp(sockets: &[Tcp], open: &Open, doors: &Doors) -> usize {
    let listens = |socket: &&Tcp| socket.state == Tcp::LISTENS && open.is_door(socket, doors);
    let ports: BTreeSet<u16> = sockets.iter().filter(listens).map(|socket| socket.port).collect();
    let serves = |socket: &&Tcp| socket.state == Tcp::ESTABLISHED && ports.contains(&socket.port);
    sockets.iter().filter(serves).count()
}

/// A row of `unix` that has a path.
struct Unix<'a> {
    listens: bool,
    connected: bool,
    number: u64,
    path: &'a str,
}

impl<'a> Unix<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        const ACCEPTS: u32 = 1 << 16;
        const CONNECTED: u32 = 3;
        let words: Vec<&str> = line.split_whitespace().collect();
        let hex = |n: usize| u32::from_str_radix(words.get(n)?, 16).ok();
        Some(Self {
            listens: hex(3)? & ACCEPTS != 0,
            connected: hex(5)? == CONNECTED,
            number: words.get(6)?.parse().ok()?,
            path: words.get(7).copied()?,
        })
    }
}

/// The server's end of a connection has the path that accepted it.
fn over_unix(sockets: &[Unix<'_>], open: &Open, doors: &Doors) -> usize {
    let listens = |socket: &&Unix<'_>| socket.listens && open.is_path(socket, doors);
    let paths: BTreeSet<&str> = sockets.iter().filter(listens).map(|socket| socket.path).collect();
    let serves =
        |socket: &&Unix<'_>| !socket.listens && socket.connected && paths.contains(socket.path);
    sockets.iter().filter(serves).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOORS: Doors = Doors { ports: &[3306], path: "mysqld" };

    const TABLES: &str = "> proc/50/net/tcp
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000    27        0 900 1 0 100 0
   1: 0100007F:0CEA 0100007F:C350 01 00000000:00000000 00:00000000 00000000    27        0 950 1 0 100 0
   2: 0100007F:C350 0100007F:0CEA 01 00000000:00000000 00:00000000 00000000  1000        0 951 1 0 100 0
   3: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 800 1 0 100 0
   4: 0A000001:0016 0A000002:C351 01 00000000:00000000 00:00000000 00000000     0        0 801 1 0 100 0
   5: 0100007F:0CEA 0100007F:C352 06 00000000:00000000 00:00000000 00000000     0        0 0 1 0 100 0
> proc/50/net/tcp6
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:8124 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000    27        0 901 1 0 100 0
   1: 0000000000000000FFFF00000100007F:8124 0000000000000000FFFF00000100007F:C360 01 00000000:00000000 00:00000000 00000000    27        0 960 1 0 100 0
> proc/50/net/unix
Num       RefCount Protocol Flags    Type St Inode Path
0000000000000001: 00000002 00000000 00010000 0001 01   902 /run/mysqld/mysqld.sock
0000000000000002: 00000003 00000000 00000000 0001 03   970 /run/mysqld/mysqld.sock
0000000000000003: 00000003 00000000 00000000 0001 03   971
0000000000000004: 00000003 00000000 00000000 0001 03   972 /run/systemd/notify
> proc/50/status
Uid:\t27\t27\t27\t27
";

    fn sessions_with(files: &str) -> usize {
        let text = format!("hopcost machine recording, version 1\n{TABLES}{files}");
        let root = Root::from_text(&text).unwrap();
        sessions(&root, &BTreeSet::from([50]), &DOORS).ok().unwrap()
    }

    #[test]
    fn connections_to_a_servers_own_sockets_are_its_sessions() {
        let files =
            [(3, "socket:[900]"), (4, "socket:[901]"), (5, "socket:[902]"), (6, "pipe:[1]")];
        let all: String = files.iter().map(|(n, to)| format!("> proc/50/fd/{n}\n{to}\n")).collect();
        assert_eq!(sessions_with(&all), 3);
        assert_eq!(sessions_with("> proc/50/fd/3\nsocket:[900]\n"), 1);
        assert_eq!(sessions_with("> proc/50/fd/3\npipe:[1]\n"), 0);
    }

    #[test]
    fn a_servers_doors_are_those_it_has_open() {
        let doors = |files: &str| {
            let text = format!("hopcost machine recording, version 1\n{TABLES}{files}");
            listening(&Root::from_text(&text).unwrap(), &BTreeSet::from([50]))
        };
        let files = "> proc/50/fd/3\nsocket:[900]\n> proc/50/fd/4\nsocket:[902]\n\
                     > proc/50/fd/5\nsocket:[950]\n";
        let found = doors(files).ok().unwrap();
        assert_eq!(found.ports, BTreeSet::from([3306]));
        assert_eq!(found.paths, BTreeSet::from(["/run/mysqld/mysqld.sock".to_owned()]));
        assert_eq!(
            doors(""),
            Known::missing(Code::Unreadable, "its open files may not be read by this user")
        );
    }

    #[test]
    fn a_server_whose_files_are_closed_is_known_by_its_user_and_its_doors() {
        assert_eq!(sessions_with(""), 3);
    }

    #[test]
    fn a_root_servers_doors_are_the_usual_ones() {
        assert_eq!(sessions_with("> proc/50/status\nUid:\t0\t0\t0\t0\n"), 2);
    }

    #[test]
    fn without_tables_nothing_is_known() {
        let root = Root::from_text("hopcost machine recording, version 1\n").unwrap();
        let reason = sessions(&root, &BTreeSet::from([50]), &DOORS);
        assert_eq!(reason.to_string(), "missing, because there is no /proc/50/net/tcp");
        assert!(sessions(&root, &BTreeSet::new(), &DOORS).get().is_none());
    }

    #[test]
    fn clients_of_other_hosts_are_counted_by_address() {
        // Of port 22, 10.0.0.2 alone is on another host; 10.0.0.1 is the server's own address.
        let with = |files: &str| {
            let text = format!("hopcost machine recording, version 1\n{files}");
            remote_clients(&Root::from_text(&text).unwrap(), 50, &BTreeSet::from([3306, 22]))
        };
        let tail = "00000000:00000000 00:00000000 00000000 27 0 901 1 0 100 0";
        let more = format!(
            "   6: 0100000A:0CEA 0100000A:C353 01 {tail}\n   7: 0100000A:0016 0200000A:C354 01 {tail}\n\
             > proc/50/net/tcp6\n   0: 000080FE00000000FF005450ABCDEF01:0CEA \
             000080FE00000000FF00545001EFCDAB:C361 01 {tail}\n   \
             1: 0000000000000000FFFF00000100000A:0CEA 0000000000000000FFFF00000300000A:C362 01 {tail}\n   \
             2: 0000000000000000FFFF00000100000A:1F90 0000000000000000FFFF00000900000A:C363 01 {tail}\n"
        );
        let tcp = TABLES.split("> proc/50/net/tcp6").next().unwrap();
        let tcp = tcp.replace("0A000001:0016 0A000002:C351", "0100000A:0016 0200000A:C351");
        let clients = with(&format!("{tcp}{more}")).ok().unwrap();
        let expected = [("10.0.0.2", 2), ("10.0.0.3", 1), ("fe80::5054:ff:abcd:ef01", 1)];
        assert_eq!(clients, expected.map(|(of, n)| (of.to_owned(), n)).into());
        let none = with("").reason().unwrap().to_string();
        assert_eq!(none, "there is no /proc/50/net/tcp");
    }

    #[test]
    fn a_connection_to_ourselves_is_seen() {
        let door = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let us = BTreeSet::from([std::process::id()]);
        let doors = Doors { ports: &[], path: "" };
        let count = || sessions(&Root::live(), &us, &doors).ok().unwrap();
        let before = count();
        let _client = std::net::TcpStream::connect(door.local_addr().unwrap()).unwrap();
        let _server = door.accept().unwrap();
        assert_eq!(count(), before + 1);
    }
}
