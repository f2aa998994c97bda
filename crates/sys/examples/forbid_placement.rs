//! Test helper: `forbid_placement COMMAND ARGUMENT…` runs a command without placement calls.
//!
//! Its seccomp filter is like a container's default one.
#![allow(unsafe_code)]

use std::os::unix::process::CommandExt;
use std::process::Command;

/// mbind, set_mempolicy, migrate_pages and move_pages fail with EPERM; all else is allowed.
fn main() {
    let forbidden =
        [libc::SYS_mbind, libc::SYS_set_mempolicy, libc::SYS_migrate_pages, libc::SYS_move_pages];
    let number = std::mem::offset_of!(libc::seccomp_data, nr) as u32;
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let mut program = vec![statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, number)];
    for (at, call) in forbidden.iter().enumerate() {
        // Jump over the remaining tests and the allowing return.
        let jt = (forbidden.len() - at) as u8;
        let test = statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, *call as u32);
        program.push(libc::sock_filter { jt, ..test });
    }
    program.push(statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW));
    let refuse = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    program.push(statement(libc::BPF_RET | libc::BPF_K, refuse));
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: prctl copies the program, which outlives both calls.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let set = libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter);
        assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
    }
    let mut words = std::env::args_os().skip(1);
    let command = words.next().expect("a command");
    panic!("{}", Command::new(command).args(words).exec());
}
