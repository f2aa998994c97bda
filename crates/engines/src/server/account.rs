//! The user that a managed server runs as, and its directory: most refuse to run as root.

use std::fs;
use std::io;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hopcost_core::{Code, TargetError};
use hopcost_sys::is_root;

/// hopcost's own user, or a less privileged one if hopcost is root.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    other: Option<Ids>,
}

#[derive(Clone, Copy, Debug)]
struct Ids {
    user: u32,
    group: u32,
}

impl Account {
    pub const OURSELVES: Self = Self { other: None };

    /// For root: the first of these users that exists, else `nobody`.
    pub fn of_server(server: &str, names: &[&str]) -> Result<Self, TargetError> {
        if !is_root() {
            return Ok(Self::OURSELVES);
        }
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let named = |name: &&str| {
            let line = users.lines().find_map(|l| l.strip_prefix(*name)?.strip_prefix(':'))?;
            let mut ids = line.split(':').skip(1).map(str::parse);
            Some(Ids { user: ids.next()?.ok()?, group: ids.next()?.ok()? })
        };
        let other = names.iter().chain(&["nobody"]).find_map(named).ok_or_else(|| {
            let names = names.join("', '");
            let words = format!(
                "{server} refuses to run as root, and there is neither a user '{names}' nor 'nobody' here"
            );
            TargetError::NotHere(Code::NotPermitted.because(words))
        })?;
        Ok(Self { other: Some(other) })
    }

    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        // hopcost's environment must not reach the server.
        command.env_clear().env("LC_ALL", "C").env("PATH", "/usr/bin:/bin");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        if let Some(Ids { user, group }) = self.other {
            command.uid(user).gid(group);
        }
        command
    }

    pub fn give(&self, directory: &Path) -> io::Result<()> {
        match self.other {
            Some(Ids { user, group }) => chown(directory, Some(user), Some(group)),
            None => Ok(()),
        }
    }

    /// A directory for servers of this kind and their data that this user can reach: in the cache
    /// if possible.
    pub fn home(&self, cache: &Path, kind: &str) -> Result<PathBuf, TargetError> {
        let mut refused = Vec::new();
        // Root's own cache is closed to other users.
        for parent in [Some(cache), is_root().then_some(Path::new("/var/cache/hopcost"))] {
            let Some(directory) = parent.map(|parent| parent.join(kind)) else { continue };
            match self.reach(&directory) {
                Ok(()) => return Ok(directory),
                Err(error) => refused.push(format!("{}: {error}", directory.display())),
            }
        }
        let refused = refused.join("; ");
        let words = format!(
            "the user of the {kind} server needs a directory of its own: name one that it can reach with \
             --cache-dir"
        );
        Err(TargetError::Failed(format!("{words} ({refused})")))
    }

    fn reach(&self, directory: &Path) -> io::Result<()> {
        fs::create_dir_all(directory)?;
        self.give(directory)?;
        let mut look = self.command(Path::new("true"));
        look.current_dir(directory).stderr(Stdio::null()).status().map(|_| ())
    }

    pub fn copy(&self, from: &Path, to: &Path) -> Result<(), TargetError> {
        let mut command = self.command(Path::new("cp"));
        command.args(["-a", "--reflink=auto"]).arg(from).arg(to);
        command.current_dir(to.parent().unwrap_or(Path::new(".")));
        done(&mut command, "copying the data")
    }
}

pub fn done(command: &mut Command, what: &str) -> Result<(), TargetError> {
    let failed = |words: &str| TargetError::Failed(format!("{what}: {words}"));
    let output = command.output().map_err(|error| failed(&error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim()))
}
