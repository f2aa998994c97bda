//! The runs of a store, a line each.

use hopcost_core::Verdict;
use hopcost_method::tag;
use serde::Serialize;

use super::table::table;
use crate::story::block::{Column, Table};
use crate::words::moment;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoredRun {
    pub run: i64,
    pub begun_s: i64,
    pub experiment: String,
    pub target: Option<String>,
    /// `None` if it is unfinished.
    pub verdict: Option<Verdict>,
    /// Names for which it is the baseline.
    pub baselines: Vec<String>,
}

pub fn runs(all: &[StoredRun], columns: usize) -> String {
    let row = |run: &StoredRun| {
        vec![
            run.run.to_string(),
            moment(run.begun_s),
            run.experiment.clone(),
            run.verdict.map_or("unfinished", tag).to_owned(),
            run.baselines.join(", "),
            run.target.clone().unwrap_or_default(),
        ]
    };
    let mut head = vec![Column::figures("run")];
    head.extend(["begun", "experiment", "result", "baseline"].map(Column::words));
    head.push(Column::words("database").detail());
    table(&Table { head, rows: all.iter().map(row).collect() }, columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_has_a_line_and_an_unfinished_one_says_so() {
        let run = StoredRun {
            run: 12,
            begun_s: 1_764_055_740,
            experiment: "placebo".into(),
            target: Some("sqlite:".into()),
            verdict: Some(Verdict::Equivalent),
            baselines: vec!["main".into()],
        };
        let cut = StoredRun { verdict: None, baselines: Vec::new(), target: None, ..run.clone() };
        let shown = crate::xml::plain(&runs(&[run, cut], 100));
        let lines: Vec<Vec<&str>> =
            shown.lines().map(|it| it.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["run", "begun", "experiment", "result", "baseline", "database"]);
        assert_eq!(lines[1][4..], ["placebo", "NO", "DIFFERENCE", "main", "sqlite:"]);
        assert_eq!(lines[2][4..], ["placebo", "unfinished"]);
    }
}
