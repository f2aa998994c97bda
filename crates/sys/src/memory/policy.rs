//! The kernel's memory policy calls, which libc has by number only.

use std::io;

use hopcost_core::{NodeId, NodeSet};

/// The pages must not have been touched yet.
pub fn bind(start: *mut u8, length: usize, node: NodeId) -> io::Result<()> {
    set(start, length, libc::MPOL_BIND, &NodeSet::from_iter([node]))
}

/// The pages must not have been touched yet.
pub fn interleave(start: *mut u8, length: usize, nodes: &NodeSet) -> io::Result<()> {
    set(start, length, libc::MPOL_INTERLEAVE, nodes)
}

fn set(start: *mut u8, length: usize, mode: libc::c_int, nodes: &NodeSet) -> io::Result<()> {
    // The kernel reads one bit less than it is given.
    let bits = nodes.words().len() * 64 + 1;
    let mask = nodes.words().as_ptr();
    // SAFETY: the kernel reads `bits` bits of the mask, which outlives the call, and changes only
    // the policy of the range, which the caller owns.
    let result = unsafe { libc::syscall(libc::SYS_mbind, start, length, mode, mask, bits, 0u32) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// `None` if no page is mapped; `pid` 0 is this process.
pub fn nodes_of(pid: u32, addresses: &[*const u8]) -> io::Result<Vec<Option<NodeId>>> {
    let mut status = vec![libc::c_int::MIN; addresses.len()];
    // SAFETY: with no target nodes the call moves nothing; both arrays have `addresses.len()`
    // elements and outlive it.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            pid.cast_signed(),
            addresses.len(),
            addresses.as_ptr(),
            std::ptr::null::<libc::c_int>(),
            status.as_mut_ptr(),
            0,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    // Unmapped pages answer -ENOENT, or -EFAULT on kernels 4.3 to 6.11.
    Ok(status.into_iter().map(|node| u32::try_from(node).ok().map(NodeId)).collect())
}
