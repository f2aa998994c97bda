//! SQL beside data sets and workloads, by version; what was never run is experimental.

use hopcost_core::{Code, Reason};

#[derive(Clone, Copy, Debug)]
pub struct Script {
    pub name: &'static str,
    text: &'static str,
}

pub fn all() -> impl Iterator<Item = Script> {
    include_str!("scripts.sql").split("-- name: ").skip(1).map(|section| {
        let (name, text) = section.split_once('\n').unwrap_or((section, ""));
        Script { name, text }
    })
}

const YEARS: [(u32, u32); 7] =
    [(11, 2012), (12, 2014), (13, 2016), (14, 2017), (15, 2019), (16, 2022), (17, 2025)];

/// Versions newer than all known ones count as the newest; `None` before 2012.
pub fn year_of(version: &str) -> Option<u32> {
    let major: u32 = version.split('.').next()?.parse().ok()?;
    YEARS.iter().rev().find(|(number, _)| *number <= major).map(|(_, year)| *year)
}

impl Script {
    fn head(self, key: &str) -> Option<&'static str> {
        let lines = self.text.lines().map_while(|line| line.strip_prefix("-- "));
        let mut values = lines.filter_map(|line| line.split_once(": "));
        values.find(|(of, _)| *of == key).map(|(_, value)| value)
    }

    pub fn about(self) -> &'static str {
        self.head("about").unwrap_or_default()
    }

    pub fn versions(self) -> String {
        let from = self.head("from").unwrap_or("2012");
        match self.head("until") {
            Some(until) => format!("{from} to {until}"),
            None => format!("{from} and later"),
        }
    }

    /// The server it was tested on; `None` when experimental.
    pub fn spoken_to(self) -> Option<&'static str> {
        self.head("spoken")
    }

    fn is_for(self, year: u32) -> bool {
        let bound = |key| self.head(key).and_then(|year| year.parse::<u32>().ok());
        bound("from").is_none_or(|from| from <= year)
            && bound("until").is_none_or(|until| year <= until)
    }

    pub fn sql(self) -> &'static str {
        let mut lines = self.text.split_inclusive('\n');
        let head: usize =
            lines.by_ref().take_while(|line| line.starts_with("-- ")).map(str::len).sum();
        self.text[head..].trim_end()
    }
}

/// Names may end in a year.
pub fn sql(name: &str, version: &str) -> Result<&'static str, Reason> {
    let year = year_of(version).unwrap_or(0);
    let is_meant = |script: &Script| {
        let rest = script.name.strip_prefix(name).map(|rest| rest.trim_start_matches('_'));
        let is_named = rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
        is_named && script.is_for(year)
    };
    let words = || format!("hopcost has no statement '{name}' for version {version} of SQL Server");
    all().find(is_meant).map(Script::sql).ok_or_else(|| Code::WrongVersion.because(words()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_says_what_it_is_for_and_from_which_version() {
        for (n, script) in all().enumerate() {
            let name = script.name;
            assert!(!script.about().is_empty() && !script.sql().is_empty(), "{name}");
            assert!(!script.sql().contains("-- "), "{name}");
            let from = script.head("from").and_then(|from| from.parse::<u32>().ok());
            assert!(from.is_some_and(|from| script.is_for(from)), "{name}");
            assert!(all().take(n).all(|other| other.name != name), "{name}");
        }
    }

    #[test]
    fn each_version_has_its_own_words() {
        let years = ["11.0.2100.60", "17.0.1", "19.1", "10.50"].map(year_of);
        assert_eq!(years, [Some(2012), Some(2025), Some(2025), None]);
        for (name, version, words) in [
            ("may_look", "15.0.1", Ok("VIEW SERVER STATE")),
            ("may_look", "16.0.1", Ok("VIEW SERVER PERFORMANCE STATE")),
            ("memory_filegroup", "11.0.1", Err("11.0.1")),
            ("mark", "12.0", Ok("content")),
        ] {
            match (sql(name, version), words) {
                (Ok(sql), Ok(words)) => assert!(sql.contains(words), "{sql}"),
                (Err(reason), Err(words)) => assert!(reason.as_str().contains(words), "{reason}"),
                (got, _) => panic!("{name} {version}: {got:?}"),
            }
        }
    }
}
