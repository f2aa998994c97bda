//! Statement logging in PostgreSQL: parses the server log to count each statement.
//!
//! Method: the audit variant is a setting of each session, so one server serves all of them.
//! `statements` is `log_statement = all`; `trace` adds the executed plan with rows and times
//! (`auto_explain`). Each line of the log names the backend that wrote it.
//!
//! Limits: managed servers only; no scripts, because hopcost does not count the commands they send.

use hopcost_core::Audit;

use super::super::server::audit_log::{AuditEntry, AuditLineParser};

pub fn settings(audit: Audit) -> &'static str {
    match audit {
        Audit::Off => "SET log_statement = 'none'",
        Audit::Statements => "SET log_statement = 'all'",
        Audit::Trace => {
            "LOAD 'auto_explain'; SET log_statement = 'all'; SET auto_explain.log_min_duration = 0; \
             SET auto_explain.log_analyze = on; SET auto_explain.log_buffers = on"
        }
    }
}

pub struct ServerLog;

impl AuditLineParser for ServerLog {
    fn take(&mut self, line: &[u8]) -> Option<(u32, AuditEntry)> {
        let (pid, said) = said(line)?;
        let said = match said {
            said if said.starts_with(b"execute ") => AuditEntry::Call,
            said if said.starts_with(b"statement: ") => AuditEntry::Besides,
            said if said.starts_with(b"duration: ") && said.ends_with(b"  plan:") => {
                AuditEntry::Detail
            }
            _ => return None,
        };
        Some((pid, said))
    }
}

/// PID and text of a line such as `2026-01-31 12:00:00.000 UTC [123] LOG:  execute hopcost_0:
/// SELECT …`.
fn said(line: &[u8]) -> Option<(u32, &[u8])> {
    let open = line.iter().position(|byte| *byte == b'[')?;
    let close = open + line[open..].iter().position(|byte| *byte == b']')?;
    let pid = std::str::from_utf8(&line[open + 1..close]).ok()?.parse().ok()?;
    Some((pid, line[close + 1..].strip_prefix(b" LOG:  ")?))
}

#[cfg(test)]
mod tests {
    use super::super::super::server::audit_log;
    use super::*;

    const STATEMENT: &str = "2026-01-31 12:00:00.000 UTC [7] LOG:  execute hopcost_0: SELECT 1\n\
        2026-01-31 12:00:00.000 UTC [7] DETAIL:  parameters: $1 = '[8] LOG:  execute'\n";
    const PLAN: &str =
        "2026-01-31 12:00:00.001 UTC [7] LOG:  duration: 0.02 ms  plan:\n\tQuery Text: SELECT 1\n";
    const OTHERS: &str = "2026-01-31 12:00:00.002 UTC [8] LOG:  execute hopcost_0: SELECT 1\n\
        2026-01-31 12:00:00.002 UTC [7] LOG:  statement: SELECT 2\n";

    fn counted(audit: Audit, calls: u64, log: &[&str]) -> [u64; 2] {
        audit_log::counted(audit, calls, Box::new(ServerLog), log)
    }

    #[test]
    fn each_statement_has_to_be_there_once_and_of_the_session_that_sent_it() {
        assert_eq!(counted(Audit::Statements, 2, &[STATEMENT, OTHERS, STATEMENT]), [2, 2]);
        assert_eq!(counted(Audit::Statements, 2, &[STATEMENT, OTHERS]), [1, 2], "missing");
        assert_eq!(counted(Audit::Statements, 2, &[STATEMENT; 3]), [1, 2], "twice");
        assert_eq!(counted(Audit::Off, 2, &[OTHERS]), [2, 2]);
        assert_eq!(counted(Audit::Off, 2, &[STATEMENT]), [1, 2], "nobody asked for it");
    }

    #[test]
    fn a_trace_has_the_plan_of_each_statement_too() {
        assert_eq!(counted(Audit::Trace, 1, &[STATEMENT, PLAN]), [1, 1]);
        assert_eq!(counted(Audit::Trace, 2, &[STATEMENT, PLAN, STATEMENT]), [1, 2]);
        assert_eq!(counted(Audit::Trace, 1, &[STATEMENT, PLAN, OTHERS, PLAN]), [1, 1], "besides");
        assert_eq!(counted(Audit::Statements, 1, &[STATEMENT, PLAN]), [0, 1], "more than asked");
        let time = "2026-01-31 12:00:00.001 UTC [7] LOG:  duration: 0.02 ms\n";
        assert_eq!(counted(Audit::Trace, 1, &[STATEMENT, time]), [0, 1], "a time is no plan");
        assert_eq!(counted(Audit::Statements, 1, &[STATEMENT, time]), [1, 1]);
    }
}
