//! Wording of numbers, intervals, verdicts and headlines.
//!
//! RULE: no other file formats an estimate's sign or per cent, or a result's sentence.

use hopcost_core::{
    Against, Code, Details, Estimate, ExperimentResult, Headline, KindsOfStarts, Known, Metric,
    Occasion, PointSpread, StartsFound, Tier, Unit, Verdict, Witness,
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
    minus(&format!("{:.1}%", tenths(share)))
}

pub fn signed_percent(share: f64) -> String {
    minus(&format!("{:+.1}%", tenths(share)))
}

/// `+4.5% (+3.2 … +5.8%)`.
pub fn cost(cost: &Estimate) -> String {
    let [low, high] = [cost.low, cost.high].map(|share| format!("{:+.1}", tenths(share)));
    minus(&format!("{} ({low} … {high}%)", signed_percent(cost.point)))
}

pub fn signed_tenths(share: f64) -> String {
    minus(&format!("{:+.1}", tenths(share)))
}

/// Rounded down: 99.96% must not read as 100.
pub fn share_found(share: f64) -> String {
    let floor = (1_000.0 * share).floor() / 10.0;
    if floor >= 100.0 { "100%".to_owned() } else { format!("{floor:.1}%") }
}

/// `14.0% (11.0 … 17.0%)`; a sign of −1 shows a cost as a gain.
pub fn share(estimate: &Estimate, sign: f64) -> String {
    let mut ends = [sign * estimate.low, sign * estimate.high];
    ends.sort_by(f64::total_cmp);
    let [low, high] = ends.map(|share| format!("{:.1}", tenths(share)));
    minus(&format!("{} ({low} … {high}%)", percent(sign * estimate.point)))
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
        unit => figure_of(headline, &unit.to_string()),
    }
}

/// `812 ns (±33; ±3 in this hour)`.
pub fn figure_of(headline: &Headline, unit: &str) -> String {
    let whole = with_unit(&headline.estimate, unit);
    match (&headline.occasion, whole.strip_suffix(')')) {
        (Some(occasion), Some(whole)) => {
            format!("{whole}; {} in this hour)", margin(&occasion.in_this_hour(headline.estimate)))
        }
        _ => whole,
    }
}

/// What the wider of two intervals rests on.
pub fn occasions(occasion: &Occasion) -> String {
    let sd = tenths(occasion.sd);
    match occasion.learned_from {
        Some(runs) => {
            format!("figures differ by {sd}% from hour to hour, as {runs} runs here showed")
        }
        None => {
            format!("figures differ by {sd}% from hour to hour (assumed: 5 runs would show it)")
        }
    }
}

/// `812 ns (±3)`.
pub fn with_unit(estimate: &Estimate, unit: &str) -> String {
    let margin = if has_interval(estimate) {
        margin(estimate)
    } else {
        format!("{}, too few for an interval", plural(estimate.n_effective as usize, "round"))
    };
    format!("{} {unit} ({margin})", figure(estimate.point))
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
/// variant comes first, also in multiples, so that the words agree with the tags COST and GAIN.
pub fn effect(cost: &Estimate, compared: Compared<'_>) -> (String, String) {
    let Compared { unit, baseline, variant } = compared;
    let ratio = 1.0 - cost.point;
    let comma = if variant.contains(',') { "," } else { "" };
    if ratio > 1.0 / MULTIPLE && ratio < MULTIPLE {
        let more = if cost.point > 0.0 { "fewer" } else { "more" };
        let decimals = decimals(cost);
        let [low, high] = ascending(100.0 * cost.low.abs(), 100.0 * cost.high.abs());
        let text = format!(
            "{:.decimals$}% {more} {unit} with {variant}{comma} than {}",
            100.0 * cost.point.abs(),
            with_other(variant, baseline)
        );
        return (text, format!("{low:.decimals$}–{high:.decimals$}%"));
    }
    let is_gain = ratio >= MULTIPLE;
    let times = |cost: f64| if is_gain { 1.0 - cost } else { times_lost(cost) };
    let [low, high] = ascending(times(cost.low), times(cost.high));
    let (more, than) = if is_gain { ("as many", "as") } else { ("fewer", "than") };
    let text = format!(
        "{} {more} {unit} with {variant}{comma} {than} {}",
        multiple(times(cost.point)),
        with_other(variant, baseline)
    );
    // Both ends have the decimals of the point.
    let [low, high] = [low, high].map(|end| multiple_as(end, times(cost.point)));
    (text, format!("{}–{high}", low.trim_end_matches('×')))
}

/// The second of two labels, without the words that both begin with; from a preposition on they stay.
fn with_other(first: &str, second: &str) -> String {
    const PREPOSITIONS: [&str; 5] = ["on", "under", "in", "by", "over"];
    let same = first.split(' ').zip(second.split(' ')).take_while(|(a, b)| a == b);
    let same: Vec<&str> = same.map(|(word, _)| word).collect();
    let skipped = same.iter().rposition(|it| PREPOSITIONS.contains(it)).unwrap_or(same.len());
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

/// How many times the variant's throughput the baseline has.
fn times_lost(cost: f64) -> f64 {
    1.0 / (1.0 - cost).max(f64::EPSILON)
}

/// `2.37×`, `6.6×`, `40×`.
fn multiple(times: f64) -> String {
    multiple_as(times, times)
}

/// With the decimals of `like`.
fn multiple_as(times: f64, like: f64) -> String {
    let decimals = match like {
        t if t < 2.995 => 2,
        t if t < 9.95 => 1,
        _ => 0,
    };
    if times > MOST_TIMES {
        return format!("over {}×", thousands(&format!("{MOST_TIMES:.0}")));
    }
    let text = format!("{times:.decimals$}");
    format!("{}×", if decimals == 0 { thousands(&text) } else { text })
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
            format!("1/{}", multiple(times_lost(cost)).trim_end_matches('×'))
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
    let level = format!("{:.1}", 100.0 * cost.level);
    format!("{}%", level.trim_end_matches(".0"))
}

/// What a figure is of, as stored: older words are replaced.
pub fn of(figure: &Headline) -> String {
    let of = figure.of.strip_prefix("calls ").unwrap_or(&figure.of);
    of.replace("stream", "client")
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

/// `against main (run 3 of 2026-11-21): throughput −3.0% (…), cost +1.2 points (…)`.
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
            format!("{point}{unit} ({low} … {high})")
        }
        Known::Missing(reason) => format!("missing, because {reason}"),
    };
    let cost = match dearer {
        Known::Missing(reason) if reason.code() == Code::NotApplicable => String::new(),
        dearer => format!(", cost {}", changed(dearer, " points")),
    };
    format!("{since}: throughput {}{cost}", changed(&faster, "%"))
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

/// What an interval holds for: `within this start`, `with 8 starts`.
pub fn of_starts(starts: Option<&StartsFound>) -> String {
    match starts {
        Some(starts) => format!("with {} starts", starts.n),
        None => "within this start".to_owned(),
    }
}

/// `8: starts differ by 1.9%, block sets within a start by 2.4% (…). Of 10 such runs, 8 find …`
pub fn starts_told(starts: &StartsFound) -> String {
    let differ = match starts.sd_start {
        Some(sd) => format!("differ by {}", percent(sd)),
        None => format!("do not differ, or by less than {}", percent(starts.sd_start_seen)),
    };
    let more = starts
        .sees_with_twice
        .map(|sees| format!(", with {} starts one of {}", 2 * starts.n, percent(sees)));
    format!(
        "{}: starts {differ}, block sets within a start by {} (standard deviations). Of 10 such runs, 8 find \
         an effect of {}{}",
        starts.n,
        percent(starts.sd_unit),
        percent(starts.sees),
        more.unwrap_or_default()
    )
}

/// `two kinds of starts, 10 fast and 6 that are 11% slower whatever the variant. …`
pub fn kinds_of_starts(starts: &StartsFound) -> Option<String> {
    if let Some(after) = starts.changed_after {
        return Some(format!("the machine changed after start {after}"));
    }
    let KindsOfStarts { slow, slower, costs } = starts.kinds.as_ref()?;
    let number = slow.iter().filter(|slow| **slow).count();
    let [fast, among_slow] = costs.each_ref().map(change);
    Some(format!(
        "two kinds of starts, {} fast and {number} that are {} slower whatever the variant. Among the fast: \
         {fast}; among the slow: {among_slow}",
        slow.len() - number,
        percent(*slower)
    ))
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

pub const DAY_S: i64 = 86_400;

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
    if magnitude >= 999.5 { thousands(&text) } else { text }
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
        if width >= 999.5 { thousands(&text) } else { text }
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
mod tests;
