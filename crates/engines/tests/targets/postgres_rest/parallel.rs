//! Parallel workers: their placement, and the counts of it.

use std::collections::BTreeMap;

use hopcost_core::{
    Checks, Code, Emulation, Instance, Metric, NodeId, Parallel, Request, Session, Setup, Stream,
    VariantSettings, gauge,
};
use hopcost_sys::affinity;
use hopcost_testkit::named::{dataset, home, machine, open, workload};
use hopcost_testkit::postgresql::PostgreSql;

use super::super::{seat, setup};

fn in_parallel(
    instance: &dyn Instance,
    setup: &Setup<'_>,
    parallel: Parallel,
) -> (Checks, BTreeMap<String, u64>) {
    let cpu = setup.machine.node(NodeId(0)).unwrap().cpus.first();
    let node = Some(NodeId(0));
    let seat = VariantSettings {
        home: node,
        at: node,
        workers: cpu.into_iter().collect(),
        parallel: Some(parallel),
        ..VariantSettings::default()
    };
    let mut session = instance.first_session(&seat).unwrap();
    let mut requests = setup.workload.requests(setup.shape, Stream { number: 0, of: 1, seed: 7 });
    let mut ask = |session: &mut dyn Session| {
        let request = requests.next();
        let answer = session.execute(&request).unwrap();
        setup.workload.check(setup.shape, &request, &answer).unwrap();
    };
    instance.enter_variant(&seat).unwrap();
    ask(session.as_mut());
    session.begin_counting();
    for _ in 0..10 {
        ask(session.as_mut());
    }
    let seen = instance.readings().into_iter();
    let seen = seen.filter(|reading| reading.gauge == gauge::PARALLEL_WORKER_SAMPLES);
    let seen = seen.map(|reading| (reading.of, reading.value as u64)).collect();
    (session.counted().proved, seen)
}

#[test]
fn parallel_workers_run_where_they_are_put_and_are_counted() {
    let two = Emulation::default();
    // The two nodes need a CPU each.
    let machine = machine().emulated(&two).expect("this test needs two CPUs");
    let told = machine.distances.firmware.reason().unwrap();
    assert_eq!(told.code(), Code::OnEmulated, "{told}");
    let (dataset, workload) = (dataset("tran_stats"), workload("reporting_p2_whole"));
    let homes = vec![NodeId(0).into()];
    let setup = setup(dataset, workload, 200_000, "managed");
    let setup = Setup { machine: &machine, homes, emulation: Some(two), ..setup };
    let instance = open("postgres", &setup).unwrap();
    let dop = |dop| Parallel { dop, ..Parallel::default() };

    for node in [0, 1] {
        let there = Parallel { postmaster: Some(NodeId(node)), ..dop(2) };
        let (proved, seen) = in_parallel(instance.as_ref(), &setup, there);
        let [held, of] = proved[&Metric::ParallelWorkersInPlace];
        assert!(held == of && of > 0, "{proved:?}");
        // Ten calls with one worker each; a short-lived one may be missed.
        let [ran, due] = proved[&Metric::ParallelWorkersRan];
        assert!(due == 10 && ran >= 5, "{proved:?}");
        let looks = [0, 1].map(|n| seen[&format!("node {n}, leader on node 0")]);
        assert_eq!(looks, [0, 1].map(|n| if n == node { of } else { 0 }), "{seen:?}");
    }
    let plan = instance.plans().unwrap().remove(0);
    assert_eq!(plan.matches("Workers Planned: 1").count(), 1, "{plan}");

    // Workers are moved after they start: samples before that count as out of place.
    let moved = Parallel { workers: Some(NodeId(1)), ..dop(2) };
    let (proved, _) = in_parallel(instance.as_ref(), &setup, moved);
    let [held, of] = proved[&Metric::ParallelWorkersInPlace];
    assert!(2 * held > of && of > 0, "{proved:?}");

    let (proved, seen) = in_parallel(instance.as_ref(), &setup, dop(1));
    assert!(
        !proved.contains_key(&Metric::ParallelWorkersRan) && seen.is_empty(),
        "{proved:?} {seen:?}"
    );
}

#[test]
fn the_postmaster_of_a_server_that_runs_stays_where_it_is() {
    let server = PostgreSql::start(&[]);
    let before = affinity::mask_of(server.pid()).unwrap();
    let address = server.url("postgres");
    let setup = setup(dataset("nothing"), workload("null_call"), 1, &address);
    let instance = open("postgres", &setup).unwrap();
    let parallel = |postmaster| Some(Parallel { dop: 2, postmaster, workers: None });
    let request = Request { statement: 0, arguments: [0; 4] };
    let alone = VariantSettings { parallel: parallel(None), ..seat() };
    let mut session = instance.first_session(&alone).unwrap();
    instance.enter_variant(&alone).unwrap();
    assert_eq!(session.execute(&request).unwrap().rows, 1);
    let refused =
        instance.first_session(&VariantSettings { parallel: parallel(Some(home())), ..seat() });
    let words = refused.err().unwrap().to_string();
    assert!(words.contains("Use postgres:managed"), "{words}");
    assert_eq!(affinity::mask_of(server.pid()).unwrap(), before);
    drop(session);
    instance.close().unwrap();
}
