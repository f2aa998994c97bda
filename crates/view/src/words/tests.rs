//! How numbers, effects and baselines read.

use hopcost_core::Code;

use super::*;

/// Expected values are from `date -u -d @SECONDS +%F`.
#[test]
fn days_are_those_of_the_calendar() {
    for (seconds, expected) in [
        (0, "1970-01-01"),
        (86_399, "1970-01-01"),
        (951_782_400, "2000-02-29"),
        (951_868_800, "2000-03-01"),
        (1_795_219_199, "2026-11-20"),
        (1_795_219_200, "2026-11-21"),
        (4_107_542_400, "2100-03-01"),
        (1_798_761_599, "2026-12-31"),
    ] {
        assert_eq!(day(seconds), expected);
    }
}

#[test]
fn moments_are_dates() {
    assert_eq!(moment(0), "1970-01-01 00:00 UTC");
    assert_eq!(moment(951_782_400), "2000-02-29 00:00 UTC");
    assert_eq!(moment(1_735_689_599), "2024-12-31 23:59 UTC");
    assert_eq!(moment(-1), "1969-12-31 23:59 UTC");
}

#[test]
fn durations_have_the_unit_that_a_reader_would_take() {
    let cases = [(0.42, "0.4 s"), (42.0, "42 s"), (250.0, "4 min"), (9_000.0, "2.5 h")];
    for (seconds, text) in cases {
        assert_eq!(duration(seconds), text);
    }
}

#[test]
fn figures_carry_their_sign_and_interval() {
    let e =
        Estimate { point: -0.012, low: -0.03, high: 0.006, level: 0.95, n: 8, n_effective: 8.0 };
    assert_eq!(cost(&e), "−1.2% (−3.0 … +0.6%)");
    assert_eq!((percent(-0.0004), signed_percent(-0.0004)), ("0.0%".into(), "+0.0%".into()));
    assert_eq!(share_found(0.9996), "99.9%");
    assert_eq!(spoken("remote-memory"), "Remote memory");
}

#[test]
fn an_effect_is_a_share_or_from_a_factor_of_two_on_a_multiple() {
    let said = |low: f64, high: f64, [baseline, variant]: [&str; 2]| {
        let (point, level, n_effective) = (f64::midpoint(low, high), 0.95, 8.0);
        let cost = Estimate { point, low, high, level, n: 8, n_effective };
        effect(&cost, Compared { unit: "commits", baseline, variant })
    };
    let cores = ["one core", "two cores"];
    for (low, high, text, ends) in [
        (0.032, 0.058, "4.5% fewer commits with two cores than with one core", "3.2–5.8%"),
        (-0.17, -0.11, "14.0% more commits with two cores than with one core", "11.0–17.0%"),
        (-0.30, -0.08, "19% more commits with two cores than with one core", "8–30%"),
        (-1.44, -1.30, "2.37× as many commits with two cores as with one core", "2.30–2.44×"),
        (0.974, 0.976, "40× fewer commits with two cores than with one core", "38–42×"),
        (
            0.9,
            1.1,
            "over 10,000× fewer commits with two cores than with one core",
            "10–over 10,000×",
        ),
        (-4.0, -0.0, "3.0× as many commits with two cores as with one core", "1.0–5.0×"),
    ] {
        let (said, of) = said(low, high, cores);
        assert_eq!((said.as_str(), of.as_str()), (text, ends));
    }
    let (said, _) =
        said(0.84, 0.86, ["the log writer on the same CPU", "the log writer on a far socket"]);
    assert_eq!(said, "6.7× fewer commits with the log writer on a far socket than on the same CPU");
}

#[test]
fn figures_keep_three_digits() {
    let cases =
        [(0.416, "0.42"), (8.149, "8.15"), (9.999, "10.0"), (81.24, "81.2"), (812.4, "812")];
    for (value, text) in cases {
        assert_eq!(figure(value), text);
    }
    assert_eq!(figure(11_240.4), "11,240");
    assert_eq!(figure(-1_234_567.0), "-1,234,567");
}

#[test]
fn bytes_are_named_as_memory_is_sold() {
    let cases = [
        (48 << 10, "48 KiB"),
        (28_835_840, "27.5 MiB"),
        (512 << 20, "512 MiB"),
        ((3 << 30) / 2, "1.5 GiB"),
        (0, "0 B"),
    ];
    for (number, text) in cases {
        assert_eq!(bytes(number), text);
    }
}

#[test]
fn a_margin_has_the_decimals_of_its_figure() {
    let estimate = |point, half| Estimate {
        point,
        low: point - half,
        high: point + half,
        level: 0.95,
        n: 9,
        n_effective: 9.0,
    };
    assert_eq!(margin(&estimate(132.0, 1.4)), "±1");
    assert_eq!(margin(&estimate(132.0, 0.34)), "±0.3");
    assert_eq!(margin(&estimate(81.2, 0.44)), "±0.4");
    assert_eq!(margin(&estimate(2.17, 0.019)), "±0.02");
    let lopsided = Estimate { low: 255.0, high: 2099.0, ..estimate(262.0, 0.0) };
    assert_eq!(margin(&lopsided), "−7 +1,837");
    let thin = Estimate { level: 0.75, n_effective: 3.0, ..estimate(262.0, 4.0) };
    assert_eq!(margin(&thin), "n=3");
}

fn against(worse: Known<Estimate>, dearer: Known<Estimate>) -> Against {
    Against {
        baseline: "main".into(),
        run: 3,
        begun_s: 1_795_219_200,
        is_first: false,
        worse,
        dearer,
        notes: Vec::new(),
    }
}

#[test]
fn a_baseline_is_told_in_one_sentence() {
    let of = |point| {
        let (low, high) = (point - 0.004, point + 0.006);
        Known::Is(Estimate { point, low, high, level: 0.95, n: 24, n_effective: 24.0 })
    };
    let missing = || Known::missing(Code::NotMeasured, "it was measured elsewhere");
    let score = Known::missing(Code::NotApplicable, "a score has no cost");
    assert!(beside(&against(of(0.03), score)).ends_with("throughput −3.0% (−3.6 … −2.6)"));
    let both = against(of(0.03), of(0.012));
    assert_eq!(
        beside(&both),
        "against main (run 3 of 2026-11-21): throughput −3.0% (−3.6 … −2.6), cost +1.2 points \
         (+0.8 … +1.8)"
    );
    assert!(
        beside(&against(of(0.03), missing()))
            .ends_with("cost missing, because it was measured elsewhere")
    );
    assert!(
        beside(&against(missing(), missing()))
            .ends_with("nothing is compared, because it was measured elsewhere")
    );
    let first = Against { is_first: true, ..both };
    assert!(beside(&first).contains("this run is 'main'"));
}

#[test]
fn several_starts_say_how_much_they_differ_and_what_they_see() {
    let starts = StartsFound {
        n: 8,
        units: 3,
        sd_start: Some(0.019),
        sd_start_seen: 0.008,
        sd_unit: 0.024,
        sees: 0.033,
        sees_with_twice: Some(0.022),
        kinds: None,
        changed_after: None,
        costs: vec![0.01; 8],
    };
    let told = starts_told(&starts);
    assert!(
        told.starts_with("8: starts differ by 1.9%, block sets within a start by 2.4%"),
        "{told}"
    );
    assert!(told.ends_with("8 find an effect of 3.3%, with 16 starts one of 2.2%"), "{told}");
    assert_eq!(kinds_of_starts(&starts), None);
    let alike = starts_told(&StartsFound { sd_start: None, ..starts.clone() });
    assert!(alike.contains("do not differ, or by less than 0.8%"), "{alike}");
    let costs = [0.05, 0.06].map(|point| Estimate {
        point,
        low: point - 0.01,
        high: point + 0.01,
        level: 0.95,
        n: 8,
        n_effective: 8.0,
    });
    let kinds = KindsOfStarts { slow: vec![false, true, false, true], slower: 0.11, costs };
    let kinds = kinds_of_starts(&StartsFound { kinds: Some(kinds), ..starts.clone() }).unwrap();
    assert!(kinds.starts_with("two kinds of starts, 2 fast and 2 that are 11"), "{kinds}");
    assert!(kinds.ends_with("among the slow: −6.0% (−7.0 to −5.0)"), "{kinds}");
    let changed = kinds_of_starts(&StartsFound { changed_after: Some(9), ..starts });
    assert_eq!(changed.unwrap(), "the machine changed after start 9");
}
