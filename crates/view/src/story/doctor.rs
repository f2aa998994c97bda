//! The doctor's findings.

use std::fmt::Write as _;

use hopcost_core::{Finding, Severity};

use super::block::{Block, Sentence, Tone};
use crate::words::plural;

/// How many problems there are.
pub fn summary(findings: &[Finding]) -> String {
    let warnings = findings.iter().filter(|finding| finding.severity == Severity::Warning);
    match warnings.count() {
        0 => "Nothing here would distort a measurement.".to_owned(),
        n => format!("{} that would distort a measurement here.", plural(n, "problem")),
    }
}

pub fn doctor<'a>(findings: &[Finding]) -> Vec<Block<'a>> {
    let of = |severity| findings.iter().filter(move |finding| finding.severity == severity);
    let text = summary(findings);
    let told = |(mark, finding): (&str, &Finding)| {
        let mut text = format!("{}\n{}", finding.seen, finding.why);
        for (label, step) in [("fix", &finding.remedy), ("undo", &finding.undo)] {
            match step.as_deref() {
                // It says so itself.
                Some(step) if step.starts_with("nothing to undo") => {
                    text.push('\n');
                    text.push_str(step);
                }
                Some(step) => {
                    let _ = write!(text, "\n{label}: {step}");
                }
                None => {}
            }
        }
        (format!("{mark} {}", finding.check), text)
    };
    let marked = of(Severity::Warning).map(|it| ("!", it));
    let mut facts: Vec<_> =
        marked.chain(of(Severity::Note).map(|it| ("·", it))).map(told).collect();
    let good: Vec<&str> = of(Severity::Good).map(|finding| finding.check).collect();
    if !good.is_empty() {
        facts.push(("✓ good".to_owned(), good.join(", ")));
    }
    let summary = Sentence { verdict: None, text, tone: Tone::Strong };
    vec![Block::Sentence(summary), Block::Facts(facts)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(undo: &str) -> Finding {
        Finding {
            check: "swap",
            severity: Severity::Warning,
            seen: "8 MiB in use".into(),
            why: "it is slow",
            remedy: Some("swapoff -a".into()),
            undo: Some(undo.into()),
        }
    }

    #[test]
    fn the_fix_follows_the_reason_and_its_undo_follows_the_fix() {
        let text = |undo| crate::xml::plain(&crate::text::doctor(&[finding(undo)], 100));
        let shown = text("swapon -a");
        let lines: Vec<&str> = shown.lines().map(str::trim).skip(3).collect();
        assert_eq!(lines, ["it is slow", "fix: swapoff -a", "undo: swapon -a"], "{shown}");
        let shown = text("nothing to undo: waiting changes nothing");
        assert!(
            shown.trim_end().ends_with("  nothing to undo: waiting changes nothing"),
            "{shown}"
        );
        assert!(!shown.contains("undo: nothing"), "{shown}");
    }
}
