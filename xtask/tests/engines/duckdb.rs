//! DuckDB target: common engine tests, placement, and errors for a missing or invalid library.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use hopcost_core::{
    Audit, CallError, Code, CpuId, CpuSet, Instance, Known, Look, Metric, Node, NodeId, Parallel,
    ProofMethod, Request, Setup, Stream, VariantSettings,
};
use hopcost_sys::affinity;

use hopcost_testkit::conformance::{ASKED, Engine};
use hopcost_testkit::everything::{self, Everything};
use hopcost_testkit::named::{
    audited, dataset, machine, open, seat, shared_setup as setup, target, workload,
};
use xtask::libduckdb;

use super::Test;

/// Tests of a group have its name as a prefix.
pub const TESTS: &[Test] = &[
    (
        "duckdb::every_workload_is_answered_rightly_in_a_process_of_its_own",
        every_workload_is_answered_rightly_in_a_process_of_its_own,
    ),
    ("duckdb::a_process_that_is_killed_has_closed_the_connection", killed_has_closed),
    ("duckdb::no_process_outlives_its_instance", no_process_outlives_its_instance),
    ("duckdb::a_wrong_or_missing_library_is_named", a_wrong_or_missing_library_is_named),
    ("duckdb_rest::tables_hold_what_they_were_made_of", tables_hold_what_they_were_made_of),
    ("duckdb_rest::a_load_is_planned_and_not_written_down", a_load_is_planned_and_not_written_down),
    (
        "duckdb_rest::workers_run_where_they_are_begun_or_put",
        workers_run_where_they_are_begun_or_put,
    ),
    ("duckdb_rest::the_data_is_proved_to_be_at_home", the_data_is_proved_to_be_at_home),
];

fn library() -> &'static str {
    static ADDRESS: OnceLock<String> = OnceLock::new();
    ADDRESS.get_or_init(|| format!("lib={}", libduckdb::ensure().unwrap().display()))
}

fn tables_hold_what_they_were_made_of() {
    for (name, rows) in everything::ALL {
        let dataset = dataset(name);
        let (everything, made) = Everything::of(dataset, rows);
        let setup = setup(dataset, &everything, rows, library());
        let instance = open("duckdb", &setup).unwrap();
        let mut session = instance.first_session(&seat()).unwrap();
        everything.assert_is(&made, "duckdb", &mut *session);
    }
}

fn every_workload_is_answered_rightly_in_a_process_of_its_own() {
    let duckdb = Engine { target: target("duckdb"), address: library() };
    duckdb.answers(&ASKED, &seat());
    for tier in [Audit::Off, Audit::Statements, Audit::Trace] {
        duckdb.answers(&[("tpcc", "standard_oltp", 1)], &audited(tier));
    }
}

fn a_load_is_planned_and_not_written_down() {
    let setup = setup(dataset("big_table_im"), workload("bulk_load"), 1, library());
    let instance = open("duckdb", &setup).unwrap();
    let plans = ["bulk_load\n  5000 rows by an appender, in one transaction"];
    assert_eq!(instance.plans().unwrap(), plans);
    let refused = instance.first_session(&audited(Audit::Trace)).err().unwrap();
    assert_eq!(refused.code(), Code::Unsupported, "{refused}");
}

fn the_data_is_proved_to_be_at_home() {
    let setup = setup(dataset("tran_stats"), workload("reporting_p1"), 400_000, library());
    let instance = open("duckdb", &setup).unwrap();
    let Known::Is(homes) = instance.prove(Look::Full) else { panic!("it can be told") };
    assert_eq!(homes.len(), 1);
    assert_eq!(homes[0].method, ProofMethod::MovePages);
    assert!(homes[0].share_in_place() >= 0.98, "{homes:?}");
    // It has about 20 MB of data.
    assert!(homes[0].pages() > 5_000, "{homes:?}");
    let mut session = instance.first_session(&seat()).unwrap();
    let [held, of] = session.counted().proved[&Metric::PagesInPlace];
    assert!(held == of && of > 1_000, "{held} of {of}");
}

/// Nodes are sets of CPUs here; the kernel treats affinity the same.
fn workers_run_where_they_are_begun_or_put() {
    let cpus: Vec<CpuId> = affinity::mask().unwrap().iter().collect();
    let [Some(first), Some(last)] = [cpus.first(), cpus.last()] else { panic!("there are CPUs") };
    let mut apart = machine().clone();
    let node = |id: u32, cpu: CpuId| Node {
        id: NodeId(id),
        cpus: CpuSet::from_iter([cpu]),
        ..apart.nodes[0].clone()
    };
    let nodes = vec![node(0, *first), node(1, *last)];
    apart.nodes = nodes;
    let workload = workload("reporting_p2_whole");
    let plain = setup(dataset("tran_stats"), workload, 400_000, library());
    let setup = Setup { machine: &apart, ..plain };
    let instance = open("duckdb", &setup).unwrap();
    let mut requests = workload.requests(setup.shape, Stream { number: 0, of: 1, seed: 7 });
    let request = requests.next();
    for (postmaster, workers, expected) in
        [(Some(1), None, 1), (Some(0), None, 0), (None, Some(1), 1)]
    {
        let [postmaster, workers] = [postmaster, workers].map(|node: Option<u32>| node.map(NodeId));
        let parallel = Some(Parallel { dop: 3, postmaster, workers });
        let seat =
            VariantSettings { at: Some(NodeId(0)), workers: vec![*first], parallel, ..seat() };
        let mut session = instance.first_session(&seat).unwrap();
        instance.enter_variant(&seat).unwrap();
        session.execute(&request).unwrap();
        session.begin_counting();
        for _ in 0..10 {
            let answer = session.execute(&request).unwrap();
            workload.check(setup.shape, &request, &answer).unwrap();
        }
        let proved = instance.leave_variant(&seat).proved;
        assert_eq!(proved[&Metric::ParallelWorkersRan], [2, 2]);
        assert_eq!(proved[&Metric::ParallelWorkersInPlace], [2, 2]);
        let readings = instance.readings();
        let of = format!("node {expected}, leader on node 0");
        let seen = readings.iter().find(|reading| reading.of == of).unwrap();
        assert!(seen.value >= 2.0, "{readings:?}");
    }
    // A session that works alone has no workers.
    let parallel = Some(Parallel { dop: 1, ..Parallel::default() });
    let alone = VariantSettings { parallel, ..seat() };
    let mut session = instance.first_session(&alone).unwrap();
    instance.enter_variant(&alone).unwrap();
    session.execute(&request).unwrap();
    assert!(!instance.leave_variant(&alone).proved.contains_key(&Metric::ParallelWorkersRan));
}

fn process_of(instance: &dyn Instance) -> String {
    let thread = instance.workers()[0];
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap();
    status.lines().find_map(|line| line.strip_prefix("Tgid:")).unwrap().trim().to_owned()
}

fn killed_has_closed() {
    let setup = setup(dataset("nothing"), workload("null_call"), 1, library());
    let instance = open("duckdb", &setup).unwrap();
    let mut session = instance.first_session(&seat()).unwrap();
    let request = Request { statement: 0, arguments: [0; 4] };
    session.execute(&request).unwrap();
    let pid = process_of(&*instance);
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    let error = session.execute(&request).unwrap_err();
    assert!(matches!(error, CallError::Lost(_)), "{error:?}");
    assert!(error.to_string().contains("DuckDB's process"), "{error}");
}

fn no_process_outlives_its_instance() {
    let setup = setup(dataset("nothing"), workload("null_call"), 1, library());
    let instance = open("duckdb", &setup).unwrap();
    let session = instance.first_session(&seat()).unwrap();
    let pid = process_of(&*instance);
    drop(session);
    instance.close().unwrap();
    assert!(!Path::new("/proc").join(pid).exists());
}

fn a_wrong_or_missing_library_is_named() {
    let refusal = |address: &str| {
        let setup = setup(dataset("nothing"), workload("null_call"), 1, address);
        open("duckdb", &setup).err().unwrap().to_string()
    };
    let words = refusal("lib=/nowhere/libduckdb.so");
    assert!(words.contains("/nowhere/libduckdb.so: there is no such file"), "{words}");
    let words = refusal("lib=/etc/passwd");
    assert!(words.contains("/etc/passwd: it is not a libduckdb"), "{words}");
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let c_library = maps.split_whitespace().find(|word| word.ends_with("/libc.so.6")).unwrap();
    let words = refusal(&format!("lib={c_library}"));
    assert!(words.contains("duckdb_") && words.contains("1.1 and later"), "{words}");
    let wrong = target("duckdb").address("lob=x").unwrap_err();
    assert!(wrong.as_str().contains("duckdb:lib=FILE"), "{wrong}");
}
