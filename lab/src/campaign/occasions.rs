//! Figures of one machine at several times.
//!
//! Method: the same probes and the same score, each time in a process and a store of its own, minutes
//! apart. Of each figure, two occasions are disjoint if their intervals are. That is counted for the
//! intervals that hold in another hour, with what is assumed and with what the other occasions
//! taught, and for the parts of this hour alone; and for these parts of what was measured twice at
//! once. Noisy runs are left out. `hopcost compare` must find no pair of occasions different.
//! Limits: the occasions of one day.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result};
use hopcost_core::{Cell, Estimate, Headline, Occasion, ProbeReport};
use hopcost_method::figures::for_any_hour;
use hopcost_sys::clock;
use serde_json::Value;
use xtask::cargo::build_hopcost;

use super::rounds::Rounds;

pub const WITHIN_MINUTES: Times =
    Times { name: "occasions", number: 6, every: Duration::from_mins(2), at_once: 1 };
pub const WITHIN_AN_HOUR: Times =
    Times { name: "hours", number: 8, every: Duration::from_mins(6), at_once: 2 };

const PROBES: &str = r#"question = "How long do a load and a wake-up take?"

[subject]
probes = ["latency", "switch"]
"#;
const SCORE: &str = "server-score";

const MOST_DISJOINT: f64 = 0.02;
const LEAST_HELD: f64 = 0.90;
const MOST_DISJOINT_IN_THIS_HOUR: f64 = 0.15;

pub struct Times {
    name: &'static str,
    number: usize,
    /// From the begin of one occasion to that of the next.
    every: Duration,
    at_once: usize,
}

pub fn run(times: &Times) -> Result<u8> {
    let mut rounds = Rounds::of(times.name)?;
    let hopcost = build_hopcost()?;
    let dir = rounds.dir()?;
    let experiment = dir.join("probes.toml");
    fs::write(&experiment, PROBES)?;
    let place = |n: usize, again: usize| dir.join(format!("{n}-{again}"));
    for n in rounds.done.len()..times.number {
        if let Some(before) = n.checked_sub(1) {
            sleep(times.every.saturating_sub(since(&place(before, 0).with_extension("begun"))?));
        }
        fs::write(place(n, 0).with_extension("begun"), clock::unix_seconds().to_string())?;
        for again in 0..times.at_once {
            let place = place(n, again);
            let store = place.with_extension("db");
            if store.exists() {
                fs::remove_file(&store)?;
            }
            let seed = (n * times.at_once + again + 1).to_string();
            let measured = |what: &OsStr| measured(&hopcost, what, &store, &seed);
            let found = [measured(experiment.as_os_str())?, measured(SCORE.as_ref())?];
            fs::write(place.with_extension("json"), serde_json::to_vec(&found)?)?;
        }
        rounds.push(format!("{n}"))?;
    }
    let at = |again: usize| -> Result<Vec<Figures>> {
        (0..times.number).map(|n| Figures::read(&place(n, again).with_extension("json"))).collect()
    };
    let occasions = at(0)?;
    let at_once = if times.at_once > 1 { at(1)? } else { Vec::new() };
    let stores: Vec<PathBuf> =
        (0..times.number).map(|n| place(n, 0).with_extension("db")).collect();
    let found = Found::of(&occasions, &at_once, different(&hopcost, &stores)?);
    let summary = format!(
        "{} occasions of two probes and a score (`--quick`), {:.0} minutes apart. {}",
        times.number,
        times.every.as_secs_f64() / 60.0,
        found.in_words()
    );
    let head = "figure | points | half-width, % | in this hour, % | pairs disjoint | in this hour";
    rounds.conclude_with(&summary, head, &found.lines)?;
    Ok(u8::from(!found.holds()))
}

/// The moment in this file.
fn since(file: &Path) -> Result<Duration> {
    let moment: u64 = fs::read_to_string(file)?.parse()?;
    Ok(Duration::from_secs(clock::unix_seconds().saturating_sub(moment)))
}

fn measured(hopcost: &Path, what: &OsStr, store: &Path, seed: &str) -> Result<Value> {
    let mut command = Command::new(hopcost);
    command.arg("run").arg(what).args(["--quick", "--json", "--seed", seed]);
    let output = command.arg("--store").arg(store).stderr(Stdio::inherit()).output()?;
    serde_json::from_slice(&output.stdout).context("hopcost run printed no JSON")
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

/// Of one occasion, by name.
struct Figures(BTreeMap<String, Figure>);

impl Figures {
    fn read(file: &Path) -> Result<Self> {
        let [probed, scored]: [Value; 2] = serde_json::from_slice(&fs::read(file)?)?;
        let mut figures = BTreeMap::new();
        let reports: Vec<ProbeReport> = serde_json::from_value(probed["probes"].clone())?;
        for report in reports.iter().filter(|report| !report.is_noisy()) {
            for result in &report.cells {
                let Cell { series, row, column, .. } = &result.cell;
                let name = format!("{}: {series}, {row}, {column}", report.probe);
                let figure = result.estimate().zip(result.occasion);
                let figure =
                    figure.map(|(estimate, occasion)| Figure { estimate: *estimate, occasion });
                figures.extend(figure.map(|figure| (name, figure)));
            }
        }
        // The best number of clients may be another one.
        if let Ok(score) = serde_json::from_value::<Headline>(scored["estimate"].clone()) {
            let Headline { estimate, of, occasion, .. } = score;
            let figure = occasion.map(|occasion| Figure { estimate, occasion });
            figures.extend(figure.map(|figure| (format!("{SCORE}, {of}"), figure)));
        }
        Ok(Self(figures))
    }
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

#[derive(Clone, Copy, Default)]
struct Counted {
    pairs: usize,
    disjoint: usize,
    held: usize,
}

impl Counted {
    fn of(estimates: &[Estimate]) -> Self {
        let mut counted = Self::default();
        for (n, a) in estimates.iter().enumerate() {
            estimates[n + 1..].iter().for_each(|b| counted.add(a, b));
        }
        counted
    }

    fn add(&mut self, a: &Estimate, b: &Estimate) {
        self.pairs += 1;
        self.disjoint += usize::from(a.high < b.low || b.high < a.low);
        let holds = |of: &Estimate, point: f64| of.low <= point && point <= of.high;
        self.held += usize::from(holds(a, b.point)) + usize::from(holds(b, a.point));
    }

    fn and(&mut self, other: Self) {
        self.pairs += other.pairs;
        self.disjoint += other.disjoint;
        self.held += other.held;
    }

    fn disjoint(&self) -> f64 {
        self.disjoint as f64 / self.pairs.max(1) as f64
    }

    fn held(&self) -> f64 {
        self.held as f64 / (2 * self.pairs).max(1) as f64
    }

    fn in_words(&self) -> String {
        format!("{} of {} ({:.1}%)", self.disjoint, self.pairs, 100.0 * self.disjoint())
    }
}

#[derive(Default)]
struct Found {
    assumed: Counted,
    learned: Counted,
    this_hour: Counted,
    at_once: Counted,
    different: usize,
    lines: Vec<String>,
}

impl Found {
    fn of(occasions: &[Figures], at_once: &[Figures], different: usize) -> Self {
        let mut found = Self { different, ..Self::default() };
        let mut names: Vec<&String> = occasions.iter().flat_map(|it| it.0.keys()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let figures: Vec<&Figure> =
                occasions.iter().filter_map(|occasion| occasion.0.get(name)).collect();
            let all: Vec<Estimate> = figures.iter().map(|figure| figure.estimate).collect();
            let this_hour: Vec<Estimate> = figures.iter().map(|it| it.this_hour()).collect();
            let points: Vec<f64> = all.iter().map(|estimate| estimate.point).collect();
            let [assumed, in_this_hour] = [&all, &this_hour].map(|it| Counted::of(it));
            found.assumed.and(assumed);
            found.this_hour.and(in_this_hour);
            if points.len() > 4 {
                let learned: Vec<Estimate> =
                    this_hour.iter().map(|it| for_any_hour(it, &points, 0.0).0).collect();
                found.learned.and(Counted::of(&learned));
            }
            let twice = occasions.iter().zip(at_once);
            for (a, b) in twice.filter_map(|(a, b)| a.0.get(name).zip(b.0.get(name))) {
                found.at_once.add(&a.this_hour(), &b.this_hour());
            }
            let points: Vec<String> = points.iter().map(|point| format!("{point:.4}")).collect();
            found.lines.push(format!(
                "{name} | {} | {:.1} | {:.1} | {} of {} | {}",
                points.join(", "),
                half_width(&all),
                half_width(&this_hour),
                assumed.disjoint,
                assumed.pairs,
                in_this_hour.disjoint,
            ));
        }
        found
    }

    fn in_words(&self) -> String {
        let at_once = if self.at_once.pairs == 0 {
            String::new()
        } else {
            format!(" Of what was measured twice at once: {}.", self.at_once.in_words())
        };
        format!(
            "Pairs disjoint with what is assumed: {}, points of others held in {:.1}%; with what was \
             learned: {}, {:.1}%; in this hour alone: {}.{at_once} `compare` calls {} pairs of occasions \
             different. At most {:.0}% may be disjoint, at least {:.0}% held, and at most {:.0}% disjoint in \
             this hour.",
            self.assumed.in_words(),
            100.0 * self.assumed.held(),
            self.learned.in_words(),
            100.0 * self.learned.held(),
            self.this_hour.in_words(),
            self.different,
            100.0 * MOST_DISJOINT,
            100.0 * LEAST_HELD,
            100.0 * MOST_DISJOINT_IN_THIS_HOUR,
        )
    }

    fn holds(&self) -> bool {
        let of_any_hour = [self.assumed, self.learned];
        let of_this_hour = [self.this_hour, self.at_once];
        let holds = |it: &Counted| it.disjoint() <= MOST_DISJOINT && it.held() >= LEAST_HELD;
        self.assumed.pairs > 0
            && of_any_hour.iter().all(holds)
            && of_this_hour.iter().all(|it| it.disjoint() <= MOST_DISJOINT_IN_THIS_HOUR)
            && self.different == 0
    }
}

/// The median, relative to the point, in %.
fn half_width(estimates: &[Estimate]) -> f64 {
    let half = |it: &Estimate| 50.0 * (it.high - it.low) / it.point;
    let mut all: Vec<f64> = estimates.iter().map(half).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(low: f64, high: f64) -> Estimate {
        let point = f64::midpoint(low, high);
        Estimate { point, low, high, level: 0.95, n: 6, n_effective: 6.0 }
    }

    #[test]
    fn pairs_are_disjoint_and_hold_each_others_points() {
        let all = [estimate(1.0, 2.0), estimate(1.4, 1.8), estimate(1.9, 3.0)];
        let Counted { pairs, disjoint, held } = Counted::of(&all);
        assert_eq!((pairs, disjoint, held), (3, 1, 2));
        assert!((half_width(&all) - 100.0 / 3.0).abs() < 13.0);
    }

    #[test]
    fn without_pairs_nothing_holds() {
        assert!(!Found::of(&[], &[], 0).holds());
    }
}
