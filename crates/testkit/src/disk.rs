//! A small file system that a test can fill.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use hopcost_sys::is_root;

/// A tmpfs that only one process and its children see.
pub struct SmallDisk {
    /// Ends when its standard input closes, at the latest with the test.
    keeper: Child,
    dir: tempfile::TempDir,
}

impl SmallDisk {
    pub fn of_mib(mib: u32) -> Self {
        assert!(is_root(), "this test mounts a small file system: run it as root");
        let dir = tempfile::tempdir().unwrap();
        let mount = format!(
            "mount -t tmpfs -o size={mib}m,mode=0777 hopcost-test '{}' && echo there && exec cat",
            dir.path().display()
        );
        let mut keeper = Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-c", &mount])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = String::new();
        BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut told).unwrap();
        assert_eq!(told.trim(), "there", "this test has to mount a file system, and may not");
        Self { keeper, dir }
    }

    pub fn keeper(&self) -> u32 {
        self.keeper.id()
    }

    /// Its path in the keeper's mount namespace.
    pub fn path(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    /// The path from outside, through `/proc`.
    fn seen_by_all(&self, name: &str) -> PathBuf {
        let path = self.dir.path().strip_prefix("/").unwrap();
        PathBuf::from(format!("/proc/{}/root", self.keeper())).join(path).join(name)
    }

    /// Makes a directory with the owner of another file.
    pub fn directory(&self, name: &str, owner: &fs::Metadata) -> PathBuf {
        use std::os::unix::fs::MetadataExt;
        fs::create_dir(self.seen_by_all(name)).unwrap();
        chown(self.seen_by_all(name), Some(owner.uid()), Some(owner.gid())).unwrap();
        self.dir.path().join(name)
    }

    pub fn fill(&self) {
        let mut file = File::create(self.seen_by_all("ballast")).unwrap();
        let mut piece = vec![1; 1 << 20];
        while !piece.is_empty() {
            match file.write_all(&piece) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => {
                    piece.truncate(piece.len() / 2);
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    pub fn free(&self) {
        fs::remove_file(self.seen_by_all("ballast")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}
