//! Whether a directory is in memory, and whether this process is root.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const TMPFS: i64 = 0x0102_1994;
const RAMFS: i64 = 0x8584_58f6;

/// False also if unknown.
pub fn is_memory_backed(dir: &Path) -> bool {
    let Ok(path) = CString::new(dir.as_os_str().as_bytes()) else { return false };
    // SAFETY: statfs is plain numbers, for which all zeroes is a value; the kernel fills it in from
    // a path that ends in NUL.
    let (result, stat) = unsafe {
        let mut stat: libc::statfs = std::mem::zeroed();
        (libc::statfs(path.as_ptr(), &raw mut stat), stat)
    };
    result == 0 && [TMPFS, RAMFS].contains(&stat.f_type)
}

pub fn is_root() -> bool {
    // SAFETY: it takes nothing, cannot fail, and touches no memory of ours.
    unsafe { libc::geteuid() == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_is_memory_and_proc_is_not() {
        assert!(is_memory_backed(Path::new("/dev/shm")));
        assert!(!is_memory_backed(Path::new("/proc")));
        assert!(!is_memory_backed(Path::new("/no/such/place")));
    }
}
