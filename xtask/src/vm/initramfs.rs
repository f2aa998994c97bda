//! The guest's initial RAM disk: a cpio archive in the "newc" format that the kernel unpacks.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::command;

const DIRECTORY: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;

/// Files to be, by path without a leading slash, in the order in which a kernel can unpack them.
#[derive(Debug, Default)]
pub struct Initramfs {
    entries: BTreeMap<String, (u32, Vec<u8>)>,
}

impl Initramfs {
    /// Busybox and the script that runs first.
    pub fn base() -> Result<Self> {
        let busybox = command::output(Command::new("sh").args(["-c", "command -v busybox"]))?;
        let mut image = Self::default();
        for dir in ["proc", "sys", "dev", "tmp", "root", "out", "etc"] {
            image.add_directory(dir);
        }
        image.add("bin/busybox", 0o755, &fs::read(busybox.trim()).context("busybox")?);
        image.entries.insert("bin/sh".into(), (LINK | 0o777, b"busybox".to_vec()));
        image.add("init", 0o755, include_bytes!("init.sh"));
        image.add(
            "etc/passwd",
            0o644,
            b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/tmp:/bin/sh\n",
        );
        image.add("etc/group", 0o644, b"root:x:0:\nnogroup:x:65534:\n");
        Ok(image)
    }

    /// A file with its directories.
    pub fn add(&mut self, path: &str, mode: u32, content: &[u8]) {
        let path = path.trim_start_matches('/');
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.add_directory(parent);
        }
        self.entries.insert(path.to_owned(), (FILE | mode, content.to_vec()));
    }

    /// A file of the host's, and where it is a program, the libraries it loads.
    pub fn add_with_libraries(&mut self, from: &Path, to: &str) -> Result<()> {
        let content = fs::read(from).with_context(|| from.display().to_string())?;
        let mode = fs::metadata(from)?.permissions().mode() & 0o777;
        self.add(to, mode, &content);
        // ldd fails for what is no dynamic program: a script, a data file, a static binary.
        let libraries = command::output(Command::new("ldd").arg(from)).unwrap_or_default();
        for library in libraries.split_whitespace().filter(|word| word.starts_with('/')) {
            self.add(library, 0o755, &fs::read(library).with_context(|| library.to_owned())?);
        }
        Ok(())
    }

    /// Writes the archive.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut archive = Vec::new();
        for (number, (name, (mode, content))) in self.entries.iter().enumerate() {
            append(&mut archive, number as u32 + 1, name, *mode, content);
        }
        append(&mut archive, 0, "TRAILER!!!", 0, &[]);
        fs::write(path, archive).with_context(|| path.display().to_string())
    }

    fn add_directory(&mut self, path: &str) {
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.add_directory(parent);
        }
        self.entries.insert(path.to_owned(), (DIRECTORY | 0o755, Vec::new()));
    }
}

/// One entry: thirteen fields of eight hexadecimal digits, the name, the content, each padded to
/// four bytes.
fn append(archive: &mut Vec<u8>, inode: u32, name: &str, mode: u32, content: &[u8]) {
    let (owner, links, time) = (0, 1, 0);
    let (size, name_size) = (content.len() as u32, name.len() as u32 + 1);
    let fields = [inode, mode, owner, owner, links, time, size, 0, 0, 0, 0, name_size, 0];
    archive.extend(b"070701");
    for field in fields {
        archive.extend(format!("{field:08x}").bytes());
    }
    archive.extend(name.bytes());
    archive.push(0);
    pad(archive);
    archive.extend(content);
    pad(archive);
}

fn pad(archive: &mut Vec<u8>) {
    archive.resize(archive.len().next_multiple_of(4), 0);
}
