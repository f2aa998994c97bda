//! Failures: words for people, a code for programs.

use std::error::Error;
use std::fmt;
use std::io;

use hopcost_core::{Class, Code, ProbeError, Reason, TargetError};
use hopcost_store::StoreError;
use serde::{Deserialize, Serialize};

pub type Outcome<T> = Result<T, Failure>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    Failed,
    Usage,
    NotHere,
    /// Other processes disturbed it: a retry may succeed.
    Disturbed,
    Interrupted,
}

#[derive(Debug)]
pub struct Failure {
    pub ending: Ending,
    pub code: Code,
    words: String,
    kind: Option<io::ErrorKind>,
}

impl Failure {
    pub(crate) fn new(ending: Ending, code: Code, words: String) -> Self {
        Self { ending, code, words, kind: None }
    }

    pub fn usage(code: Code, words: impl fmt::Display) -> Self {
        Self::new(Ending::Usage, code, words.to_string())
    }

    pub fn not_here(code: Code, words: impl fmt::Display) -> Self {
        Self::new(Ending::NotHere, code, words.to_string())
    }

    pub fn is_of_the_store(&self) -> bool {
        self.code == Code::StoreFailed
    }

    /// The reader closed the pipe, as `head` does: not an error.
    pub fn is_closed_pipe(&self) -> bool {
        self.kind == Some(io::ErrorKind::BrokenPipe)
    }

    pub(crate) fn is_interruption(&self) -> bool {
        self.ending == Ending::Interrupted
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

/// Joins a failure and its cause without repetition: our errors already end with their cause, and
/// `what` may end with the path that `cause` begins with.
fn joined(what: &str, cause: &str) -> String {
    let (subject, rest) = cause.split_once(": ").unwrap_or(("", cause));
    if !subject.is_empty() && what.ends_with(subject) {
        format!("{what}: {rest}")
    } else if what.contains(cause) {
        what.to_owned()
    } else {
        format!("{what}: {cause}")
    }
}

fn words(error: &dyn Error) -> String {
    let own = error.to_string();
    error.source().map_or_else(|| own.clone(), |cause| joined(&own, &words(cause)))
}

impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        let words = words(&error);
        let error: &dyn Error = &error;
        let (ending, code) = if let Some(ProbeError::NotHere(reason)) = error.downcast_ref() {
            (Ending::NotHere, reason.code())
        } else if let Some(error) = error.downcast_ref::<TargetError>() {
            (of_target(error), error.code())
        } else if let Some(reason) = error.downcast_ref::<Reason>() {
            (of_code(reason.code()), reason.code())
        } else if error.is::<StoreError>() {
            (Ending::Failed, Code::StoreFailed)
        } else {
            (Ending::Failed, Code::SystemFailed)
        };
        let kind = error.downcast_ref().map(io::Error::kind);
        Self { kind, ..Self::new(ending, code, words) }
    }
}

const fn of_code(code: Code) -> Ending {
    match code.class() {
        Class::Usage => Ending::Usage,
        Class::NotHere => Ending::NotHere,
        Class::Disturbed => Ending::Disturbed,
        _ => Ending::Failed,
    }
}

const fn of_target(error: &TargetError) -> Ending {
    match error {
        TargetError::NotHere(reason) if matches!(reason.code().class(), Class::Disturbed) => {
            Ending::Disturbed
        }
        TargetError::NotHere(_) => Ending::NotHere,
        TargetError::Failed(_) => Ending::Failed,
        TargetError::Interrupted => Ending::Interrupted,
    }
}

pub trait InContext<T> {
    fn in_context(self, what: impl fmt::Display) -> Outcome<T>;
}

impl<T, E: Into<Failure>> InContext<T> for Result<T, E> {
    fn in_context(self, what: impl fmt::Display) -> Outcome<T> {
        self.map_err(|error| {
            let failure = error.into();
            Failure { words: joined(&what.to_string(), &failure.words), ..failure }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_database_says_ends_in_its_own_way() {
        let ending = |error: TargetError| {
            let failure = Failure::from(error);
            (failure.ending, failure.code)
        };
        let refused = |code: Code| TargetError::NotHere(code.because("x"));
        assert_eq!(ending(refused(Code::WrongServer)), (Ending::NotHere, Code::WrongServer));
        assert_eq!(ending(refused(Code::ServerInUse)), (Ending::Disturbed, Code::ServerInUse));
        assert_eq!(ending(TargetError::Failed("x".into())), (Ending::Failed, Code::EngineFailed));
        assert_eq!(ending(TargetError::Interrupted), (Ending::Interrupted, Code::Interrupted));
    }

    #[test]
    fn nothing_is_said_twice() {
        let failed = |words: &str| Err::<(), _>(io::Error::other(words.to_owned()));
        let said = |outcome: Outcome<()>| outcome.unwrap_err().to_string();
        let error = failed("no such file").in_context("x.svg: no such file");
        assert_eq!(said(error.in_context("--svg x.svg")), "--svg x.svg: no such file");
        let error = failed("line 1: damaged").in_context("--sysfs x");
        assert_eq!(said(error), "--sysfs x: line 1: damaged");
    }
}
