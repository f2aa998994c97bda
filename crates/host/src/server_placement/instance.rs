//! What distinguishes servers of one kind: data directory and listening addresses.

use std::collections::BTreeSet;

use hopcost_core::{Code, Known};
use hopcost_sys::Root;
use hopcost_sys::sockets::{self, Listening};

use super::ground::Ground;
use super::pid_file::PidFile;
use super::postgresql;
use crate::occupancy::servers::Found;

pub struct Instance {
    pub data_directory: Known<String>,
    pub ports: Known<BTreeSet<u16>>,
    pub sockets: Known<BTreeSet<String>>,
}

const DIRECTORY: [&str; 6] =
    ["-D", "--data_directory", "--data-directory", "--datadir", "--dbpath", "--dir"];
const PORT: [&str; 2] = ["-p", "--port"];

impl Instance {
    pub fn of(ground: &Ground<'_>, found: &Found) -> Self {
        let (root, pid) = (ground.root, found.pid());
        let line = root.text(&format!("proc/{pid}/cmdline")).ok().unwrap_or_default();
        let doors = doors(ground, &found.heads);
        let file = if postgresql::is_it(found) {
            PidFile::read(root, pid)
        } else {
            Known::missing(Code::NotApplicable, "only PostgreSQL writes one")
        };
        let port = option(&line, &PORT).and_then(|port| port.parse().ok());
        let ports = doors.as_ref().map(|doors| doors.ports.clone()).or_else(|reason| {
            port.map_or(Known::Missing(reason), |port| Known::Is(BTreeSet::from([port])))
        });
        let sockets = doors.map(|doors| doors.paths);
        let Known::Is(file) = file else {
            return Self { data_directory: data_directory(root, pid, &line), ports, sockets };
        };
        let socket = file.socket();
        Self {
            data_directory: Known::Is(file.data_directory),
            ports: Known::Is(BTreeSet::from([file.port])),
            sockets: sockets.or_else(|_| Known::Is(socket.into_iter().collect())),
        }
    }
}

pub fn doors(ground: &Ground<'_>, heads: &BTreeSet<u32>) -> Known<Listening> {
    sockets::listening(ground.root, heads)
}

/// From the command line, else the working directory.
fn data_directory(root: &Root, pid: u32, line: &str) -> Known<String> {
    if let Some(directory) = option(line, &DIRECTORY) {
        return Known::Is(directory);
    }
    root.link(&format!("proc/{pid}/cwd")).and_then(|directory| match directory.as_str() {
        "/" => Known::missing(Code::NotTold, "its command line does not name it"),
        _ => Known::Is(directory),
    })
}

/// `-D DIR`, `--datadir=DIR`, `-c data_directory=DIR`.
fn option(line: &str, names: &[&str]) -> Option<String> {
    // A process that overwrote its command line left blanks.
    let mark = if line.contains('\0') { '\0' } else { ' ' };
    let mut words = line.split(mark).skip(1);
    while let Some(word) = words.next() {
        let word = if word == "-c" { words.next()? } else { word };
        let (name, value) = word.split_once('=').map_or((word, None), |(n, v)| (n, Some(v)));
        let is_meant = |known: &&str| *known == name || known.trim_start_matches('-') == name;
        if names.iter().any(is_meant) {
            return value.or_else(|| words.next()).map(str::to_owned);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_names_directory_and_port_in_many_ways() {
        for (line, expected) in [
            ("postgres\0-D\0/srv/my data\0-p\x005433", Some("/srv/my data")),
            (
                "postgres -D /var/lib/postgresql/15/main -c config_file=/etc/x",
                Some("/var/lib/postgresql/15/main"),
            ),
            ("postgres -c data_directory=/srv/1", Some("/srv/1")),
            ("mysqld --user=mysql --datadir=/srv/2", Some("/srv/2")),
            ("mongod --dbpath /srv/3 --fork", Some("/srv/3")),
            ("redis-server *:6379", None),
            ("", None),
        ] {
            assert_eq!(option(line, &DIRECTORY).as_deref(), expected, "{line}");
        }
        for line in ["postgres\0-D\0/srv/1\0-p\x005433", "postgres -c port=5433", "x --port=5433"] {
            assert_eq!(option(line, &PORT).as_deref(), Some("5433"), "{line}");
        }
    }
}
