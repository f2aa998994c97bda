//! What stands below the experiments: the doctor, the machine, the method, the settings that were
//! changed.

use std::fmt::Write as _;

use hopcost_core::{Finding, Known, Machine, Severity};

use super::list;
use crate::svg;
use crate::text;
use crate::xml::{escape, plain};

/// What would spoil a measurement here.
pub fn doctor(findings: &Known<&[Finding]>) -> String {
    let mut out = String::from("<section id=\"doctor\">\n<h2>Doctor</h2>\n");
    match findings {
        Known::Missing(reason) => {
            let _ = writeln!(
                out,
                "<p class=\"faint\">Missing, because {}.</p>",
                escape(reason.as_str())
            );
        }
        Known::Is(findings) => out.push_str(&seen(findings)),
    }
    out.push_str("</section>\n");
    out
}

fn seen(findings: &[Finding]) -> String {
    let of = |severity| findings.iter().filter(move |finding| finding.severity == severity);
    let mut out = String::from("<div class=\"findings\">");
    for severity in [Severity::Warning, Severity::Note] {
        let (mark, class) = if severity == Severity::Warning { ("!", "bad") } else { ("·", "") };
        for finding in of(severity) {
            let remedy = finding
                .remedy
                .as_deref()
                .map_or(String::new(), |remedy| format!("<br>→ {}", escape(remedy)));
            let _ = write!(
                out,
                "<div class=\"{class}\">{mark} {}</div><div>{}<br><span class=\"faint\">{}</span>{remedy}</div>",
                escape(finding.check),
                escape(&finding.seen),
                escape(finding.why)
            );
        }
    }
    let good: Vec<&str> = of(Severity::Good).map(|finding| finding.check).collect();
    if !good.is_empty() {
        let _ = write!(out, "<div>✓ good</div><div>{}</div>", escape(&good.join(", ")));
    }
    out.push_str("</div>\n");
    out
}

/// Columns of the machine in text.
const COLUMNS: usize = 80;

/// The machine as it is.
pub fn machine(machine: &Known<&Machine>) -> String {
    let mut out = String::from("<section id=\"machine\">\n<h2>Machine</h2>\n");
    match machine {
        Known::Missing(reason) => {
            let _ = writeln!(
                out,
                "<p class=\"faint\">Missing, because {}.</p>",
                escape(reason.as_str())
            );
        }
        Known::Is(machine) => {
            let _ =
                writeln!(out, "<pre>{}</pre>", escape(&plain(&text::machine(machine, COLUMNS))));
            // The small drawing above has no table of distances.
            if machine.distances.nodes.len() > 1 {
                let drawing = svg::machine(machine);
                let _ = writeln!(
                    out,
                    "<figure class=\"drawn\" style=\"margin-top:24px\">{drawing}</figure>"
                );
            }
        }
    }
    out.push_str("</section>\n");
    out
}

const METHOD: [&str; 6] = [
    "A block is four windows, A B B A or B A A B by the toss of a coin; a drift that is linear over \
     it cancels.",
    "Each node is as often near as far, so what is peculiar to one cancels too.",
    "Before and after each window it is read back where workers, pages and look-ups were; what was \
     not where it had to be voids the run.",
    "A block that was disturbed from outside is dropped whole, whatever it shows, and counted.",
    "The intervals hold at all looks together: a run ends when they are narrow enough, never because \
     they have just become significant.",
    "The worst of a sweep is looked for in one set of blocks and measured in another.",
];

/// How blocks become a verdict, in six lines.
pub fn method() -> String {
    let lines: String = METHOD.iter().map(|line| format!("<li>{}</li>", escape(line))).collect();
    format!("<section id=\"method\">\n<h2>Method</h2>\n<ol>{lines}</ol>\n</section>\n")
}

/// The settings journal.
pub fn changes(changed: &[String]) -> String {
    let said = if changed.is_empty() {
        "<p>Changed on this host: nothing.</p>\n".to_owned()
    } else {
        let all = list(changed.iter().map(String::as_str));
        format!("<p>Changed on this host:</p>\n{all}")
    };
    format!("<section id=\"changes\">\n<h2>Changes</h2>\n{said}</section>\n")
}
