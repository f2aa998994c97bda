//! What a run would do, and what it would leave out.

use std::fmt::Write as _;

use hopcost_core::{Experiment, NodeId, Reason};

use super::ink::Ink;
use super::wrap::{LEAST_WIDTH, labelled, pad, prose};
use crate::words::{bytes, plural};

const INDENT: usize = 13;

/// One step of a plan.
#[derive(Clone, Copy, Debug)]
pub struct PlannedStep<'a> {
    /// What is run.
    pub name: &'a str,
    /// How many things it measures.
    pub cells: usize,
    /// How many it leaves out, by reason.
    pub left_out: &'a [(Reason, usize)],
    /// How long it probably takes.
    pub seconds: f64,
    /// The memory it takes, by node.
    pub memory: &'a [(NodeId, u64)],
}

/// A plan, `columns` wide.
pub fn plan(
    experiment: &Experiment,
    emulated: bool,
    steps: &[PlannedStep<'_>],
    columns: usize,
) -> String {
    let columns = columns.clamp(LEAST_WIDTH, 100);
    let stamp = if emulated { "EMULATED  " } else { "" };
    let mut out = format!("{stamp}{}\n", Ink::Strong.on(&experiment.name));
    for line in prose(&experiment.question, columns) {
        let _ = writeln!(out, "{line}");
    }
    out.push('\n');
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
            let text = format!("left out {}: {reason}", plural(*times, "cell"));
            out.push_str(&labelled("", INDENT, &Ink::Faint.on(&text), columns));
        }
    }
    let seconds: f64 = steps.iter().map(|step| step.seconds).sum();
    let _ =
        writeln!(out, "\nAbout {seconds:.0} s in all. Cells are measured round by round, in an");
    let _ = writeln!(out, "order shuffled anew from the seed; nothing on the machine is changed.");
    out
}
