//! What an experiment found: one sentence first.

use std::fmt::Write as _;

use hopcost_core::{ExperimentResult, Headline, Known, Unit, Verdict};

use super::ink::Ink;
use super::wrap::{LEAST_WIDTH, labelled, pad, prose};
use crate::number::{figure, margin};

const INDENT: usize = 11;

/// The verdict and what it rests on, `columns` wide; the figures follow in other sections.
pub fn result(result: &ExperimentResult, columns: usize) -> String {
    let columns = columns.clamp(LEAST_WIDTH, 100);
    let ink = match result.verdict {
        Verdict::Refused => Ink::Bad,
        Verdict::NotApplicable | Verdict::Inconclusive => Ink::Faint,
        _ => Ink::Strong,
    };
    let mut out = String::new();
    let stamp = if result.emulated { "EMULATED  " } else { "" };
    let sentence = format!("{stamp}{}  {}", ink.on(&result.verdict.to_string()), sentence(result));
    for line in prose(&sentence, columns) {
        let _ = writeln!(out, "{line}");
    }
    let mut fact = |label: &str, text: &str| {
        out.push_str(&labelled(&format!("  {}", Ink::Faint.on(label)), INDENT, text, columns));
    };
    fact("asked", &result.question);
    if let Some(planted) = result.planted {
        fact("planted", &format!("{:.2} % of throughput, as counted", 100.0 * planted));
    }
    for proved in &result.proof {
        let found = format!(
            "{}: {:.1} % ({:.0} % needed)",
            proved.claim,
            100.0 * proved.found,
            100.0 * proved.least
        );
        fact(if proved.holds() { "proved" } else { "disproved" }, &found);
    }
    out.push('\n');
    out
}

/// One line: the name, the verdict, and the figure, or why there is none.
pub fn outcome(result: &ExperimentResult, columns: usize) -> String {
    let columns = columns.clamp(LEAST_WIDTH, 100);
    let figure = match (&result.estimate, result.verdict) {
        (_, Verdict::Refused | Verdict::NotApplicable) => result.reason.to_string(),
        (Known::Is(headline), _) if headline.unit == Unit::Fraction => {
            let e = &headline.estimate;
            let [point, low, high] = [e.point, e.low, e.high].map(|share| 100.0 * share);
            format!("{point:+.1} % ({low:+.1} … {high:+.1})  {}", headline.of)
        }
        (Known::Is(headline), _) => format!("{}  {}", measured(headline), headline.of),
        (Known::Missing(reason), _) => reason.to_string(),
    };
    let stamp = if result.emulated { "EMULATED " } else { "" };
    let verdict = pad(&Ink::Strong.on(&result.verdict.to_string()), 13);
    labelled(
        &format!("  {}", result.experiment),
        20,
        &format!("{stamp}{verdict} {figure}"),
        columns,
    )
}

fn measured(headline: &Headline) -> String {
    format!("{} {} {}", figure(headline.estimate.point), margin(&headline.estimate), headline.unit)
}

fn sentence(result: &ExperimentResult) -> String {
    match (&result.estimate, result.verdict) {
        (_, Verdict::Refused | Verdict::NotApplicable) => result.reason.to_string(),
        (Known::Is(headline), _) if headline.unit == Unit::Fraction => {
            let e = &headline.estimate;
            let [point, low, high] = [e.point, e.low, e.high].map(|share| 100.0 * share);
            format!(
                "{point:.1} % of throughput ({low:.1} … {high:.1} %): the {}; {}",
                headline.of, result.reason
            )
        }
        (Known::Is(headline), _) if result.details.is_some() => {
            format!("{}: {}; {}", measured(headline), headline.of, result.reason)
        }
        (Known::Is(headline), _) => format!(
            "{} {} {} at the farthest ({})",
            figure(headline.estimate.point),
            margin(&headline.estimate),
            headline.unit,
            headline.of
        ),
        (Known::Missing(reason), _) => reason.to_string(),
    }
}
