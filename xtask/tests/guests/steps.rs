//! Several tests in one boot: each step has its own shell, directory and time limit.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{Write as _, stderr};
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context, Result};
use serde_json::Value;
use xtask::test::build_saboteur;
use xtask::vm::{self, Kernel, Load, Turn, Vm};

pub struct Steps {
    vm: Vm,
    turn: Turn,
    script: String,
    names: Vec<&'static str>,
    seconds: u64,
}

pub struct Tried {
    files: BTreeMap<String, String>,
    console: String,
}

#[derive(Clone, Copy)]
pub struct Step<'a> {
    of: &'a Tried,
    name: &'static str,
}

pub struct Boot {
    tries: fn() -> Result<Tried>,
    tried: OnceLock<Result<Tried, String>>,
}

impl Boot {
    pub const fn of(tries: fn() -> Result<Tried>) -> Self {
        Self { tries, tried: OnceLock::new() }
    }

    pub fn step(&'static self, name: &'static str) -> Step<'static> {
        let tried = self.tried.get_or_init(|| (self.tries)().map_err(|error| format!("{error:#}")));
        tried.as_ref().unwrap_or_else(|error| panic!("{error}")).step(name)
    }
}

impl Steps {
    pub fn on(shape: &str, kernel: Kernel, load: Load) -> Result<Self> {
        let (vm, turn) = vm::guest(shape, kernel, load)?;
        Ok(Self { vm, turn, script: String::new(), names: Vec::new(), seconds: 60 })
    }

    pub fn mib_per_node(self, mib: u32) -> Self {
        Self { vm: self.vm.mib_per_node(mib), ..self }
    }

    pub fn with(self, from: &Path, to: &str) -> Self {
        Self { vm: self.vm.with(from, to), ..self }
    }

    pub fn with_text(mut self, to: &str, text: &str) -> Self {
        let _ = write!(self.script, "cat > {to} <<'END_OF_TEXT'\n{text}\nEND_OF_TEXT\n");
        self
    }

    /// A helper that disturbs runs, on the guest's PATH.
    pub fn with_saboteur(self, name: &str) -> Result<Self> {
        Ok(self.with(&build_saboteur(name)?, &format!("/usr/local/bin/{name}")))
    }

    /// A shell script that starts in an empty directory, and leaves its results there.
    pub fn step(mut self, name: &'static str, seconds: u64, script: &str) -> Self {
        let _ = write!(
            self.script,
            "cat > /step <<'END_OF_STEP'\n{script}\nEND_OF_STEP\n\
             mkdir /out/{name} && cd /out/{name}\n\
             begun=$(cut -d. -f1 /proc/uptime)\n\
             timeout {seconds} sh /step > said 2>&1; echo $? > exit\n\
             [ $(cat exit) -lt 124 ] || killall -q -9 hopcost postgres mariadbd\n\
             echo $(($(cut -d. -f1 /proc/uptime) - begun)) > seconds\n"
        );
        self.names.push(name);
        self.seconds += seconds;
        self
    }

    pub fn run(self) -> Result<Tried> {
        let Self { vm, turn, script, names, seconds } = self;
        let outcome = vm.seconds(seconds).run(&script)?;
        drop(turn);
        let mut files = BTreeMap::new();
        for name in &names {
            let dir = outcome.dir().join(name);
            for entry in dir.read_dir().with_context(|| format!("no step {name}"))? {
                let path = entry?.path();
                let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
                let file = path.file_name().unwrap_or_default().to_string_lossy();
                files.insert(format!("{name}/{file}"), text);
            }
        }
        let seconds = |name| {
            format!(" {name} {} s", files.get(&format!("{name}/seconds")).map_or("?", |s| s.trim()))
        };
        let _ = writeln!(
            stderr(),
            "xtask:{}",
            names.into_iter().map(seconds).collect::<Vec<_>>().join(",")
        );
        Ok(Tried { files, console: outcome.console })
    }
}

impl Tried {
    pub fn step(&self, name: &'static str) -> Step<'_> {
        Step { of: self, name }
    }
}

impl<'a> Step<'a> {
    pub fn read(self, file: &str) -> &'a str {
        let text = self.of.files.get(&format!("{}/{file}", self.name));
        text.unwrap_or_else(|| panic!("{} left no {file}: {}", self.name, self.said()))
    }

    pub fn word(self, file: &str) -> &'a str {
        self.read(file).trim()
    }

    pub fn json(self, file: &str) -> Value {
        let text = self.read(file);
        serde_json::from_str(text).unwrap_or_else(|error| {
            panic!("{}: {file}: {error}: {text}\n{}", self.name, self.said())
        })
    }

    pub fn is_done(self) -> Self {
        assert_eq!(self.word("exit"), "0", "{}: {}", self.name, self.said());
        self
    }

    pub fn said(self) -> String {
        let shown = |(path, text): (&String, &String)| {
            let file = path.strip_prefix(self.name)?.strip_prefix('/')?;
            let some: String = text.chars().take(4000).collect();
            Some(format!("{file}: {}\n", some.trim_end()))
        };
        let left: String = self.of.files.iter().filter_map(shown).collect();
        format!("it left:\n{left}its machine printed:\n{}", self.of.console)
    }
}
