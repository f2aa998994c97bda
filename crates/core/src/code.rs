//! Why something was refused, failed or is missing, as codes that scripts can match.
//!
//! Messages may change with any version. A code is never reworded and never reused for something
//! else.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Wrong command line, file or URL: exit code 2.
    Usage,
    /// This machine or database cannot do it: exit code 3, NOT_APPLICABLE.
    NotHere,
    /// Exit code 1.
    Failed,
    /// There are figures, but their preconditions did not hold: REFUSED.
    Evidence,
    /// Not enough time: INCONCLUSIVE.
    Undecided,
    /// Other processes interfered; a retry may succeed: exit code 5, DISTURBED.
    Disturbed,
    Missing,
    Concluded,
}

macro_rules! codes {
    ($($class:ident $variant:ident = $name:literal, $about:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Code {
            $(#[doc = $about] #[serde(rename = $name)] $variant,)*
        }

        impl Code {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            pub const fn about(self) -> &'static str {
                match self { $(Self::$variant => $about,)* }
            }

            pub const fn class(self) -> Class {
                match self { $(Self::$variant => Class::$class,)* }
            }
        }
    };
}

codes! {
    Usage UnknownName = "usage.name", "A name that hopcost does not know.";
    Usage BadValue = "usage.value", "A value that is out of range, or cannot be read.";
    Usage BadOption = "usage.option", "An option that means nothing here, or contradicts another.";
    Usage BadFile = "usage.file", "A file that is not what it should be.";
    Usage BadUrl = "usage.url", "A URL of a target that is wrong.";
    Usage NothingToResume = "usage.resume", "No unfinished run fits the one that was asked for.";
    Usage NoBaseline = "usage.baseline", "No run is stored that can be the baseline.";

    NotHere TooFewNodes = "machine.nodes", "The experiment needs more memory nodes than there are.";
    NotHere TooFewCpus = "machine.cpus", "The experiment needs more CPUs or cores than may be used.";
    NotHere NoSiblings = "machine.smt", "No core has two hardware threads that may be used.";
    NotHere NoSuchDistance = "machine.distance", "No two places on this machine are that far apart.";
    NotHere TooLittleMemory = "machine.memory", "The data does not fit into the memory that is available.";
    NotHere NoCounters = "machine.counters", "The processor's counters cannot be read.";
    NotHere NotPermitted = "machine.permission", "The user or the container may not do that.";
    NotHere NotEmulated = "machine.emulation", "That cannot be emulated, or not on this machine.";
    NotHere KernelLacks = "kernel.feature", "This kernel cannot do that.";

    NotHere Unsupported = "engine.setting", "This engine cannot do what a variant asks for.";
    NotHere Unverifiable = "engine.metric", "This engine can never verify what the experiment claims.";
    NotHere WorkloadUnsupported = "engine.workload", "This engine cannot run the workload.";
    NotHere ProgramMissing = "engine.program", "The server's programs or library are not installed.";
    NotHere WrongVersion = "engine.version", "The server is too old, or of a version with no script for this.";
    NotHere WrongServer = "engine.server", "The server is another one than the URL says, or of a kind that is not served.";
    NotHere ReadOnly = "engine.read_only", "The server takes no writes, or others follow its writes.";
    NotHere RightsMissing = "engine.rights", "The account may not do what is needed.";
    NotHere NotOurs = "engine.contents", "Something is in the place that hopcost would use, and is not its own.";
    NotHere NotPlaceable = "engine.place", "The server's process or memory cannot be placed.";

    Failed EngineFailed = "engine.failed", "The database reported an error, or went away.";
    Failed StoreFailed = "store.failed", "The store could not be read or written.";
    Failed SystemFailed = "host.failed", "The system refused something.";

    Evidence Misplaced = "evidence.place", "Pages or threads were not where they had to be.";
    Evidence ClaimUnmet = "evidence.claim", "A claim of the experiment does not hold.";
    Evidence ClaimUnverified = "evidence.unverified", "A claim of the experiment could not be verified.";
    Evidence WrongAnswers = "evidence.answers", "Too many calls failed or came back wrong.";
    Evidence PlanChanged = "evidence.plan", "The database changed the way in which it runs a statement.";
    Evidence OverheadTooHigh = "evidence.overhead", "Too much of each call is hopcost's own time.";
    Evidence LittlesLaw = "evidence.littles_law", "Calls and response times contradict each other.";
    Evidence SelfCheckFailed = "evidence.self_check", "The baseline differs from itself.";
    Evidence HalvesDisagree = "evidence.drift", "The two halves of the run contradict each other.";
    Evidence ByChance = "evidence.chance", "Chance alone explains what was found.";

    Undecided TooFewBlocks = "budget.blocks", "The budget did not suffice for a first look.";
    Undecided IntervalTooWide = "budget.interval", "The interval is too wide for a verdict.";

    Disturbed OthersAtWork = "disturbed.others", "Other processes or guests used the CPUs.";
    Disturbed ServerInUse = "disturbed.lock", "Another hopcost is at work in that server.";
    Disturbed Interrupted = "disturbed.interrupted", "The user interrupted it.";

    Missing NotMeasured = "missing.not_measured", "It was not measured.";
    Missing NotAsked = "missing.not_asked", "It was not requested.";
    Missing NotApplicable = "missing.not_applicable", "There is no such thing here.";
    Missing NotStored = "missing.not_stored", "The store does not have it.";
    Missing NotTold = "missing.not_told", "The kernel, the firmware or the server does not tell it.";
    Missing Unreadable = "missing.unreadable", "It cannot be read, or not by this user.";
    Missing Malformed = "missing.malformed", "It is there, and is not in the form that is known.";
    Missing OffLine = "missing.off_line", "The CPU is off-line and reports nothing.";
    Missing Ended = "missing.ended", "The process has ended.";
    Missing OnEmulated = "missing.emulated", "An emulated machine has none.";
    Missing TooFew = "missing.too_few", "Too little was measured for a figure.";
    Missing NoFit = "missing.no_fit", "No curve of this kind fits what was measured.";
    Missing NotComparable = "missing.not_comparable", "The two sides cannot be compared in this.";

    Concluded Concluded = "result.interval", "What the interval says.";
    Concluded Uncoded = "result.uncoded", "Stored by a version that had no codes.";
}

/// For records stored before codes existed.
impl Default for Code {
    fn default() -> Self {
        Self::Uncoded
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_different_and_sentences_are_whole() {
        let names: BTreeSet<&str> = Code::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        for code in Code::ALL {
            let (name, about) = (code.name(), code.about());
            assert!(about.ends_with('.') && about.len() < 90, "{name}: {about}");
            let text = serde_json::to_string(code).unwrap();
            assert_eq!(text, format!("\"{name}\""));
            assert_eq!(serde_json::from_str::<Code>(&text).unwrap(), *code);
        }
    }
}
