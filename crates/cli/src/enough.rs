//! `q` and Enter: ends a measurement with the interval of its last look.
//!
//! The terminal stays as it is, so that nothing has to be put back after a kill, and no thread
//! reads: between two blocks it is asked whether a line is there.

use std::io;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{isatty, tcgetpgrp};

pub fn is_typed() -> bool {
    let input = io::stdin();
    // A process in the background would be stopped if it read from its terminal.
    let is_in_front = isatty(&input) && tcgetpgrp(&input).is_ok_and(|group| group == getpgrp());
    is_in_front && has_line(&input) && reads_q(&input)
}

fn has_line(input: &io::Stdin) -> bool {
    let mut all = [PollFd::new(input, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut all, Some(&at_once)).is_ok_and(|ready| ready > 0)
}

fn reads_q(input: &io::Stdin) -> bool {
    let mut line = [0; 64];
    rustix::io::read(input, &mut line)
        .is_ok_and(|read| line[..read].trim_ascii().eq_ignore_ascii_case(b"q"))
}
