//! PostgreSQL's programs on this host, and the user that they run as.

use std::fs;
use std::io;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hopcost_core::TargetError;
use hopcost_sys::is_root;

use super::address::Managed;

/// Where packages put them, version by version: Debian's, and those of the PostgreSQL project for Red Hat
/// and SUSE.
const BY_VERSION: [(&str, &str); 2] = [("/usr/lib/postgresql", ""), ("/usr", "pgsql-")];
/// Where a build from source puts them, and other packages.
const ALONE: [&str; 3] = ["/usr/local/pgsql/bin", "/usr/local/bin", "/usr/bin"];

/// The programs of one version.
#[derive(Clone, Debug)]
pub struct Programs {
    directory: PathBuf,
    /// Such as `15.18`.
    pub version: String,
    user: Option<User>,
}

/// Whom a server runs as where we are root, which it refuses to be.
#[derive(Clone, Copy, Debug)]
struct User {
    user: u32,
    group: u32,
}

impl Programs {
    /// Those that are asked for; the newest where any will do.
    pub fn find(managed: &Managed) -> Result<Self, TargetError> {
        let directories = managed.programs.clone().map_or_else(usual_directories, |dir| vec![dir]);
        let mut found: Vec<(Vec<u32>, String, PathBuf)> = directories
            .into_iter()
            .filter_map(|dir| version_of(&dir).map(|version| (numbers(&version), version, dir)))
            .collect();
        found.sort();
        let is_wanted = |version: &str| match &managed.version {
            Some(wanted) => numbers(version).starts_with(&numbers(wanted)),
            None => true,
        };
        let mut there: Vec<String> = found.iter().map(|(_, version, _)| version.clone()).collect();
        there.dedup();
        let chosen = found.into_iter().rev().find(|(_, version, _)| is_wanted(version));
        let Some((_, version, directory)) = chosen else {
            return Err(TargetError::NotHere(missing(managed, &there).into()));
        };
        let user = if is_root() { Some(User::unprivileged()?) } else { None };
        Ok(Self { directory, version, user })
    }

    /// The first number of the version.
    pub fn major(&self) -> u32 {
        numbers(&self.version).first().copied().unwrap_or(0)
    }

    /// A command, as the server's user.
    pub fn command(&self, program: &str) -> Command {
        self.as_user(&self.directory.join(program))
    }

    /// Any command, as the server's user.
    pub fn as_user(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        // Settings of ours are not to reach it.
        command.env_clear().env("LC_ALL", "C").env("PATH", "/usr/bin:/bin");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        if let Some(User { user, group }) = self.user {
            command.uid(user).gid(group);
        }
        command
    }

    /// Gives a directory to the server's user.
    pub fn give(&self, directory: &Path) -> io::Result<()> {
        match self.user {
            Some(User { user, group }) => chown(directory, Some(user), Some(group)),
            None => Ok(()),
        }
    }

    /// A directory for servers and their data which their user can reach: the cache where that is so.
    pub fn home(&self, cache: &Path) -> Result<PathBuf, TargetError> {
        let mut refused = Vec::new();
        // Root's own cache is closed to everybody else.
        for parent in [Some(cache), is_root().then_some(Path::new("/var/cache/hopcost"))] {
            let Some(directory) = parent.map(|parent| parent.join("postgres")) else { continue };
            match self.reach(&directory) {
                Ok(()) => return Ok(directory),
                Err(error) => refused.push(format!("{}: {error}", directory.display())),
            }
        }
        let refused = refused.join("; ");
        let words = "PostgreSQL's user needs a directory of its own: name one that it can reach with \
                     --cache-dir";
        Err(TargetError::Failed(format!("{words} ({refused})")))
    }

    fn reach(&self, directory: &Path) -> io::Result<()> {
        fs::create_dir_all(directory)?;
        self.give(directory)?;
        let mut look = self.as_user(Path::new("true"));
        look.current_dir(directory).stderr(Stdio::null()).status().map(|_| ())
    }
}

fn usual_directories() -> Vec<PathBuf> {
    let of_versions = BY_VERSION.iter().flat_map(|(parent, prefix)| {
        let entries = Path::new(parent).read_dir().into_iter().flatten().flatten();
        let wanted =
            entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
        wanted.map(|entry| entry.path().join("bin")).collect::<Vec<_>>()
    });
    of_versions.chain(ALONE.iter().map(PathBuf::from)).collect()
}

/// The version of the server in a directory, where all that is needed is in it.
fn version_of(directory: &Path) -> Option<String> {
    if !directory.join("initdb").exists() {
        return None;
    }
    let output = Command::new(directory.join("postgres")).arg("--version").output().ok()?;
    // postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)
    let text = String::from_utf8(output.stdout).ok()?;
    text.split_whitespace().nth(2).map(str::to_owned)
}

/// `15.18` is 15 and 18; `19devel` is 19.
fn numbers(version: &str) -> Vec<u32> {
    let leading = |part: &str| {
        let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        part[..end].parse().ok()
    };
    version.split('.').map_while(leading).collect()
}

fn missing(managed: &Managed, there: &[String]) -> String {
    let wanted = managed.version.as_deref().map_or(String::new(), |version| format!(" {version}"));
    let there = if there.is_empty() {
        "none is installed here".to_owned()
    } else {
        format!("here there is {}", there.join(", "))
    };
    format!(
        "no server programs of PostgreSQL{wanted} were found ({there}): install the package \
         postgresql, or name their directory, as postgres:managed?programs=DIR"
    )
}

impl User {
    /// The package's, else the one who owns nothing.
    fn unprivileged() -> Result<Self, TargetError> {
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let named = |name: &str| {
            let line = users.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':'))?;
            let mut ids = line.split(':').skip(1).map(str::parse);
            Some(Self { user: ids.next()?.ok()?, group: ids.next()?.ok()? })
        };
        named("postgres").or_else(|| named("nobody")).ok_or_else(|| {
            let words = "PostgreSQL refuses to run as root, and there is neither a user 'postgres' nor \
                         'nobody' here";
            TargetError::NotHere(words.into())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert_eq!(numbers("15.18"), [15, 18]);
        assert_eq!(numbers("19devel"), [19]);
        assert!(numbers("15.18").starts_with(&numbers("15")));
        assert!(!numbers("15.18").starts_with(&numbers("15.1")));
        assert!(numbers("9.6") < numbers("15.1"));
    }

    #[test]
    fn a_version_that_is_not_there_is_named_with_those_that_are() {
        let managed = Managed { version: Some("3".to_owned()), ..Managed::default() };
        let words = Programs::find(&managed).unwrap_err().to_string();
        assert!(
            words.contains("PostgreSQL 3 were found") && words.contains("programs=DIR"),
            "{words}"
        );
    }
}
