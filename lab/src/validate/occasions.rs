//! `cargo lab validate --live occasions|hours`: figures of one machine at several times.
//!
//! Method: the same probes and the same score, each time in a process and a store of its own, minutes
//! apart. Of each figure, two occasions are disjoint if their intervals are. That is counted for the
//! intervals that hold in another hour, with what is assumed and with what the other occasions
//! taught, and for the parts of this hour alone. Noisy runs are left out. `hopcost compare` must find
//! no pair different.
//! Limits: the occasions of one day.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result};
use hopcost_core::{Cell, Estimate, Headline, Occasion, ProbeReport};
use hopcost_method::figures::for_any_hour;
use hopcost_sys::clock;
use serde_json::Value;

const PROBES: &str = r#"question = "How long do a load and a wake-up take?"

[subject]
probes = ["latency", "switch"]
"#;
const SCORE: &str = "server-score";

const MOST_DISJOINT: f64 = 0.02;
const LEAST_HELD: f64 = 0.90;
const MOST_DISJOINT_IN_THIS_HOUR: f64 = 0.15;

/// `every` is the time from the begin of one occasion to that of the next.
pub fn run(hopcost: &Path, dir: &Path, times: u64, every: Duration) -> Result<bool> {
    println!("occasions: {times}, {:.0} minutes apart", every.as_secs_f64() / 60.0);
    let experiment = dir.join("occasions.toml");
    std::fs::write(&experiment, PROBES)?;
    let mut figures: BTreeMap<String, Vec<Figure>> = BTreeMap::new();
    let begun = clock::now();
    let mut stores = Vec::new();
    for occasion in 0..times {
        sleep((every * occasion as u32).saturating_sub(begun.elapsed()));
        let store = dir.join(format!("occasion-{occasion}.db"));
        let seed = occasion + 1;
        let probed = measured(hopcost, experiment.as_os_str(), &store, seed)?;
        let scored = measured(hopcost, SCORE.as_ref(), &store, seed)?;
        for (name, figure) in of_probes(&probed)?.into_iter().chain(of_score(&scored)) {
            figures.entry(name).or_default().push(figure);
        }
        println!("  {:.1} min: measured", begun.elapsed().as_secs_f64() / 60.0);
        stores.push(store);
    }
    let different = different(hopcost, &stores)?;
    Ok(told(&figures, different))
}

struct Figure {
    estimate: Estimate,
    occasion: Occasion,
}

impl Figure {
    fn this_hour(&self) -> Estimate {
        self.occasion.in_this_hour(self.estimate)
    }
}

fn measured(hopcost: &Path, what: &std::ffi::OsStr, store: &Path, seed: u64) -> Result<Value> {
    let mut command = Command::new(hopcost);
    command.arg("run").arg(what).args(["--quick", "--json", "--seed", &seed.to_string()]);
    let output = command.arg("--store").arg(store).stderr(Stdio::inherit()).output()?;
    serde_json::from_slice(&output.stdout).context("hopcost run printed no JSON")
}

fn of_probes(run: &Value) -> Result<Vec<(String, Figure)>> {
    let reports: Vec<ProbeReport> = serde_json::from_value(run["probes"].clone())?;
    let mut figures = Vec::new();
    for report in &reports {
        if report.is_noisy() {
            println!("    {} is noisy, and left out", report.probe);
            continue;
        }
        for result in &report.cells {
            let Cell { series, row, column, .. } = &result.cell;
            let name = format!("{} {series} {row} {column}", report.probe);
            let figure = result.estimate().zip(result.occasion);
            let figure =
                figure.map(|(estimate, occasion)| Figure { estimate: *estimate, occasion });
            figures.extend(figure.map(|figure| (name, figure)));
        }
    }
    Ok(figures)
}

fn of_score(run: &Value) -> Option<(String, Figure)> {
    let Ok(score) = serde_json::from_value::<Headline>(run["estimate"].clone()) else {
        println!("    no score: {} {}", run["verdict"], run["reason"]);
        return None;
    };
    // The best number of clients may be another one.
    let figure = Figure { estimate: score.estimate, occasion: score.occasion? };
    Some((format!("{SCORE}, {}", score.of), figure))
}

/// How many of the pairs of occasions `hopcost compare` calls different in anything.
fn different(hopcost: &Path, stores: &[PathBuf]) -> Result<usize> {
    let mut different = 0;
    for (n, a) in stores.iter().enumerate() {
        for b in &stores[n + 1..] {
            let output =
                Command::new(hopcost).arg("compare").args([a, b]).arg("--json").output()?;
            let compared: Value = serde_json::from_slice(&output.stdout).context("compare")?;
            let all = ["cells", "scores"].into_iter().filter_map(|key| compared[key].as_array());
            let is_different = |it: &&Value| it["likeness"] == "DIFFERENT";
            different += usize::from(all.flatten().any(|it| is_different(&it)));
        }
    }
    Ok(different)
}

#[derive(Default)]
struct Counted {
    pairs: usize,
    disjoint: usize,
    held: usize,
}

impl Counted {
    fn add(&mut self, a: &Estimate, b: &Estimate) {
        self.pairs += 1;
        self.disjoint += usize::from(a.high < b.low || b.high < a.low);
        let holds = |of: &Estimate, point: f64| of.low <= point && point <= of.high;
        self.held += usize::from(holds(a, b.point)) + usize::from(holds(b, a.point));
    }

    fn disjoint(&self) -> f64 {
        self.disjoint as f64 / self.pairs.max(1) as f64
    }

    fn held(&self) -> f64 {
        self.held as f64 / (2 * self.pairs).max(1) as f64
    }
}

fn told(figures: &BTreeMap<String, Vec<Figure>>, different: usize) -> bool {
    let [mut assumed, mut learned, mut this_hour] = [(); 3].map(|()| Counted::default());
    for (name, occasions) in figures {
        let points: Vec<f64> = occasions.iter().map(|figure| figure.estimate.point).collect();
        let taught = |figure: &Figure| for_any_hour(&figure.this_hour(), &points, 0.0).0;
        let (mut of_figure, mut of_this_hour) = (Counted::default(), Counted::default());
        for (n, a) in occasions.iter().enumerate() {
            for b in &occasions[n + 1..] {
                assumed.add(&a.estimate, &b.estimate);
                of_figure.add(&a.estimate, &b.estimate);
                this_hour.add(&a.this_hour(), &b.this_hour());
                of_this_hour.add(&a.this_hour(), &b.this_hour());
                if points.len() > 4 {
                    learned.add(&taught(a), &taught(b));
                }
            }
        }
        println!(
            "  {name}: {}; disjoint {} of {}, in this hour {}",
            points.iter().map(|point| format!("{point:.3}")).collect::<Vec<_>>().join(" "),
            of_figure.disjoint,
            of_figure.pairs,
            of_this_hour.disjoint
        );
    }
    let tell = |name: &str, counted: &Counted| {
        println!(
            "  {name}: {} of {} pairs disjoint ({:.1}%), points of others held in {:.1}%",
            counted.disjoint,
            counted.pairs,
            100.0 * counted.disjoint(),
            100.0 * counted.held()
        );
    };
    tell("with what is assumed", &assumed);
    tell("with what was learned", &learned);
    tell("in this hour", &this_hour);
    println!("  {different} pairs of occasions called different, 0 at most");
    let holds =
        |counted: &Counted| counted.disjoint() <= MOST_DISJOINT && counted.held() >= LEAST_HELD;
    assumed.pairs > 0
        && holds(&assumed)
        && holds(&learned)
        && this_hour.disjoint() <= MOST_DISJOINT_IN_THIS_HOUR
        && different == 0
}
