//! The guest's initial RAM disk: a cpio archive in the "newc" format.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::command;

const DIRECTORY: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;

/// By path without a leading slash, in an order that the kernel can unpack.
#[derive(Debug, Default)]
pub struct Initramfs {
    entries: BTreeMap<String, (u32, Content)>,
}

#[derive(Debug)]
enum Content {
    Here(Vec<u8>),
    /// Read when the archive is written, because some are large.
    Of(PathBuf),
}

impl Initramfs {
    pub fn base() -> Result<Self> {
        let busybox = command::output(Command::new("sh").args(["-c", "command -v busybox"]))?;
        let mut image = Self::default();
        for dir in ["proc", "sys", "dev", "tmp", "root", "out", "etc"] {
            image.add_directory(dir);
        }
        image.add_content("bin/busybox", 0o755, Content::Of(busybox.trim().into()));
        image.entries.insert("bin/sh".into(), (LINK | 0o777, Content::Here(b"busybox".to_vec())));
        image.add("init", 0o755, include_bytes!("init.sh"));
        image.add(
            "etc/passwd",
            0o644,
            b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/tmp:/bin/sh\n",
        );
        image.add("etc/group", 0o644, b"root:x:0:\nnogroup:x:65534:\n");
        Ok(image)
    }

    pub fn add(&mut self, path: &str, mode: u32, content: &[u8]) {
        self.add_content(path, mode, Content::Here(content.to_vec()));
    }

    fn add_content(&mut self, path: &str, mode: u32, content: Content) {
        let path = path.trim_start_matches('/');
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.add_directory(parent);
        }
        self.entries.insert(path.to_owned(), (FILE | mode, content));
    }

    /// A file of the host, with its libraries if it is a program.
    pub fn add_with_libraries(&mut self, from: &Path, to: &str) -> Result<()> {
        let metadata = fs::metadata(from).with_context(|| from.display().to_string())?;
        self.add_content(to, metadata.permissions().mode() & 0o777, Content::Of(from.to_owned()));
        // ldd fails for files that are no dynamic program: scripts, data, static binaries.
        let libraries = command::output(Command::new("ldd").arg(from)).unwrap_or_default();
        for library in libraries.split_whitespace().filter(|word| word.starts_with('/')) {
            self.add_content(library, 0o755, Content::Of(library.into()));
        }
        Ok(())
    }

    pub fn write(&self, path: &Path) -> Result<()> {
        let file = File::create(path).with_context(|| path.display().to_string())?;
        let mut archive = BufWriter::new(file);
        for (number, (name, (mode, content))) in self.entries.iter().enumerate() {
            append(&mut archive, number as u32 + 1, name, *mode, content)
                .with_context(|| format!("/{name} in {}", path.display()))?;
        }
        append(&mut archive, 0, "TRAILER!!!", 0, &Content::Here(Vec::new()))?;
        archive.flush().with_context(|| path.display().to_string())
    }

    fn add_directory(&mut self, path: &str) {
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.add_directory(parent);
        }
        self.entries.insert(path.to_owned(), (DIRECTORY | 0o755, Content::Here(Vec::new())));
    }
}

/// Thirteen fields of eight hexadecimal digits, the name, the content, each padded to four bytes.
fn append(
    archive: &mut impl Write,
    inode: u32,
    name: &str,
    mode: u32,
    content: &Content,
) -> io::Result<()> {
    let (mut bytes, mut file);
    let (size, content): (u64, &mut dyn io::Read) = match content {
        Content::Here(here) => {
            bytes = here.as_slice();
            (here.len() as u64, &mut bytes)
        }
        Content::Of(path) => {
            file = File::open(path)?;
            (file.metadata()?.len(), &mut file)
        }
    };
    let (owner, links, time, name_size) = (0, 1, 0, name.len() as u32 + 1);
    let fields = [inode, mode, owner, owner, links, time, size as u32, 0, 0, 0, 0, name_size, 0];
    archive.write_all(b"070701")?;
    for field in fields {
        write!(archive, "{field:08x}")?;
    }
    archive.write_all(name.as_bytes())?;
    // The name's terminator, and padding after the 110 bytes of header and the name.
    let header = 110 + u64::from(name_size);
    archive.write_all(&[0; 4][..=padding(header)])?;
    let written = io::copy(content, archive)?;
    if written != size {
        return Err(io::Error::other("it changed while it was read"));
    }
    archive.write_all(&[0; 4][..padding(size)])
}

fn padding(written: u64) -> usize {
    (written.next_multiple_of(4) - written) as usize
}
