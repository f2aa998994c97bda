//! The role of a PostgreSQL process, by its title.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// As in `pg_stat_activity`.
    pub name: String,
    /// By the server's own number.
    pub leader: Option<u32>,
}

const SELF_NAMED: &[&str] = &[
    "archiver",
    "autovacuum launcher",
    "autovacuum worker",
    "background writer",
    "checkpointer",
    "io worker",
    "logger",
    "logical replication apply worker",
    "logical replication launcher",
    "logical replication parallel apply worker",
    "logical replication tablesync worker",
    "logical replication worker",
    "parallel worker",
    "slotsync worker",
    "startup",
    "stats collector",
    "walreceiver",
    "walsender",
    "walsummarizer",
    "walwriter",
];
pub const SESSION: &str = "client backend";

/// `None` for a command line: the first process, or one that has just begun.
pub fn of_title(title: &str) -> Option<Role> {
    // Some editions put a word before.
    let (_, text) = title.split_once("postgres: ").filter(|(edition, _)| !edition.contains(' '))?;
    let text = text.trim();
    // The name of the cluster and a colon may come first.
    let mut parts = std::iter::successors(Some(text), |rest| Some(rest.split_once(": ")?.1));
    let name = match parts.find_map(self_named) {
        // Users may be named like a role, but their titles contain an address.
        Some("walsender") => "walsender",
        _ if is_postgresql_session(&format!("postgres: {text}")) => SESSION,
        Some(named) => named,
        None => text.rsplit_once(": ").map_or(text, |(_, last)| last).trim_end_matches(" process"),
    };
    let leader = text.rsplit_once(" for PID ").and_then(|(_, pid)| pid.parse().ok());
    Some(Role { name: name.to_owned(), leader })
}

fn self_named(text: &str) -> Option<&'static str> {
    SELF_NAMED.iter().copied().find(|name| {
        text.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    })
}

/// `postgres: 17/main: user base [local] idle`, `postgres: user base 10.0.0.7(40312) SELECT`: a
/// session's title contains its client's address. So does that of a `walsender`, which serves a
/// replica.
pub fn is_postgresql_session(title: &str) -> bool {
    let is_place = |word: &str| {
        let port = word.strip_suffix(')').and_then(|word| word.rsplit_once('('));
        word == "[local]"
            || port.is_some_and(|(host, port)| {
                !host.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
            })
    };
    title.starts_with("postgres: ") && title.split_whitespace().skip(2).any(is_place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_of_all_versions_tell_roles() {
        for (title, expected) in [
            ("postgres: 15/main: checkpointer ", "checkpointer"),
            ("postgres: checkpointer process   ", "checkpointer"),
            ("postgres: checkpointer", "checkpointer"),
            ("postgres: a: b: background writer", "background writer"),
            ("postgres: 17/main: walwriter", "walwriter"),
            ("postgres: autovacuum worker shop", "autovacuum worker"),
            ("postgres: archiver last was 00000001000000000000002A", "archiver"),
            ("postgres: startup recovering 000000010000000000000001", "startup"),
            ("postgres: logger", "logger"),
            ("postgres: io worker 2", "io worker"),
            (
                "postgres: 16/main: logical replication apply worker for subscription 16394 ",
                "logical replication apply worker",
            ),
            ("postgres: walreceiver streaming 0/3000060", "walreceiver"),
            ("postgres: walsender replica 10.0.0.9(51000) streaming 0/3000060", "walsender"),
            ("postgres: user db [local] idle", SESSION),
            ("postgres: 15/main: my user my db 10.0.0.7(40312) SELECT", SESSION),
            ("postgres: checkpointer shop [local] idle", SESSION),
            ("edb-postgres: walwriter", "walwriter"),
            ("postgres: 15/main: pg_cron launcher ", "pg_cron launcher"),
            ("postgres: bgworker: my worker", "my worker"),
        ] {
            let role = of_title(title).unwrap();
            assert_eq!((role.name.as_str(), role.leader), (expected, None), "{title}");
        }
    }

    #[test]
    fn a_parallel_worker_has_a_leader() {
        let role = of_title("postgres: hopcost: parallel worker for PID 123 ").unwrap();
        assert_eq!(role, Role { name: "parallel worker".into(), leader: Some(123) });
    }

    #[test]
    fn a_command_line_is_no_title() {
        for line in [
            "/usr/lib/postgresql/15/bin/postgres -D /var/lib/postgresql/15/main",
            "postgres -D /srv/data -c log_line_prefix=postgres: ",
            "postgres:",
            "",
        ] {
            assert_eq!(of_title(line), None, "{line}");
        }
    }
}
