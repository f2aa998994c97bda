//! The schedule of a run in several starts.

use hopcost_core::{Effort, Phase, Trial};
use hopcost_method::schedule::{Pace, Schedule, Starts};

use crate::plans::{all_trials, found, measured, pace, planned};

fn in_starts(number: u64) -> Pace {
    let starts = Some(Starts { number, units: 2 });
    Pace { starts, placebo_every: 2, budget_s: Some(10.0), ..pace(0, 2 * number) }
}

#[test]
fn a_start_has_its_units_and_ends_with_a_check() {
    let plan = planned("vm-n4", Effort::Quick);
    let pace = Pace { search_units: 3, budget_s: None, ..in_starts(6) };
    let schedule = Schedule::new(&plan, &pace, true);
    let blocks = all_trials(&schedule, |trial| 0.03 + 0.01 * (trial.number as f64).sin());
    for start in 0..6 {
        let of_start = || blocks.iter().filter(|it| schedule.start_of(&it.trial) == start);
        let count = |phase| of_start().filter(|block| block.trial.phase == phase).count();
        assert_eq!((count(Phase::Fresh), count(Phase::Placebo)), (2 * 12, 1));
        assert_eq!(count(Phase::Search), if start == 0 { 3 * 3 * 12 } else { 0 });
        assert_eq!(of_start().next_back().unwrap().trial.phase, Phase::Placebo);
    }
    let begun = |n: usize| blocks.iter().position(|it| schedule.start_of(&it.trial) == n as u64);
    let third = begun(2).unwrap();
    for cut in [third, third + 1, third + 24] {
        assert_eq!(schedule.kept(&blocks[..cut]), third, "the cut start is measured anew");
    }
    assert_eq!(schedule.kept(&blocks[..3]), 0);
    assert_eq!(schedule.kept(&blocks), blocks.len());
    let point = schedule.reported(&blocks)[0];
    assert_eq!(schedule.values(&blocks, point).len(), 6);
    assert_eq!(schedule.values(&blocks[..third + 10], point).len(), 2, "complete starts alone");
}

#[test]
fn a_spent_budget_ends_a_run_in_starts_unless_one_more_gives_a_verdict() {
    let plan = planned("vm-n4", Effort::Quick);
    let pace = Pace { half_width: 1e-9, ..in_starts(8) };
    let schedule = Schedule::new(&plan, &pace, false);
    let noisy = |trial: Trial| found(trial, 0.03 + 0.01 * (trial.number as f64).sin());
    let starts_by =
        |elapsed_s| schedule.values(&measured(&schedule, elapsed_s, noisy), plan.points[0]).len();
    assert_eq!([9.0, 11.0, 16.0].map(starts_by), [8, 6, 1]);
}

#[test]
fn a_start_that_adds_nothing_is_the_last_one() {
    let plan = planned("vm-n4", Effort::Quick);
    let pace = in_starts(6);
    let schedule = Schedule::new(&plan, &pace, false);
    let mut blocks = all_trials(&schedule, |trial| 0.03 + 0.01 * (trial.number as f64).sin());
    assert!(!schedule.needs_a_start(&blocks, 0), "all six are there");
    let second = blocks.iter().position(|it| schedule.start_of(&it.trial) == 1).unwrap();
    blocks.truncate(second);
    assert!(schedule.needs_a_start(&blocks, 0));
    assert!(!schedule.needs_a_start(&blocks, second), "what it added");
    blocks[second - 1].windows.last_mut().unwrap().begin_s = 15.0;
    assert!(!schedule.needs_a_start(&blocks, 0), "the budget is spent");
}
