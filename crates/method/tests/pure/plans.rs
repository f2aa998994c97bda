//! Plans on recorded machines, and the order of blocks.

use std::collections::{BTreeMap, BTreeSet};

use hopcost_core::{
    BlockRecord, Code, Comparison, CopyChoice, CpuId, CpuSet, DataPlacement, DistanceClass,
    Disturbance, Effort, Known, Level, Load, Machine, NodeId, Phase, Policy, Reason, Response,
    Scale, Spot, Trial, Window,
};
use hopcost_method::plan::{Plan, Point, plan};
use hopcost_method::schedule::{Pace, Schedule};
use hopcost_sys::{Root, topology};
use proptest::prelude::*;

fn machine(name: &str) -> Machine {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines");
    topology::read(&Root::recorded(format!("{dir}/{name}.tree").as_ref()).unwrap())
}

fn level(name: &str, data: Spot, workers: char) -> Level {
    let workers = Some(Spot::Node(workers));
    Level { name: name.into(), data: Some(data), workers, ..Level::default() }
}

fn comparison(levels: Vec<Level>, streams: &[u32]) -> Comparison {
    Comparison {
        target: None,
        dataset: "tran_stats".into(),
        scale: Scale { quick: 1, full: 1 },
        workload: "reporting_p1".into(),
        factor: "memory".into(),
        levels,
        streams: streams.to_vec(),
        load: Load::default(),
        response: Response::QueriesPerHour,
        find_worst: true,
        spread: false,
        find_scaling: false,
        claims: Vec::new(),
    }
}

fn remote_memory() -> Comparison {
    let (a, levels) = (Spot::Node('A'), ["local", "remote"]);
    comparison(vec![level(levels[0], a, 'A'), level(levels[1], a, 'B')], &[1, 2, 4, 8])
}

fn quick(levels: Vec<Level>, streams: &[u32], name: &str) -> Result<Plan, Reason> {
    plan(&comparison(levels, streams), &machine(name), Effort::Quick)
}

pub fn planned(name: &str, effort: Effort) -> Plan {
    plan(&remote_memory(), &machine(name), effort).unwrap()
}

#[test]
fn every_node_is_as_often_near_as_far() {
    for (name, nodes, effort, pairs) in [
        ("vm-n4", 4, Effort::Quick, 12),
        ("vm-n8", 8, Effort::Quick, 8),
        ("vm-n8", 8, Effort::Full, 56),
    ] {
        let plan = planned(name, effort);
        assert_eq!(plan.bindings.len(), pairs, "{name}");
        let different: BTreeSet<String> =
            plan.bindings.iter().map(|binding| format!("{binding:?}")).collect();
        assert_eq!(different.len(), pairs, "no pair twice on {name}");
        for letter in ['A', 'B'] {
            let mut times: BTreeMap<NodeId, usize> = BTreeMap::new();
            for binding in &plan.bindings {
                *times.entry(binding.nodes[&letter]).or_default() += 1;
            }
            assert_eq!(times.len(), nodes, "{name}");
            assert!(times.values().all(|n| *n == pairs / nodes), "{name}: {times:?}");
        }
    }
}

#[test]
fn nodes_that_are_avoided_are_no_places() {
    let why = |name| plan(&remote_memory(), &machine(name), Effort::Quick).unwrap_err().to_string();
    let shared = "of its own";
    assert!(why("hand-shared-cpus").contains(shared), "{}", why("hand-shared-cpus"));
    let gpu = "1 of this machine's 2 has usable CPUs";
    assert!(why("hand-gpu-memory").contains(gpu), "{}", why("hand-gpu-memory"));
    // The memory of a GPU does not count as memory without CPUs.
    let away = Spot::Away(DistanceClass::MemoryOnly);
    let levels = vec![level("near", Spot::Node('A'), 'A'), level("away", away, 'A')];
    let planned = |name| plan(&comparison(levels.clone(), &[1]), &machine(name), Effort::Quick);
    assert!(planned("vm-n2cxl-6.12").is_ok());
    let reason = planned("hand-gpu-memory").unwrap_err();
    assert_eq!(reason.as_str(), "every usable node with memory has CPUs");
}

#[test]
fn arms_differ_in_place_and_in_nothing_else() {
    for name in ["vm-n4", "vm-n4s2", "vm-n8", "hand-8-sockets", "hand-epyc-nps4", "hand-sparse"] {
        let machine = machine(name);
        let plan = planned(name, Effort::Normal);
        let hands = plan.placements[0][0].settings.workers.len();
        for (binding, levels) in plan.bindings.iter().zip(&plan.placements) {
            let (a, b) = (binding.nodes[&'A'], binding.nodes[&'B']);
            assert_eq!(
                [levels[0].settings.home, levels[1].settings.home],
                [Some(a), Some(a)],
                "{name}"
            );
            for (placement, node) in levels.iter().zip([a, b]) {
                let workers: CpuSet = placement.settings.workers.iter().copied().collect();
                assert_eq!(placement.settings.workers.len(), hands, "{name}");
                assert!(workers.is_subset(&machine.node(node).unwrap().cpus), "{name}");
            }
        }
    }
}

#[test]
fn one_core_is_used_before_its_sibling() {
    let machine = machine("hand-8-sockets");
    let plan = planned("hand-8-sockets", Effort::Quick);
    let workers = &plan.placements[0][0].settings.workers;
    let first: Vec<bool> = workers
        .iter()
        .map(|cpu| machine.cpu(*cpu).unwrap().siblings.first() == Some(*cpu))
        .collect();
    assert!(first.is_sorted_by(|a, b| a >= b), "{workers:?}");
}

#[test]
fn a_machine_of_one_node_says_so() {
    let reason = plan(&remote_memory(), &machine("vm-n1"), Effort::Normal).unwrap_err();
    assert_eq!(reason.as_str(), "needs 2 memory nodes; this machine has 1");
}

#[test]
fn a_rung_that_is_missing_is_left_out_by_name() {
    let levels = vec![
        level("near", Spot::Away(DistanceClass::SameNode), 'A'),
        level("next", Spot::Away(DistanceClass::SameSocket), 'A'),
        level("far", Spot::Away(DistanceClass::OtherSocket), 'A'),
    ];
    let plan = plan(&comparison(levels, &[1]), &machine("vm-n4"), Effort::Normal).unwrap();
    assert_eq!(plan.levels, ["near", "far"]);
    assert_eq!(plan.left_out[0].what, "next");
    assert!(plan.left_out[0].reason.as_str().contains("no socket has two nodes"));
}

#[test]
fn streams_that_only_wait_are_left_to_full_effort() {
    let quick = planned("vm-n4", Effort::Quick);
    assert_eq!(quick.most_streams(), 4, "two CPUs a node");
    assert_eq!(quick.left_out[0].what, "8 clients");
    assert_eq!(planned("vm-n4", Effort::Full).most_streams(), 8);
}

pub fn pace(search_units: u64, most_units: u64) -> Pace {
    Pace {
        window_s: 0.2,
        guard_s: 0.05,
        search_units,
        most_units,
        placebo_every: 4,
        long_s: None,
        budget_s: None,
        half_width: 0.01,
        margin: 0.03,
        seed: 7,
        starts: None,
    }
}

/// The block of a trial whose tested variant has this cost.
pub fn found(trial: Trial, cost: f64) -> BlockRecord {
    let window = |tested: bool| Window {
        tested,
        seconds: 0.2,
        calls: 100,
        // An interval needs some noise.
        rate: if tested { 500.0 * (1.0 - cost) } else { 500.0 }
            * (1.0 + 1e-3 * (trial.number as f64).sin()),
        ..Window::default()
    };
    let windows = trial.arms().into_iter().map(window).collect();
    BlockRecord { trial, windows, placement: Known::missing(Code::NotMeasured, "a test") }
}

pub fn measured(
    schedule: &Schedule<'_>,
    elapsed_s: f64,
    measure: impl Fn(Trial) -> BlockRecord,
) -> Vec<BlockRecord> {
    let mut blocks = Vec::new();
    while let Some(trial) = schedule.next(&blocks, elapsed_s) {
        blocks.push(measure(trial));
        assert!(blocks.len() < 10_000, "it ends");
    }
    blocks
}

pub fn all_trials(schedule: &Schedule<'_>, cost: impl Fn(&Trial) -> f64) -> Vec<BlockRecord> {
    measured(schedule, 0.0, |trial| found(trial, cost(&trial)))
}

#[test]
fn the_worst_is_looked_for_and_then_measured_afresh() {
    let plan = planned("vm-n4", Effort::Quick);
    let pace = pace(3, 8);
    let schedule = Schedule::new(&plan, &pace, true);
    let noise = |trial: &Trial| 0.002 * (trial.number as f64 * 1.7).cos();
    let blocks = all_trials(&schedule, |t| noise(t) + if t.streams == 2 { 0.08 } else { 0.02 });
    assert_eq!(schedule.reported(&blocks), [Point { streams: 2, level: 1 }]);
    let of = |phase| blocks.iter().filter(move |block| block.trial.phase == phase);
    assert_eq!(of(Phase::Search).count(), 3 * 3 * 12);
    assert_eq!(of(Phase::Fresh).count(), 8 * 12);
    assert!(of(Phase::Fresh).all(|block| block.trial.streams == 2));
    assert!(of(Phase::Placebo).count() >= 1 && of(Phase::Placebo).all(|b| b.trial.level == 0));
    assert_eq!(schedule.contrasts(&blocks, Phase::Fresh, schedule.reported(&blocks)[0]).len(), 8);
}

#[test]
fn a_killed_run_goes_on_as_if_nothing_had_happened() {
    let plan = planned("vm-n4", Effort::Quick);
    let pace = pace(3, 10);
    let cost = |trial: &Trial| 0.03 + 0.01 * (trial.number as f64).sin();
    let whole = all_trials(&Schedule::new(&plan, &pace, true), cost);
    for killed_at in [0, 1, 50, whole.len() - 1] {
        let kept = whole[..killed_at].to_vec();
        let next = Schedule::new(&plan, &pace, true).next(&kept, 0.0);
        assert_eq!(next, Some(whole[killed_at].trial));
    }
}

fn disturbed_trials(
    schedule: &Schedule<'_>,
    is_disturbed: impl Fn(&Trial) -> bool,
) -> Vec<BlockRecord> {
    measured(schedule, 0.0, |trial| {
        let mut block = found(trial, 0.02 * (trial.number as f64).sin());
        if trial.phase == Phase::Fresh && is_disturbed(&trial) {
            block.windows[1].disturbed = Some(Disturbance::Stolen);
        }
        block
    })
}

#[test]
fn a_disturbed_block_is_measured_again_and_costs_its_unit_nothing() {
    let plan = planned("vm-n4", Effort::Quick);
    let pace = pace(0, 8);
    let schedule = Schedule::new(&plan, &pace, false);
    let blocks = disturbed_trials(&schedule, |trial| trial.number.is_multiple_of(2));
    for point in &plan.points {
        assert_eq!(schedule.contrasts(&blocks, Phase::Fresh, *point).len(), 8);
    }
    let again = blocks.windows(2).filter(|pair| pair[0].disturbed().is_some());
    for pair in again {
        let place = |block: &BlockRecord| {
            let Trial { unit, streams, binding, level, .. } = block.trial;
            (unit, streams, binding, level)
        };
        assert_eq!(place(&pair[0]), place(&pair[1]));
    }
}

#[test]
fn a_budget_that_is_spent_at_the_start_leaves_one_unit() {
    let plan = planned("vm-n4", Effort::Quick);
    let pace = Pace { budget_s: Some(1.0), ..pace(0, 8) };
    let blocks = measured(&Schedule::new(&plan, &pace, false), 2.0, |trial| found(trial, 0.0));
    assert_eq!(blocks.len(), 36, "twelve bindings at three numbers of streams");
}

#[test]
fn where_everything_is_disturbed_a_run_ends() {
    let plan = planned("vm-n4", Effort::Quick);
    let pace = pace(0, 8);
    let blocks = disturbed_trials(&Schedule::new(&plan, &pace, false), |_| true);
    let fresh = blocks.iter().filter(|block| block.trial.phase == Phase::Fresh).count();
    assert_eq!(fresh, 8 * 36 * 4, "each was tried four times");
}

#[test]
fn a_void_block_ends_the_run_with_its_unit() {
    let plan = planned("vm-n4", Effort::Quick);
    let pace = pace(3, 8);
    let blocks = measured(&Schedule::new(&plan, &pace, false), 0.0, |trial| {
        let mut block = found(trial, 0.0);
        if trial.number == 5 {
            block.windows[1].objection = Some(Code::Misplaced.because("a worker was re-pinned"));
        }
        block
    });
    assert_eq!(blocks.len(), 3 * 12, "the unit that it was in, and no other");
}

proptest! {
    #[test]
    fn every_unit_holds_each_binding_once_and_coins_fall_both_ways(seed in any::<u64>()) {
        let plan = planned("vm-n4", Effort::Quick);
        let pace = Pace { seed, ..pace(0, 8) };
        let schedule = Schedule::new(&plan, &pace, false);
        let blocks = all_trials(&schedule, |trial| 0.02 * (trial.number as f64).sin());
        let fresh = || blocks.iter().map(|b| b.trial).filter(|t| t.phase == Phase::Fresh);
        for unit in 0..8 {
            let of_unit = || fresh().filter(|trial| trial.unit == unit);
            let different: BTreeSet<(u32, usize)> =
                of_unit().map(|trial| (trial.streams, trial.binding)).collect();
            prop_assert_eq!(of_unit().count(), 36);
            prop_assert_eq!(different.len(), 36);
        }
        let outside = fresh().filter(|trial| trial.baseline_outside).count() as f64;
        let share = outside / fresh().count() as f64;
        prop_assert!((0.35..0.65).contains(&share), "{share}");
    }
}

#[test]
fn levels_may_differ_in_how_many_cpus_they_have() {
    let cores =
        |name: &str, cpus| Level { name: name.into(), cpus: Some(cpus), ..Level::default() };
    let levels = vec![cores("one", 1), cores("two", 2), cores("many", 4711)];
    let plan = quick(levels, &[200], "vm-n4").unwrap();
    let hands: Vec<usize> =
        plan.placements[0].iter().map(|placed| placed.settings.workers.len()).collect();
    assert_eq!(hands, [1, 2]);
    assert_eq!(plan.left_out[0].what, "many");
    assert!(plan.left_out[0].reason.as_str().contains("4711 CPUs"), "{:?}", plan.left_out);
}

#[test]
fn a_score_is_its_only_level_against_itself() {
    let whole = Level { name: "whole".into(), data: Some(Spot::Node('A')), ..Level::default() };
    let mut score = comparison(vec![whole], &[1, 2]);
    score.find_worst = false;
    let plan = plan(&score, &machine("vm-n1"), Effort::Quick).unwrap();
    assert!(plan.is_score());
    assert_eq!(plan.points, [1, 2].map(|streams| Point { streams, level: 0 }));
    assert_eq!(plan.placements[0][0].settings.at, Some(NodeId(0)), "there is no other");
}

#[test]
fn a_law_is_of_all_numbers_of_streams_with_the_ends_of_cores_and_sockets() {
    let whole = Level { name: "whole".into(), data: Some(Spot::Node('A')), ..Level::default() };
    let mut law = comparison(vec![whole], &[1, 2, 4, 8, 400]);
    (law.find_worst, law.find_scaling) = (false, true);
    for (name, ends) in [
        ("hand-epyc-nps4", &[(16, "socket"), (32, "cores"), (64, "threads of cores")][..]),
        ("vm-n1", &[(1, "cores"), (2, "threads of cores")]),
    ] {
        let plan = plan(&law, &machine(name), Effort::Quick).unwrap();
        let streams: Vec<u32> = plan.points.iter().map(|point| point.streams).collect();
        assert_eq!((streams, plan.left_out), (vec![1, 2, 4, 8, 400], Vec::new()));
        let found: Vec<(u32, &str)> =
            plan.boundaries[0].iter().map(|end| (end.streams, end.of.as_str())).collect();
        assert_eq!(found, ends, "{name}");
    }
    law.find_scaling = false;
    assert!(plan(&law, &machine("vm-n1"), Effort::Quick).unwrap().boundaries.is_empty());
}

#[test]
fn parallel_workers_stand_by_node_and_take_no_more_cpus_than_there_are() {
    let parallel = |name: &str, dop, postmaster: Option<char>, workers: Option<char>| Level {
        dop: Some(dop),
        postmaster: postmaster.map(Spot::Node),
        parallel_workers: workers.map(Spot::Node),
        ..level(name, Spot::Node('A'), 'A')
    };
    let levels = vec![
        parallel("postmaster", 2, Some('A'), None),
        parallel("leader", 2, None, None),
        parallel("workers", 2, None, Some('A')),
        parallel("elsewhere", 2, Some('B'), None),
        parallel("crowd", 4711, None, None),
    ];
    let comparison = comparison(levels, &[1]);
    let planned = plan(&comparison, &machine("vm-n4"), Effort::Quick).unwrap();
    assert_eq!(planned.levels, ["postmaster", "leader", "workers", "elsewhere"]);
    assert_eq!(planned.left_out[0].what, "crowd");
    assert!(
        planned.left_out[0].reason.as_str().starts_with("needs 4711 CPUs for 4711 processes; 8")
    );
    assert_eq!(planned.bindings.len(), 12);
    for (binding, placements) in planned.bindings.iter().zip(&planned.placements) {
        let (a, b) = (binding.nodes[&'A'], binding.nodes[&'B']);
        let told = |n: usize| {
            let parallel = placements[n].settings.parallel.unwrap();
            assert_eq!((parallel.dop, placements[n].settings.at), (2, Some(a)));
            (parallel.postmaster, parallel.workers)
        };
        let expected = [(Some(a), None), (None, None), (None, Some(a)), (Some(b), None)];
        assert_eq!([0, 1, 2, 3].map(told), expected);
    }
    let refused = plan(&comparison, &machine("vm-n1"), Effort::Quick).unwrap_err();
    assert!(refused.as_str().contains("needs 2 memory nodes"), "{refused}");
}

fn by_policy(name: &str, policy: Policy) -> Level {
    let is_of_one_node = matches!(policy, Policy::FirstTouch | Policy::Bind);
    let data = is_of_one_node.then_some(Spot::Node('A'));
    let copy = CopyChoice { policy: Some(policy), ..CopyChoice::default() };
    Level { name: name.into(), data, copy, ..Level::default() }
}

#[test]
fn policies_differ_in_where_the_data_is_and_not_in_who_works() {
    let levels = vec![
        by_policy("first_touch", Policy::FirstTouch),
        by_policy("interleave", Policy::Interleave),
        by_policy("bind", Policy::Bind),
    ];
    let machine = machine("vm-n4");
    let plan = plan(&comparison(levels, &[1, 4]), &machine, Effort::Quick).unwrap();
    assert_eq!(plan.bindings.len(), 4, "each node has it once");
    // A copy per node for each policy of one node, and one on all nodes.
    assert_eq!(plan.homes().len(), 4 + 4 + 1);
    for (binding, levels) in plan.bindings.iter().zip(&plan.placements) {
        let a = Some(binding.nodes[&'A']);
        assert_eq!(
            levels.iter().map(|level| level.settings.home).collect::<Vec<_>>(),
            [a, None, a]
        );
        for level in levels {
            assert_eq!(level.settings.workers, levels[0].settings.workers);
            assert_eq!((level.settings.workers.len(), level.settings.at), (8, None));
            let nodes: Vec<u32> = level.settings.nodes.iter().map(|node| node.0).collect();
            assert_eq!(nodes, [0, 1, 2, 3, 0, 1, 2, 3]);
        }
    }
}

#[test]
fn an_instance_per_node_is_one_on_each() {
    let levels = vec![by_policy("one", Policy::Interleave), by_policy("per_node", Policy::PerNode)];
    let plan = quick(levels, &[2], "vm-n4").unwrap();
    let on = |node| DataPlacement::from(NodeId(node)).by(Policy::PerNode);
    let one = DataPlacement::default().by(Policy::Interleave);
    assert_eq!(plan.homes(), [one, on(0), on(1), on(2), on(3)]);
}

#[test]
fn on_one_node_all_policies_are_the_same_and_that_is_said() {
    let bound = || by_policy("bind", Policy::Bind);
    for other in [Policy::FirstTouch, Policy::Interleave, Policy::PerNode] {
        let levels = vec![by_policy("other", other), bound()];
        let reason = quick(levels, &[1], "vm-n1").unwrap_err();
        assert_eq!(reason.as_str(), "needs 2 memory nodes; this machine has 1");
    }
}

#[test]
fn instances_of_different_numbers_are_different_ones_in_the_same_place() {
    let twin = |name: &str, number| Level {
        name: name.into(),
        copy: CopyChoice { instance: Some(number), ..CopyChoice::default() },
        cpus: Some(1),
        ..Level::default()
    };
    let levels = vec![twin("one", 1), twin("other", 2), twin("same", 2)];
    let plan = quick(levels, &[1], "vm-n1").unwrap();
    let numbers: Vec<u32> = plan.homes().iter().filter_map(|home| home.copy.instance).collect();
    assert_eq!(numbers, [1, 2]);
    assert!(
        plan.placements[0]
            .iter()
            .all(|level| level.settings.workers == plan.placements[0][0].settings.workers)
    );
}

#[test]
fn siblings_work_or_stay_idle_and_a_share_of_the_cores_is_one_of_each_node() {
    let level = |name: &str, siblings, cores| Level {
        name: name.into(),
        siblings: Some(siblings),
        cores,
        ..Level::default()
    };
    let levels = vec![
        level("idle", false, None),
        level("used", true, None),
        level("half_used", true, Some(0.5)),
    ];
    let comparison = comparison(levels, &[64]);
    for name in ["hand-8-sockets", "hand-epyc-nps4", "vm-n4s2"] {
        let machine = machine(name);
        let plan = plan(&comparison, &machine, Effort::Full).unwrap();
        let threads = |level: usize| -> CpuSet {
            plan.placements[0][level].settings.workers.iter().copied().collect()
        };
        let of_its_core =
            |cpu, among: &CpuSet| machine.cpu(cpu).unwrap().siblings.intersection(among).len();
        let [idle, used] = [0, 1].map(threads);
        assert!(idle.iter().all(|cpu| of_its_core(cpu, &idle) == 1), "{name}: {idle}");
        assert!(used.iter().all(|cpu| of_its_core(cpu, &used) == 2), "{name}: {used}");
        assert_eq!((used.len(), machine.limits.cpus.len()), (2 * idle.len(), used.len()), "{name}");
        for (number, placement) in plan.placements[0].iter().enumerate() {
            assert_eq!(placement.spare, machine.limits.cpus.difference(&threads(number)), "{name}");
        }
        if name == "vm-n4s2" {
            let either = ["1,3,5,7", "0,2,4,6"].map(str::to_owned);
            assert_eq!(plan.spares(), [("idle", either.into())]);
            let mut unturned = plan.clone();
            unturned.unturned();
            assert_eq!(unturned.spares(), [("idle", ["1,3,5,7".to_owned()].into())]);
            assert_eq!(plan.left_out[0].what, "half_used", "its nodes have one core each");
            continue;
        }
        let [one, other] = [0, 1].map(|binding| &plan.placements[binding][2]);
        assert!(one.settings.workers.iter().all(|cpu| other.spare.contains(*cpu)), "{name}");
        let half = threads(2);
        assert!(half.iter().all(|cpu| of_its_core(cpu, &half) == 2), "{name}: {half}");
        for node in &machine.nodes {
            let of_node = |cpus: &CpuSet| cpus.intersection(&node.cpus).len();
            assert_eq!(2 * of_node(&half), of_node(&used), "{name}, {:?}", node.id);
        }
    }
    let reason = plan(&comparison, &machine("hand-arm-2-sockets"), Effort::Full).unwrap_err();
    assert!(reason.to_string().contains("needs 2 hardware threads per core"), "{reason}");
}

#[test]
fn half_the_workers_stand_under_another_cache_and_as_many_in_all_levels() {
    let apart = |class: DistanceClass| Level {
        name: class.name().into(),
        data: Some(Spot::Node('A')),
        workers: Some(Spot::Node('A')),
        apart: Some(class),
        ..Level::default()
    };
    let (same, other) = (DistanceClass::SameL3, DistanceClass::SameNode);
    let comparison = comparison(vec![apart(same), apart(other)], &[2, 4]);
    let machine = machine("hand-epyc-nps4");
    let plan = plan(&comparison, &machine, Effort::Quick).unwrap();
    for levels in &plan.placements {
        let [near, far] = [0, 1].map(|level: usize| &levels[level].settings.workers);
        assert!(near.len() == far.len() && near.len() >= 2, "{near:?} {far:?}");
        assert!(
            levels.iter().all(|level| level.settings.at == levels[0].settings.home),
            "all stand on node A"
        );
        let distances = |workers: &[CpuId]| -> Vec<DistanceClass> {
            let from = workers[0];
            let to = workers[1..].iter().map(|cpu| machine.cpu_distance(from, *cpu));
            to.map(|class| *class.get().unwrap()).collect()
        };
        assert!(distances(near).iter().all(|class| *class == same), "{near:?}");
        let turns = [other, same].into_iter().cycle().take(far.len() - 1);
        assert_eq!(distances(far), turns.collect::<Vec<_>>(), "{far:?}");
    }
    let comparison = self::comparison(vec![apart(same), apart(DistanceClass::OtherSocket)], &[2]);
    let two = self::plan(&comparison, &self::machine("hand-8-sockets"), Effort::Quick).unwrap();
    for levels in &two.placements {
        assert_eq!(levels[1].settings.at, None);
        assert!(
            levels[1].settings.nodes[0] != levels[1].settings.nodes[1],
            "{:?}",
            levels[1].settings.nodes
        );
    }
}
