//! The systemd unit that a server of this host runs in, for advice that names it.

use hopcost_sys::{Root, processes, sockets};

use crate::occupancy::servers;

/// `None` unless one server of that kind is meant. `port`: that it listens on, if it is known.
pub fn unit(root: &Root, kind: &str, port: Option<u16>) -> Option<String> {
    let all = processes::read(root).ok()?;
    let mut found = servers::find(root, &all);
    found.retain(|server| server.kind.is_called(kind));
    let listens = |server: &servers::Found, port: u16| {
        sockets::listening(root, &server.heads).get().is_some_and(|it| it.ports.contains(&port))
    };
    if let (Some(port), 2..) = (port, found.len()) {
        found.retain(|server| listens(server, port));
    }
    let [server] = &found[..] else { return None };
    of_groups(&root.text(&format!("proc/{}/cgroup", server.pid())).ok()?)
}

/// Not that of a user's own systemd: its units are another `systemctl`'s.
fn of_groups(groups: &str) -> Option<String> {
    let mut lines = groups.lines().filter(|line| !line.contains("/user.slice/"));
    lines.find_map(|line| Some(line.rsplit('/').next()?.strip_suffix(".service")?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_the_last_part_of_a_path() {
        for (groups, unit) in [
            (
                "0::/system.slice/system-postgresql.slice/postgresql@15-main.service\n",
                Some("postgresql@15-main"),
            ),
            ("12:cpu:/\n1:name=systemd:/system.slice/mariadb.service\n", Some("mariadb")),
            ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/db.service\n", None),
            ("0::/user.slice/user-1000.slice/session-3.scope\n", None),
            ("0::/kubepods/pod1/abc\n", None),
            ("0::/\n", None),
        ] {
            assert_eq!(of_groups(groups).as_deref(), unit, "{groups}");
        }
    }

    #[test]
    fn of_two_servers_of_a_kind_none_is_meant_without_a_port() {
        let process = |pid: u32| {
            format!(
                "> proc/{pid}/stat\n{pid} (mariadbd) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {pid}\n\
                 > proc/{pid}/cgroup\n0::/system.slice/mariadb@{pid}.service\n"
            )
        };
        let root = |pids: &[u32]| {
            let processes: String = pids.iter().map(|pid| process(*pid)).collect();
            Root::from_text(&format!("hopcost machine recording, version 1\n{processes}")).unwrap()
        };
        let one = root(&[7]);
        assert_eq!(unit(&one, "mariadb", None).as_deref(), Some("mariadb@7"));
        assert_eq!(unit(&one, "mariadb", Some(3306)).as_deref(), Some("mariadb@7"));
        assert_eq!(unit(&one, "postgres", None), None);
        assert_eq!(unit(&root(&[7, 8]), "mariadb", None), None);
    }
}
