//! Wording of numbers, intervals, verdicts and headlines.
//!
//! RULE: no other file formats an estimate's sign or per cent, or a result's sentence.

use hopcost_core::{
    Against, Details, Estimate, ExperimentResult, Headline, Known, Metric, PointSpread, Tier, Unit,
    Verdict, Witness,
};
use hopcost_method::tag;

/// `12 s`, `4 min`, `1.5 h`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 99.5 => format!("{s:.0} s"),
        s if s < 5_400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3_600.0),
    }
}

/// Per cent rounded to tenths, without negative zero.
pub fn tenths(share: f64) -> f64 {
    let rounded = (1_000.0 * share).round() / 10.0;
    if rounded == 0.0 { 0.0 } else { rounded }
}

/// With one decimal and a typographic minus.
pub fn percent(share: f64) -> String {
    minus(&format!("{:.1} %", tenths(share)))
}

pub fn signed_percent(share: f64) -> String {
    minus(&format!("{:+.1} %", tenths(share)))
}

/// `+4.5 % (+3.2 … +5.8 %)`.
pub fn cost(cost: &Estimate) -> String {
    let [low, high] = [cost.low, cost.high].map(|share| format!("{:+.1}", tenths(share)));
    minus(&format!("{} ({low} … {high} %)", signed_percent(cost.point)))
}

pub fn signed_tenths(share: f64) -> String {
    minus(&format!("{:+.1}", tenths(share)))
}

/// Rounded down: 99.96 % must not read as 100.
pub fn share_found(share: f64) -> String {
    let floor = (1_000.0 * share).floor() / 10.0;
    if floor >= 100.0 { "100 %".to_owned() } else { format!("{floor:.1} %") }
}

/// `14.0 % (11.0 … 17.0 %)`; a sign of −1 shows a cost as a gain.
pub fn share(estimate: &Estimate, sign: f64) -> String {
    let mut ends = [sign * estimate.low, sign * estimate.high];
    ends.sort_by(f64::total_cmp);
    let [low, high] = ends.map(|share| format!("{:.1}", tenths(share)));
    minus(&format!("{} ({low} … {high} %)", percent(sign * estimate.point)))
}

/// The emulated cost as counted.
pub fn injected(share: f64) -> String {
    format!("{:.2}% of throughput, as counted", 100.0 * share)
}

/// Scaled, with its interval: `1500 (1350 … 1650)`.
pub fn with_ends(of: &Estimate, factor: f64) -> String {
    let [point, low, high] = [of.point, of.low, of.high].map(|it| figure(factor * it));
    format!("{point} ({low} … {high})")
}

pub fn headline(headline: &Headline) -> String {
    match headline.unit {
        Unit::Fraction => share(&headline.estimate, 1.0),
        unit => format!("{} {unit}", with_margin(&headline.estimate)),
    }
}

/// `812 ±3`.
pub fn with_margin(estimate: &Estimate) -> String {
    format!("{} {}", figure(estimate.point), margin(estimate))
}

/// From this ratio of two throughputs on, a multiple replaces per cent.
const MULTIPLE: f64 = 2.0;
/// A throughput of nearly nothing makes any multiple.
const MOST_TIMES: f64 = 10_000.0;
/// Half-width, as a share, from which per cent has no decimal.
const COARSE: f64 = 0.05;

/// Two variants of an experiment whose throughput is compared, in words.
#[derive(Clone, Copy, Debug)]
pub struct Compared<'a> {
    /// What is counted, e.g. `commits`.
    pub unit: &'a str,
    pub baseline: &'a str,
    pub variant: &'a str,
}

/// `4.5% fewer queries with remote memory than with local memory`, and its interval `3.2–5.8%`. The
/// larger side of a multiple comes first, so that no multiple is below one.
pub fn effect(cost: &Estimate, compared: Compared<'_>) -> (String, String) {
    let Compared { unit, baseline, variant } = compared;
    let ratio = 1.0 - cost.point;
    if ratio > 1.0 / MULTIPLE && ratio < MULTIPLE {
        let more = if cost.point > 0.0 { "fewer" } else { "more" };
        let decimals = decimals(cost);
        let [low, high] = ascending(100.0 * cost.low.abs(), 100.0 * cost.high.abs());
        let text = format!(
            "{:.decimals$}% {more} {unit} with {variant} than {}",
            100.0 * cost.point.abs(),
            with_other(variant, baseline)
        );
        return (text, format!("{low:.decimals$}–{high:.decimals$}%"));
    }
    let is_gain = ratio >= MULTIPLE;
    let times = |cost: f64| if is_gain { 1.0 - cost } else { 1.0 / (1.0 - cost).max(f64::EPSILON) };
    let (more, less) = if is_gain { (variant, baseline) } else { (baseline, variant) };
    let [low, high] = ascending(times(cost.low), times(cost.high));
    let text = format!(
        "{} as many {unit} with {more} as {}",
        multiple(times(cost.point)),
        with_other(more, less)
    );
    (text, format!("{}–{}", multiple(low).trim_end_matches('×'), multiple(high)))
}

/// The second of two labels, without the words that both begin with; a preposition stays.
fn with_other(first: &str, second: &str) -> String {
    const PREPOSITIONS: [&str; 5] = ["on", "under", "in", "by", "over"];
    let same = first.split(' ').zip(second.split(' ')).take_while(|(a, b)| a == b);
    let same: Vec<&str> = same.map(|(word, _)| word).collect();
    let skipped = same.len() - usize::from(same.last().is_some_and(|it| PREPOSITIONS.contains(it)));
    match skipped {
        0 | 1 => format!("with {second}"),
        n => second.split(' ').skip(n).collect::<Vec<_>>().join(" "),
    }
}

fn ascending(a: f64, b: f64) -> [f64; 2] {
    [a.min(b), a.max(b)]
}

fn decimals(cost: &Estimate) -> usize {
    usize::from((cost.high - cost.low) / 2.0 < COARSE)
}

/// `2.37×`, `6.6×`, `40×`.
fn multiple(times: f64) -> String {
    match times {
        t if t < 2.995 => format!("{t:.2}×"),
        t if t < 9.95 => format!("{t:.1}×"),
        t if t > MOST_TIMES => format!("over {}×", thousands(&format!("{MOST_TIMES:.0}"))),
        t => format!("{}×", thousands(&format!("{t:.0}"))),
    }
}

/// The change in throughput, from the cost: `−4.5% (−5.8 to −3.2)`, `2.37× (2.30 to 2.44)` or, of a
/// loss by more than half, `1/40 (1/42 to 1/40)`.
pub fn change(cost: &Estimate) -> String {
    let [at, low, high] = change_parts(cost);
    format!("{at} ({} to {})", low.trim_end_matches(['%', '×']), high.trim_end_matches(['%', '×']))
}

pub fn changed(cost: &Estimate) -> String {
    let [at, ..] = change_parts(cost);
    at
}

/// `−5.8% to −3.2%`.
pub fn change_ends(cost: &Estimate) -> String {
    let [_, low, high] = change_parts(cost);
    format!("{low} to {high}")
}

fn change_parts(cost: &Estimate) -> [String; 3] {
    let ratio = 1.0 - cost.point;
    let decimals = decimals(cost);
    [cost.point, cost.high, cost.low].map(|cost| match ratio {
        r if r >= MULTIPLE => multiple(1.0 - cost),
        r if r <= 1.0 / MULTIPLE => {
            let times = multiple(1.0 / (1.0 - cost).max(f64::EPSILON));
            format!("1/{}", times.trim_end_matches('×'))
        }
        _ => {
            let text = format!("{:+.decimals$}%", -100.0 * cost);
            let is_zero = !text.contains(|c: char| ('1'..='9').contains(&c));
            minus(if is_zero { &text[1..] } else { &text })
        }
    })
}

/// Where a cost is on an axis of throughput ratios: doubling and halving are equally far from zero.
pub fn on_ratio_axis(cost: f64) -> f64 {
    const LEAST_RATIO: f64 = 1e-3;
    (1.0 - cost).max(LEAST_RATIO).ln()
}

/// `7.1% less to 2.2% more`.
pub fn range(cost: &Estimate) -> String {
    let decimals = decimals(cost);
    let side = |cost: f64| {
        let more = if cost > 0.0 { "less" } else { "more" };
        format!("{:.decimals$}% {more}", 100.0 * cost.abs())
    };
    format!("{} to {}", side(cost.high), side(cost.low))
}

pub fn confidence(cost: &Estimate) -> String {
    format!("{:.0}%", 100.0 * cost.level)
}

pub fn figure_in_words(figure: &Headline) -> String {
    match figure.unit {
        Unit::Fraction => share(&figure.estimate, 1.0),
        _ => headline(figure),
    }
}

/// What a figure is of, as stored: older words are replaced.
pub fn of(figure: &Headline) -> String {
    figure.of.replace("stream", "client")
}

/// With a capital letter and a full stop.
pub fn sentence(text: &str) -> String {
    let mut letters = end_less(text).chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    format!("{}.", first.chain(letters).collect::<String>())
}

/// Without the final period.
pub fn end_less(text: &str) -> &str {
    text.trim_end_matches('.')
}

pub fn spread(spread: &PointSpread, baseline: &str) -> String {
    let PointSpread { streams, level, verdict, reason, ratio } = spread;
    let found = match ratio {
        Known::Is(times) => format!(
            "the standard deviation of response times is {:.2} times that of {baseline} \
             ({:.2} … {:.2}); {reason}",
            times.point, times.low, times.high
        ),
        Known::Missing(reason) => format!("missing, because {reason}"),
    };
    format!("{verdict}  {level} at {streams}: {found}")
}

/// `against main (run 3 of 2026-11-21): throughput −3.0 % (…), cost +1.2 points (…)`.
pub fn beside(against: &Against) -> String {
    let Against { baseline, run, is_first, worse, dearer, .. } = against;
    if *is_first {
        return format!("this run is '{baseline}' from now on: it is the first of that name");
    }
    let since = format!("against {baseline} (run {run} of {})", day(against.begun_s));
    if let (Known::Missing(reason), Known::Missing(_)) = (worse, dearer) {
        return format!("{since}: nothing is compared, because {reason}");
    }
    let faster = worse.clone().map(|worse| Estimate {
        point: -worse.point,
        low: -worse.high,
        high: -worse.low,
        ..worse
    });
    let changed = |change: &Known<Estimate>, unit: &str| match change {
        Known::Is(Estimate { point, low, high, .. }) => {
            let [point, low, high] = [point, low, high].map(|share| signed_tenths(*share));
            format!("{point} {unit} ({low} … {high})")
        }
        Known::Missing(reason) => format!("missing, because {reason}"),
    };
    format!("{since}: throughput {}, cost {}", changed(&faster, "%"), changed(dearer, "points"))
}

pub const fn tier(tier: Tier) -> &'static str {
    match tier {
        Tier::EngineCounters => "every page access counted by its page's node",
        Tier::PageResidency => {
            "where pages were and where processes ran, not how often they accessed them"
        }
        Tier::CpuResidency => "where processes ran, nothing about their memory",
    }
}

/// With the evidence. `None` if nothing was measured.
pub fn known_by(details: &Details) -> Option<String> {
    let witness = |seen: &hopcost_core::ProvedBy| {
        let name = match seen.by {
            Witness::LookUps => "counts of page accesses",
            Witness::PagesTouched => "the pages that each connection touched",
            Witness::ThreadMasks => "threads' masks and CPUs",
            Witness::ParallelWorkerSamples => "parallel workers, sampled",
            Witness::Pages(method) => method.name(),
            Witness::Metric(Metric::AnsweredInPlace) => "workers' masks and CPUs",
            Witness::Metric(Metric::LogWriterInPlace) => "the log writer's mask and CPU",
            Witness::Metric(metric) => metric.name(),
        };
        let found = seen.found.map_or(String::new(), |share| format!(" ({})", share_found(share)));
        format!("{name}{found}")
    };
    let witnesses: Vec<String> = details.proved_by.iter().map(witness).collect();
    Some(format!("{}; by {}", tier(details.tier?), witnesses.join(", ")))
}

pub fn cost_of(result: &ExperimentResult) -> Option<&Estimate> {
    match &result.estimate {
        Known::Is(headline) if headline.unit == Unit::Fraction => Some(&headline.estimate),
        _ => None,
    }
}

/// `remote-memory` becomes `Remote memory`.
pub fn spoken(name: &str) -> String {
    let words = name.replace(['-', '_'], " ");
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// `EMULATED NOT TESTED`.
pub fn verdict_in_words(verdict: Verdict, is_emulated: bool) -> String {
    let stamp = if is_emulated { "EMULATED " } else { "" };
    format!("{stamp}{}", tag(verdict))
}

pub fn stamped_verdict(result: &ExperimentResult) -> String {
    verdict_in_words(result.verdict, result.emulated)
}

pub fn minus(text: &str) -> String {
    text.replace('-', "−")
}

/// `2026-11-21 10:09 UTC`
pub fn moment(unix_s: i64) -> String {
    let seconds = unix_s.rem_euclid(DAY_S);
    format!("{} {:02}:{:02} UTC", day(unix_s), seconds / 3_600, seconds % 3_600 / 60)
}

pub fn day(unix_s: i64) -> String {
    let (year, month, day) = date(unix_s.div_euclid(DAY_S));
    format!("{year:04}-{month:02}-{day:02}")
}

const DAY_S: i64 = 86_400;

/// Days since 1970-01-01. Years begin in March, so that a leap day is the last of its year.
fn date(days: i64) -> (i64, i64, i64) {
    const DAYS_OF_ERA: i64 = 146_097; // 400 years
    let since_0000_03_01 = days + 719_468;
    let (era, day) =
        (since_0000_03_01.div_euclid(DAYS_OF_ERA), since_0000_03_01.rem_euclid(DAYS_OF_ERA));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let of_month = of_year - (153 * from_march + 2) / 5 + 1;
    (400 * era + year + i64::from(month <= 2), month, of_month)
}

/// `0.42`, `8.15`, `81.2`, `812`, `11,240`.
pub fn figure(value: f64) -> String {
    let magnitude = value.abs();
    let decimals = match magnitude {
        m if m >= 99.95 => 0,
        m if m >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    if magnitude >= 9_999.5 { thousands(&text) } else { text }
}

/// If one side of an interval is this many times the other, both are shown.
const LOPSIDED: f64 = 3.0;
/// Below this confidence level there is no interval.
const LEAST_LEVEL: f64 = 0.949;

pub fn has_interval(estimate: &Estimate) -> bool {
    estimate.level >= LEAST_LEVEL
}

/// `±0.4`, or the number of rounds if there are too few for an interval.
pub fn margin(estimate: &Estimate) -> String {
    if !has_interval(estimate) {
        return format!("n={:.0}", estimate.n_effective);
    }
    let (down, up) = (estimate.point - estimate.low, estimate.high - estimate.point);
    let decimals = |width: f64| match estimate.point.abs() {
        m if m >= 99.95 && width >= 0.95 => 0,
        m if m >= 9.995 => 1,
        _ => 2,
    };
    let written = |width: f64| {
        let text = format!("{width:.*}", decimals(width));
        if width >= 9_999.5 { thousands(&text) } else { text }
    };
    let (short, long) = (down.min(up), down.max(up));
    if long > LOPSIDED * short && long > 0.1 * estimate.point.abs() {
        return format!("−{} +{}", written(down), written(up));
    }
    format!("±{}", written((estimate.high - estimate.low) / 2.0))
}

/// `1,234,567`.
pub fn count(number: u64) -> String {
    thousands(&number.to_string())
}

/// `480 KiB`, `27.5 MiB`, `1.9 GiB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = usize::from(value < 99.95 && value.fract() >= 0.05 && value.fract() <= 0.95);
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// `1 core`, `2 cores`, `4 caches`.
pub fn plural(number: usize, noun: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{} {noun}{end}", count(number as u64))
}

pub fn thousands(text: &str) -> String {
    let (sign, digits) = text.split_at(usize::from(text.starts_with('-')));
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}")
}

#[cfg(test)]
mod tests {
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
        let e = Estimate {
            point: -0.012,
            low: -0.03,
            high: 0.006,
            level: 0.95,
            n: 8,
            n_effective: 8.0,
        };
        assert_eq!(cost(&e), "−1.2 % (−3.0 … +0.6 %)");
        assert_eq!((percent(-0.0004), signed_percent(-0.0004)), ("0.0 %".into(), "+0.0 %".into()));
        assert_eq!(share_found(0.9996), "99.9 %");
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
            (0.974, 0.976, "40× as many commits with one core as with two cores", "38–42×"),
            (
                0.9,
                1.1,
                "over 10,000× as many commits with one core as with two cores",
                "10–over 10,000×",
            ),
            (-4.0, -0.0, "3.0× as many commits with two cores as with one core", "1.00–5.0×"),
        ] {
            let (said, of) = said(low, high, cores);
            assert_eq!((said.as_str(), of.as_str()), (text, ends));
        }
        let (said, _) =
            said(0.84, 0.86, ["the log writer on the same CPU", "the log writer on a far socket"]);
        assert_eq!(
            said,
            "6.7× as many commits with the log writer on the same CPU as on a far socket"
        );
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
        assert_eq!(margin(&lopsided), "−7 +1837");
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
        let missing = || Known::missing(Code::NotApplicable, "it was measured elsewhere");
        let both = against(of(0.03), of(0.012));
        assert_eq!(
            beside(&both),
            "against main (run 3 of 2026-11-21): throughput −3.0 % (−3.6 … −2.6), cost +1.2 points \
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
}
