//! PostgreSQL's `postmaster.pid` in its data directory.

use hopcost_core::{Code, Known};
use hopcost_sys::{Root, standing};

/// A server writes it at start and removes it at exit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PidFile {
    pub data_directory: String,
    pub began_s: i64,
    pub port: u16,
    socket_directory: String,
}

impl PidFile {
    /// Read through the first process's working directory, which is the data directory.
    pub fn read(root: &Root, pid: u32) -> Known<Self> {
        root.text(&format!("proc/{pid}/cwd/postmaster.pid")).and_then(|text| {
            let own = standing::own_number(root, pid).to_string();
            // A killed server may leave its file behind.
            let fresh = Some(&text).filter(|text| text.lines().next() == Some(own.as_str()));
            let file = fresh.and_then(|text| Self::parse(text));
            Known::found(file, Code::NotApplicable, || "its postmaster.pid is of another server")
        })
    }

    /// Line by line: pid, data directory, start time, port, socket directory, …
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines().skip(1).map(str::trim);
        Some(Self {
            data_directory: lines.next()?.to_owned(),
            began_s: lines.next()?.parse().ok()?,
            port: lines.next()?.parse().ok()?,
            socket_directory: lines.next().unwrap_or_default().to_owned(),
        })
    }

    pub fn socket(&self) -> Option<String> {
        socket_in(&self.socket_directory, self.port)
    }
}

/// `None` for an empty directory.
pub fn socket_in(directory: &str, port: u16) -> Option<String> {
    (!directory.is_empty()).then(|| format!("{directory}/.s.PGSQL.{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pid_file_is_read_line_by_line() {
        let text = "hopcost machine recording, version 1\n> proc/7/cwd/postmaster.pid\n7\n/srv/1\n\
                    1795218590\n5433\n/run/x\n\n  5432001   32768\nready\n\
                    > proc/8/cwd/postmaster.pid\n7\n/srv/1\n1795218590\n5433\n";
        let root = Root::from_text(text).unwrap();
        let file = PidFile::read(&root, 7).ok().unwrap();
        assert_eq!((file.data_directory.as_str(), file.began_s), ("/srv/1", 1_795_218_590));
        assert_eq!(file.socket().as_deref(), Some("/run/x/.s.PGSQL.5433"));
        let left = PidFile::read(&root, 8);
        assert!(left.reason().unwrap().as_str().ends_with("of another server"), "{left:?}");
        assert_eq!(socket_in("", 5432), None);
    }
}
