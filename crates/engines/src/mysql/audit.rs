//! Statement logging in MySQL and MariaDB: turned on per session, read back and counted.
//!
//! Method: each session turns the general log (`statements`) and the slow log (`trace`: times and
//! rows, threshold 0) on or off for itself, so one managed server serves all audit variants. With
//! MariaDB's plugin `server_audit`, `statements` uses that instead: it filters by user only, so
//! those sessions log in as a user of their own. Each entry bears the connection's number.

use std::path::{Path, PathBuf};

use hopcost_core::Audit;

use super::super::server::audit_log::{AuditEntry, AuditLineParser, AuditLogReader};
use super::super::server::in_quotes;
use super::super::server::wire::{Wire as _, WireError};
use super::wire::Wire;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    Logs,
    Plugin,
}

pub const GENERAL_LOG: &str = "statements";
pub const SLOW_LOG: &str = "details";
const AUDIT_LOG: &str = "audited";

pub fn begin(wire: &mut Wire, directory: &Path) -> Result<(Means, AuditLogReader), String> {
    let words = |error: WireError| error.to_string();
    let has_plugin = wire.value(HAS_PLUGIN).map_err(words)?.as_deref() == Some("1");
    let means = if has_plugin { Means::Plugin } else { Means::Logs };
    let [general, slow, beside] =
        [GENERAL_LOG, SLOW_LOG, AUDIT_LOG].map(|name| directory.join(name));
    for sql in means.begin(&beside) {
        wire.query(&sql).map_err(words)?;
    }
    let audit_log = AuditLogReader::open(means.logs([general, slow], &beside));
    Ok((means, audit_log.map_err(|error| error.to_string())?))
}

const HAS_PLUGIN: &str = "SELECT COUNT(*) FROM information_schema.PLUGINS \
    WHERE PLUGIN_NAME = 'SERVER_AUDIT' AND PLUGIN_STATUS = 'ACTIVE'";
/// The plugin logs only this user's statements.
const USER: &str = "hopcost_audited";

type Read = (PathBuf, Box<dyn AuditLineParser>);

impl Means {
    fn begin(self, beside: &Path) -> Vec<String> {
        let logs = [
            "SET GLOBAL long_query_time = 31536000",
            "SET GLOBAL slow_query_log = ON",
            "SET GLOBAL general_log = ON",
        ];
        let mut begin: Vec<String> = logs.map(str::to_owned).into();
        if self == Self::Plugin {
            let path = in_quotes(&beside.display().to_string());
            begin.extend([
                format!("CREATE USER {USER}@localhost"),
                format!("GRANT ALL ON *.* TO {USER}@localhost"),
                format!("SET GLOBAL server_audit_file_path = '{path}'"),
                format!("SET GLOBAL server_audit_file_rotate_size = {}", i64::MAX),
                format!("SET GLOBAL server_audit_incl_users = '{USER}'"),
                "SET GLOBAL server_audit_events = 'QUERY_DML'".to_owned(),
                "SET GLOBAL server_audit_logging = ON".to_owned(),
            ]);
        }
        begin
    }

    fn logs(self, [general, slow]: [PathBuf; 2], beside: &Path) -> Vec<Read> {
        let mut logs: Vec<Read> =
            vec![(general, Box::new(General)), (slow, Box::<Slow>::default())];
        if self == Self::Plugin {
            logs.push((beside.to_owned(), Box::new(ByPlugin)));
        }
        logs
    }

    /// `None`: the session's usual user.
    pub fn user(self, audit: Audit) -> Option<&'static str> {
        (self == Self::Plugin && audit == Audit::Statements).then_some(USER)
    }

    pub fn settings(self, audit: Audit) -> [&'static str; 2] {
        let is_in_general = match audit {
            Audit::Off => false,
            Audit::Statements => self == Self::Logs,
            Audit::Trace => true,
        };
        let [off, on] = ["SET SESSION sql_log_off = ON", "SET SESSION sql_log_off = OFF"];
        let [never, always] =
            ["SET SESSION long_query_time = 31536000", "SET SESSION long_query_time = 0"];
        [if is_in_general { on } else { off }, if audit == Audit::Trace { always } else { never }]
    }
}

/// General log: tab-separated time, connection number with command, and argument.
struct General;

impl AuditLineParser for General {
    fn take(&mut self, line: &[u8]) -> Option<(u32, AuditEntry)> {
        // MariaDB leaves the time empty when it is that of the line before.
        let who =
            line.split(|byte| *byte == b'\t').find(|field| !field.is_empty() && !is_time(field))?;
        let (number, does) = std::str::from_utf8(who).ok()?.trim_start().split_once(' ')?;
        let said = match does {
            "Execute" => AuditEntry::Call,
            "Query" => AuditEntry::Besides,
            _ => return None,
        };
        Some((number.parse().ok()?, said))
    }
}

fn is_time(field: &[u8]) -> bool {
    field.contains(&b':')
}

/// Slow log: lines that begin with `#`, one of them with the connection's number, then optional
/// `SET` and `USE` lines, and the statement.
#[derive(Default)]
struct Slow {
    of: Option<u32>,
}

impl AuditLineParser for Slow {
    fn take(&mut self, line: &[u8]) -> Option<(u32, AuditEntry)> {
        let line = std::str::from_utf8(line).ok()?;
        if let Some(about) = line.strip_prefix("# ") {
            let number = ["Thread_id: ", "Id: "].iter().find_map(|name| about.split_once(name));
            let number = number.and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok());
            self.of = number.or(self.of);
            return None;
        }
        let before = ["SET timestamp=", "use ", "USE "];
        if line.is_empty() || before.iter().any(|words| line.starts_with(words)) {
            return None;
        }
        let number = self.of.take()?;
        Some((
            number,
            if line.starts_with("SET ") { AuditEntry::Besides } else { AuditEntry::DetailOfCall },
        ))
    }
}

/// Log of `server_audit`: time, host, user, client host, connection number, query number,
/// operation, database and text, separated by commas.
struct ByPlugin;

impl AuditLineParser for ByPlugin {
    fn take(&mut self, line: &[u8]) -> Option<(u32, AuditEntry)> {
        let mut fields = line.split(|byte| *byte == b',').skip(4);
        let number = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        (fields.nth(1)? == b"QUERY").then_some((number, AuditEntry::Call))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::server::audit_log;
    use super::*;

    const MARIADB: &str =
        "251122  6:37:06\t     7 Execute\tSELECT 1\n\t\t     8 Execute\tSELECT 1\n";
    const MYSQL: &str = "2025-11-22T06:37:06.123456Z\t    7 Execute\tSELECT 1\n";
    const BESIDES: &str = "\t\t     7 Query\tSELECT 7\n\t\t     7 Prepare\tSELECT 1\n";
    const SLOW: &str = "# Time: 251122  6:37:06\n# User@Host: root[root] @ localhost []\n\
        # Thread_id: 7  Schema: hopcost  QC_hit: No\n# Query_time: 0.000012  Lock_time: 0.0\n\
        use hopcost;\nSET timestamp=1763793426;\nSELECT 1;\n";
    const SLOW_OF_MYSQL: &str = "# Time: 2025-11-22T06:37:06.1Z\n\
        # User@Host: root[root] @ localhost []  Id:     7\n# Query_time: 0.000012  Lock_time: 0.0\n\
        SET timestamp=1763793426;\nSELECT 1;\n";
    const SETS: &str =
        "# Thread_id: 7  Schema: hopcost\nSET timestamp=1;\nSET SESSION sql_log_off = OFF;\n";

    #[test]
    fn executions_are_found_in_the_general_log() {
        let counted = |calls, log: &[&str]| {
            audit_log::counted(Audit::Statements, calls, Box::new(General), log)
        };
        assert_eq!(counted(2, &[MARIADB, BESIDES, MYSQL]), [2, 2]);
        assert_eq!(counted(2, &[MARIADB]), [1, 2], "missing");
        assert_eq!(counted(1, &[MARIADB, MARIADB]), [0, 1], "twice");
    }

    #[test]
    fn what_the_plugin_writes_is_found() {
        let log = "20261123 00:55:29,here,hopcost_audited,localhost,7,42,QUERY,hopcost,'SELECT 1, 2',0\n\
            20261123 00:55:29,here,hopcost_audited,localhost,7,0,DISCONNECT,hopcost,,0\n\
            20261123 00:55:29,here,hopcost_audited,localhost,8,43,QUERY,hopcost,'SELECT 1, 2',0\n";
        let counted = audit_log::counted(Audit::Statements, 1, Box::new(ByPlugin), &[log]);
        assert_eq!(counted, [1, 1]);
    }

    #[test]
    fn what_was_slow_is_found_with_its_session() {
        let mut slow = Slow::default();
        let log = [SETS, SLOW, SLOW_OF_MYSQL].concat();
        let said: Vec<_> = log.lines().filter_map(|line| slow.take(line.as_bytes())).collect();
        assert_eq!(
            said,
            [
                (7, AuditEntry::Besides),
                (7, AuditEntry::DetailOfCall),
                (7, AuditEntry::DetailOfCall)
            ]
        );
    }
}
