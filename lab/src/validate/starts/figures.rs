//! The tables: each figure with what the independent simulation found, if it has that figure.

use fastrand::Rng;
use hopcost_core::Estimate;
use hopcost_stats::starts::{Alike, NoKinds, across, after_runs, length, sees, two_kinds};
use hopcost_stats::{Goal, Looks, Standing, difference, mean_interval, median_interval};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::super::noise::normal;
use super::cell::{Cell, Figure, Section, each_run, median, share};
use super::worlds::{DRIFTING, Luck, Pair, Weather, World};

const LEVEL: f64 = 0.95;

pub const SECTIONS: [Section; 9] = [
    Section {
        title: "A fixed number of pairs in turn, nothing there: holds / half-width, %",
        cells: fixed,
    },
    Section { title: "Looks at 4, 6, 8 and 10 pairs, goal ±3%, %", cells: looks },
    Section { title: "False alarms and power with windows of 1%, %", cells: alarms },
    Section {
        title: "Both variants within each start, 8 blocks in a start: holds, %",
        cells: within,
    },
    Section {
        title: "Measuring as long as starting takes: half-width over the best",
        cells: lengths,
    },
    Section {
        title: "Two kinds of starts: found, %, and the interval within kinds: holds / half-width, %",
        cells: kinds,
    },
    Section { title: "Two kinds found where there is one, %", cells: one_kind },
    Section {
        title: "Intervals of two occasions disjoint, starts differ by 2%, %",
        cells: occasions,
    },
    Section {
        title: "Against a baseline of runs with 8 starts each: holds / half-width, %",
        cells: baselines,
    },
];

fn holds(values: &[f64], truth: f64) -> (bool, f64) {
    with_half(across(values, LEVEL), truth)
}

/// Whether it holds the truth, and its half-width.
fn with_half(interval: Option<Estimate>, truth: f64) -> (bool, f64) {
    interval.map_or((false, f64::INFINITY), |it| {
        (it.low <= truth && truth <= it.high, (it.high - it.low) / 2.0)
    })
}

fn contrasts(world: &World, pairs: usize, effect: f64, rng: &mut Rng) -> Vec<f64> {
    world.pairs(pairs, effect, rng).iter().map(Pair::contrast).collect()
}

fn held(row: &str, column: &str, found: Vec<(bool, f64)>) -> [Cell; 2] {
    let (held, half): (Vec<bool>, Vec<f64>) = found.into_iter().unzip();
    [Cell::new(row, column, share(&held)), Cell::new(row, column, median(half))]
}

const PAIRS: [usize; 5] = [2, 4, 6, 8, 10];

/// Holds at each number of pairs; half-width from four pairs on.
type Row = (&'static str, Luck, [f64; 5], [f64; 4]);
const ROWS: [Row; 8] = [
    ("normal, 0.5%", Luck::Normal(0.005), [95.0; 5], [1.4, 1.0, 0.8, 0.7]),
    ("normal, 2%", Luck::Normal(0.02), [95.0; 5], [4.1, 2.8, 2.3, 2.0]),
    ("normal, 5%", Luck::Normal(0.05), [95.0; 5], [10.1, 7.0, 5.7, 4.9]),
    ("heavy tails, 5%", Luck::Heavy(0.05), [95.5, 95.9, 95.8, 96.0, 95.6], [8.2, 5.7, 4.8, 4.2]),
    ("lognormal, 2%", Luck::Lognormal(0.02), [96.1, 96.6, 96.4, 96.5, 96.4], [2.8, 2.1, 1.7, 1.6]),
    (
        "20% slow by 5%",
        Luck::Kinds(0.2, 0.05),
        [95.9, 97.9, 97.2, 96.4, 95.7],
        [4.4, 3.0, 2.5, 2.1],
    ),
    (
        "35% slow by 10%",
        Luck::Kinds(0.35, 0.10),
        [90.5, 97.4, 96.6, 94.9, 94.7],
        [9.8, 7.4, 6.0, 5.1],
    ),
    (
        "50% slow by 15%",
        Luck::Kinds(0.5, 0.15),
        [87.0, 97.6, 96.2, 94.8, 94.8],
        [15.3, 12.4, 9.7, 8.2],
    ),
];

fn fixed(runs: usize) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (name, luck, held_there, half_there) in ROWS {
        let world = World::new(luck, 0.01);
        for (n, pairs) in PAIRS.into_iter().enumerate() {
            let found = each_run(runs, |rng| holds(&contrasts(&world, pairs, 0.0, rng), 0.0));
            let [held, half] = held(name, &of_pairs(pairs), found);
            cells.push(held.against(held_there[n]));
            cells.push(half.against(n.checked_sub(1).map(|n| half_there[n])));
        }
    }
    let drifting = World { drift: DRIFTING, ..World::new(Luck::Normal(0.02), 0.01) };
    for pairs in PAIRS {
        let found = each_run(runs, |rng| holds(&contrasts(&drifting, pairs, 0.0, rng), 0.0));
        cells.extend(held("normal, 2%, the machine drifts", &of_pairs(pairs), found));
        let found = each_run(runs, |rng| {
            let pairs = drifting.pairs(pairs, 0.0, rng);
            let [a, b]: [Vec<f64>; 2] =
                [pairs.iter().map(|it| it.a).collect(), pairs.iter().map(|it| it.b).collect()];
            with_half(difference(&a, &b, LEVEL), 0.0)
        });
        cells.extend(held("the same, unpaired", &of_pairs(pairs), found));
    }
    cells
}

fn of_pairs(pairs: usize) -> String {
    format!("{pairs} pairs")
}

struct Looked {
    always: bool,
    at_the_stop: bool,
}

type Claim = fn(&Looked) -> bool;

fn looks(runs: usize) -> Vec<Cell> {
    let rows: [(&str, Luck, [f64; 3]); 6] = [
        ("normal, 0.5%", Luck::Normal(0.005), [94.3, 97.4, 2.6]),
        ("normal, 2%", Luck::Normal(0.02), [94.7, 96.7, 3.3]),
        ("normal, 5%", Luck::Normal(0.05), [94.8, 97.7, 2.3]),
        ("heavy tails, 5%", Luck::Heavy(0.05), [95.9, 97.8, 2.2]),
        ("35% slow by 10%", Luck::Kinds(0.35, 0.10), [97.2, 98.2, 1.8]),
        ("50% slow by 15%", Luck::Kinds(0.5, 0.15), [96.0, 97.3, 2.7]),
    ];
    let looks = Looks::between(4, 10, LEVEL);
    let goal = Goal { looks, half_width: 0.03, margin: 0.0, seed: 1 };
    let mut cells = Vec::new();
    for (name, luck, there) in rows {
        let world = World::new(luck, 0.01);
        let all = each_run(runs, |rng| {
            let values = contrasts(&world, 10, 0.0, rng);
            let standings: Vec<Standing> =
                (1..=10).filter_map(|n| goal.look(&values[..n])).collect();
            let holds = |it: &Standing| it.cost.low <= 0.0 && 0.0 <= it.cost.high;
            let stop = standings.iter().find(|it| it.is_narrow).or(standings.last());
            Looked { always: standings.iter().all(holds), at_the_stop: stop.is_some_and(holds) }
        });
        let of = |what: Claim| share(&all.iter().map(what).collect::<Vec<_>>());
        let columns: [(&str, Claim); 3] = [
            ("all looks hold", |it| it.always),
            ("holds at the stop", |it| it.at_the_stop),
            ("COST or GAIN", |it| !it.at_the_stop),
        ];
        for ((column, what), there) in columns.into_iter().zip(there) {
            cells.push(Cell::new(name, column, of(what)).against(there));
        }
    }
    cells
}

fn alarms(runs: usize) -> Vec<Cell> {
    const WINDOW: f64 = 0.01;
    // Within one start, 8 pairs; then the power with 4, 6, 8 and 10 pairs.
    let rows: [(&str, Luck, [f64; 6]); 7] = [
        ("normal, 0.5%", Luck::Normal(0.005), [48.5, 5.4, 100.0, 100.0, 100.0, 100.0]),
        ("normal, 2%", Luck::Normal(0.02), [85.7, 4.9, 67.0, 93.0, 99.0, 100.0]),
        ("normal, 5%", Luck::Normal(0.05), [94.2, 4.9, 17.0, 30.0, 43.0, 53.0]),
        ("heavy tails, 5%", Luck::Heavy(0.05), [91.4, 4.2, 25.0, 43.0, 55.0, 64.0]),
        ("20% slow by 5%", Luck::Kinds(0.2, 0.05), [65.1, 4.0, 56.0, 89.0, 98.0, 100.0]),
        ("35% slow by 10%", Luck::Kinds(0.35, 0.10), [72.6, 4.8, 22.0, 24.0, 42.0, 51.0]),
        ("50% slow by 15%", Luck::Kinds(0.5, 0.15), [74.7, 5.2, 11.0, 18.0, 16.0, 23.0]),
    ];
    let effect = (-0.05_f64).ln_1p();
    let mut cells = Vec::new();
    for (name, luck, there) in rows {
        let world = World::new(luck, WINDOW);
        let of_one = each_run(runs, |rng| {
            let between = luck.draw(rng) - luck.draw(rng);
            let blocks: Vec<f64> = (0..16).map(|_| between + WINDOW * normal(rng)).collect();
            mean_interval(&blocks).is_some_and(|it| it.low > 0.0 || it.high < 0.0)
        });
        cells.push(
            Cell::new(name, "nothing there: within one start", share(&of_one)).against(there[0]),
        );
        let found = |pairs: usize, effect: f64| {
            share(&each_run(runs, |rng| {
                let found = across(&contrasts(&world, pairs, effect, rng), LEVEL);
                found.is_some_and(|it| it.high < 0.0 || (effect == 0.0 && it.low > 0.0))
            }))
        };
        cells.push(Cell::new(name, "nothing there: 8 pairs", found(8, 0.0)).against(there[1]));
        for (pairs, there) in [4, 6, 8, 10].into_iter().zip(&there[2..]) {
            let column = format!("5% there: {pairs} pairs");
            cells.push(Cell::new(name, &column, found(pairs, effect)).against(*there));
        }
    }
    for (name, deviation, there) in
        [("normal, 0.5%", 0.005, 1.1), ("normal, 2%", 0.02, 3.3), ("normal, 5%", 0.05, 7.9)]
    {
        let world = World::new(Luck::Normal(deviation), WINDOW);
        let fixed = student(7, 0.975);
        let seen = each_run(runs, |rng| {
            sees(&contrasts(&world, 8, 0.0, rng), fixed).unwrap_or(f64::INFINITY)
        });
        cells.push(Cell::new(name, "8 pairs see", median(seen)).against(there));
    }
    cells
}

fn student(degrees: usize, share: f64) -> f64 {
    StudentsT::new(0.0, 1.0, degrees as f64).map_or(f64::NAN, |it| it.inverse_cdf(share))
}

fn within(runs: usize) -> Vec<Cell> {
    const BLOCKS: usize = 8;
    let start = |tau: f64, rng: &mut Rng| -> Vec<f64> {
        let own = tau * normal(rng);
        (0..BLOCKS).map(|_| own + normal(rng)).collect()
    };
    let mean = |of: &Vec<f64>| of.iter().sum::<f64>() / of.len() as f64;
    let mut cells = Vec::new();
    for (starts, there) in [(4, [94.9, 78.7, 49.8]), (8, [94.8, 79.5, 52.5])] {
        for (tau, pooled_there) in [0.0, 0.5, 2.0].into_iter().zip(there) {
            let column = format!("starts differ by {tau} of a block");
            let both = each_run(runs, |rng| {
                let all: Vec<Vec<f64>> = (0..starts).map(|_| start(tau, rng)).collect();
                let by_start: Vec<f64> = all.iter().map(mean).collect();
                let pooled: Vec<f64> = all.concat();
                [holds(&by_start, 0.0).0, holds(&pooled, 0.0).0]
            });
            let of = |n: usize| share(&both.iter().map(|both| both[n]).collect::<Vec<_>>());
            cells.push(Cell::new(&format!("{starts} starts"), &column, of(0)).against(95.0));
            let row = format!("{starts} starts, blocks pooled");
            cells.push(Cell::new(&row, &column, of(1)).against(pooled_there));
        }
    }
    // Three in ten starts have another effect; all of them differ by twice a block's deviation.
    let (rare, step) = (0.3, 2.0 / (0.3_f64 * 0.7).sqrt());
    for (starts, there) in [(3, 65.6), (4, 75.3), (6, 87.4), (8, 93.0), (12, 92.0), (20, 94.0)] {
        let held = each_run(runs, |rng| {
            let means: Vec<f64> = (0..starts)
                .map(|_| {
                    let own = if rng.f64() < rare { step } else { 0.0 };
                    own + normal(rng) / (BLOCKS as f64).sqrt()
                })
                .collect();
            holds(&means, rare * step).0
        });
        let row = format!("{starts} starts, two kinds of effect, 30%");
        cells.push(Cell::new(&row, "starts differ by 2 of a block", share(&held)).against(there));
    }
    cells
}

fn lengths(_runs: usize) -> Vec<Cell> {
    const WINDOW_S: f64 = 1.0;
    let half = |starts: usize, windows: usize, tau: f64| {
        let variance = tau.powi(2) + 1.0 / windows as f64;
        student(starts - 1, 0.975) * (variance / starts as f64).sqrt()
    };
    let (mut as_long, mut shorter) = (Vec::new(), Vec::new());
    for budget_s in [60.0, 240.0, 1200.0] {
        for start_s in [0.2, 1.0, 5.0, 30.0] {
            let chosen = length(budget_s, start_s, WINDOW_S, None);
            if chosen.starts < 2 {
                continue;
            }
            let is_as_long = chosen.windows as f64 >= start_s / WINDOW_S;
            for tau in [0.0, 0.1, 0.3, 1.0, 3.0, 10.0] {
                let with = |windows: usize| {
                    let one_s = start_s + windows as f64 * WINDOW_S;
                    let starts = ((budget_s / one_s).floor() as usize).min(60);
                    (starts >= 2).then(|| half(starts, windows, tau))
                };
                let best = (1..=600).filter_map(with).fold(f64::INFINITY, f64::min);
                let ratio = half(chosen.starts, chosen.windows, tau) / best;
                if is_as_long { as_long.push(ratio) } else { shorter.push(ratio) }
            }
        }
    }
    let mut cells = Vec::new();
    for (row, ratios, there) in [
        ("as long as a start", as_long, Some([1.46, 1.02])),
        ("shorter, so that eight starts fit, or as many as can", shorter, None),
    ] {
        let worst = ratios.iter().copied().fold(0.0, f64::max);
        // Cells hold per cent.
        let row = format!("{row}, {} cases", ratios.len());
        let both = [
            ("worst", Figure::Size(worst / 100.0)),
            ("median", median(ratios.iter().map(|it| it / 100.0).collect())),
        ];
        for (n, (column, figure)) in both.into_iter().enumerate() {
            let cell = Cell::new(&row, column, figure);
            cells.push(cell.against(there.map(|there| there[n])));
        }
    }
    cells
}

fn occasions(runs: usize) -> Vec<Cell> {
    let weather = |deviation, lasts_s| Weather { deviation, lasts_s };
    // The reference has no figure for six starts.
    let rows: [(&str, Weather, [Option<f64>; 3]); 5] = [
        ("no drift", weather(0.0, 1.0), [Some(0.5), None, None]),
        ("drift of 2% over 30 s", weather(0.02, 30.0), [Some(12.0), None, None]),
        ("drift of 2% over 5 min", weather(0.02, 300.0), [Some(23.0), None, Some(15.0)]),
        ("drift of 2% over an hour", weather(0.02, 3600.0), [Some(24.0), None, Some(24.0)]),
        ("drift of 5% over an hour", weather(0.05, 3600.0), [Some(61.0), None, Some(58.0)]),
    ];
    let columns = [
        ("8 starts in 40 s", 8, 40.0),
        ("6 starts over 5 min", 6, 300.0),
        ("8 starts over 5 min", 8, 300.0),
    ];
    let mut cells = Vec::new();
    for (row, weather, there) in rows {
        for ((column, starts, seconds), there) in columns.into_iter().zip(there) {
            let disjoint = each_run(runs, |rng| {
                let mut one = || {
                    let weather = weather.at(starts, seconds / starts as f64, rng);
                    let figures: Vec<f64> =
                        weather.iter().map(|now| now + 0.02 * normal(rng)).collect();
                    median_interval(&figures, LEVEL)
                };
                let (Some(a), Some(b)) = (one(), one()) else { return true };
                a.high < b.low || b.high < a.low
            });
            let cell = Cell::new(row, column, share(&disjoint));
            cells.push(cell.against(there));
        }
    }
    cells
}

/// Of two variants in turn, by time: the logarithms of their starts and the order.
type Told = (Vec<Vec<f64>>, Vec<(usize, usize)>);

fn by_variant(world: &World, pairs: usize, effect: f64, rng: &mut Rng) -> Told {
    let pairs = world.pairs(pairs, effect, rng);
    let values = vec![pairs.iter().map(|it| it.a).collect(), pairs.iter().map(|it| it.b).collect()];
    let order = pairs
        .iter()
        .enumerate()
        .flat_map(|(n, pair)| if pair.b_second { [(0, n), (1, n)] } else { [(1, n), (0, n)] });
    let order = order.collect();
    (values, order)
}

fn kinds(runs: usize) -> Vec<Cell> {
    let rows = [
        ("35% slow by 10%", Luck::Kinds(0.35, 0.10), [79.0, 92.0, 97.0, 100.0]),
        ("20% slow by 10%", Luck::Kinds(0.2, 0.10), [39.0, 58.0, 72.0, 89.0]),
        ("50% slow by 15%", Luck::Kinds(0.5, 0.15), [91.0, 98.0, 100.0, 100.0]),
    ];
    let mut cells = Vec::new();
    for (name, luck, there) in rows {
        let world = World::new(luck, 0.0);
        let halves = [0.65, 0.54, 0.47, 0.36];
        for ((pairs, there), half_there) in [6, 8, 10, 16].into_iter().zip(there).zip(halves) {
            let all = each_run(runs, |rng| {
                let (values, order) = by_variant(&world, pairs, 0.0, rng);
                let kinds = two_kinds(&values, &order).ok()?;
                let Alike(alike) = kinds.alike(&values, LEVEL)?;
                Some(with_half(Some(alike), 0.0))
            });
            let found = share(&all.iter().map(Option::is_some).collect::<Vec<_>>());
            let column = of_pairs(pairs);
            cells.push(Cell::new(name, &column, found).against(there));
            let row = format!("{name}, within kinds");
            let [held, half] = held(&row, &column, all.into_iter().flatten().collect());
            cells.extend([held.against(95.0), half.against(half_there)]);
        }
    }
    cells
}

fn one_kind(runs: usize) -> Vec<Cell> {
    let rows = [
        ("normal", Luck::Normal(0.01), [0.3, 0.0, 0.0, 0.0, 0.0]),
        ("heavy tails", Luck::Heavy(0.01), [0.4, 0.3, 0.2, 0.2, 0.8]),
        ("lognormal", Luck::Lognormal(0.01), [1.4, 1.2, 1.2, 0.8, 0.2]),
        ("uniform", Luck::Uniform(0.01), [1.1, 0.3, 0.0, 0.0, 0.0]),
    ];
    let mut cells = Vec::new();
    for (name, luck, there) in rows {
        let world = World::new(luck, 0.0);
        for (pairs, there) in [6, 8, 10, 16, 30].into_iter().zip(there) {
            let found = each_run(runs, |rng| {
                let (values, order) = by_variant(&world, pairs, 0.0, rng);
                !matches!(two_kinds(&values, &order), Err(NoKinds::NotSeen))
            });
            cells.push(Cell::new(name, &of_pairs(pairs), share(&found)).against(there));
        }
    }
    cells
}

fn baselines(runs: usize) -> Vec<Cell> {
    const STARTS: usize = 8;
    const START: f64 = 0.02;
    let run = |omega: f64, rng: &mut Rng| -> Vec<f64> {
        let hour = omega * normal(rng);
        (0..STARTS).map(|_| hour + START * normal(rng)).collect()
    };
    let rows = [
        (0.0, 95.8, [(97.0, 2.9), (98.1, 2.1)]),
        (0.01, 77.8, [(96.7, 4.9), (96.8, 3.3)]),
        (0.02, 52.5, [(96.8, 8.7), (96.0, 5.5)]),
        (0.05, 23.6, [(97.2, 21.0), (95.8, 13.0)]),
    ];
    let mut cells = Vec::new();
    for (omega, second, later) in rows {
        let name = format!("occasions differ by {}%", 100.0 * omega);
        let of_two = each_run(runs, |rng| {
            let [a, b] = [run(omega, rng), run(omega, rng)];
            with_half(difference(&a, &b, LEVEL), 0.0).0
        });
        cells.push(Cell::new(&name, "second run (Welch)", share(&of_two)).against(second));
        for ((before, column), (held_there, half_there)) in
            [(4, "fifth run"), (12, "13th run")].into_iter().zip(later)
        {
            let found = each_run(runs, |rng| {
                let earlier: Vec<Vec<f64>> = (0..before).map(|_| run(omega, rng)).collect();
                with_half(after_runs(&earlier, &run(omega, rng), LEVEL), 0.0)
            });
            let [held, half] = held(&name, column, found);
            cells.extend([held.against(held_there), half.against(half_there)]);
        }
    }
    cells
}
