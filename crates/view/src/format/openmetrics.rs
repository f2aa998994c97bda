//! Findings as OpenMetrics text, for a monitoring system or a file collector.

use std::fmt::Write as _;

use hopcost_core::{Estimate, Unit, Verdict};

use super::output::{Canvas, Format, Shown};
use crate::page::Page;

pub const FORMAT: Format = Format {
    name: "openmetrics",
    about: "gauges of what was found, with intervals and verdicts, for monitoring",
    media: "application/openmetrics-text; version=1.0.0; charset=utf-8",
    of: openmetrics,
};

const VERDICTS: [Verdict; 8] = [
    Verdict::Cost,
    Verdict::Gain,
    Verdict::Equivalent,
    Verdict::Inconclusive,
    Verdict::Measured,
    Verdict::Refused,
    Verdict::NotApplicable,
    Verdict::Disturbed,
];

/// Samples by metric family: lines of one family must be adjacent.
#[derive(Default)]
struct Families(Vec<(String, String)>);

type Label<'a> = (&'a str, &'a str);

fn openmetrics(shown: &Shown<'_>, _: Canvas) -> String {
    let mut families = Families::default();
    match shown {
        Shown::Report(page) => families.add_report(page),
        Shown::Between(found) => {
            for pair in &found.cells {
                let (row, column) = (pair.row.to_string(), pair.column.to_string());
                let labels = [
                    ("probe", &*pair.probe),
                    ("series", &pair.series),
                    ("row", &row),
                    ("column", &column),
                ];
                families.add("hopcost_between_ratio", &pair.ratio, 1.0, &labels);
            }
            for pair in &found.scores {
                let labels = [("experiment", &*pair.experiment), ("of", &pair.of)];
                families.add("hopcost_between_ratio", &pair.ratio, 1.0, &labels);
            }
        }
    }
    let family = |(name, samples): &(String, String)| {
        let is_states = name == "hopcost_verdict";
        let kind = if is_states { "stateset" } else { "gauge" };
        format!("# TYPE {name} {kind}\n{samples}")
    };
    families.0.iter().map(family).collect::<String>() + "# EOF\n"
}

impl Families {
    fn add_report(&mut self, page: &Page<'_>) {
        let host = page.host.get().map_or("", String::as_str);
        for section in &page.sections {
            let result = section.result;
            let (experiment, emulated) = (("experiment", &*result.experiment), result.emulated);
            let emulated = emulated.to_string();
            let all = [("host", host), experiment, ("emulated", &*emulated)];
            for verdict in VERDICTS {
                let (state, is_it) = (verdict.to_string(), u8::from(verdict == result.verdict));
                let labels = labels(&[&all[..], &[("hopcost_verdict", &*state)]].concat());
                self.push("hopcost_verdict", &format!("{labels} {is_it}"));
            }
            // Refused figures are not exported.
            if let (Some(found), false) =
                (result.estimate.get(), result.verdict == Verdict::Refused)
            {
                let (unit, parts) = base(found.unit);
                let labels = [&all[..], &[("of", &*found.of)]].concat();
                self.add(&format!("hopcost_finding_{unit}"), &found.estimate, parts, &labels);
            }
        }
        for probed in &page.probes {
            for result in &probed.report.cells {
                let Some(estimate) = result.estimate() else { continue };
                let cell = &result.cell;
                let (row, column) = (cell.row.to_string(), cell.column.to_string());
                let (unit, parts) = base(cell.unit);
                let labels = [
                    ("host", host),
                    ("probe", &*probed.report.probe),
                    ("series", &cell.series),
                    ("row", &row),
                    ("column", &column),
                ];
                self.add(&format!("hopcost_probe_{unit}"), estimate, parts, &labels);
            }
        }
    }

    /// A figure and its interval; `parts` of our unit make one base unit.
    fn add(&mut self, family: &str, estimate: &Estimate, parts: f64, all: &[Label<'_>]) {
        let Estimate { point, low, high, .. } = estimate;
        for (end, value) in [("point", point), ("low", low), ("high", high)] {
            let labels = labels(&[all, &[("end", end)]].concat());
            self.push(family, &format!("{labels} {}", value / parts));
        }
    }

    fn push(&mut self, family: &str, sample: &str) {
        let place = self.0.iter().position(|(name, _)| name == family).unwrap_or_else(|| {
            self.0.push((family.to_owned(), String::new()));
            self.0.len() - 1
        });
        let _ = writeln!(self.0[place].1, "{family}{sample}");
    }
}

/// The base unit's name, and how many of our units it has.
const fn base(unit: Unit) -> (&'static str, f64) {
    match unit {
        Unit::Nanoseconds => ("seconds", 1e9),
        Unit::Microseconds => ("seconds", 1e6),
        Unit::GigabytesPerSecond => ("bytes_per_second", 1e-9),
        Unit::PerSecond => ("per_second", 1.0),
        Unit::Fraction => ("ratio", 1.0),
    }
}

fn labels(labels: &[Label<'_>]) -> String {
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let label = |(name, text): &Label<'_>| format!("{name}=\"{}\"", escaped(text));
    format!("{{{}}}", labels.iter().map(label).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Sample, page};

    #[test]
    fn what_was_found_is_a_gauge_with_its_interval_and_a_refusal_has_none() {
        let cost = Sample::compared("remote-memory", Verdict::Cost, 0.0625, 0.03125);
        let refused = Sample::compared("a\"b\n", Verdict::Refused, 0.5, 0.1);
        let page = page(vec![cost.section(), refused.section()]);
        let text = openmetrics(&Shown::Report(&page), Canvas { columns: 80 });
        let all = r#"{host="box",experiment="remote-memory",emulated="false""#;
        for (end, value) in [("point", "0.0625"), ("low", "0.03125"), ("high", "0.09375")] {
            let of = "cost of far over near at 2 streams";
            let line =
                format!("\nhopcost_finding_ratio{all},of=\"{of}\",end=\"{end}\"}} {value}\n");
            assert!(text.contains(&line), "{line} in {text}");
        }
        assert!(text.contains(&format!("\nhopcost_verdict{all},hopcost_verdict=\"COST\"}} 1\n")));
        assert_eq!(text.matches("} 1\n").count(), 2, "each has one verdict: {text}");
        assert!(text.contains(r#"experiment="a\"b\n""#), "{text}");
        assert_eq!(text.matches("hopcost_finding_ratio{").count(), 3, "{text}");
        assert_eq!(text.matches("# TYPE").count(), 2, "{text}");
        assert!(text.ends_with("\n# EOF\n"));
    }
}
