//! `--fail-if`: what the checks of a script make of a result.

use hopcost_app::{Failure, Outcome as Ended};
use hopcost_core::{Code, Experiment, ExperimentResult};
use hopcost_method::fail_if::{FailIf, Outcome};

use crate::args::{ChecksArgs, RunArgs};
use crate::exit::Exit;
use crate::output;

/// Refuses what could never be checked, before anything is measured for it.
pub fn can_be_checked(args: &RunArgs, experiment: &Experiment) -> Ended<()> {
    for check in &args.checks.fail_if {
        if let Some(objection) = check.objection(experiment, args.baseline.is_some()) {
            return Err(Failure::usage(
                Code::BadValue,
                format!("--fail-if '{check}': {objection}"),
            ));
        }
    }
    Ok(())
}

/// The exit code of a result: that of its verdict, unless a check makes it worse. Each check that is
/// crossed, or that could not be made, is said on standard error.
pub fn exit(checks: &ChecksArgs, result: &ExperimentResult) -> Exit {
    exit_of(checks.fail_if.iter(), result)
}

/// The same for some of the checks.
pub fn exit_of<'a>(checks: impl Iterator<Item = &'a FailIf>, result: &ExperimentResult) -> Exit {
    let of_verdict = Exit::from(result.verdict);
    let (mut crossed, mut unknown) = (false, false);
    for check in checks {
        match check.on(result) {
            Outcome::Held => {}
            Outcome::Crossed(figures) => {
                crossed = true;
                output::remark(&format!("--fail-if '{check}' is crossed: {figures}"));
            }
            Outcome::Unknown(reason) => {
                unknown = true;
                output::remark(&format!("--fail-if '{check}' could not be checked: {reason}"));
            }
        }
    }
    match (crossed, of_verdict) {
        (true, _) => Exit::Crossed,
        // What was not checked has not passed.
        (false, Exit::Done) if unknown => Exit::Failed,
        (false, exit) => exit,
    }
}
