//! The hash table: rows of all variants' clients are there, on the requested pages.

use hopcost_core::{
    Code, CopyChoice, Counted, DataPlacement, Emulation, Instance, Metric, PageSize, Session,
    Setup, Shape, Stream, TargetError, VariantSettings,
};
use hopcost_sys::memory::{Region, Request};
use hopcost_sys::{Root, topology};
use hopcost_testkit::named::{self, dataset, home, workload};

const SHAPE: Shape = Shape { rows: 40_000, sliced: true };

fn setup(homes: Vec<DataPlacement>) -> Setup<'static> {
    let (data, workload) = (dataset("big_table_im"), workload("memory_inserts"));
    let setup = named::setup(data, workload, SHAPE.rows, "", &std::env::temp_dir());
    Setup { homes, ..setup }
}

fn open(setup: &Setup<'_>) -> Result<Box<dyn Instance>, TargetError> {
    named::open("hashtable", setup)
}

fn fill(session: &mut dyn Session, number: u32, calls: usize) {
    let work = workload("memory_inserts");
    let mut requests = work.requests(SHAPE, Stream { number, of: 2, seed: 1 });
    for _ in 0..calls {
        let request = requests.next();
        let answer = session.execute(&request).unwrap();
        work.check(SHAPE, &request, &answer).unwrap();
    }
}

fn share(counted: &Counted, metric: Metric) -> Option<[u64; 2]> {
    counted.proved.get(&metric).copied()
}

#[test]
fn rows_of_all_streams_and_levels_are_counted_however_often_the_table_is_full() {
    let place = DataPlacement::from(home());
    let instance = open(&setup(vec![place])).unwrap();
    let variant = VariantSettings::default().on(place);
    // Two clients for each variant, which insert the same rows: half of the table.
    for round in 0..6 {
        let mut level =
            [0, 1].map(|stream| instance.session(&variant, variant.of_stream(stream, 0)).unwrap());
        for (number, session) in (0..).zip(&mut level) {
            fill(&mut **session, number, 90);
        }
        let counted = instance.leave_variant(&variant);
        assert_eq!(share(&counted, Metric::RowsCounted), Some([18_000, 18_000]), "round {round}");
        let [there, of] = share(&counted, Metric::PagesInPlace).unwrap();
        assert!(there == of && of > 100, "{there} of {of}");
        let of_one = share(&level[0].counted(), Metric::RowsCounted);
        assert_eq!(of_one, None, "they are counted for all at once");
    }
}

/// Does the kernel provide large pages? It does not if they are switched off, nor for a while after
/// it found none free.
fn kernel_has_large_pages() -> bool {
    let (machine, pages) = (topology::read(&Root::live()), Some(PageSize::Transparent));
    let request = Request::on(&machine, home(), 16 << 20, pages);
    Region::place(&request).unwrap().locality().page_size == PageSize::Transparent
}

#[test]
fn its_memory_is_on_the_pages_asked_for() {
    let share_on = |pages| {
        let place = DataPlacement {
            copy: CopyChoice { pages: Some(pages), ..CopyChoice::default() },
            ..home().into()
        };
        let instance = open(&setup(vec![place])).unwrap();
        let seat = VariantSettings::default().on(place);
        let mut session = instance.first_session(&seat).unwrap();
        fill(&mut *session, 0, 3000);
        let [held, of] = share(&instance.leave_variant(&seat), Metric::PagesAsAsked).unwrap();
        held as f64 / of as f64
    };
    assert!(share_on(PageSize::Base) > 0.99);
    let mut found = Vec::new();
    while found.len() < 5 && found.iter().all(|share| *share < 0.9) {
        found.push(share_on(PageSize::Transparent));
    }
    // Without large pages this proof reports it.
    assert!(found.last() > Some(&0.9) || !kernel_has_large_pages(), "{found:?}");
}

#[test]
fn it_is_only_filled_and_has_no_distance() {
    let refusal = |setup: &Setup<'_>| match open(setup) {
        Err(TargetError::NotHere(reason)) => reason.code(),
        other => panic!("{:?}", other.map(|instance| instance.identity())),
    };
    let asked = Setup { workload: workload("memory_insert"), ..setup(Vec::new()) };
    assert_eq!(refusal(&asked), Code::WorkloadUnsupported);
    let emulation = Emulation { remote_ns: 80.0, ..Emulation::default() };
    let far = Setup { emulation: Some(emulation), ..setup(Vec::new()) };
    assert_eq!(refusal(&far), Code::NotEmulated);
    let elsewhere = Setup { cache_dir: std::env::temp_dir(), ..setup(Vec::new()) };
    match named::open("sqlite", &elsewhere) {
        Err(TargetError::NotHere(words)) => assert!(words.to_string().contains("hashtable")),
        other => panic!("{:?}", other.map(|instance| instance.identity())),
    }
}
