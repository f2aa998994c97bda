//! How a command ends: the exit codes are part of the contract.

use std::fmt;
use std::io;
use std::process::ExitCode;

use hopcost_core::{Class, Code, ProbeError, Reason, TargetError};
use hopcost_store::StoreError;

/// The exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// A check failed, or something could not be read or written.
    Failed = 1,
    /// Wrong use.
    Usage = 2,
    /// The machine cannot do this.
    NotHere = 3,
    /// A condition of `--fail-if` holds.
    Crossed = 4,
    /// Others were at work: it may go well later.
    Disturbed = 5,
    /// Interrupted, and everything put back.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command ended early, and with which code.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// Why, for scripts.
    pub code: Code,
    error: anyhow::Error,
}

impl Failure {
    /// Wrong use.
    pub fn usage(code: Code, message: impl fmt::Display) -> Self {
        Self { exit: Exit::Usage, code, error: anyhow::anyhow!("{message}") }
    }

    /// The machine cannot do this.
    pub fn not_here(code: Code, message: impl fmt::Display) -> Self {
        Self { exit: Exit::NotHere, code, error: anyhow::anyhow!("{message}") }
    }

    /// As a document, for whoever asked for one.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({ "failure": {
            "reason": self.to_string(), "reason_code": self.code, "exit_code": self.exit as u8,
        }})
    }

    /// Did the user interrupt it?
    pub fn is_interruption(&self) -> bool {
        matches!(self.error.downcast_ref(), Some(TargetError::Interrupted))
    }

    /// Could the store not keep something?
    pub fn is_of_the_store(&self) -> bool {
        self.error.chain().any(<dyn std::error::Error>::is::<StoreError>)
    }

    /// The reader went away, as `head` does: nothing to complain of.
    pub fn is_closed_pipe(&self) -> bool {
        let kind = self.error.downcast_ref::<io::Error>().map(io::Error::kind);
        kind == Some(io::ErrorKind::BrokenPipe)
    }
}

/// The error and its causes, none said twice: an error of ours already ends with its cause, and a
/// context may end with the path that the error begins with.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut said = self.error.to_string();
        for cause in self.error.chain().skip(1).map(ToString::to_string) {
            let (subject, rest) = cause.split_once(": ").unwrap_or(("", &cause));
            if !subject.is_empty() && said.ends_with(subject) {
                said = format!("{said}: {rest}");
            } else if !said.contains(&cause) {
                said = format!("{said}: {cause}");
            }
        }
        f.write_str(&said)
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        let reason = error.downcast_ref::<Reason>();
        let (exit, code) = match (error.downcast_ref(), error.downcast_ref()) {
            (Some(ProbeError::NotHere(reason)), _) => (Exit::NotHere, reason.code()),
            (_, Some(error)) => (of_target(error), error.code()),
            _ if reason.is_some() => {
                let code = reason.map_or(Code::SystemFailed, Reason::code);
                (of_code(code), code)
            }
            _ if error.chain().any(<dyn std::error::Error>::is::<StoreError>) => {
                (Exit::Failed, Code::StoreFailed)
            }
            _ => (Exit::Failed, Code::SystemFailed),
        };
        Self { exit, code, error }
    }
}

const fn of_code(code: Code) -> Exit {
    match code.class() {
        Class::Usage => Exit::Usage,
        Class::NotHere => Exit::NotHere,
        Class::Disturbed => Exit::Disturbed,
        _ => Exit::Failed,
    }
}

const fn of_target(error: &TargetError) -> Exit {
    match error {
        TargetError::NotHere(reason) if matches!(reason.code().class(), Class::Disturbed) => {
            Exit::Disturbed
        }
        TargetError::NotHere(_) => Exit::NotHere,
        TargetError::Failed(_) => Exit::Failed,
        TargetError::Interrupted => Exit::Interrupted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_database_says_ends_in_its_own_way() {
        let ending = |error: TargetError| {
            let failure = Failure::from(error);
            (failure.exit, failure.code)
        };
        let refused = |code: Code| TargetError::NotHere(code.because("x"));
        assert_eq!(ending(refused(Code::WrongServer)), (Exit::NotHere, Code::WrongServer));
        assert_eq!(ending(refused(Code::ServerInUse)), (Exit::Disturbed, Code::ServerInUse));
        assert_eq!(ending(TargetError::Failed("x".into())), (Exit::Failed, Code::EngineFailed));
        assert_eq!(ending(TargetError::Interrupted), (Exit::Interrupted, Code::Interrupted));
    }

    #[test]
    fn nothing_is_said_twice() {
        let error = anyhow::anyhow!("no such file").context("x.svg: no such file");
        assert_eq!(
            Failure::from(error.context("--svg x.svg")).to_string(),
            "--svg x.svg: no such file"
        );
        let error = anyhow::anyhow!("line 1: damaged").context("--sysfs x");
        assert_eq!(Failure::from(error).to_string(), "--sysfs x: line 1: damaged");
    }
}
