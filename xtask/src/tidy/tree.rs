//! The project's files, and complaints about them.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::scan::Scan;

#[derive(Debug)]
pub struct Tree {
    pub files: Vec<File>,
}

#[derive(Debug)]
pub struct File {
    pub path: String,
    pub text: String,
    /// Empty if it is not Rust.
    pub scan: Scan,
    /// Not part of a shipped binary.
    pub is_test: bool,
}

#[derive(Debug)]
pub struct Complaint {
    pub path: String,
    pub line: usize,
    pub words: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.words)
    }
}

impl Tree {
    pub fn read(root: &Path) -> Result<Self> {
        let mut files = Vec::new();
        let mut directories = vec![root.to_path_buf()];
        while let Some(directory) = directories.pop() {
            let entries = directory.read_dir().with_context(|| directory.display().to_string())?;
            for path in entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()? {
                // In a git worktree `.git` is a file.
                if path.ends_with("target") || path.ends_with(".git") {
                    continue;
                }
                if path.is_dir() {
                    directories.push(path);
                } else if let Ok(text) = fs::read_to_string(&path) {
                    files.push((path.strip_prefix(root)?.to_string_lossy().into_owned(), text));
                }
            }
        }
        Ok(Self::of(files))
    }

    pub fn of(files: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut files: Vec<File> = files.into_iter().map(File::new).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let test_modules: Vec<String> = files.iter().flat_map(File::test_modules).collect();
        for file in files.iter_mut().filter(|file| file.is_rust()) {
            let module = file.module();
            let is_in = |test: &String| {
                module
                    .strip_prefix(test)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            file.is_test = file.path.contains("/tests/") || test_modules.iter().any(is_in);
        }
        Self { files }
    }

    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    pub fn sources(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_rust())
    }

    pub fn production(&self) -> impl Iterator<Item = &File> {
        self.sources().filter(|file| !file.is_test)
    }

    /// Text files without the lock file and recordings.
    pub fn writings(&self) -> impl Iterator<Item = &File> {
        let is_written = |file: &&File| {
            !file.path.starts_with("fixtures/machines/") && !file.has_extension("lock")
        };
        self.files.iter().filter(is_written)
    }
}

impl File {
    fn new((path, text): (String, String)) -> Self {
        let mut file = Self { path, text, scan: Scan::default(), is_test: false };
        if file.is_rust() {
            file.scan = Scan::of(&file.text);
        }
        file
    }

    pub fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|e| e == extension)
    }

    fn is_rust(&self) -> bool {
        self.has_extension("rs")
    }

    /// `crates/sys/src/clock` of `clock.rs` and of `clock/mod.rs`, `crates/sys/src` of `lib.rs`.
    pub fn module(&self) -> &str {
        let path = self.path.strip_suffix(".rs").unwrap_or(&self.path);
        let names_its_directory = ["/mod", "/lib", "/main"];
        names_its_directory.iter().find_map(|name| path.strip_suffix(name)).unwrap_or(path)
    }

    /// Is it a `mod.rs` or `lib.rs`, whose declarations list the directory's contents?
    pub fn is_contents(&self) -> bool {
        !self.path.ends_with(&format!("{}.rs", self.module()))
    }

    fn test_modules(&self) -> impl Iterator<Item = String> {
        self.scan.test_modules.iter().map(|name| format!("{}/{name}", self.module()))
    }

    pub fn tests(&self) -> impl Iterator<Item = &str> {
        self.scan.tests.iter().map(|test| &self.text[test.clone()])
    }

    pub fn literals(&self) -> impl Iterator<Item = &str> {
        let masked = self.scan.code.match_indices('"').map(|(at, _)| at);
        let begins = masked.filter(|at| !self.scan.code[..*at].ends_with('"'));
        begins.filter_map(|at| self.text[at..].strip_prefix('"')?.split('"').next())
    }

    /// Without comments, blank lines and tests.
    pub fn code_lines(&self) -> usize {
        self.scan.code.lines().filter(|line| !line.trim().is_empty()).count()
    }

    pub fn lines_without_tests(&self) -> usize {
        self.text.lines().count() - self.tests().map(|test| test.lines().count()).sum::<usize>()
    }

    pub fn line(&self, at: usize) -> usize {
        self.text[..at].matches('\n').count() + 1
    }

    pub fn lines_with(&self, words: &[String], why: &str) -> Vec<Complaint> {
        let mut found = Vec::new();
        for (n, line) in self.text.lines().enumerate() {
            if let Some(word) = words.iter().find(|word| line.contains(*word)) {
                found.push(self.complain(n + 1, format!("'{word}': {why}")));
            }
        }
        found
    }

    pub fn complain(&self, line: usize, words: impl Into<String>) -> Complaint {
        Complaint { path: self.path.clone(), line, words: words.into() }
    }
}
