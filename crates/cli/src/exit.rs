//! Exit codes of commands; they are a stable interface.

use std::process::ExitCode;

use hopcost_app::{Ending, Failure};
use hopcost_core::Verdict;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Done = 0,
    /// A check failed, or input or output did.
    Failed = 1,
    Usage = 2,
    NotHere = 3,
    Crossed = 4,
    /// Other processes disturbed it: a retry may succeed.
    Disturbed = 5,
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl From<&Failure> for Exit {
    fn from(failure: &Failure) -> Self {
        match failure.ending {
            Ending::Failed => Self::Failed,
            Ending::Usage => Self::Usage,
            Ending::NotHere => Self::NotHere,
            Ending::Disturbed => Self::Disturbed,
            Ending::Interrupted => Self::Interrupted,
        }
    }
}

impl From<Verdict> for Exit {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Refused => Self::Failed,
            Verdict::NotApplicable => Self::NotHere,
            Verdict::Disturbed => Self::Disturbed,
            _ => Self::Done,
        }
    }
}

pub fn to_json(failure: &Failure) -> serde_json::Value {
    serde_json::json!({ "failure": {
        "reason": failure.to_string(),
        "reason_code": failure.code,
        "exit_code": Exit::from(failure) as u8,
    }})
}
