//! Mappings of our own.

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::RawFd;
use std::ptr::NonNull;

/// Readable and writable. Nothing may refer to it when it is dropped.
#[derive(Debug)]
pub struct Mapped {
    start: NonNull<u8>,
    bytes: usize,
}

impl Mapped {
    pub fn anonymous(bytes: usize, flags: libc::c_int) -> io::Result<Self> {
        Self::new(bytes, flags | libc::MAP_ANONYMOUS, -1)
    }

    pub fn of_file(bytes: usize, file: RawFd) -> io::Result<Self> {
        Self::new(bytes, libc::MAP_SHARED, file)
    }

    fn new(bytes: usize, flags: libc::c_int, file: RawFd) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, file, 0) };
        let start = (start != libc::MAP_FAILED).then(|| NonNull::new(start.cast())).flatten();
        start.map(|start| Self { start, bytes }).ok_or_else(io::Error::last_os_error)
    }

    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// For a caller that unmaps it piece by piece.
    pub fn into_pieces(self) -> NonNull<u8> {
        ManuallyDrop::new(self).start
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours alone, and what was borrowed of it was borrowed of its owner.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
