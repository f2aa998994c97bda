//! What was kept of a machine, and how its runs were asked for.

use hopcost_core::{ExperimentResult, Known, Machine, ProbeReport};

#[derive(Clone, Debug)]
pub struct Kept<'a> {
    /// As it was asked for.
    pub name: String,
    pub machine: Known<&'a Machine>,
    /// The runs that count, the latest first, one of each experiment.
    pub runs: Vec<KeptRun<'a>>,
}

impl Kept<'_> {
    pub(super) fn is_emulated(&self) -> bool {
        self.runs.iter().any(KeptRun::is_emulated)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct KeptRun<'a> {
    pub id: i64,
    pub experiment: &'a str,
    /// The database under test; none of a run on the hardware.
    pub target: Option<&'a str>,
    /// Seconds since 1970.
    pub begun_s: i64,
    /// None of a run that was not finished.
    pub result: Option<&'a ExperimentResult>,
    pub reports: &'a [ProbeReport],
}

impl KeptRun<'_> {
    pub(super) fn is_emulated(&self) -> bool {
        self.result.is_some_and(|result| result.emulated)
    }

    /// Runs on the hardware alone are compared cell by cell.
    pub(super) fn is_of_database(&self) -> bool {
        self.target.is_some()
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Differing {
    /// What makes them two questions.
    pub question: Vec<String>,
    /// What leaves the question the same.
    pub manner: Vec<String>,
}

pub type TellApart<'a> = &'a dyn Fn(&KeptRun<'_>, &KeptRun<'_>) -> Differing;
