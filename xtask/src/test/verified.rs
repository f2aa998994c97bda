//! `.ci/verified`: the file digest with which each group last passed, and durations.
//!
//! A group's line has a digest of the files that call for it, so that squash, rebase and shallow
//! clones do not matter. Only a run that passed completely, on a clean tree, writes it. A missing
//! or invalid line means that the group never passed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use crate::{clock, command, git, project};

use super::groups::GROUPS;

const FILE: &str = ".ci/verified";
const HEAD: &str = "\
# Written by `cargo xtask test`: on which files each group of tests passed last, in how many seconds and when, as
# seconds since 1970; and what each test binary took.
";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    pub digest: String,
    pub seconds: u64,
    pub at: u64,
    pub commit: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    groups: BTreeMap<String, Passed>,
    seconds: BTreeMap<String, u64>,
}

impl Verified {
    pub fn read() -> Result<Self> {
        match fs::read_to_string(project().join(FILE)) {
            Ok(text) => Ok(Self::parse(&text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).context(FILE),
        }
    }

    fn parse(text: &str) -> Self {
        let mut verified = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["group", name, digest, seconds, at, commit] => {
                    let (Ok(seconds), Ok(at)) = (seconds.parse(), at.parse()) else { continue };
                    let (digest, commit) = (digest.to_owned(), commit.to_owned());
                    verified.groups.insert(name.to_owned(), Passed { digest, seconds, at, commit });
                }
                ["took", seconds, ..] => {
                    let (Ok(seconds), Some((_, name))) = (seconds.parse(), line.split_once(" s "))
                    else {
                        continue;
                    };
                    verified.seconds.insert(name.to_owned(), seconds);
                }
                _ => {}
            }
        }
        verified
    }

    fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        for (name, Passed { digest, seconds, at, commit }) in &self.groups {
            let _ = writeln!(text, "group {name} {digest} {seconds} {at} {commit}");
        }
        for (name, seconds) in &self.seconds {
            let _ = writeln!(text, "took {seconds} s {name}");
        }
        text
    }

    pub fn write(&self) -> Result<()> {
        fs::write(project().join(FILE), self.text()).context(FILE)
    }

    pub fn with(&self, passed: &[(String, u64, Option<&'static str>)]) -> Result<Self> {
        let mut new = self.clone();
        let digests = digests()?;
        let commit = git::commit()?;
        let mut seconds_of: BTreeMap<&str, u64> = BTreeMap::new();
        for (name, seconds, group) in passed {
            new.seconds.insert(name.clone(), *seconds);
            if let Some(group) = group {
                *seconds_of.entry(group).or_default() += seconds;
            }
        }
        let at = clock::since_1970();
        for (group, seconds) in seconds_of {
            let digest = digests.get(group).context("a group without files")?.clone();
            let commit = commit.clone();
            new.groups.insert(group.to_owned(), Passed { digest, seconds, at, commit });
        }
        new.groups.retain(|name, _| GROUPS.iter().any(|group| group.name == name));
        Ok(new)
    }

    pub fn group(&self, name: &str) -> Option<&Passed> {
        self.groups.get(name)
    }

    pub fn seconds(&self, job: &str) -> Option<u64> {
        self.seconds.get(job).copied()
    }

    pub fn changed(&self) -> Result<Vec<&'static str>> {
        let digests = digests()?;
        let has_changed = |name: &&str| {
            let digest = digests.get(name);
            digest.is_none() || self.group(name).map(|passed| &passed.digest) != digest
        };
        Ok(GROUPS.iter().map(|group| group.name).filter(has_changed).collect())
    }

    /// The groups that passed longest ago, or never. Equally old ones alternate between longest and
    /// shortest, so that no run gets the two longest.
    pub fn tried_longest_ago(&self, count: usize) -> Vec<&'static str> {
        let mut left: Vec<&str> = GROUPS.iter().map(|group| group.name).collect();
        let passed =
            |name: &str| self.group(name).map_or((0, 0), |passed| (passed.at, passed.seconds));
        left.sort_by_key(|name| passed(name));
        let mut oldest = Vec::new();
        while oldest.len() < count && !left.is_empty() {
            let of_one_age = left.partition_point(|name| passed(name).0 == passed(left[0]).0);
            oldest.push(left.remove(if oldest.len() % 2 == 0 { of_one_age - 1 } else { 0 }));
        }
        oldest
    }
}

fn digests() -> Result<BTreeMap<&'static str, String>> {
    let mut files = command::output(&mut git::git(&["ls-files", "--stage"]))?;
    // Uncommitted content has no git digest; it gets a unique one.
    for line in git::changes()?.lines() {
        let _ = writeln!(
            files,
            "{} changed\t{}",
            clock::since_1970(),
            line.get(3..).unwrap_or_default()
        );
    }
    let digest = |name: &'static str, lines: Vec<&str>| Ok((name, digest_of(&lines.join("\n"))?));
    let of_group = |group: &super::Group| {
        let path = |line: &&str| line.split_once('\t').map(|(_, path)| path.to_owned());
        let calls = |line: &&str| path(line).is_some_and(|path| group.is_called_for_by(&path));
        digest(group.name, files.lines().filter(calls).collect())
    };
    GROUPS.iter().map(of_group).collect()
}

fn digest_of(text: &str) -> Result<String> {
    let mut hash = git::git(&["hash-object", "--stdin"]);
    let mut child = hash.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("git")?;
    child.stdin.take().context("git")?.write_all(text.as_bytes())?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "git hash-object: {}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_and_what_makes_no_sense_is_left_out() {
        let text = "group everything 0a1b 240 1700000000 abc1234\ngroup survey x\nnonsense\n\
                    took 12 s hopcost/servers\ntook 240 s everything: hopcost/servers\ntook x s a\n";
        let verified = Verified::parse(text);
        assert_eq!(verified.group("everything").unwrap().seconds, 240);
        assert_eq!(verified.group("survey"), None);
        assert_eq!(verified.seconds("everything: hopcost/servers"), Some(240));
        assert_eq!(Verified::parse(&verified.text()), verified);
    }

    #[test]
    fn who_never_passed_is_tried_first() {
        let line = |name: &str, at: u64| format!("group {name} 0 1 {at} c\n");
        let all = GROUPS.iter().enumerate().map(|(n, group)| line(group.name, 100 - n as u64));
        let text: String = all.filter(|line| !line.contains("group kerberos")).collect();
        let last = GROUPS.last().unwrap().name;
        assert_eq!(Verified::parse(&text).tried_longest_ago(2), ["kerberos", last]);
    }

    #[test]
    fn of_equally_old_groups_the_longest_comes_with_the_shortest() {
        let seconds = |name| match name {
            "release" => 700,
            "guest-shapes" => 400,
            "server-audit" => 1,
            _ => 50,
        };
        let line = |name| format!("group {name} 0 {} 9 c\n", seconds(name));
        let text: String = GROUPS.iter().map(|group| line(group.name)).collect();
        let tried = Verified::parse(&text).tried_longest_ago(3);
        assert_eq!(tried, ["release", "server-audit", "guest-shapes"]);
    }

    #[test]
    fn a_group_that_passed_on_other_files_is_called_for() {
        let digests = digests().unwrap();
        assert_eq!(digests.len(), GROUPS.len());
        let line = |(name, digest): (&&str, &String)| format!("group {name} {digest} 1 1 c\n");
        let text: String = digests.iter().map(line).collect();
        if git::changes().unwrap().is_empty() {
            assert_eq!(Verified::parse(&text).changed().unwrap(), [""; 0]);
        }
        let text = text.replacen(&digests["mysql-9"], "0", 1);
        assert!(Verified::parse(&text).changed().unwrap().contains(&"mysql-9"));
    }
}
