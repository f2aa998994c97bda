//! The names of verdicts that people read; stored results and JSON have the others for ever.

use hopcost_core::Verdict;

pub const fn tag(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Cost => "COST",
        Verdict::Gain => "GAIN",
        Verdict::Equivalent => "NO DIFFERENCE",
        Verdict::Inconclusive => "UNDECIDED",
        Verdict::Measured => "MEASURED",
        Verdict::Refused => "VOID",
        Verdict::NotApplicable => "NOT TESTED",
        Verdict::Disturbed => "DISTURBED",
    }
}
