//! Results as comma-separated values (RFC 4180).

use hopcost_core::{Between, Estimate, ExperimentResult, Known, Likeness, Unit};

use super::output::{Format, Shown};

pub const FORMAT: Format = Format {
    name: "csv",
    about: "a line of comma-separated values for each result",
    media: "text/csv",
    of: |shown, _| match shown {
        Shown::Report(page) => csv(HEAD, page.sections.iter().map(|section| row(section.result))),
        Shown::Between(found) => csv(BETWEEN, pairs(found)),
    },
};

const HEAD: &str = "experiment,target,verdict,point,low,high,level,n,unit,emulated,seconds,reason";
const BETWEEN: &str = "of,what,unit,a,b,point,low,high,found";

/// Missing values are empty cells.
fn csv<const N: usize>(head: &str, rows: impl Iterator<Item = [String; N]>) -> String {
    let mut out = format!("{head}\r\n");
    for row in rows {
        out.push_str(&row.map(|cell| quoted(&cell)).join(","));
        out.push_str("\r\n");
    }
    out
}

/// Ratio of B to A for figures, difference for costs.
fn pairs(found: &Between) -> impl Iterator<Item = [String; 9]> {
    let pair = |of: &str, what, unit: &str, [a, b, d]: [&Estimate; 3], found: Likeness| {
        let figures = [a.point, b.point, d.point, d.low, d.high].map(|figure| figure.to_string());
        let [a, b, point, low, high] = figures;
        [of.to_owned(), what, unit.to_owned(), a, b, point, low, high, found.to_string()]
    };
    let cells = found.cells.iter().map(move |it| {
        let what = format!("{}, {} → {}", it.series, it.row, it.column);
        pair(&it.probe, what, unit(it.unit), [&it.a, &it.b, &it.ratio], it.likeness)
    });
    let scores = found.scores.iter().map(move |it| {
        let figures = [&it.a, &it.b, &it.ratio];
        pair(&it.experiment, it.of.clone(), unit(it.unit), figures, it.likeness)
    });
    let effects = found.effects.iter().map(move |it| {
        let what = format!("{} at {}", it.level, it.streams);
        let unit = unit(Unit::Fraction);
        pair(&it.experiment, what, unit, [&it.a, &it.b, &it.dearer], it.likeness)
    });
    cells.chain(scores).chain(effects)
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "ns",
        Unit::Microseconds => "us",
        Unit::GigabytesPerSecond => "GB/s",
        Unit::PerSecond => "1/s",
        Unit::Fraction => "fraction",
    }
}

fn row(result: &ExperimentResult) -> [String; 12] {
    let headline = result.estimate.get();
    let of = |figure: fn(&Estimate) -> String| {
        headline.map_or(String::new(), |headline| figure(&headline.estimate))
    };
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
        headline.map_or("", |headline| unit(headline.unit)).to_owned(),
        result.emulated.to_string(),
        result.seconds.to_string(),
        result.reason.to_string(),
    ]
}

/// Quoted if it holds a separator, a quote or a line break. Cells that a spreadsheet would take for
/// a formula become text.
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
        sample.result.reason = Code::NotMeasured.because("beyond ±3%, \"surely\"");
        let csv = csv(HEAD, std::iter::once(row(&sample.result)));
        let lines: Vec<&str> = csv.split("\r\n").collect();
        assert_eq!(lines[0], HEAD);
        assert!(
            lines[1].starts_with("remote-memory,sqlite:,COST,0.25,0.125,0.375"),
            "{}",
            lines[1]
        );
        assert!(lines[1].ends_with(r#""beyond ±3%, ""surely""""#), "{}", lines[1]);
        assert_eq!(lines[2..], [""]);
    }

    #[test]
    fn what_is_missing_is_empty_and_nothing_is_a_formula() {
        let sample = Sample::absent("x", "there is one node");
        let row = csv(HEAD, std::iter::once(row(&sample.result)));
        assert!(row.contains("NOT_APPLICABLE,,,,,,,false,"));
        assert_eq!(quoted("=1+1"), "'=1+1");
        assert_eq!(quoted("-0.5"), "-0.5");
    }
}
