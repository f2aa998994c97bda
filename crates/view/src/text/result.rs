//! What an experiment found: one sentence first.

use std::fmt::Write as _;

use hopcost_core::{Against, Estimate, ExperimentResult, Headline, Known, Unit, Verdict};

use super::ink::Ink;
use super::wrap::{LEAST_WIDTH, labelled, pad, prose};
use crate::words::{day, figure, margin};

const INDENT: usize = 11;

/// The verdict and what it rests on, `columns` wide; the figures follow in other sections.
pub fn result(result: &ExperimentResult, columns: usize) -> String {
    let columns = columns.clamp(LEAST_WIDTH, 100);
    let ink = match result.verdict {
        Verdict::Refused => Ink::Bad,
        Verdict::NotApplicable | Verdict::Disturbed | Verdict::Inconclusive => Ink::Faint,
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
    if let Some(against) = &result.against {
        fact("baseline", &beside(against));
        for note in &against.notes {
            fact("", note);
        }
    }
    out.push('\n');
    out
}

/// One line: the name, the verdict, and the figure, or why there is none.
pub fn outcome(result: &ExperimentResult, columns: usize) -> String {
    let columns = columns.clamp(LEAST_WIDTH, 100);
    let figure = match (&result.estimate, result.verdict) {
        (_, verdict) if verdict.is_without_figures() => result.reason.to_string(),
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

/// The last words of a survey: a label and what belongs to it, line by line.
pub fn survey(lines: &[(&str, &str)], columns: usize) -> String {
    let columns = columns.clamp(LEAST_WIDTH, 100);
    let line = |(label, text): &(&str, &str)| labelled(&Ink::Strong.on(label), 12, text, columns);
    lines.iter().map(line).collect()
}

fn measured(headline: &Headline) -> String {
    format!("{} {} {}", figure(headline.estimate.point), margin(&headline.estimate), headline.unit)
}

fn sentence(result: &ExperimentResult) -> String {
    match (&result.estimate, result.verdict) {
        (_, verdict) if verdict.is_without_figures() => result.reason.to_string(),
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

/// `against main (run 3 of 2026-11-21): throughput -3.0 % (…), cost +1.2 points (…)`.
fn beside(against: &Against) -> String {
    let Against { baseline, run, is_first, worse, dearer, .. } = against;
    if *is_first {
        return format!("this run is '{baseline}' from now on: it is the first of that name");
    }
    let since = format!("against {baseline} (run {run} of {})", day(against.begun_s));
    if let (Known::Missing(reason), Known::Missing(_)) = (worse, dearer) {
        return format!("{since}: nothing is compared, because {reason}");
    }
    let faster = worse.clone().map(|worse| Estimate {
        point: -worse.point,
        low: -worse.high,
        high: -worse.low,
        ..worse
    });
    format!("{since}: throughput {}, cost {}", changed(&faster, "%"), changed(dearer, "points"))
}

/// `+1.2 points (+0.4 … +2.0)`.
fn changed(change: &Known<Estimate>, unit: &str) -> String {
    match change {
        Known::Is(Estimate { point, low, high, .. }) => {
            let [point, low, high] = [point, low, high].map(|share| 100.0 * share);
            format!("{point:+.1} {unit} ({low:+.1} … {high:+.1})")
        }
        Known::Missing(reason) => format!("missing, because {reason}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopcost_core::Code;

    fn against(worse: Known<Estimate>, dearer: Known<Estimate>) -> Against {
        Against {
            baseline: "main".into(),
            run: 3,
            begun_s: 1_795_219_200,
            is_first: false,
            worse,
            dearer,
            notes: Vec::new(),
        }
    }

    #[test]
    fn a_baseline_is_told_in_one_sentence() {
        let of = |point| {
            let (low, high) = (point - 0.004, point + 0.006);
            Known::Is(Estimate { point, low, high, level: 0.95, n: 24, n_effective: 24.0 })
        };
        let missing = || Known::missing(Code::NotApplicable, "it was measured elsewhere");
        let both = against(of(0.03), of(0.012));
        assert_eq!(
            beside(&both),
            "against main (run 3 of 2026-11-21): throughput -3.0 % (-3.6 … -2.6), cost +1.2 points \
             (+0.8 … +1.8)"
        );
        assert!(
            beside(&against(of(0.03), missing()))
                .ends_with("cost missing, because it was measured elsewhere")
        );
        assert!(
            beside(&against(missing(), missing()))
                .ends_with("nothing is compared, because it was measured elsewhere")
        );
        let first = Against { is_first: true, ..both };
        assert!(beside(&first).contains("this run is 'main'"));
    }
}
