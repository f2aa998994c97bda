//! Golden test: what sessions and instances count around a window.

use std::fmt::Write as _;
use std::path::PathBuf;

use hopcost_core::{
    Counted, DataPlacement, Instance, Metric, Policy, Requests, Session, Setup, Stream,
    VariantSettings,
};
use hopcost_testkit::named::{dataset, home, open, seat, shared_setup, workload};

const STREAMS: u32 = 2;

const ASKED: [(&str, &str, &str, u64); 3] = [
    ("hashtable", "big_table_im", "memory_inserts", 40_000),
    ("sqlite", "tran_stats", "reporting_p1", 20_000),
    ("sqlite", "big_table_im", "memory_insert", 1_000),
];

#[test]
fn the_same_is_counted_around_a_window() {
    let mut text = String::new();
    for (target, data, name, rows) in ASKED {
        let is_placed = target == "sqlite" && data == "tran_stats";
        let place = DataPlacement::from(home());
        let place = if is_placed { place.by(Policy::Bind) } else { place };
        let setup = shared_setup(dataset(data), workload(name), rows, "");
        let setup = Setup { homes: vec![place], ..setup };
        let instance = open(target, &setup).unwrap();
        let variant = VariantSettings { workers: Vec::new(), ..seat() }.on(place);
        let client = |number| {
            let stream = Stream { number, of: STREAMS, seed: 7 };
            let requests = setup.workload.requests(setup.shape, stream);
            (instance.session(&variant, variant.of_stream(number, 0)).unwrap(), requests)
        };
        let mut clients: Vec<_> = (0..STREAMS).map(client).collect();
        for window in 1..=2 {
            let counted = window_of(&*instance, &variant, &mut clients);
            let Counted { lookups, mut proved, .. } = counted;
            // How much memory that is depends on the kernel; whether it is in place does not.
            if let Some([held, of]) = proved.get_mut(&Metric::PagesInPlace) {
                (*held, *of) = (u64::from(held == of), 1);
            }
            let _ = writeln!(text, "{target} {name}, window {window}: {proved:?} {lookups:?}");
        }
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(PathBuf::from("../../../../fixtures/goldens"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("counts-around-a-window", text));
}

type Client = (Box<dyn Session>, Box<dyn Requests>);

/// A window as a worker pool runs it: for each client 20 calls that do not count, then 50 that do.
fn window_of(
    instance: &dyn Instance,
    variant: &VariantSettings,
    clients: &mut [Client],
) -> Counted {
    instance.enter_variant(variant).unwrap();
    for (calls, counts) in [(20, false), (50, true)] {
        for (session, requests) in &mut *clients {
            if counts {
                session.begin_counting();
            }
            for _ in 0..calls {
                session.execute(&requests.next()).unwrap();
            }
        }
    }
    let left = instance.leave_variant(variant);
    let sessions = clients.iter_mut().map(|(session, _)| session.counted());
    Counted::sum([left].into_iter().chain(sessions))
}
