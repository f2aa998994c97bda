//! The stored runs of one machine.

use hopcost_core::{ExperimentResult, Known, Machine, ProbeReport};

#[derive(Clone, Debug)]
pub struct Kept<'a> {
    pub name: String,
    pub machine: Known<&'a Machine>,
    /// The latest run of each experiment, latest first.
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
    pub target: Option<&'a str>,
    /// Seconds since 1970.
    pub begun_s: i64,
    /// `None` if the run is unfinished.
    pub result: Option<&'a ExperimentResult>,
    pub reports: &'a [ProbeReport],
}

impl KeptRun<'_> {
    pub(super) fn is_emulated(&self) -> bool {
        self.result.is_some_and(|result| result.emulated)
    }

    pub(super) fn is_of_database(&self) -> bool {
        self.target.is_some()
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Differing {
    pub question: Vec<String>,
    /// Differences that leave the runs comparable.
    pub manner: Vec<String>,
}

pub type TellApart<'a> = &'a dyn Fn(&KeptRun<'_>, &KeptRun<'_>) -> Differing;
