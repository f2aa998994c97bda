//! What a library logged of a session's statements, in files of that session.

use std::path::PathBuf;

use hopcost_core::{Audit, Statement, TargetError};

use super::super::server::audit_log::{AuditEntry, AuditLineParser, AuditLogReader, Audited};
use super::super::server::failed;

pub type AuditedSession = Audited<AuditLogReader>;

/// Session `number`: its statements are logged in the first file, their details in the second.
pub fn of_session(
    number: u32,
    audit: Audit,
    files: &[PathBuf],
    statements: Vec<Statement>,
) -> Result<AuditedSession, TargetError> {
    let parsers: [Box<dyn AuditLineParser>; 2] = [
        Box::new(StatementParser { number, statements, begun: String::new() }),
        Box::new(DetailParser(number)),
    ];
    let reader = AuditLogReader::open(files.iter().zip(parsers)).map_err(failed)?;
    Audited::new(audit, reader.into(), number)
}

/// Matches whole statements, so that hopcost's other queries are not counted as calls.
struct StatementParser {
    number: u32,
    statements: Vec<Statement>,
    begun: String,
}

impl AuditLineParser for StatementParser {
    fn take(&mut self, line: &[u8]) -> Option<(u32, AuditEntry)> {
        let line = std::str::from_utf8(line).unwrap_or_default();
        let is = |text: &str| self.statements.iter().any(|statement| statement.sql == text);
        let begins = |text: &str| self.statements.iter().any(|one| one.sql.starts_with(text));
        let longer = format!("{}{line}", self.begun);
        let is_call = is(&longer) || is(line);
        let begun = [longer + "\n", format!("{line}\n")];
        self.begun = begun.into_iter().find(|begun| !is_call && begins(begun)).unwrap_or_default();
        is_call.then_some((self.number, AuditEntry::Call))
    }
}

struct DetailParser(u32);

impl AuditLineParser for DetailParser {
    fn take(&mut self, line: &[u8]) -> Option<(u32, AuditEntry)> {
        (!line.is_empty()).then_some((self.0, AuditEntry::DetailOfCall))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::server::audit_log::counted;
    use super::*;

    #[test]
    fn texts_of_several_lines_are_told_from_what_was_asked_besides() {
        let texts = ["SELECT 1\n WHERE true", "SELECT 1"];
        let counted = |calls, log: &str| {
            let statements = texts.map(|sql| Statement::of("one", sql, 0)).to_vec();
            let parser = StatementParser { number: 7, statements, begun: String::new() };
            counted(Audit::Statements, calls, Box::new(parser), &[log])
        };
        let log = "SELECT 1\n WHERE true\nSET threads = 1\nSELECT 1\nSELECT 12\nSELECT 1\n";
        assert_eq!(counted(3, log), [3, 3]);
        assert_eq!(counted(1, "SELECT 1"), [0, 1], "it is not all there");
    }
}
