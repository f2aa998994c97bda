//! Managed servers: started in a chosen place, and gone when hopcost is.
//!
//! Method: between fork and exec the child sets its CPU mask and memory policy, which its own
//! children inherit. The kernel signals it when the thread that started it ends, so that even a
//! killed hopcost leaves no server behind.
//!
//! Limits: a server that changes its user escapes that; managed servers start as the user they run
//! as.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use hopcost_core::{CpuSet, NodeId, NodeSet};

#[derive(Clone, Debug, Default)]
pub struct Place {
    /// `None` leaves all that hopcost has.
    pub cpus: Option<CpuSet>,
    /// `None` leaves it to first touch.
    pub memory: Option<Memory>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Memory {
    Bound(NodeId),
    Interleaved(NodeSet),
}

impl Memory {
    fn policy(&self) -> (libc::c_int, NodeSet) {
        match self {
            Self::Bound(node) => (libc::MPOL_BIND, NodeSet::from_iter([*node])),
            Self::Interleaved(nodes) => (libc::MPOL_INTERLEAVE, nodes.clone()),
        }
    }
}

/// When this thread ends, however it does, the child is sent `orphaned`.
pub fn start(command: &mut Command, place: &Place, orphaned: Stop) -> io::Result<Child> {
    let cpus = place.cpus.as_ref().map(|cpus| cpus.words().to_vec());
    let memory = place.memory.as_ref().map(Memory::policy);
    let memory = memory.map(|(mode, nodes)| (mode, nodes.words().to_vec()));
    let parent = std::process::id();
    let take_place = move || {
        if let Some(words) = &cpus {
            let bytes = words.len() * 8;
            // SAFETY: the pointer and the size describe the vector.
            let set = unsafe { libc::sched_setaffinity(0, bytes, words.as_ptr().cast()) };
            check(set.into())?;
        }
        if let Some((mode, words)) = &memory {
            // The kernel reads one bit less than it is given.
            let bits = words.len() * 64 + 1;
            // SAFETY: the kernel reads `bits` bits of the mask, which outlives the call.
            check(unsafe { libc::syscall(libc::SYS_set_mempolicy, *mode, words.as_ptr(), bits) })?;
        }
        // Background jobs of a shell and starts of hopcost ignore them, and children inherit that.
        for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP] {
            // SAFETY: it sets no handler, only what the kernel does by itself.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        // SAFETY: it takes numbers alone.
        check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, orphaned.signal()) }.into())?;
        // SAFETY: it takes nothing and cannot fail.
        let is_orphan = unsafe { libc::getppid() }.unsigned_abs() != parent;
        // The parent may have ended before the request.
        if is_orphan { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    };
    // Ctrl-C is for hopcost, which stops the child when its work is done.
    command.process_group(0);
    // SAFETY: between fork and exec only system calls are made, on memory that was there before.
    unsafe { command.pre_exec(take_place) };
    command.spawn()
}

fn check(result: i64) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    Soon,
    AtOnce,
    Politely,
    Killed,
}

impl Stop {
    const fn signal(self) -> libc::c_int {
        match self {
            Self::Soon => libc::SIGINT,
            Self::AtOnce => libc::SIGQUIT,
            Self::Politely => libc::SIGTERM,
            Self::Killed => libc::SIGKILL,
        }
    }
}

/// For a process that ends when its parent asks it to, or is gone, and first undoes what it changed.
/// Signals to all processes of a service reach it, too.
pub fn listen_to_the_parent_alone() -> io::Result<()> {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: it sets no handler, only what the kernel does by itself.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    // SAFETY: it takes numbers alone.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, 0) }.into())
}

pub fn stop(child: &Child, how: Stop) -> io::Result<()> {
    // SAFETY: it takes numbers alone; a child that was not waited for keeps its number.
    check(unsafe { libc::kill(child.id().cast_signed(), how.signal()) }.into())
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;
    use crate::affinity;

    #[test]
    fn a_child_has_the_cpus_it_was_given() {
        let cpu = affinity::mask().unwrap().last().unwrap();
        let place = Place { cpus: Some(CpuSet::from_iter([cpu])), memory: None };
        let mut command = Command::new("grep");
        command.args(["Cpus_allowed_list", "/proc/self/status"]).stdout(Stdio::piped());
        let output = start(&mut command, &place, Stop::Soon).unwrap().wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.split_whitespace().nth(1), Some(cpu.to_string().as_str()), "{text}");
    }

    #[test]
    fn a_child_has_the_memory_policy_it_was_given() {
        let machine = crate::topology::read(&crate::Root::live());
        let nodes: NodeSet = machine.nodes_with_memory().map(|node| node.id).collect();
        let first = nodes.first().unwrap();
        for (memory, policy) in [
            (Memory::Bound(first), format!("bind:{first}")),
            (Memory::Interleaved(nodes.clone()), format!("interleave:{nodes}")),
        ] {
            let place = Place { cpus: None, memory: Some(memory) };
            let mut command = Command::new("cat");
            command.arg("/proc/self/numa_maps").stdout(Stdio::piped());
            let output =
                start(&mut command, &place, Stop::Soon).unwrap().wait_with_output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(text.contains(&format!(" {policy} ")), "{policy}: {text}");
        }
    }

    #[test]
    fn a_child_ends_with_the_thread_that_started_it() {
        let starter =
            || start(Command::new("sleep").arg("60"), &Place::default(), Stop::Soon).unwrap();
        let mut child = std::thread::spawn(starter).join().unwrap();
        let status = child.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(libc::SIGINT));
    }

    #[test]
    fn a_child_stops_when_asked() {
        let mut child =
            start(Command::new("sleep").arg("60"), &Place::default(), Stop::Soon).unwrap();
        stop(&child, Stop::AtOnce).unwrap();
        assert!(!child.wait().unwrap().success());
    }
}
