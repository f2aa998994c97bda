//! `hopcost run --starts N`: hopcost is executed anew for each start, until one of them concludes.
//! Each goes on where the one before ended, as `--resume` does.

use std::sync::atomic::Ordering;

use hopcost_app::{Outcome, executed_anew};

use crate::args::RunArgs;
use crate::exit::Exit;
use crate::{interrupt, output};

pub const ONE_START: &str = "--one-start";
const RESUME: &str = "--resume";

pub fn run(args: &RunArgs) -> Outcome<Exit> {
    let stop = interrupt::watch()?;
    let mut resumes = args.resume;
    for start in 0_u64.. {
        let given = std::env::args_os().skip(1).filter(|word| word != RESUME);
        let more = [Some(ONE_START), resumes.then_some(RESUME)];
        let more = more.into_iter().flatten().map(Into::into);
        let seed = args.experiment.seed ^ start.rotate_left(32);
        let code = executed_anew(given.chain(more), seed, &stop)?;
        match code.and_then(Exit::of) {
            Some(Exit::NextStart) if stop.load(Ordering::Relaxed) => break,
            Some(Exit::NextStart) => resumes = true,
            Some(exit) => return Ok(exit),
            None => {
                output::remark("a start was killed: the same command with --resume goes on");
                return Ok(Exit::Failed);
            }
        }
    }
    Ok(Exit::Interrupted)
}
