//! Properties of every page.

use hopcost_core::{
    Code, Estimate, Finding, Known, Machine, Observation, Scaling, ScalingLaw, Severity, Verdict,
    gauge,
};
use hopcost_sys::{Root, topology};

use super::{block, of_report};
use crate::page::{NotTested, Section};
use crate::sample::{Sample, page};
use crate::story::block::{Block, Column, Table};
use crate::xml::objection;

fn machine(name: &str) -> Machine {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines");
    topology::read(&Root::recorded(format!("{dir}/{name}.tree").as_ref()).unwrap())
}

#[track_caller]
fn assert_good(html: &str) {
    assert_eq!(objection(html), None);
    for part in html.split("<svg").skip(1) {
        let head: String = part.chars().take(900).collect();
        assert!(head.contains("<title") && head.contains("<desc"), "{head}");
        assert!(
            ["img", "group"].iter().any(|role| head.contains(&format!("role=\"{role}\""))),
            "{head}"
        );
    }
    let loads =
        ["src=", "url(", "@import", "<script", "<iframe", "<object", "http-equiv=\"refresh"];
    for word in loads {
        assert!(!html.contains(word), "{word}");
    }
    let outside = html.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for link in outside.split("href=\"").skip(1) {
        assert!(link.starts_with('#') || link.starts_with("data:,"), "{}", &link[..40]);
    }
    for number in ["NaN", "inf\"", "infinity", "−0.0%", "−0.0\u{a0}%"] {
        assert!(!html.contains(number), "{number}");
    }
}

#[test]
fn cells_are_text_and_nothing_else() {
    let table = |rows| block(&Block::Table(Table { head: vec![Column::words("a<b")], rows }));
    let html = table(vec![vec!["<script>".into()]]);
    assert_eq!(objection(&html), None);
    assert!(!html.contains("<script"));
    assert_eq!(table(Vec::new()), "");
}

#[test]
fn a_page_of_everything_is_complete_in_itself() {
    let real = Sample::compared("remote-memory", Verdict::Cost, 0.06, 0.02).with_blocks(40);
    let mut emulated = Sample::compared("remote-memory", Verdict::Cost, 0.04, 0.01).with_blocks(20);
    emulated.result.emulated = true;
    let absent = Sample::absent("log-distance", "there is one node");
    for shape in ["vm-n1", "hand-epyc-nps4", "hand-hybrid", "hand-sparse", "vm-n2cxl-6.12"] {
        let machine = machine(shape);
        let mut page = page(vec![real.section(), emulated.section(), absent.section()]);
        page.machine = Known::Is(&machine);
        let html = of_report(&page);
        assert_good(&html);
        assert_eq!(html.matches("<figure>").count() - html.matches("class=\"why\"").count(), 14);
        assert!(html.contains("EMULATED") && html.contains("Changed on this host: nothing."));
    }
}

#[test]
fn a_page_of_nothing_says_why() {
    let mut empty = page(Vec::new());
    empty.host = Known::missing(Code::NotTold, "the kernel does not say");
    let html = of_report(&empty);
    assert_good(&html);
    for words in ["Nothing was measured.", "missing, because a test", "nobody asked the doctor"] {
        assert!(html.contains(words), "{words}");
    }
}

#[test]
fn every_chart_without_its_data_says_why() {
    let mut bare = Sample::compared("x", Verdict::Refused, 0.06, 0.02);
    bare.levels.clear();
    let details = bare.result.details.as_mut().unwrap();
    details.arms.clear();
    details.points.clear();
    let html = of_report(&page(vec![bare.section()]));
    assert_good(&html);
    assert_eq!(html.matches("class=\"why\"").count(), 7, "six charts and the machine");
    let old = Sample::compared("x", Verdict::Cost, 0.06, 0.02);
    assert!(of_report(&page(vec![old.section()])).contains("no blocks were kept"));
}

#[test]
fn a_refused_figure_is_no_bar_and_its_reason_stands_first() {
    let mut refused = Sample::compared("remote-memory", Verdict::Refused, 0.06, 0.02);
    refused.result.reason = Code::NotMeasured.because("12 pages were elsewhere");
    let html = of_report(&page(vec![refused.section()]));
    assert_good(&html);
    let (front, rest) = html.split_once("</header>").unwrap();
    assert!(front.matches("12 pages were elsewhere").count() == 2 && !front.contains("Verdicts"));
    assert!(rest.contains("does not count") && !rest.contains("class=\"interval\""));
}

#[test]
fn an_interrupted_run_is_stamped_and_nothing_measured_is_lost() {
    let cut = Sample::absent("remote-memory", "it was interrupted").with_blocks(5);
    let mut page = page(vec![cut.section()]);
    page.interrupted = true;
    let html = of_report(&page);
    assert_good(&html);
    assert!(html.contains(">INTERRUPTED<") && html.contains("What was finished counts"));
    assert!(html.contains("5 blocks, 0 of them dropped"));
}

#[test]
fn results_of_an_engine_that_was_never_verified_are_stamped() {
    let sample = Sample::compared("remote-memory", Verdict::Cost, 0.06, 0.02);
    let section = |never_verified| Section { never_verified, ..sample.section() };
    let html = of_report(&page(vec![section(true)]));
    assert_good(&html);
    assert!(html.contains(">NEVER VERIFIED<") && html.contains("against a real SQL Server"));
    assert!(!of_report(&page(vec![section(false)])).contains("NEVER VERIFIED"));
}

#[test]
fn names_cannot_become_markup() {
    let bad = "<script>alert(1)</script>\"'&";
    let mut sample = Sample::compared(bad, Verdict::Cost, 0.06, 0.02).with_blocks(8);
    sample.levels = vec![bad.into(), bad.into()];
    sample.command = bad.into();
    sample.result.question = bad.into();
    sample.result.reason = Code::NotMeasured.because(bad.to_owned());
    let findings = [Finding {
        check: "load",
        severity: Severity::Warning,
        seen: bad.into(),
        why: "it matters",
        remedy: Some(bad.into()),
        undo: Some(bad.into()),
    }];
    let mut page = page(vec![sample.section()]);
    page.title = bad.into();
    page.host = Known::Is(bad.into());
    page.findings = Known::Is(&findings);
    page.not_tested = vec![NotTested { what: bad.into(), why: bad.into(), takes_s: Some(600.0) }];
    page.changed = vec![bad.into()];
    page.version = bad.into();
    let html = of_report(&page);
    assert_good(&html);
    assert!(html.contains("(takes 10 min)"));
}

#[test]
fn how_throughput_grows_is_drawn_with_its_law_or_the_reason_for_none() {
    let mut sample = Sample::compared("growth", Verdict::Cost, 0.06, 0.02).with_blocks(40);
    let of = |point: f64| {
        let (low, high) = (0.9 * point, 1.1 * point);
        Estimate { point, low, high, level: 0.95, n: 48, n_effective: 6.0 }
    };
    let law = ScalingLaw {
        lambda: of(1_500.0),
        sigma: of(0.4),
        kappa: of(0.02),
        peak: Known::missing(Code::NotTold, "2 numbers of streams were measured, and 6 tell"),
        worst_miss: 0.01,
    };
    let told = Scaling { level: "near".into(), law: Known::Is(law) };
    let untold =
        Scaling { level: "far".into(), law: Known::missing(Code::NotMeasured, "nobody knows") };
    sample.result.details.as_mut().unwrap().scaling = vec![told, untold];
    let html = of_report(&page(vec![sample.section()]));
    assert_good(&html);
    assert!(html.contains("Throughput and its scaling model"));
    assert!(html.contains("Throughput by number of clients"));
    for words in ["1500 (1350 … 1650)", "2.00 (1.80 … 2.20)", "6 tell", "nobody knows"] {
        assert!(html.contains(words), "{words}");
    }
}

#[test]
fn thousands_of_blocks_make_a_page_that_can_be_sent() {
    let sample = Sample::compared("remote-memory", Verdict::Cost, 0.06, 0.02).with_blocks(2_000);
    let html = of_report(&page(vec![sample.section()]));
    assert_good(&html);
    assert!(html.len() < 1 << 20, "{} bytes", html.len());
}

#[test]
fn hundreds_of_cpus_make_a_page_that_can_be_sent() {
    let mut sample = Sample::compared("remote-memory", Verdict::Cost, 0.06, 0.02).with_blocks(40);
    // Varied, so that no two neighbors merge.
    for (n, window) in sample.blocks.iter_mut().flat_map(|block| &mut block.windows).enumerate() {
        let observed = (0..384).flat_map(|cpu| {
            let busy = ((n * 7 + cpu * 13) % 101) as f64;
            [(gauge::CPU_USER_MS, busy), (gauge::CPU_IDLE_MS, 100.0 - busy)].map(
                |(gauge, value)| Observation {
                    metric: gauge.name.into(),
                    of: format!("cpu {cpu}"),
                    value,
                },
            )
        });
        window.observations = observed.collect();
    }
    let one = of_report(&page(vec![sample.section()])).len();
    assert!(one < 250_000, "{one} bytes: eight of them have to fit into 2 MB");
}
