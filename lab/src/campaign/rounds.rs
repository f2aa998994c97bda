//! What a campaign has done, and where it is written down.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use xtask::{command, git, project, target};

const DOCUMENT: &str = "docs/method/validation.md";

/// The rounds of a campaign on one commit.
pub struct Rounds {
    name: &'static str,
    pub commit: String,
    file: PathBuf,
    pub done: Vec<String>,
}

impl Rounds {
    /// Those that are done already on the code as it is, which has to be committed.
    pub fn of(name: &'static str) -> Result<Self> {
        ensure!(git::changes()?.is_empty(), "commit first: a result is of a commit");
        let commit = git::commit()?;
        let dir = target().join("validate");
        fs::create_dir_all(&dir)?;
        let file = dir.join(format!("{name}-{commit}"));
        let done = fs::read_to_string(&file).unwrap_or_default();
        Ok(Self { name, commit, file, done: done.lines().map(str::to_owned).collect() })
    }

    /// The commit on which it was tried before, and what came of it; none where there was none.
    pub fn before(&self) -> Option<(String, Vec<String>)> {
        let prefix = format!("{}-", self.name);
        let files = self.file.parent()?.read_dir().ok()?.flatten();
        let others = files.filter(|entry| entry.path() != self.file);
        let named = others.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let commit = name.strip_prefix(&prefix)?.to_owned();
            Some((entry.metadata().ok()?.modified().ok()?, commit, entry.path()))
        });
        let (_, commit, path) = named.max()?;
        let lines = fs::read_to_string(path).ok()?;
        Some((commit, lines.lines().map(str::to_owned).collect()))
    }

    /// Writes down how a round ended, in one line.
    pub fn push(&mut self, line: String) -> Result<()> {
        println!("lab: {}: {line}", self.name);
        self.done.push(line);
        fs::write(&self.file, self.done.join("\n") + "\n").context("writing down a round")
    }

    /// Appends what they came to to the document.
    pub fn conclude(&self, summary: &str, head: &str) -> Result<()> {
        let path = project().join(DOCUMENT);
        let mut text = fs::read_to_string(&path).context(DOCUMENT)?;
        let date = command::output(Command::new("date").arg("+%Y-%m-%d"))?;
        let (name, commit, date, machine) = (self.name, &self.commit, date.trim(), machine());
        write!(text, "\n## {name}, {date}, {commit}\n\n{machine}.\n{summary}\n\n| {head} |\n|")?;
        text.extend(head.split('|').map(|_| "---|"));
        for line in &self.done {
            write!(text, "\n| {line} |")?;
        }
        text.push('\n');
        fs::write(&path, text).context(DOCUMENT)?;
        println!("lab: wrote {DOCUMENT}");
        Ok(())
    }
}

/// Its processor and how many CPUs it has.
fn machine() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("a processor without a name", |(_, model)| model);
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{cpus} CPUs of {model}")
}
