//! The doctor's findings.

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
        let remedy =
            finding.remedy.as_ref().map_or(String::new(), |remedy| format!("\n→ {remedy}"));
        let text = format!("{}\n{}{remedy}", finding.seen, finding.why);
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
