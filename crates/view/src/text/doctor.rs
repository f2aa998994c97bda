//! The doctor's findings: what to mend first.

use std::fmt::Write as _;

use hopcost_core::{Finding, Severity};

use super::ink::Ink;
use super::wrap::{LEAST_WIDTH, flow, labelled};
use crate::words::plural;

const INDENT: usize = 20;

/// The findings, worst first, `columns` wide.
pub fn doctor(findings: &[Finding], columns: usize) -> String {
    let columns = columns.clamp(LEAST_WIDTH, 100);
    let of = |severity| findings.iter().filter(move |finding| finding.severity == severity);
    let mut out = format!("{}\n\n", Ink::Strong.on(&summary(findings)));
    for severity in [Severity::Warning, Severity::Note] {
        for finding in of(severity) {
            let (mark, name) = match severity {
                Severity::Warning => (Ink::Bad.on("!"), Ink::Strong.on(finding.check)),
                _ => (Ink::Faint.on("·"), finding.check.to_owned()),
            };
            out.push_str(&labelled(&format!("{mark} {name}"), INDENT, &finding.seen, columns));
            out.push_str(&labelled("", INDENT, &Ink::Faint.on(finding.why), columns));
            if let Some(remedy) = &finding.remedy {
                out.push_str(&labelled("", INDENT, &format!("→ {remedy}"), columns));
            }
            out.push('\n');
        }
    }
    let good: Vec<String> = of(Severity::Good).map(|finding| finding.check.to_owned()).collect();
    for (n, line) in flow(&good, ", ", columns - INDENT).iter().enumerate() {
        let head = if n == 0 { Ink::Good.on("✓ good") } else { String::new() };
        let _ = writeln!(out, "{}{line}", super::wrap::pad(&head, INDENT));
    }
    out
}

fn summary(findings: &[Finding]) -> String {
    let warnings = findings.iter().filter(|f| f.severity == Severity::Warning).count();
    match warnings {
        0 => "Nothing here would spoil a measurement.".to_owned(),
        n => format!("{} would spoil or colour a measurement here.", plural(n, "thing")),
    }
}
