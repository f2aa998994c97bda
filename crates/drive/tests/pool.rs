//! The driver on a target with set call times: pace, latency, counts, placement.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hopcost_core::{
    Answer, Binding, CallError, Code, Comparison, Counted, CpuId, CpuSet, Effort, Histogram,
    Instance, Known, Load, Locality, Look, Open, Reason, Request, Requests, Response, Scale,
    Session, SessionPlacement, Shape, Stream, TargetError, VariantSettings, Workload, WorkloadInfo,
    WorkloadSpec,
};
use hopcost_drive::Silent;
use hopcost_drive::comparison::Bench;
use hopcost_drive::pilot::pace;
use hopcost_drive::pool::{Ask, Crew, Muster, Patience, Tally, Work};
use hopcost_method::pace::Wishes;
use hopcost_method::plan::{Placement, Plan, Point};
use hopcost_sys::quiet::stolen_ticks_of;
use hopcost_sys::{Root, affinity, clock, topology};

#[derive(Default)]
struct Sleepy {
    call: Duration,
    stall: Option<(u64, Duration)>,
}

impl Instance for Sleepy {
    fn identity(&self) -> String {
        "sleepy".into()
    }

    fn session(
        &self,
        _variant: &VariantSettings,
        _at: SessionPlacement,
    ) -> Result<Box<dyn Session>, TargetError> {
        Ok(Box::new(Nap { call: self.call, stall: self.stall, calls: 0 }))
    }

    fn prove(&self, _look: Look) -> Known<Vec<Locality>> {
        Known::missing(Code::NotMeasured, "a test")
    }

    fn plans(&self) -> Result<Vec<String>, TargetError> {
        Ok(Vec::new())
    }
}

struct Nap {
    call: Duration,
    stall: Option<(u64, Duration)>,
    calls: u64,
}

impl Session for Nap {
    fn execute(&mut self, request: &Request) -> Result<Answer, CallError> {
        self.calls += 1;
        let stalls = self.stall.filter(|(number, _)| *number == self.calls);
        std::thread::sleep(stalls.map_or(self.call, |(_, stall)| stall));
        if request.arguments[0] % 10 == 9 {
            return Err(CallError::Failed("the tenth".into()));
        }
        Ok(Answer { rows: request.arguments[0].unsigned_abs(), digest: 0 })
    }

    fn counted(&mut self) -> Counted {
        Counted::default()
    }
}

/// Numbers its requests; rejects every answer of seven rows.
struct Numbers {
    failing: bool,
}

struct Next {
    number: i64,
    failing: bool,
}

impl Requests for Next {
    fn next(&mut self) -> Request {
        self.number += 1;
        let argument = if self.failing { self.number } else { 0 };
        Request { statement: 0, arguments: [argument, 0, 0, 0] }
    }
}

impl Workload for Numbers {
    fn info(&self) -> &WorkloadInfo {
        &WorkloadInfo { name: "numbers", about: "numbers", tables: &[] }
    }

    fn spec(&self, _: Shape) -> WorkloadSpec {
        WorkloadSpec::of(Vec::new())
    }

    fn requests(&self, _: Shape, _: Stream) -> Box<dyn Requests> {
        Box::new(Next { number: 0, failing: self.failing })
    }

    fn check(&self, _: Shape, _: &Request, answer: &Answer) -> Result<(), Reason> {
        if answer.rows % 10 == 7 { Err(Code::WrongAnswers.because("seven rows")) } else { Ok(()) }
    }
}

fn first_cpu() -> CpuId {
    affinity::mask().unwrap().first().unwrap()
}

fn window(instance: &Sleepy, failing: bool, load: Load, streams: u32, length: Duration) -> Tally {
    let workload = Numbers { failing };
    let shape = Shape { rows: 1, sliced: false };
    let work = Work { instance, workload: &workload, shape, load, planted: None, seed: 1 };
    let muster =
        Muster { settings: VariantSettings::on_cpus(vec![first_cpu()]), clients: None, streams };
    let ask = Ask {
        guard: Duration::from_millis(5),
        length,
        calls_per_stream: 2,
        streams,
        keep_calls: true,
    };
    let tallies = std::thread::scope(|scope| {
        Crew::start(scope, work, &muster).unwrap().work(&ask, &mut Patience::Endless)
    })
    .unwrap();
    assert_eq!(tallies.len(), 1);
    tallies.into_iter().next().unwrap()
}

fn quantile_ms(latency: &Histogram, share: f64) -> f64 {
    latency.quantile_ns(share).unwrap() / 1e6
}

const LONG: Duration = Duration::from_millis(300);

/// Without due times the stall would be a single slow call.
#[test]
fn a_stall_is_seen_by_all_calls_that_were_due() {
    let stalling = || Sleepy {
        call: Duration::from_micros(100),
        // Late enough to be after the guard of the ten times faster closed loop.
        stall: Some((100, Duration::from_millis(100))),
    };
    let open = Some(Open { calls_per_s: 1000.0, at_random: false });
    once_in_five(|| {
        let tally = window(&stalling(), false, Load { open, ..Load::default() }, 1, LONG);
        let most = quantile_ms(&tally.latency, 0.9);
        expect(most > 40.0, format!("a tenth of the calls waited for longer than {most} ms"))?;
        let closed = window(&stalling(), false, Load::default(), 1, LONG);
        let most = quantile_ms(&closed.latency, 0.9);
        expect(most < 20.0, format!("a closed loop waits for the one call, and not {most} ms"))?;
        let slowest = quantile_ms(&closed.latency, 1.0);
        expect(slowest > 90.0, format!("the one call took {slowest} ms"))
    });
}

/// Concurrent tests may delay a window. Windows with steal time are not counted.
fn once_in_five(mut window: impl FnMut() -> Result<(), String>) {
    let stolen = || stolen_ticks_of(&CpuSet::from_iter([first_cpu()]));
    let (begun, mut wrong) = (clock::now(), Vec::new());
    while wrong.len() < 5 {
        let before = stolen();
        let Err(words) = window() else { return };
        if stolen() == before || begun.elapsed() > MOST_PATIENCE {
            wrong.push(words);
        }
    }
    panic!("{wrong:?}");
}

const MOST_PATIENCE: Duration = Duration::from_mins(1);

fn expect(is_so: bool, words: String) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(words) }
}

#[test]
fn an_open_loop_keeps_its_rate_and_a_thinking_one_its_pause() {
    let quick = Sleepy { call: Duration::from_micros(50), ..Sleepy::default() };
    let open = Some(Open { calls_per_s: 500.0, at_random: true });
    once_in_five(|| {
        let tally = window(&quick, false, Load { open, ..Load::default() }, 1, LONG * 3);
        let rate = tally.calls as f64 / tally.seconds;
        expect((400.0..620.0).contains(&rate), format!("{rate} calls a second"))
    });
    once_in_five(|| {
        let load = Load { think_s: 0.01, ..Load::default() };
        let tally = window(&quick, false, load, 4, LONG * 3);
        let rate = tally.calls as f64 / tally.seconds;
        let words = format!("4 streams with a pause of 10 ms: {rate}");
        expect((280.0..410.0).contains(&rate), words)?;
        expect(tally.waited_s > 0.3 * tally.seconds, "most of the time it waits".to_owned())
    });
}

/// N = X · R
#[test]
fn streams_on_one_thread_obey_littles_law() {
    let instance = Sleepy { call: Duration::from_millis(1), ..Sleepy::default() };
    for streams in [1, 4] {
        once_in_five(|| {
            let tally = window(&instance, false, Load::default(), streams, LONG);
            let (mean_ns, _) = tally.latency.mean_and_deviation_ns().unwrap();
            let found = tally.calls as f64 / tally.seconds * mean_ns / 1e9;
            let words = format!("{found} of {streams}");
            expect((found / f64::from(streams) - 1.0).abs() < 0.03, words)
        });
    }
}

#[test]
fn every_stream_calls_often_enough_however_long_a_call_takes() {
    let slow = Sleepy { call: Duration::from_millis(40), ..Sleepy::default() };
    let tally = window(&slow, false, Load::default(), 3, Duration::from_millis(10));
    assert_eq!(tally.calls, 6, "two of each stream");
    for stream in 0..3 {
        assert_eq!(tally.raw.iter().filter(|call| call.stream == stream).count(), 2);
    }
    assert!(tally.raw.windows(2).all(|pair| pair[0].done_ns <= pair[1].sent_ns));
}

#[test]
fn failures_and_wrong_answers_are_counted_with_the_first_of_them() {
    let instance = Sleepy { call: Duration::from_micros(200), ..Sleepy::default() };
    let tally = window(&instance, true, Load::default(), 1, LONG);
    let share = tally.errors as f64 / tally.calls as f64;
    assert!((0.15..0.27).contains(&share), "two of ten, those of the guard too: {share}");
    assert!(["the tenth", "seven rows"].contains(&tally.first_error.as_deref().unwrap()));
    assert!(tally.cpus.iter().all(|cpu| *cpu == first_cpu()));
    assert_eq!(tally.objection, None);
}

#[test]
fn a_cpu_that_is_not_there_is_told() {
    let (instance, workload) = (Sleepy::default(), Numbers { failing: false });
    let shape = Shape { rows: 1, sliced: false };
    let work = Work {
        instance: &instance,
        workload: &workload,
        shape,
        load: Load::default(),
        planted: None,
        seed: 1,
    };
    let muster =
        Muster { settings: VariantSettings::on_cpus(vec![CpuId(4711)]), clients: None, streams: 1 };
    let error =
        std::thread::scope(|scope| Crew::start(scope, work, &muster).err()).unwrap().to_string();
    assert!(error.contains("CPU 4711"), "{error}");
}

fn growing() -> (Comparison, Plan) {
    let comparison = Comparison {
        target: None,
        dataset: "nothing".into(),
        scale: Scale { quick: 1, full: 1 },
        workload: "numbers".into(),
        factor: "streams".into(),
        levels: Vec::new(),
        streams: (1..=5).collect(),
        load: Load::default(),
        response: Response::CallsPerSecond,
        find_worst: false,
        spread: false,
        find_scaling: true,
        claims: Vec::new(),
    };
    let placement =
        Placement { settings: VariantSettings::on_cpus(vec![first_cpu()]), ..Placement::default() };
    let plan = Plan {
        bindings: vec![Binding::default()],
        placements: vec![vec![placement]],
        levels: vec!["all".into()],
        points: (1..=5).map(|streams| Point { streams, level: 0 }).collect(),
        left_out: Vec::new(),
        boundaries: vec![Vec::new()],
    };
    (comparison, plan)
}

#[test]
fn a_scaling_model_has_time_for_two_first_looks_at_each_number_of_streams() {
    let ((comparison, plan), machine) = (growing(), topology::read(&Root::live()));
    let limit_s = |wishes: Wishes| {
        let bench = Bench {
            comparison: &comparison,
            plan: &plan,
            instance: &Sleepy::default(),
            in_process: true,
            workloads: vec![&Numbers { failing: false }],
            shape: Shape { rows: 1, sliced: true },
            ground: &machine,
            planted: None,
            hotplug: None,
            observers: &[],
            seed: 1,
            keep_calls: false,
            stop: &AtomicBool::new(false),
        };
        let pace = bench.staff(|staff| pace(staff, &plan, false, &wishes, 0.0, &mut Silent));
        pace.unwrap().0.budget_s.unwrap()
    };
    let of_long_windows = Wishes { window_s: Some(10.0), ..Wishes::of(Effort::Quick, 1) };
    let expected = 16.0 * 4.0 * 5.25 * 10.06;
    assert!((limit_s(of_long_windows.clone()) / expected - 1.0).abs() < 0.01);
    assert!((limit_s(Wishes { budget_s: Some(60.0), ..of_long_windows }) - 60.0).abs() < 1e-9);
}
