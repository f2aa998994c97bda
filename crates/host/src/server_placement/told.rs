//! What a PostgreSQL server reports of itself through SQL, as far as its privileges allow.

use std::collections::BTreeSet;

use hopcost_core::{CallError, Code, Console, Host, Known, Located, Machine, Reason, Standing};

use super::pid_file::socket_in;

#[derive(Debug)]
pub struct Told {
    pub version: String,
    pub data_directory: Known<String>,
    pub ports: Known<BTreeSet<u16>>,
    pub sockets: Known<BTreeSet<String>>,
    /// Its first process, by the server's own pid.
    pub head: Known<u32>,
    pub began_s: Known<i64>,
    /// The server's end of the connection; missing over a Unix socket.
    pub address: Known<String>,
    pub host: Known<String>,
    /// The kernel draws a new one at each boot.
    pub boot_id: Known<String>,
    pub backends: Vec<Backend>,
    /// The backend that serves us: its pid as the server sees it, and its start time.
    pub own: u32,
    pub own_began_s: Known<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backend {
    pub pid: u32,
    pub role: Known<String>,
    pub leader: Option<u32>,
}

const HOST_FILE: &str = "/etc/hostname";
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
const NOT_SHOWN: &str = "the server does not show it to this user";
const REACHED_BY_SOCKET: &str = "it was reached at a Unix socket";

impl Told {
    /// What the server refuses is missing, with its message.
    pub fn ask(console: &mut dyn Console) -> Result<Self, CallError> {
        let version = console.version().split_whitespace().next().unwrap_or_default().to_owned();
        let major = version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0);
        let (backends, own, own_began_s) = backends(console, major)?;
        let port = number(setting(console, "port")?);
        let directories = setting(console, "unix_socket_directories")?;
        let sockets =
            port.as_ref().and_then(|port| directories.map(|list| sockets_in(&list, *port)));
        let address = value(console, "SELECT host(inet_server_addr())")?;
        let pid_file = content(console, "postmaster.pid")?;
        let began = format!("SELECT {}", epoch("pg_postmaster_start_time()"));
        Ok(Self {
            version,
            data_directory: setting(console, "data_directory")?,
            ports: port.map(|port| BTreeSet::from([port])),
            sockets,
            head: number(pid_file.map(|text| text.lines().next().unwrap_or_default().to_owned())),
            began_s: number(value(console, &began)?),
            address: address.or_else(|_| Known::missing(Code::NotApplicable, REACHED_BY_SOCKET)),
            host: content(console, HOST_FILE)?,
            boot_id: content(console, BOOT_ID)?,
            backends,
            own,
            own_began_s,
        })
    }

    pub fn is_by_socket(&self) -> bool {
        self.address.get().is_none()
    }

    /// Local facts, completed with what the server reports.
    pub fn completes(&self, here: Located, because: String) -> Located {
        let Located { data_directory, ports, sockets, host, .. } = here;
        Located {
            version: Known::Is(self.version.clone()),
            data_directory: self.data_directory.clone().or_else(|_| data_directory),
            ports: self.ports.clone().or_else(|_| ports),
            sockets: self.sockets.clone().or_else(|_| sockets),
            host: Host { address: self.address.clone(), because: Some(because), ..host },
            ..here
        }
    }

    /// For a server whose processes are not visible.
    pub fn alone(&self, machine: &Machine, is_here: Known<bool>, because: &str) -> Located {
        let (name, known_by) = match (&is_here, &self.host) {
            (Known::Is(true), _) => (machine.host.clone(), Some("this host's own name")),
            (_, Known::Is(_)) => (self.host.clone(), Some("its /etc/hostname, by pg_read_file")),
            (_, Known::Missing(_)) => (self.host.clone(), None),
        };
        let unseen: Reason = match is_here {
            Known::Is(false) => Code::Unreadable.because("it runs on another host"),
            _ => Code::Unreadable.because("its processes are not seen from here"),
        };
        let mut processes: Vec<Standing> =
            self.backends.iter().map(|backend| backend.unseen(&unseen)).collect();
        if let Known::Is(head) = self.head {
            let role = Known::Is("postmaster".to_owned());
            let head = Backend { pid: head, role, leader: None };
            processes.insert(0, head.unseen(&unseen));
        }
        Located {
            name: "PostgreSQL".to_owned(),
            version: Known::Is(self.version.clone()),
            pid: self.head.clone(),
            data_directory: self.data_directory.clone(),
            ports: self.ports.clone(),
            sockets: self.sockets.clone(),
            began_s: self.began_s.clone(),
            host: Host {
                known_by: known_by.filter(|_| name.get().is_some()),
                name,
                address: self.address.clone(),
                is_here,
                because: Some(because.to_owned()),
            },
            processes,
            shared: Known::Missing(unseen.clone()),
            remote_clients: Known::Missing(unseen),
        }
    }
}

impl Backend {
    fn unseen(&self, reason: &Reason) -> Standing {
        Standing {
            role: self.role.clone(),
            pid: self.pid,
            leader: self.leader,
            cpus: Known::Missing(reason.clone()),
            nodes: Known::Missing(reason.clone()),
            last_cpu: Known::Missing(reason.clone()),
            node: Known::Missing(reason.clone()),
            policy: Known::Missing(reason.clone()),
            private_by_node: Known::Missing(reason.clone()),
            shared_by_node: Known::Missing(reason.clone()),
            threads: Vec::new(),
        }
    }
}

fn backends(
    console: &mut dyn Console,
    major: u32,
) -> Result<(Vec<Backend>, u32, Known<i64>), CallError> {
    // Older servers list sessions only, or have no leader column.
    let role = if major >= 10 { "backend_type" } else { "'client backend'" };
    let leader = if major >= 13 { "leader_pid" } else { "NULL" };
    let began = epoch("backend_start");
    let sql = format!(
        "SELECT pid, {role}, {leader}, pid = pg_backend_pid(), {began} FROM pg_stat_activity \
         ORDER BY pid"
    );
    let (mut backends, mut own) =
        (Vec::new(), (0, Known::missing(Code::NotTold, "it does not list our session")));
    for row in console.rows(&sql)? {
        let [pid, role, leader, is_own, began] = &row[..] else { continue };
        let whole = |text: &Option<String>| text.as_ref().and_then(|text| text.parse().ok());
        let Some(pid) = whole(pid) else { continue };
        let closed = || Known::missing(Code::Unreadable, NOT_SHOWN);
        if is_own.as_deref() == Some("t") {
            own = (pid, number(began.clone().map_or_else(closed, Known::Is)));
        }
        backends.push(Backend {
            pid,
            role: role.clone().map_or_else(closed, Known::Is),
            // The leader of a group leads itself.
            leader: whole(leader).filter(|leader| *leader != pid),
        });
    }
    Ok((backends, own.0, own.1))
}

fn value(console: &mut dyn Console, sql: &str) -> Result<Known<String>, CallError> {
    match console.rows(sql) {
        Ok(rows) => Ok(match rows.into_iter().flatten().next().flatten() {
            Some(value) => Known::Is(value.trim().to_owned()),
            None => Known::missing(Code::Unreadable, NOT_SHOWN),
        }),
        Err(CallError::Failed(words)) => {
            Ok(Known::missing(Code::Unreadable, format!("the server says: {words}")))
        }
        Err(lost) => Err(lost),
    }
}

fn number<T: std::str::FromStr>(text: Known<String>) -> Known<T> {
    text.and_then(|text| match text.parse() {
        Ok(number) => Known::Is(number),
        Err(_) => {
            Known::missing(Code::Malformed, format!("the server gives '{text}', not a number"))
        }
    })
}

fn epoch(moment: &str) -> String {
    format!("floor(extract(epoch FROM {moment}))::bigint")
}

/// Settings that a user may not read are absent rows here; `SHOW` would log an error on the server.
fn setting(console: &mut dyn Console, name: &str) -> Result<Known<String>, CallError> {
    value(console, &format!("SELECT setting FROM pg_settings WHERE name = '{name}'"))
}

/// A short file of the server's host, by offset and length because files in `/proc` have no size.
/// Without the privilege it is not requested: that would log an error on the server.
fn content(console: &mut dyn Console, path: &str) -> Result<Known<String>, CallError> {
    let may = "SELECT has_function_privilege(\
               'pg_read_file(text, bigint, bigint, boolean)', 'execute')";
    if value(console, may)?.get().is_none_or(|may| may != "t") {
        return Ok(Known::missing(
            Code::Unreadable,
            "this user may not read files of the server's host (pg_read_file)",
        ));
    }
    // `true`: a missing file is no error.
    let content = value(console, &format!("SELECT pg_read_file('{path}', 0, 256, true)"))?;
    Ok(content.or_else(|reason| match reason.as_str() {
        NOT_SHOWN => Known::missing(Code::NotMeasured, format!("the server's host has no {path}")),
        _ => Known::Missing(reason),
    }))
}

/// The sockets in a list of directories, `/run/postgresql, /srv/x`.
fn sockets_in(list: &str, port: u16) -> BTreeSet<String> {
    let directories = list.split(',').map(|dir| dir.trim().trim_matches('"'));
    directories.filter_map(|dir| socket_in(dir, port)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_directories_is_a_list_of_sockets() {
        let found = sockets_in("/run/postgresql, \"/srv/a b\"", 5433);
        let expected = ["/run/postgresql/.s.PGSQL.5433", "/srv/a b/.s.PGSQL.5433"];
        assert_eq!(found, expected.map(str::to_owned).into());
        assert!(sockets_in("", 5432).is_empty());
    }

    #[test]
    fn what_is_no_number_is_said() {
        assert_eq!(number::<u16>(Known::Is("5432".into())), Known::Is(5432));
        let wrong = number::<u16>(Known::Is("many".into()));
        assert_eq!(wrong.reason().unwrap().code(), Code::Malformed);
        let reason = wrong.to_string();
        assert!(reason.ends_with("the server gives 'many', not a number"), "{reason}");
    }
}
