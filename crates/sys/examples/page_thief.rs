//! Test helper: moves a share of another process's pages to another node.
//!
//! `page_thief PID PERCENT NODE BYTES` waits until the process has a fully resident mapping of at
//! least BYTES bound to a node other than NODE, then moves PERCENT of its pages there. The process is
//! stopped meanwhile, so that it never looks at a move half done.
#![allow(unsafe_code, clippy::print_stdout)]

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

fn main() {
    let numbers: Vec<usize> =
        std::env::args().skip(1).map(|word| word.parse().expect("four numbers")).collect();
    let [pid, percent, node, bytes] = numbers[..] else { panic!("PID PERCENT NODE BYTES") };
    let range = wait_for_mapping(pid, bytes, node);
    split_huge_pages(pid, &range);
    let pages: Vec<usize> = range.step_by(4096).collect();
    let victims: Vec<usize> = pages
        .iter()
        .enumerate()
        .filter(|(n, _)| (n + 1) * percent / 100 > n * percent / 100)
        .map(|(_, &page)| page)
        .collect();
    let stopped = Stopped::stop(pid);
    let mut moved = move_pages(pid, &victims, node);
    // A page that is pinned for a moment moves at a later try.
    for _ in 0..50 {
        if moved == victims.len() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
        moved = move_pages(pid, &victims, node);
    }
    drop(stopped);
    println!("moved {moved} of {} pages", pages.len());
    assert_eq!(moved, victims.len(), "every victim must have moved");
}

/// A process that goes on when this is dropped.
struct Stopped(libc::pid_t);

impl Stopped {
    fn stop(pid: usize) -> Self {
        let stopped = Self(libc::pid_t::try_from(pid).expect("a process's number"));
        stopped.signal(libc::SIGSTOP);
        stopped
    }

    fn signal(&self, signal: libc::c_int) {
        // SAFETY: a signal touches no memory of ours.
        unsafe { libc::kill(self.0, signal) };
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        self.signal(libc::SIGCONT);
    }
}

/// The first such mapping that has stopped changing.
fn wait_for_mapping(pid: usize, bytes: usize, elsewhere_than: usize) -> Range<usize> {
    let mut last = None;
    for _ in 0..600 {
        std::thread::sleep(Duration::from_millis(100));
        let all = mappings(pid, bytes);
        let found = all.into_iter().find(|range| node_of(pid, range.start) != Some(elsewhere_than));
        match found {
            Some(range) if last.as_ref() == Some(&range) => return range,
            found => last = found,
        }
    }
    panic!("process {pid} never had such a mapping");
}

/// Parts of a transparent huge page move only together, so the kernel splits them first, if debugfs
/// allows that.
fn split_huge_pages(pid: usize, range: &Range<usize>) {
    let wish = format!("{pid},{:#x},{:#x}", range.start, range.end);
    if std::fs::write("/sys/kernel/debug/split_huge_pages", wish).is_ok() {
        println!("took huge pages apart");
    }
}

/// Start addresses of bound mappings; a full heap that is not bound holds no data.
fn bound(pid: usize) -> BTreeSet<usize> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/numa_maps")).unwrap_or_default();
    let bound = maps.lines().filter_map(|line| line.split_once(" bind:"));
    bound.filter_map(|(start, _)| usize::from_str_radix(start, 16).ok()).collect()
}

fn mappings(pid: usize, bytes: usize) -> Vec<Range<usize>> {
    let bound = bound(pid);
    let smaps = std::fs::read_to_string(format!("/proc/{pid}/smaps")).unwrap_or_default();
    let (mut current, mut found) = (0..0, Vec::new());
    for line in smaps.lines() {
        let mut words = line.split_whitespace();
        let (Some(first), second) = (words.next(), words.next()) else { continue };
        let number = |digits| usize::from_str_radix(digits, 16).ok();
        let bounds = first.split_once('-').filter(|_| !first.ends_with(':'));
        if let Some((Some(start), Some(end))) = bounds.map(|(a, b)| (number(a), number(b))) {
            current = start..end;
        } else if let ("Rss:", Some(Ok(kib))) = (first, second.map(str::parse::<usize>))
            && current.len() >= bytes
            && kib << 10 == current.len()
            && bound.contains(&current.start)
        {
            found.push(current.clone());
        }
    }
    found
}

fn node_of(pid: usize, page: usize) -> Option<usize> {
    let mut status = -1;
    // SAFETY: one address and one status; without a list of nodes the call only asks.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            pid,
            1,
            &raw const page,
            std::ptr::null::<libc::c_int>(),
            &raw mut status,
            0,
        )
    };
    usize::try_from(status).ok().filter(|_| result == 0)
}

/// Moves shared pages, too; needs CAP_SYS_NICE. libc lacks it.
const MPOL_MF_MOVE_ALL: libc::c_int = 1 << 2;

fn move_pages(pid: usize, pages: &[usize], node: usize) -> usize {
    let node = libc::c_int::try_from(node).expect("a node's number");
    let nodes = vec![node; pages.len()];
    let mut status = vec![-1; pages.len()];
    // SAFETY: all arrays have `pages.len()` elements and outlive the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            pid,
            pages.len(),
            pages.as_ptr(),
            nodes.as_ptr(),
            status.as_mut_ptr(),
            MPOL_MF_MOVE_ALL,
        )
    };
    assert!(result >= 0, "move_pages: {}", std::io::Error::last_os_error());
    status.iter().filter(|&&now| now == node).count()
}
