//! Figures of probes over starts, and from one occasion to the next. Pure.
//!
//! Method: a start is one value, the median of its rounds. A figure is the median of its starts, with
//! the interval of a median, which assumes nothing about their distribution. That interval is of this
//! hour. Figures of one machine also differ from one occasion to the next, and no number of starts
//! tells that, so a term is added: learned from earlier occasions of the host, or assumed.
//! Limits: samples of several starts are not kept, so their spread is that of the typical start.

use hopcost_core::{
    Cell, CellResult, Estimate, Machine, Occasion, Outcome, ProbeReport, Proof, Spread,
};
use hopcost_stats::median_interval;
use hopcost_stats::starts::Occasions;

use crate::schedule::LEVEL;

/// Without a hypervisor, as assumed: 40 runs of two probes differed by that much.
const ON_HARDWARE: f64 = 0.008;

/// `None` without starts. All are of the same probe and the same cells.
pub fn across_starts(starts: Vec<ProbeReport>) -> Option<ProbeReport> {
    let n = starts.len() as u64;
    let mut starts = starts.into_iter();
    let first = starts.next()?;
    let rest: Vec<ProbeReport> = starts.collect();
    if rest.is_empty() {
        return Some(first);
    }
    let all = || std::iter::once(&first).chain(&rest);
    let sum = |of: fn(&ProbeReport) -> u64| all().map(of).sum();
    let cell = |at: usize| {
        let cells: Vec<&CellResult> = all().filter_map(|report| report.cells.get(at)).collect();
        joined(&cells)
    };
    let mut warnings = Vec::new();
    for warning in all().flat_map(|report| &report.warnings) {
        if !warnings.contains(warning) {
            warnings.push(warning.clone());
        }
    }
    Some(ProbeReport {
        starts: n,
        contended: sum(|report| report.contended),
        rounds: sum(|report| report.rounds),
        seconds: all().map(|report| report.seconds).sum(),
        interrupted: all().any(|report| report.interrupted),
        cells: (0..first.cells.len()).map(cell).collect(),
        warnings,
        ..first.clone()
    })
}

fn joined(starts: &[&CellResult]) -> CellResult {
    let mut whole = starts[0].clone();
    let void = starts.iter().find(|start| matches!(start.outcome, Outcome::Void(_)));
    let measured = starts.iter().filter_map(|start| match &start.outcome {
        Outcome::Measured { estimate, spread } => Some((estimate, spread)),
        _ => None,
    });
    let (estimates, spreads): (Vec<&Estimate>, Vec<&Spread>) = measured.unzip();
    whole.starts = estimates.iter().map(|estimate| estimate.point).collect();
    if let Some(void) = void {
        whole.outcome = void.outcome.clone();
    } else if let Some(estimate) = median_interval(&whole.starts, LEVEL) {
        let n = estimates.iter().map(|estimate| estimate.n).sum();
        let estimate = Estimate { n, ..estimate };
        whole.outcome = Outcome::Measured { estimate, spread: of_typical(&spreads) };
    }
    let worst = starts.iter().filter_map(|start| start.proof.get());
    let worst = worst.min_by(|a, b| in_place(a).total_cmp(&in_place(b)));
    if let Some(worst) = worst {
        whole.proof = hopcost_core::Known::Is(worst.clone());
    }
    for start in &starts[1..] {
        for (disturbance, count) in &start.dropped {
            *whole.dropped.entry(*disturbance).or_default() += count;
        }
        for (counter, count) in &start.counters {
            *whole.counters.entry(counter.clone()).or_default() += count;
        }
    }
    whole
}

fn in_place(proof: &[Proof; 2]) -> f64 {
    let localities = proof.iter().filter_map(|proof| proof.memory.get()).flatten();
    localities.map(hopcost_core::Locality::share_in_place).fold(1.0, f64::min)
}

/// The extremes are those of all.
fn of_typical(spreads: &[&Spread]) -> Spread {
    let median = |of: fn(&Spread) -> f64| {
        let values: Vec<f64> = spreads.iter().map(|spread| of(spread)).collect();
        median_interval(&values, LEVEL).map_or(f64::NAN, |estimate| estimate.point)
    };
    let values = |of: fn(&Spread) -> f64| spreads.iter().map(move |spread| of(spread));
    Spread {
        min: values(|spread| spread.min).fold(f64::INFINITY, f64::min),
        p5: median(|spread| spread.p5),
        median: median(|spread| spread.median),
        p95: median(|spread| spread.p95),
        max: values(|spread| spread.max).fold(f64::NEG_INFINITY, f64::max),
    }
}

/// What is assumed of a figure that differs by `in_a_guest` between occasions in a guest.
pub fn assumed(machine: &Machine, in_a_guest: f64) -> f64 {
    let is_guest = machine.virtualization.hypervisor.get().is_some();
    if is_guest { in_a_guest } else { ON_HARDWARE }
}

/// Its place in the store's view `occasion`.
fn name_of(probe: &str, cell: &Cell) -> String {
    let [row, column] =
        [&cell.row, &cell.column].map(|place| serde_json::to_string(place).unwrap_or_default());
    format!("{probe}, {}, {row} → {column}", cell.series)
}

/// `earlier` has the figures of earlier occasions, oldest first; `assumed` holds until there are enough.
pub fn with_occasions(report: &mut ProbeReport, earlier: &dyn Fn(&str) -> Vec<f64>, assumed: f64) {
    let probe = report.probe.clone();
    for result in &mut report.cells {
        let earlier = earlier(&name_of(&probe, &result.cell));
        if let Outcome::Measured { estimate, .. } = &mut result.outcome {
            (*estimate, result.occasion) = for_any_hour(estimate, &earlier, assumed);
        }
    }
}

/// An interval for any hour, and what it was for this one. `None` if there is no interval.
pub fn for_any_hour(
    estimate: &Estimate,
    earlier: &[f64],
    assumed: f64,
) -> (Estimate, Option<Occasion>) {
    let mut logs: Vec<f64> = earlier.iter().map(|figure| figure.ln()).collect();
    logs.push(estimate.point.ln());
    let occasions = hopcost_stats::starts::learned(&logs);
    let learned_from = occasions.map(|_| logs.len() as u64);
    let occasions = occasions.unwrap_or(Occasions { omega: assumed, degrees: None });
    let Some(wider) = occasions.widened(estimate) else { return (*estimate, None) };
    let this_hour = [estimate.low, estimate.high];
    (wider, Some(Occasion { this_hour, sd: occasions.omega, learned_from }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use hopcost_core::{Code, Unit};

    fn start(points: [f64; 2], contended: u64) -> ProbeReport {
        let cells = points.map(fixtures::measured).into_iter().zip(0..);
        let cells = cells.map(|(it, at)| fixtures::cell(Unit::Nanoseconds, 0, at, it)).collect();
        ProbeReport { contended, ..fixtures::report("p", cells) }
    }

    fn six() -> Vec<ProbeReport> {
        [100.0, 104.0, 98.0, 100.0, 99.0, 103.0].map(|at| start([at, 2.0 * at], 0)).to_vec()
    }

    #[test]
    fn a_figure_is_the_median_of_its_starts() {
        let report = across_starts(six()).unwrap();
        let estimate = report.cells[0].estimate().unwrap();
        assert!((estimate.point, estimate.level) == (100.0, 0.95), "{estimate:?}");
        assert!(98.0 < estimate.low && estimate.high < 104.0, "{estimate:?}");
        assert_eq!((estimate.n, estimate.n_effective, report.starts), (360, 6.0, 6));
        assert_eq!(report.cells[1].starts, [200.0, 208.0, 196.0, 200.0, 198.0, 206.0]);
        assert_eq!(across_starts(Vec::new()), None);
        assert_eq!(across_starts(vec![start([1.0, 2.0], 0)]), Some(start([1.0, 2.0], 0)));
    }

    #[test]
    fn one_start_out_of_place_voids_the_figure_and_one_without_it_does_not() {
        let mut starts = six();
        starts[3].cells[0].outcome = Outcome::Void(Code::NotMeasured.because("moved"));
        starts[4].cells[1].outcome = Outcome::Missing(Code::OthersAtWork.because("disturbed"));
        let report = across_starts(starts).unwrap();
        assert!(matches!(report.cells[0].outcome, Outcome::Void(_)));
        assert_eq!(report.cells[1].starts.len(), 5);
        assert!(report.cells[1].estimate().unwrap().level < 0.949, "five are no interval");
    }

    #[test]
    fn a_quarter_of_contended_starts_is_not_noisy_yet() {
        let with = |contended: usize| {
            let starts = (0..8).map(|n| start([1.0, 2.0], u64::from(n < contended))).collect();
            across_starts(starts).unwrap().is_noisy()
        };
        assert_eq!([with(2), with(3)], [false, true]);
    }

    #[test]
    fn an_interval_for_any_hour_is_wider_by_what_is_assumed_or_was_learned() {
        let mut report = across_starts(six()).unwrap();
        let four = [100.0, 100.1, 99.9, 100.0];
        let assumed = |report: &mut ProbeReport, earlier: &[f64]| {
            with_occasions(report, &|_| earlier.to_vec(), 0.04);
            let cell = &report.cells[0];
            (*cell.estimate().unwrap(), cell.occasion.unwrap())
        };
        let (wide, occasion) = assumed(&mut report.clone(), &[]);
        assert!(occasion.learned_from.is_none() && occasion.this_hour[0] > 98.0);
        assert!(wide.low < 93.0 && wide.high > 108.5, "{wide:?}");
        let (narrow, occasion) = assumed(&mut report, &four);
        assert_eq!(occasion.learned_from, Some(5));
        assert!(
            occasion.sd < 0.003 && narrow.low > 97.0 && narrow.low < occasion.this_hour[0],
            "{narrow:?}"
        );
    }
}
