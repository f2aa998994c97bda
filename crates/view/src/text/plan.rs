//! What a run would do, and what it would skip.

use std::fmt::Write as _;

use hopcost_core::{Experiment, NodeId, Reason};

use super::ink::Ink;
use super::wrap::{LEAST_WIDTH, labelled, pad, prose};
use crate::words::{bytes, plural};

const INDENT: usize = 13;

#[derive(Clone, Copy, Debug)]
pub struct PlannedStep<'a> {
    pub name: &'a str,
    pub cells: usize,
    pub left_out: &'a [(Reason, usize)],
    pub seconds: f64,
    pub memory: &'a [(NodeId, u64)],
}

fn head(experiment: &Experiment, emulated: bool, columns: usize) -> String {
    let stamp = if emulated { "EMULATED  " } else { "" };
    let mut out = format!("{stamp}{}\n", Ink::Strong.on(&experiment.name));
    for line in prose(&experiment.question, columns) {
        let _ = writeln!(out, "{line}");
    }
    out.push('\n');
    out
}

pub fn plan(
    experiment: &Experiment,
    emulated: bool,
    steps: &[PlannedStep<'_>],
    columns: usize,
) -> String {
    let columns = columns.clamp(LEAST_WIDTH, 100);
    let mut out = head(experiment, emulated, columns);
    for (n, step) in steps.iter().enumerate() {
        let memory: u64 = step.memory.iter().map(|(_, bytes)| bytes).sum();
        let on = plural(step.memory.len(), "node");
        let memory =
            if memory == 0 { "no memory".to_owned() } else { format!("{} on {on}", bytes(memory)) };
        let what =
            format!("{} · about {:.0} s · {memory}", plural(step.cells, "cell"), step.seconds);
        let label = pad(&format!("{}. {}", n + 1, step.name), INDENT);
        out.push_str(&labelled(&label, INDENT, &what, columns));
        for (reason, times) in step.left_out {
            let text = format!("skipped {}: {reason}", plural(*times, "cell"));
            out.push_str(&labelled("", INDENT, &Ink::Faint.on(&text), columns));
        }
    }
    let seconds: f64 = steps.iter().map(|step| step.seconds).sum();
    out.push('\n');
    let summary = format!(
        "About {seconds:.0} s in total. Each round measures all cells, in an order drawn from the seed. \
         Nothing on the machine is changed."
    );
    for line in prose(&summary, columns) {
        let _ = writeln!(out, "{line}");
    }
    out
}

#[derive(Clone, Debug)]
pub struct PlannedComparison<'a> {
    pub experiment: &'a Experiment,
    /// Marks all output if distance is emulated.
    pub emulated: bool,
    pub target: &'a str,
    pub data: String,
    pub arms: Vec<(String, Vec<String>)>,
    pub points: Vec<String>,
    pub order: String,
    /// At most.
    pub seconds: f64,
    pub memory_bytes: u64,
    pub disk_bytes: u64,
    pub left_out: Vec<String>,
    pub changes: &'static str,
}

pub fn comparison(plan: &PlannedComparison<'_>, columns: usize) -> String {
    let columns = columns.clamp(LEAST_WIDTH, 100);
    let mut out = head(plan.experiment, plan.emulated, columns);
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
        "at most {time}, {} of memory, {} of disk",
        bytes(plan.memory_bytes),
        bytes(plan.disk_bytes)
    );
    fact("takes", &takes);
    for left_out in &plan.left_out {
        fact("skipped", left_out);
    }
    let _ = writeln!(out, "\n{}. {}.", plural(plan.points.len(), "point"), plan.changes);
    out
}
