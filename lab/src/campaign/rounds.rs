//! The record of a campaign's finished rounds.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use xtask::{command, git, project, target};

const DOCUMENT: &str = "docs/method/validation.md";

pub struct Rounds {
    name: &'static str,
    pub commit: String,
    file: PathBuf,
    pub done: Vec<String>,
}

impl Rounds {
    /// Finished rounds of the current commit; uncommitted changes are an error.
    pub fn of(name: &'static str) -> Result<Self> {
        ensure!(git::changes()?.is_empty(), "commit first: a result is of a commit");
        let commit = git::commit()?;
        let dir = target().join("validate");
        fs::create_dir_all(&dir)?;
        let file = dir.join(format!("{name}-{commit}"));
        let done = fs::read_to_string(&file).unwrap_or_default();
        Ok(Self { name, commit, file, done: done.lines().map(str::to_owned).collect() })
    }

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

    pub fn push(&mut self, line: String) -> Result<()> {
        println!("lab: {}: {line}", self.name);
        self.done.push(line);
        fs::write(&self.file, self.done.join("\n") + "\n").context("writing down a round")
    }

    /// What belongs to a round and is no line: it is kept with the lines.
    pub fn dir(&self) -> Result<PathBuf> {
        let dir = self.file.with_extension("d");
        fs::create_dir_all(&dir)?;
        Ok(dir)
    }

    pub fn conclude(&self, summary: &str, head: &str) -> Result<()> {
        self.conclude_with(summary, head, &self.done)
    }

    /// With other lines than those of the rounds.
    pub fn conclude_with(&self, summary: &str, head: &str, lines: &[String]) -> Result<()> {
        let path = project().join(DOCUMENT);
        let mut text = fs::read_to_string(&path).context(DOCUMENT)?;
        let date = command::output(Command::new("date").arg("+%Y-%m-%d"))?;
        let (name, commit, date, machine) = (self.name, &self.commit, date.trim(), machine());
        write!(text, "\n## {name}, {date}, {commit}\n\n{machine}.\n{summary}\n\n| {head} |\n|")?;
        text.extend(head.split('|').map(|_| "---|"));
        for line in lines {
            write!(text, "\n| {line} |")?;
        }
        text.push('\n');
        fs::write(&path, text).context(DOCUMENT)?;
        println!("lab: wrote {DOCUMENT}");
        Ok(())
    }
}

fn machine() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("a processor without a name", |(_, model)| model);
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{cpus} CPUs of {model}")
}
