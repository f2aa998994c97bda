//! The files in which Linux describes a machine, read live or from a recording.
//!
//! The machine model and the doctor read only through a [`Root`]: `/`, a directory with the same
//! layout (`sys/`, `proc/`, `dev/`), or one text file of such a tree. A live root can note every
//! file it returns; the notes are the recording.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use hopcost_core::{Code, CpuSet, IdSet, Known};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum RootError {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(
        "{}: neither sys/ nor proc/ is in it; give the root of a recorded tree, \
         such as 'hopcost machine --record DIR' makes", path.display()
    )]
    NotATree { path: PathBuf },
    #[error("line {line}: {what}")]
    Damaged { line: usize, what: String },
}

#[derive(Debug)]
pub struct Root {
    source: Source,
    notes: Option<RefCell<Tree>>,
}

#[derive(Debug)]
enum Source {
    Live,
    Dir(PathBuf),
    Tree(Tree),
}

impl Root {
    pub fn live() -> Self {
        Self { source: Source::Live, notes: None }
    }

    pub fn live_noting() -> Self {
        Self { source: Source::Live, notes: Some(RefCell::default()) }
    }

    pub fn recorded(path: &Path) -> Result<Self, RootError> {
        let failed = |source| RootError::File { path: path.to_owned(), source };
        if !path.metadata().map_err(failed)?.is_dir() {
            return Self::from_text(&std::fs::read_to_string(path).map_err(failed)?);
        }
        if !path.join("sys").is_dir() && !path.join("proc").is_dir() {
            return Err(RootError::NotATree { path: path.to_owned() });
        }
        Ok(Self { source: Source::Dir(path.to_owned()), notes: None })
    }

    /// In the notation of [`Tree`].
    pub fn from_text(text: &str) -> Result<Self, RootError> {
        Ok(Self { source: Source::Tree(Tree::parse(text)?), notes: None })
    }

    pub fn is_live(&self) -> bool {
        matches!(self.source, Source::Live)
    }

    pub fn into_notes(self) -> Tree {
        let mut tree = self.notes.map(RefCell::into_inner).unwrap_or_default();
        tree.drop_implied_directories();
        tree
    }

    /// `path` is relative to the root.
    pub fn bytes(&self, path: &str) -> Known<Vec<u8>> {
        let read = match &self.source {
            Source::Live => std::fs::read(Path::new("/").join(path)),
            Source::Dir(dir) => std::fs::read(dir.join(path)),
            Source::Tree(tree) => tree.read(path),
        };
        match read {
            Ok(bytes) => {
                if let Some(notes) = &self.notes {
                    notes.borrow_mut().add_file(path, bytes.clone());
                }
                Known::Is(bytes)
            }
            Err(error) => unreadable(path, &error),
        }
    }

    /// Without white space around it, nor the NUL that some kernels append.
    pub fn text(&self, path: &str) -> Known<String> {
        let blank = |c: char| c.is_whitespace() || c == '\0';
        self.bytes(path).map(|bytes| String::from_utf8_lossy(&bytes).trim_matches(blank).to_owned())
    }

    pub fn number<T: FromStr>(&self, path: &str) -> Known<T> {
        self.text(path).and_then(|text| match text.parse() {
            Ok(number) => Known::Is(number),
            Err(_) => {
                Known::missing(Code::Malformed, format!("/{path} holds '{text}', not a number"))
            }
        })
    }

    pub fn list_of<I: hopcost_core::Id>(&self, path: &str) -> Known<IdSet<I>> {
        self.text(path).and_then(|text| match IdSet::parse_list(&text) {
            Ok(set) => Known::Is(set),
            Err(error) => Known::missing(Code::Unreadable, format!("/{path}: {error}")),
        })
    }

    /// From the mask if the kernel is too old for the list.
    pub fn cpus(&self, list: &str, mask: &str) -> Known<CpuSet> {
        self.list_of(list).or_else(|_| {
            self.text(mask).and_then(|text| match CpuSet::parse_mask(&text) {
                Ok(set) => Known::Is(set),
                Err(error) => Known::missing(Code::Unreadable, format!("/{mask}: {error}")),
            })
        })
    }

    pub fn names(&self, path: &str) -> Known<Vec<String>> {
        self.names_where(path, |_| true)
    }

    /// Ascending numbers `n` of the names `PREFIXn`.
    pub fn numbered(&self, path: &str, prefix: &str) -> Known<Vec<u32>> {
        let number = |name: &str| name.strip_prefix(prefix)?.parse::<u32>().ok();
        self.names_where(path, |name| number(name).is_some()).map(|names| {
            let mut numbers: Vec<u32> = names.iter().filter_map(|name| number(name)).collect();
            numbers.sort_unstable();
            numbers
        })
    }

    /// The same, without numbers beyond what an [`IdSet`] holds.
    pub fn ids<I: hopcost_core::Id>(&self, path: &str, prefix: &str) -> Known<Vec<I>> {
        let within = |id: &u32| *id <= IdSet::<I>::LARGEST;
        let numbers = self.numbered(path, prefix);
        numbers.map(|numbers| numbers.into_iter().filter(within).map(I::from).collect())
    }

    pub fn has_dir(&self, path: &str) -> bool {
        let here = match &self.source {
            Source::Live => Path::new("/").join(path).is_dir(),
            Source::Dir(dir) => dir.join(path).is_dir(),
            Source::Tree(tree) => tree.names(path).is_ok(),
        };
        if let (Some(notes), true) = (&self.notes, here) {
            notes.borrow_mut().entries.entry(path.to_owned()).or_insert(None);
        }
        here
    }

    fn names_where(&self, path: &str, wanted: impl Fn(&str) -> bool) -> Known<Vec<String>> {
        let read = match &self.source {
            Source::Live => names_in(&Path::new("/").join(path)),
            Source::Dir(dir) => names_in(&dir.join(path)),
            Source::Tree(tree) => tree.names(path),
        };
        match read {
            Ok(mut names) => {
                names.retain(|name| wanted(name));
                names.sort();
                if let Some(notes) = &self.notes {
                    notes.borrow_mut().add_names(path, &names);
                }
                Known::Is(names)
            }
            Err(error) => unreadable(path, &error),
        }
    }

    /// A recording keeps a symbolic link as a text file with its target.
    pub fn link(&self, path: &str) -> Known<String> {
        let read = match &self.source {
            Source::Live => std::fs::read_link(Path::new("/").join(path)),
            Source::Dir(_) | Source::Tree(_) => return self.text(path),
        };
        match read {
            Ok(target) => {
                let target = target.to_string_lossy().into_owned();
                if let Some(notes) = &self.notes {
                    notes.borrow_mut().add_file(path, target.clone().into_bytes());
                }
                Known::Is(target)
            }
            Err(error) => unreadable(path, &error),
        }
    }

    /// What Linux reports by other means than a file. A recording keeps it as `hopcost/NAME`.
    pub fn fact(&self, name: &str, live: impl FnOnce() -> Known<String>) -> Known<String> {
        let path = format!("hopcost/{name}");
        if !self.is_live() {
            return self.text(&path).or_else(|_| Known::missing(Code::NotStored, "not recorded"));
        }
        let fact = live();
        if let (Some(notes), Known::Is(text)) = (&self.notes, &fact) {
            notes.borrow_mut().add_file(&path, text.clone().into_bytes());
        }
        fact
    }
}

fn names_in(dir: &Path) -> io::Result<Vec<String>> {
    std::fs::read_dir(dir)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect()
}

fn unreadable<T>(path: &str, error: &io::Error) -> Known<T> {
    match error.kind() {
        io::ErrorKind::NotFound => Known::missing(Code::NotTold, format!("there is no /{path}")),
        io::ErrorKind::PermissionDenied => {
            Known::missing(Code::Unreadable, format!("/{path} may not be read by this user"))
        }
        _ => Known::missing(Code::Unreadable, format!("/{path} cannot be read: {error}")),
    }
}

/// A recorded tree: files with content, and directories of which only names matter.
///
/// As text: a first line, then `> PATH` and content for each file, `>hex PATH` and bytes for a
/// binary file, `> PATH/` for a bare directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// `None` is a directory without recorded content.
    entries: BTreeMap<String, Option<Vec<u8>>>,
}

const FIRST_LINE: &str = "hopcost machine recording, version 1";

impl Tree {
    pub fn parse(text: &str) -> Result<Self, RootError> {
        let damaged = |line: usize, what: &str| RootError::Damaged { line, what: what.to_owned() };
        let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line)).peekable();
        if lines.next().is_none_or(|(_, line)| line != FIRST_LINE) {
            return Err(damaged(1, &format!("a recording begins with '{FIRST_LINE}'")));
        }
        let mut tree = Self::default();
        while let Some((at, line)) = lines.next() {
            if line.starts_with('#') || line.is_empty() {
                continue;
            }
            let Some((mark, path)) = line.split_once(' ').filter(|(mark, _)| mark.starts_with('>'))
            else {
                return Err(damaged(at, "expected '> PATH'"));
            };
            let mut content = String::new();
            while let Some((_, line)) = lines.next_if(|(_, line)| !line.starts_with('>')) {
                content.push_str(line.strip_prefix('\\').unwrap_or(line));
                content.push('\n');
            }
            match (mark, path.strip_suffix('/')) {
                (">", Some(dir)) => tree.entries.insert(dir.to_owned(), None),
                (">", None) => tree.entries.insert(path.to_owned(), Some(content.into_bytes())),
                (">hex", None) => {
                    let bytes = from_hex(&content).ok_or_else(|| damaged(at, "bad hex digits"))?;
                    tree.entries.insert(path.to_owned(), Some(bytes))
                }
                _ => return Err(damaged(at, "expected '> PATH', '>hex PATH' or '> PATH/'")),
            };
        }
        Ok(tree)
    }

    pub fn to_text(&self) -> String {
        let mut text = format!("{FIRST_LINE}\n");
        for (path, content) in &self.entries {
            match content.as_deref().map(str::from_utf8) {
                None => {
                    let _ = writeln!(text, "> {path}/");
                }
                Some(Ok(content)) if !content.contains('\0') => {
                    let _ = writeln!(text, "> {path}");
                    for line in content.lines() {
                        // Escape lines that look like a mark.
                        let escape = if line.starts_with(['>', '\\']) { "\\" } else { "" };
                        let _ = writeln!(text, "{escape}{line}");
                    }
                }
                Some(_) => {
                    let _ = writeln!(text, ">hex {path}");
                    for row in content.as_deref().unwrap_or_default().chunks(32) {
                        for byte in row {
                            let _ = write!(text, "{byte:02x}");
                        }
                        text.push('\n');
                    }
                }
            }
        }
        text
    }

    /// `dir` must be new or empty.
    pub fn write_below(&self, dir: &Path) -> Result<(), RootError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| RootError::File { path, source }
        };
        std::fs::create_dir_all(dir).map_err(failed(dir))?;
        if names_in(dir).map_err(failed(dir))?.is_empty() {
            for (path, content) in &self.entries {
                let path = dir.join(path);
                let parent = if content.is_some() { path.parent().unwrap_or(dir) } else { &path };
                std::fs::create_dir_all(parent).map_err(failed(parent))?;
                if let Some(content) = content {
                    std::fs::write(&path, content).map_err(failed(&path))?;
                }
            }
            return Ok(());
        }
        let source =
            io::Error::new(io::ErrorKind::AlreadyExists, "not empty; name a new directory");
        Err(RootError::File { path: dir.to_owned(), source })
    }

    fn add_file(&mut self, path: &str, content: Vec<u8>) {
        self.entries.insert(path.to_owned(), Some(content));
    }

    fn add_names(&mut self, dir: &str, names: &[String]) {
        for name in names {
            self.entries.entry(format!("{dir}/{name}")).or_insert(None);
        }
    }

    /// Files below imply their directory.
    fn drop_implied_directories(&mut self) {
        let implied = |path: &String| {
            let below = format!("{path}/");
            let next = self.entries.range(below.clone()..).next();
            next.is_some_and(|(path, _)| path.starts_with(&below))
        };
        let (implied, _): (Vec<_>, Vec<_>) = self
            .entries
            .iter()
            .filter(|(_, content)| content.is_none())
            .map(|(path, _)| path.clone())
            .partition(implied);
        for path in implied {
            self.entries.remove(&path);
        }
    }

    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        match self.entries.get(path) {
            Some(Some(content)) => Ok(content.clone()),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn names(&self, dir: &str) -> io::Result<Vec<String>> {
        let below = format!("{dir}/");
        let mut names: Vec<String> = self
            .entries
            .range(below.clone()..)
            .map_while(|(path, _)| path.strip_prefix(&below))
            .map(|rest| rest.split('/').next().unwrap_or(rest).to_owned())
            .collect();
        names.dedup();
        if names.is_empty() && !self.entries.contains_key(dir) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(names)
    }
}

fn from_hex(digits: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
    let value = |digit: u8| char::from(digit).to_digit(16).map(|v| v as u8);
    digits.chunks(2).map(|pair| Some(value(pair[0])? << 4 | value(*pair.get(1)?)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Tree {
        let mut tree = Tree::default();
        tree.add_file("proc/cpuinfo", b"processor: 0\n> odd\n\\odd\n".to_vec());
        tree.add_file("sys/table", vec![0, 255, 16]);
        tree.add_names("sys/node/access0/initiators", &["node3".to_owned()]);
        tree
    }

    #[test]
    fn the_single_file_notation_survives_a_round_trip() {
        assert_eq!(Tree::parse(&sample().to_text()).unwrap(), sample());
    }

    #[test]
    fn a_directory_recording_reads_like_the_text_one() {
        let dir = tempfile::tempdir().unwrap();
        sample().write_below(dir.path()).unwrap();
        let from_dir = Root::recorded(dir.path()).unwrap();
        let from_text = Root::from_text(&sample().to_text()).unwrap();
        for root in [&from_dir, &from_text] {
            assert_eq!(root.bytes("sys/table"), Known::Is(vec![0, 255, 16]));
            assert_eq!(root.names("sys/node/access0/initiators").ok().unwrap(), ["node3"]);
            assert_eq!(
                root.text("sys/absent").to_string(),
                "missing, because there is no /sys/absent"
            );
        }
    }

    #[test]
    fn a_recording_is_never_written_over_something() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("mine"), "").unwrap();
        let error = sample().write_below(dir.path()).unwrap_err().to_string();
        assert!(error.ends_with("not empty; name a new directory"), "{error}");
    }

    #[test]
    fn says_what_is_no_recording() {
        let dir = tempfile::tempdir().unwrap();
        let error = Root::recorded(dir.path()).unwrap_err().to_string();
        assert!(error.contains("neither sys/ nor proc/"), "{error}");
        assert!(Root::from_text("hello").unwrap_err().to_string().starts_with("line 1:"));
        let text = format!("{FIRST_LINE}\n> a\n>hex b\n0\n");
        assert_eq!(Root::from_text(&text).unwrap_err().to_string(), "line 3: bad hex digits");
    }
}
