//! The user of a test's server: most refuse to run as root.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use hopcost_sys::is_root;

/// A user's and a group's id.
pub type Ids = (u32, u32);

/// For root, the user of this name; panics with `needed` if there is none.
pub fn for_root(name: &str, needed: &str) -> Option<Ids> {
    is_root().then(|| user_named(name).expect(needed))
}

fn user_named(name: &str) -> Option<Ids> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let mut numbers = line.split(':').skip(1).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// A program as this user, with the mounts of the process `within`.
pub fn command(program: &Path, user: Option<Ids>, within: Option<u32>) -> Command {
    if let (Some(pid), Some((user, group))) = (within, user) {
        let mut command = Command::new("nsenter");
        command.args(["--target", &pid.to_string(), "--mount"]);
        command.args([format!("--setuid={user}"), format!("--setgid={group}")]);
        command.arg(program);
        return command;
    }
    let mut command = Command::new(program);
    if let Some((user, group)) = user {
        command.uid(user).gid(group);
    }
    command
}
