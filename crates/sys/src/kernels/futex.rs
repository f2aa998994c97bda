//! Sleeping until a word changes.

use std::sync::atomic::AtomicU32;

/// True if it really slept; spurious wake-ups are possible.
pub fn wait(word: &AtomicU32, value: u32) -> bool {
    let flags = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the kernel reads the word, which outlives the call; no time-out.
    let result = unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            flags,
            value,
            std::ptr::null::<libc::timespec>(),
        )
    };
    result == 0
}

pub fn wake(word: &AtomicU32, sleepers: i32) {
    let flags = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the kernel uses the word's address only.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), flags, sleepers) };
}
