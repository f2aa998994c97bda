//! `--fail-if`: exit codes by conditions on a result.

use hopcost_app::{Failure, Outcome as Ended};
use hopcost_core::{Code, Experiment, ExperimentResult};
use hopcost_method::fail_if::{FailIf, Outcome};

use crate::args::{ChecksArgs, RunArgs};
use crate::exit::Exit;
use crate::output;

/// Rejects conditions that can never be checked, before measuring.
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

/// The verdict's exit code, unless a check makes it worse. Reports failed and impossible checks on
/// standard error.
pub fn exit(checks: &ChecksArgs, result: &ExperimentResult) -> Exit {
    exit_of(checks.fail_if.iter(), result)
}

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
        // An unchecked condition has not passed.
        (false, Exit::Done) if unknown => Exit::Failed,
        (false, exit) => exit,
    }
}
