//! For tests: moves a share of another process's pages to another node, behind its back.
//!
//! `page_thief PID PERCENT NODE BYTES` waits until the process has a mapping of at least BYTES whose
//! pages have all arrived, moves every so-many-th of its pages to NODE, and says how many.
#![allow(unsafe_code, clippy::print_stdout)]

use std::ops::Range;
use std::time::Duration;

fn main() {
    let numbers: Vec<usize> =
        std::env::args().skip(1).map(|word| word.parse().expect("four numbers")).collect();
    let [pid, percent, node, bytes] = numbers[..] else { panic!("PID PERCENT NODE BYTES") };
    let range = wait_for_mapping(pid, bytes);
    let pages: Vec<usize> = range.step_by(4096).collect();
    let victims: Vec<usize> = pages
        .iter()
        .enumerate()
        .filter(|(n, _)| (n + 1) * percent / 100 > n * percent / 100)
        .map(|(_, &page)| page)
        .collect();
    let moved = move_pages(pid, &victims, node);
    println!("moved {moved} of {} pages", pages.len());
    assert_eq!(moved, victims.len(), "every victim must have moved");
}

/// The first mapping of that size whose pages are all there, and have stopped changing.
fn wait_for_mapping(pid: usize, bytes: usize) -> Range<usize> {
    let mut last = None;
    for _ in 0..600 {
        std::thread::sleep(Duration::from_millis(100));
        let found = mapping(pid, bytes);
        match found {
            Some(range) if last.as_ref() == Some(&range) => return range,
            found => last = found,
        }
    }
    panic!("process {pid} never had such a mapping");
}

/// A mapping of at least `bytes` that is completely resident.
fn mapping(pid: usize, bytes: usize) -> Option<Range<usize>> {
    let smaps = std::fs::read_to_string(format!("/proc/{pid}/smaps")).ok()?;
    let mut current = None;
    for line in smaps.lines() {
        let mut words = line.split_whitespace();
        let (first, second) = (words.next()?, words.next());
        if let Some((start, end)) = first.split_once('-').filter(|_| !first.ends_with(':')) {
            let number = |digits| usize::from_str_radix(digits, 16).ok();
            current = Some(number(start)?..number(end)?);
        } else if let ("Rss:", Some(kib), Some(range)) = (first, second, &current) {
            let resident = kib.parse::<usize>().ok()? << 10;
            if range.len() >= bytes && resident == range.len() {
                return current;
            }
        }
    }
    None
}

/// Also pages that the process shares; needs CAP_SYS_NICE. libc does not have it.
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
