//! What is said to a server beside data sets and workloads: a file for each statement, which says from and until
//! which version it is for, and what it was spoken to.
//!
//! Limits: no SQL Server could be installed where hopcost is made. What was never spoken to a server is
//! *experimental*; `plan --sql` says of each whether that is so.

use hopcost_core::{Code, Reason};

/// A statement in a file of its own.
#[derive(Clone, Copy, Debug)]
pub struct Script {
    /// The file's name.
    pub name: &'static str,
    text: &'static str,
}

macro_rules! scripts {
    ($($name:literal),* $(,)?) => {
        &[$(Script { name: $name, text: include_str!(concat!("sql/", $name, ".sql")) }),*]
    };
}

/// All of them.
pub const SCRIPTS: &[Script] = scripts![
    "identity",
    "may_look",
    "may_look_2022",
    "be_alone",
    "database_is_there",
    "mark_is_there",
    "mark",
    "create_database",
    "recovery",
    "create_mark",
    "memory_filegroup",
    "columnstore",
    "schedulers",
    "nodes",
    "memory_nodes",
    "log_writers",
    "worker_cpu",
    "affinity",
    "set_affinity",
    "set_affinity_auto",
    "audit_place",
    "create_audit",
    "create_audit_specification",
    "create_trace",
    "begin_audit",
    "end_audit",
    "begin_trace",
    "end_trace",
    "audited",
    "traced",
    "drop_audit",
    "drop_audit_specification",
    "drop_trace",
    "delete_audits",
    "delete_traces",
    "audit_file",
    "trace_file",
    "writes_down",
    "begin_sql_trace",
    "end_sql_trace",
    "sql_trace_file",
    "sql_trace_is_on",
    "sql_traced",
    "delete_sql_traces",
    "plan_on",
    "plan_off",
    "buffer_nodes",
    "page_homes",
    "buffer_reads",
    "log_bytes",
    "waits",
    "spinlocks",
    "end_stragglers",
    "be_single_user",
    "drop_database",
    "drop_jobs",
];

/// The years of versions, by the first part of their numbers.
const YEARS: [(u32, u32); 7] =
    [(11, 2012), (12, 2014), (13, 2016), (14, 2017), (15, 2019), (16, 2022), (17, 2025)];

/// The year of a version, the newest that is known for one that is newer; none before 2012.
pub fn year_of(version: &str) -> Option<u32> {
    let major: u32 = version.split('.').next()?.parse().ok()?;
    YEARS.iter().rev().find(|(number, _)| *number <= major).map(|(_, year)| *year)
}

impl Script {
    /// What its head says of something.
    fn head(&self, key: &str) -> Option<&'static str> {
        let lines = self.text.lines().map_while(|line| line.strip_prefix("-- "));
        let mut values = lines.filter_map(|line| line.split_once(": "));
        values.find(|(of, _)| *of == key).map(|(_, value)| value)
    }

    /// What it is for.
    pub fn about(&self) -> &'static str {
        self.head("about").unwrap_or_default()
    }

    /// The versions that it is for.
    pub fn versions(&self) -> String {
        let from = self.head("from").unwrap_or("2012");
        match self.head("until") {
            Some(until) => format!("{from} to {until}"),
            None => format!("{from} and later"),
        }
    }

    /// The server that has carried it out; none has, of what is experimental.
    pub fn spoken_to(&self) -> Option<&'static str> {
        self.head("spoken")
    }

    /// Is it for the version of this year?
    pub fn is_for(&self, year: u32) -> bool {
        let bound = |key| self.head(key).and_then(|year| year.parse::<u32>().ok());
        bound("from").is_none_or(|from| from <= year)
            && bound("until").is_none_or(|until| year <= until)
    }

    /// The statement itself.
    pub fn sql(&self) -> &'static str {
        let head = self.text.lines().take_while(|line| line.starts_with("-- "));
        let length: usize = head.map(|line| line.len() + 1).sum();
        self.text.get(length..).unwrap_or_default().trim_end()
    }
}

/// The statement of this name for this version of a server; one whose name goes on with a year is meant, too.
pub fn sql(name: &str, version: &str) -> Result<&'static str, Reason> {
    let year = year_of(version).unwrap_or(0);
    let is_meant = |script: &&Script| {
        let rest = script.name.strip_prefix(name).map(|rest| rest.trim_start_matches('_'));
        let is_named = rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
        is_named && script.is_for(year)
    };
    SCRIPTS.iter().find(is_meant).map(Script::sql).ok_or_else(|| {
        Code::WrongVersion.because(format!(
            "hopcost has no statement '{name}' for version {version} of SQL Server"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_says_what_it_is_for_and_from_which_version() {
        for script in SCRIPTS {
            assert!(!script.about().is_empty() && !script.sql().is_empty(), "{}", script.name);
            assert!(
                script.head("from").is_some_and(|from| from.parse::<u32>().is_ok()),
                "{}",
                script.name
            );
            assert!(!script.sql().starts_with("--"), "{}", script.name);
        }
    }

    #[test]
    fn each_version_has_its_own_words() {
        assert_eq!(year_of("11.0.2100.60"), Some(2012));
        assert_eq!(
            [year_of("17.0.1"), year_of("19.1"), year_of("10.50")],
            [Some(2025), Some(2025), None]
        );
        assert!(sql("may_look", "15.0.1").unwrap().contains("VIEW SERVER STATE"));
        assert!(sql("may_look", "16.0.1").unwrap().contains("VIEW SERVER PERFORMANCE STATE"));
        assert!(sql("memory_filegroup", "11.0.1").unwrap_err().to_string().contains("11.0.1"));
        assert!(sql("mark", "12.0").unwrap().contains("content"));
    }

    #[test]
    fn every_file_is_known() {
        let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sqlserver/sql");
        let files = std::fs::read_dir(dir).unwrap().map(|file| file.unwrap().file_name());
        let mut files: Vec<String> = files.map(|name| name.into_string().unwrap()).collect();
        let mut known: Vec<String> =
            SCRIPTS.iter().map(|script| format!("{}.sql", script.name)).collect();
        files.sort();
        known.sort();
        assert_eq!(files, known);
    }
}
