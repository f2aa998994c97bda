//! Results as comma-separated values (RFC 4180): a row each.

use hopcost_core::{ExperimentResult, Known};

const HEAD: &str = "experiment,target,verdict,point,low,high,level,n,unit,emulated,seconds,reason";

/// A head, and a row for each result; what is missing is an empty cell.
pub fn csv<'r>(results: impl IntoIterator<Item = &'r ExperimentResult>) -> String {
    let mut out = format!("{HEAD}\r\n");
    for result in results {
        let cells: Vec<String> = row(result).iter().map(|cell| quoted(cell)).collect();
        out.push_str(&cells.join(","));
        out.push_str("\r\n");
    }
    out
}

fn row(result: &ExperimentResult) -> [String; 12] {
    let headline = result.estimate.get();
    let of = |figure: fn(&hopcost_core::Estimate) -> String| {
        headline.map_or(String::new(), |headline| figure(&headline.estimate))
    };
    // As in JSON: `fraction`, `1/s`.
    let unit = headline.map_or("", |headline| match headline.unit {
        hopcost_core::Unit::Nanoseconds => "ns",
        hopcost_core::Unit::Microseconds => "us",
        hopcost_core::Unit::GigabytesPerSecond => "GB/s",
        hopcost_core::Unit::PerSecond => "1/s",
        hopcost_core::Unit::Fraction => "fraction",
    });
    let target = match &result.target {
        Known::Is(target) => target.clone(),
        Known::Missing(_) => String::new(),
    };
    [
        result.experiment.clone(),
        target,
        result.verdict.to_string(),
        of(|e| e.point.to_string()),
        of(|e| e.low.to_string()),
        of(|e| e.high.to_string()),
        of(|e| e.level.to_string()),
        of(|e| e.n.to_string()),
        unit.to_owned(),
        result.emulated.to_string(),
        result.seconds.to_string(),
        result.reason.to_string(),
    ]
}

/// In quotes where a separator, a quote or a line's end stands in it. A cell that a spreadsheet would
/// take for a formula is made text.
fn quoted(cell: &str) -> String {
    let is_formula = cell.starts_with(['=', '@', '+'])
        || (cell.starts_with('-') && cell.parse::<f64>().is_err());
    let cell = if is_formula { format!("'{cell}") } else { cell.to_owned() };
    if cell.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", cell.replace('"', "\"\""));
    }
    cell
}

#[cfg(test)]
mod tests {
    use hopcost_core::Verdict;

    use super::*;
    use crate::sample::Sample;
    use hopcost_core::Code;

    #[test]
    fn a_result_is_a_row() {
        let mut sample = Sample::compared("remote-memory", Verdict::Cost, 0.25, 0.125);
        sample.result.reason = Code::NotMeasured.because("beyond ±3 %, \"surely\"");
        let csv = csv([&sample.result]);
        let lines: Vec<&str> = csv.split("\r\n").collect();
        assert_eq!(lines[0], HEAD);
        assert!(
            lines[1].starts_with("remote-memory,sqlite:,COST,0.25,0.125,0.375"),
            "{}",
            lines[1]
        );
        assert!(lines[1].ends_with(r#""beyond ±3 %, ""surely""""#), "{}", lines[1]);
        assert_eq!(lines[2..], [""]);
    }

    #[test]
    fn what_is_missing_is_empty_and_nothing_is_a_formula() {
        let sample = Sample::absent("x", "there is one node");
        assert!(csv([&sample.result]).contains("NOT_APPLICABLE,,,,,,,false,"));
        assert_eq!(quoted("=1+1"), "'=1+1");
        assert_eq!(quoted("-0.5"), "-0.5");
    }
}
