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
    /// Never a user's: the run goes on in another process.
    NextStart = 75,
    Interrupted = 130,
}

impl Exit {
    /// Of a process that was hopcost. `None` for a code that it does not have.
    pub fn of(code: i32) -> Option<Self> {
        let all = [
            Self::Done,
            Self::Failed,
            Self::Usage,
            Self::NotHere,
            Self::Crossed,
            Self::Disturbed,
            Self::NextStart,
            Self::Interrupted,
        ];
        all.into_iter().find(|exit| *exit as i32 == code)
    }
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
