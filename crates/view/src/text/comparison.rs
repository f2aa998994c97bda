//! What a comparison would do: which arms where, which points, what it takes, what it leaves out.

use std::fmt::Write as _;

use hopcost_core::Experiment;

use super::ink::Ink;
use super::wrap::{LEAST_WIDTH, labelled, prose};
use crate::words::{bytes, plural};

const INDENT: usize = 13;

/// A comparison that was planned.
#[derive(Clone, Debug)]
pub struct PlannedComparison<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Stamped on everything where distance is planted.
    pub emulated: bool,
    /// The database.
    pub target: &'a str,
    /// Its data.
    pub data: String,
    /// Where each level stands: a line for each way of binding it.
    pub arms: Vec<(String, Vec<String>)>,
    /// What is compared, in words.
    pub points: Vec<String>,
    /// In which order.
    pub order: String,
    /// Seconds that it takes at most.
    pub seconds: f64,
    /// Bytes of memory, and of disk.
    pub memory_bytes: u64,
    /// Bytes of disk.
    pub disk_bytes: u64,
    /// What is left out, and why.
    pub left_out: Vec<String>,
    /// What would be changed on the machine, in words.
    pub changes: &'static str,
}

/// The plan, `columns` wide.
pub fn comparison(plan: &PlannedComparison<'_>, columns: usize) -> String {
    let columns = columns.clamp(LEAST_WIDTH, 100);
    let stamp = if plan.emulated { "EMULATED  " } else { "" };
    let mut out = format!("{stamp}{}\n", Ink::Strong.on(&plan.experiment.name));
    for line in prose(&plan.experiment.question, columns) {
        let _ = writeln!(out, "{line}");
    }
    out.push('\n');
    let mut fact = |label: &str, text: &str| {
        out.push_str(&labelled(label, INDENT, text, columns));
    };
    fact("target", plan.target);
    fact("data", &plan.data);
    for (level, places) in &plan.arms {
        for (n, place) in places.iter().enumerate() {
            fact(if n == 0 { level } else { "" }, place);
        }
    }
    fact("compares", &plan.points.join(", "));
    fact("order", &plan.order);
    let minutes = plan.seconds / 60.0;
    let time = if minutes < 1.5 {
        format!("{:.0} s", plan.seconds)
    } else {
        format!("{minutes:.0} minutes")
    };
    let takes = format!(
        "at most {time} of measuring, {} of memory, {} of disk",
        bytes(plan.memory_bytes),
        bytes(plan.disk_bytes)
    );
    fact("takes", &takes);
    for left_out in &plan.left_out {
        fact("left out", left_out);
    }
    let _ = writeln!(out, "\n{}; {}.", plural(plan.points.len(), "point"), plan.changes);
    out
}
