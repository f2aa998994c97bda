//! An experiment: verdict, effect, explanation, raw evidence, proof, published results, command.

use std::collections::BTreeSet;

use hopcost_core::{
    Arm, Details, Estimate, Known, Observation, PointCost, Published, Scaling, Verdict,
};

use hopcost_method::advice::{Advice, Verified};

use super::block::{
    Block, Column, Fact, Figure, Item, Picture, Sentence, Table, Tone, aligned, all_aligned,
};
use super::observed::{cpu, facts_observed};
use super::{absence, trust, verdict};
use crate::charts::{self, Kind, Row};
use crate::page::Section;
use crate::words::{self, change, count, plural, share_found};

/// Shorter calls are shown in microseconds.
const SHORT_MS: f64 = 0.1;

/// Without its heading.
pub fn section<'a>(section: &'a Section<'a>) -> Vec<Block<'a>> {
    let result = section.result;
    let mut blocks = vec![
        Block::Sentence(Sentence {
            verdict: Some((result.verdict, result.emulated)),
            text: verdict::found(section),
            tone: Tone::Plain,
        }),
        Block::Facts(asked(section)),
    ];
    blocks.extend(section.advice.iter().flat_map(what_to_do));
    // An interrupted run has blocks, but no details.
    if result.details.is_some() || !section.blocks.is_empty() {
        blocks.push(Block::Figures(evidence(section)));
    }
    if let Some(details) = &result.details {
        blocks.extend(points(section, details).under(Block::detail("Change by point")));
        blocks.extend(scaling(section, details));
        blocks.extend(arms(section, &details.arms).under(Block::heading("Variants")));
        let errors = details.arms.iter().filter_map(|arm| arm.first_error.clone());
        blocks.push(Block::list(errors));
        blocks.extend(observed(section, details).under(Block::detail("Counters")));
    }
    if result.verdict != Verdict::NotApplicable {
        blocks.extend(proof(section));
    }
    if let Some(details) = &result.details {
        blocks.push(Block::heading("How it was measured"));
        blocks.push(Block::Facts(circumstances(details)));
    }
    if !section.published.is_empty() {
        blocks.extend(published(&section.published));
    } else if result.details.is_some() {
        blocks.push(Block::detail("Published elsewhere"));
        blocks.push(Block::faint(
            "Missing, because hopcost knows of no published figures for this question.",
        ));
    }
    blocks.push(Block::heading("Run it again"));
    blocks.push(Block::Command(section.command.clone()));
    blocks.retain(|block| !block.is_empty());
    blocks
}

const NEVER_VERIFIED: &str = "hopcost has never run against a real SQL Server: check what it \
                              reports before you act on it";

fn asked(section: &Section<'_>) -> Vec<Fact> {
    let result = section.result;
    let mut facts = vec![("question", result.question.clone())];
    let is_absent = result.verdict == Verdict::NotApplicable;
    let way_out = is_absent.then(|| absence::way_out(&result.reason)).flatten();
    facts.extend(way_out.map(|way_out| ("what to do", way_out)));
    if section.never_verified {
        facts.push(("! never verified", NEVER_VERIFIED.to_owned()));
    }
    if let Some(planted) = result.planted {
        facts.push(("injected", words::injected(planted)));
    }
    if let Some(against) = &result.against {
        facts.push(("baseline", words::beside(against)));
        facts.extend(against.notes.iter().map(|note| ("", note.clone())));
    }
    facts.into_iter().map(|(name, text)| (name.to_owned(), text)).collect()
}

fn what_to_do<'a>(advice: &Advice) -> Vec<Block<'a>> {
    let documented = format!("documented: {}", advice.sources.join("; "));
    let executed = "executed and undone by hopcost's tests";
    let verified = match advice.verified {
        Verified::Measured if advice.sources.is_empty() => executed.to_owned(),
        Verified::Measured => format!("{executed}; {documented}"),
        Verified::Documented => documented,
        Verified::Unverified => "unverified: known practice, without a source".to_owned(),
    };
    let mut facts =
        vec![("Not if", format!("{}.", advice.avoid)), ("rests on", format!("{verified}."))];
    let to_replace = advice.to_replace.iter().map(|(name, how)| (*name, format!("{how}.")));
    facts.extend(to_replace);
    if !advice.others.is_empty() {
        let when = advice.unless.as_ref().map_or(String::new(), |says| format!("if {says}: "));
        facts.push(("or", format!("{when}{}.", advice.others.join(" · "))));
    }
    let facts = facts.into_iter().map(|(name, text)| (name.to_owned(), text)).collect();
    let part = |name: &str, lines: &[String]| {
        let command = (!lines.is_empty()).then(|| Block::Command(lines.join("\n")));
        command.into_iter().flat_map(|it| [Block::strong(name.to_owned()), it]).collect::<Vec<_>>()
    };
    let mut blocks = vec![Block::heading(format!("Do: {}", advice.action()))];
    if advice.changes_nothing {
        return blocks;
    }
    blocks.push(if advice.lines.is_empty() {
        Block::faint("No line for this engine and environment is known; see the recipe's sources.")
    } else {
        Block::Command(advice.lines.join("\n"))
    });
    blocks.extend(part("Check, before and after", &advice.check));
    blocks.extend(part("Undo", &advice.undo));
    blocks.push(Block::Facts(facts));
    blocks
}

fn evidence<'a>(section: &'a Section<'a>) -> Vec<Figure<'a>> {
    type Draw = fn(&Section<'_>) -> Known<String>;
    let no_spread = if section.blocks.is_empty() {
        "mean over windows; their spread is missing, because no blocks were kept"
    } else {
        "mean over windows; nine of ten windows lie within the thin line"
    };
    let charts: [(&str, &str, Draw); 5] = [
        ("Throughput by number of clients", no_spread, charts::streams),
        (
            "Evidence over time",
            "the interval at each look; it holds at all of them together",
            charts::looks,
        ),
        (
            "Block by block",
            "filled: final; open: search and long windows; small: the baseline against itself; ×: dropped",
            charts::contrasts,
        ),
        ("Page accesses by node", "local if the worker was on the page's node", charts::lookups),
        (
            "CPU time",
            "each CPU over the run; below, which variant was measured when",
            charts::cpu_heat,
        ),
    ];
    let picture = |name: &str, about: &str, picture| Figure {
        name: name.to_owned(),
        about: about.to_owned(),
        picture,
    };
    let sweep =
        "each point of the sweep; gray marks only searched for the worst and are never quoted";
    let labels = section.all_levels().iter().map(|it| section.label(it).to_owned()).collect();
    let mut all = vec![
        picture("", "", Picture::Key(labels)),
        picture("Effect", sweep, Picture::Costs(rows(section))),
    ];
    all.extend(charts.into_iter().map(|(name, about, draw)| {
        picture(name, about, Picture::Chart(Box::new(move || draw(section))))
    }));
    if let Some(starts) = section.starts() {
        let about = match starts.kinds {
            None => "the mean change in each start; behind them the interval",
            Some(_) => {
                "the mean change in each start, squares for the slower kind; behind them the interval"
            }
        };
        let chart = Picture::Chart(Box::new(move || charts::starts(section)));
        all.push(picture("Start by start", about, chart));
    }
    if section.result.details.as_ref().is_some_and(|details| !details.spreads.is_empty()) {
        let about = "which share of the calls took how long, at the headline's number of clients";
        all.push(picture("Response times", about, Picture::Times(section)));
    }
    all
}

fn rows(section: &Section<'_>) -> Vec<Row> {
    let is_refused = section.result.verdict == Verdict::Refused;
    let row = |point: &PointCost| Row {
        label: format!(
            "{}, {}",
            section.label(&point.level),
            plural(point.streams as usize, "client")
        ),
        role: if is_refused { "does not count" } else { role(point) },
        link: None,
        cost: point.cost,
        kind: match (point.exploratory || is_refused, section.result.emulated) {
            // Searches and refused figures do not count as results.
            (true, _) => Kind::Search,
            (false, true) => Kind::Emulated,
            (false, false) => Kind::Estimate,
        },
        margin: section.margin,
    };
    section.result.details.iter().flat_map(|details| &details.points).map(row).collect()
}

fn role(point: &PointCost) -> &'static str {
    match (point.exploratory, point.may_be_worst) {
        (false, _) => "result",
        (true, true) => "worst?",
        (true, false) => "search",
    }
}

fn points<'a>(section: &Section<'_>, details: &Details) -> Block<'a> {
    let row = |point: &PointCost| {
        let Estimate { point: at, low, high, level, n_effective, .. } = point.cost;
        let [at, low, high] = [-at, -high, -low].map(words::signed_tenths);
        let streams = point.streams.to_string();
        let (level, units) = (format!("{:.1}", 100.0 * level), format!("{n_effective:.0}"));
        vec![
            section.label(&point.level).to_owned(),
            streams,
            at,
            low,
            high,
            level,
            units,
            role(point).to_owned(),
        ]
    };
    let units = match section.starts() {
        None => "block sets",
        Some(_) if details.points.iter().any(|point| point.exploratory) => {
            "starts, block sets of a search"
        }
        Some(_) => "starts",
    };
    let head = ["clients", "change in throughput, %", "from, %", "to, %", "confidence, %", units]
        .map(Column::figures);
    let head = std::iter::once(Column::words("variant"))
        .chain(head)
        .chain([Column::words("used as")])
        .collect();
    Block::Table(Table { head, rows: details.points.iter().map(row).collect() })
}

fn scaling<'a>(section: &'a Section<'a>, details: &Details) -> Vec<Block<'a>> {
    if details.scaling.is_empty() {
        return Vec::new();
    }
    let about = "the line is the Universal Scalability Law, X(N) = λN / (1 + σ(N−1) + κN(N−1)); nine of \
                 ten windows lie within the thin lines";
    let chart = Figure {
        name: "Throughput and its scaling model".to_owned(),
        about: about.to_owned(),
        picture: Picture::Chart(Box::new(|| charts::law(section))),
    };
    let of = |of: Option<&Estimate>, factor: f64| -> String {
        of.map_or_else(|| "–".to_owned(), |of| words::with_ends(of, factor))
    };
    let row = |scaling: &Scaling| {
        let law = scaling.law.get();
        let untold = law.map_or(scaling.law.reason(), |law| law.peak.reason());
        vec![
            section.label(&scaling.level).to_owned(),
            of(law.map(|law| &law.lambda), 1.0),
            of(law.map(|law| &law.sigma), 100.0),
            of(law.map(|law| &law.kappa), 100.0),
            of(law.and_then(|law| law.peak.get()), 1.0),
            untold.map_or_else(String::new, ToString::to_string),
        ]
    };
    let head = vec![
        Column::words("variant"),
        Column::figures("one client, λ"),
        Column::figures("serial share σ, %"),
        Column::figures("crosstalk κ, %"),
        Column::figures("peak, clients"),
        Column::words("missing, because").detail(),
    ];
    vec![
        Block::heading("Throughput by number of clients"),
        Block::Figures(vec![chart]),
        Block::Table(Table { head, rows: details.scaling.iter().map(row).collect() }),
    ]
}

fn arms<'a>(section: &Section<'_>, arms: &[Arm]) -> Block<'a> {
    let means = arms.iter().filter_map(|arm| Some(arm.latency_ms?[0]));
    let is_short = means.fold(f64::MAX, f64::min) < SHORT_MS;
    let (factor, unit) = if is_short { (1e3, "µs") } else { (1.0, "ms") };
    let values = |arm: &Arm| {
        let time = |n: usize| Some(factor * arm.latency_ms?[n]);
        [Some(arm.response), time(0), time(3), time(1), time(2), time(4)]
    };
    let values = all_aligned(&arms.iter().map(values).collect::<Vec<_>>());
    let side = |arm: &Arm, n: usize| arm.acquisitions.map_or("–".to_owned(), |it| count(it[n]));
    let row = |(arm, [response, mean, p95, sd, median, p99]): (&Arm, [String; 6])| {
        let (level, streams) = (section.label(&arm.level).to_owned(), arm.streams.to_string());
        let (calls, errors) = (count(arm.calls), count(arm.errors));
        let [here, there] = [0, 1].map(|n| side(arm, n));
        let windows = arm.windows.to_string();
        vec![
            level,
            streams,
            response,
            mean,
            p95,
            here,
            there,
            cpu(arm),
            sd,
            median,
            p99,
            windows,
            calls,
            errors,
        ]
    };
    let timed = |name: &str| Column::figures(&format!("{name}, {unit}"));
    let head = vec![
        Column::words("variant"),
        Column::figures("clients"),
        Column::figures(&section.throughput()),
        timed("mean"),
        timed("p95"),
        Column::figures("local accesses"),
        Column::figures("remote accesses"),
        Column::figures("CPU").detail(),
        timed("sd").detail(),
        timed("median").detail(),
        timed("p99").detail(),
        Column::figures("windows").detail(),
        Column::figures("calls").detail(),
        Column::figures("errors").detail(),
    ];
    Block::Table(Table { head, rows: arms.iter().zip(values).map(row).collect() })
}

/// Observations by variant: sums for the machine and nodes. The store has single CPUs and workers.
fn observed<'a>(section: &Section<'_>, details: &Details) -> Block<'a> {
    let is_sum = |of: &str| of.is_empty() || of.starts_with("node");
    let all = details.arms.iter().flat_map(|arm| &arm.observed).filter(|it| is_sum(&it.of));
    let metrics: BTreeSet<(&str, &str)> = all.map(|it| (&*it.metric, it.of.as_str())).collect();
    let row = |&(metric, of): &(&str, &str)| {
        let is = |o: &&Observation| o.metric == metric && o.of == of;
        let value = |arm: &Arm| Some(arm.observed.iter().find(is)?.value);
        let values: Vec<Option<f64>> = details.arms.iter().map(value).collect();
        // Omit metrics that stayed 0.
        values.iter().flatten().any(|value| *value != 0.0).then(|| {
            let label = if of.is_empty() { metric.to_owned() } else { format!("{metric}, {of}") };
            std::iter::once(label).chain(aligned(&values)).collect()
        })
    };
    let levels = details
        .arms
        .iter()
        .map(|arm| Column::figures(&format!("{}, {}", section.label(&arm.level), arm.streams)));
    let head = std::iter::once(Column::words("mean of a window")).chain(levels).collect();
    Block::Table(Table { head, rows: metrics.iter().filter_map(row).collect() })
}

/// `local_lookups at near` in words: a metric and the label of a variant.
fn requirement(section: &Section<'_>, claim: &str) -> String {
    let metric = |name: &str| name.replace("lookups", "page accesses").replace('_', " ");
    claim.split_once(" at ").map_or(claim.to_owned(), |(name, level)| {
        format!("{} with {}", metric(name), section.label(level))
    })
}

fn proof<'a>(section: &Section<'_>) -> Vec<Block<'a>> {
    let row = |claim: &str, [found, least]: [f64; 2]| {
        let holds = if found >= least { "✓ holds" } else { "✗ does not hold" };
        let least = format!("{:.0}%", 100.0 * least);
        vec![requirement(section, claim), share_found(found), least, holds.to_owned()]
    };
    let claims = section.result.proof.iter().map(|it| row(&it.claim, [it.found, it.least]));
    let placed = trust::read_back(section).map(|(claim, shares)| row(&claim, shares));
    let rows: Vec<Vec<String>> = claims.chain(placed).collect();
    let head = vec![
        Column::words("requirement"),
        Column::figures("found"),
        Column::figures("needed"),
        Column::words("result"),
    ];
    if rows.is_empty() {
        let none = "Missing, because this experiment requires no placement; each probe reads its pages \
                    back.";
        return vec![Block::detail("Verified"), Block::faint(none)];
    }
    Block::Table(Table { head, rows }).under(Block::heading("Verified"))
}

/// Published figures of other machines; they never affect a verdict.
pub fn published<'a>(results: &[&Published]) -> Vec<Block<'a>> {
    if results.is_empty() {
        return Vec::new();
    }
    let item = |result: &&Published| {
        // Keep the published digits.
        let figures = result.figures.iter().map(|f| {
            let to = f.to.map_or(String::new(), |to| format!("–{to}"));
            format!("{} {}{to} {}", f.of, f.value, f.unit)
        });
        let figures: Vec<String> = figures.collect();
        let text = format!("{}. {}. {}", result.machine, figures.join(" · "), result.source);
        Item { name: result.title.clone(), text, place: None }
    };
    vec![
        Block::heading("Published elsewhere"),
        Block::faint("Other machines' figures, never a verdict on this one."),
        Block::List(results.iter().map(item).collect()),
    ]
}

fn circumstances(details: &Details) -> Vec<Fact> {
    let mut facts: Vec<(&str, String)> = vec![("target", details.identity.clone())];
    if let Some(placebo) = &details.placebo {
        let found = change(placebo);
        // One in twenty 95% intervals excludes zero by chance.
        let text = format!(
            "the baseline against itself: {found}; VOID only if a 99.9% interval excluded zero"
        );
        facts.push(("A/A check", text));
    }
    if let Some(starts) = &details.starts {
        facts.push(("starts", words::starts_told(starts)));
        facts.extend(words::kinds_of_starts(starts).map(|kinds| ("kinds of starts", kinds)));
    }
    facts.push(("method", method(details)));
    let bound: Vec<&str> =
        details.bindings.iter().map(String::as_str).filter(|it| !it.is_empty()).collect();
    if !bound.is_empty() {
        facts.push(("nodes", format!("each way in turn: {}", bound.join("; "))));
    }
    facts.extend(words::known_by(details).map(|known_by| ("evidence", known_by)));
    let baseline = details.arms.first().map_or("the baseline", |arm| &arm.level);
    let spread = |it| ("spread", words::spread(it, baseline));
    facts.extend(details.spreads.iter().map(spread));
    facts.extend(facts_observed(details));
    facts.extend(details.plans.iter().map(|plan| ("plan", plan.clone())));
    facts.extend(details.left_out.iter().map(|text| ("skipped", text.clone())));
    facts.extend(details.notes.iter().map(|note| ("note", note.clone())));
    facts.into_iter().map(|(name, text)| (name.to_owned(), text)).collect()
}

fn method(details: &Details) -> String {
    let phase = |of: &str| match of {
        "fresh" => "final".to_owned(),
        "placebo" => "A/A".to_owned(),
        other => other.to_owned(),
    };
    let blocks = details.blocks.iter().map(|(of, n)| format!("{n} {}", phase(of)));
    let blocks: Vec<String> = blocks.collect();
    let dropped: Vec<String> =
        details.dropped.iter().map(|(cause, n)| format!("; {n} dropped: {cause}")).collect();
    format!(
        "blocks of 4 windows of {:.2} s after {:.0} ms of warm-up: {}{}; overhead {:.0} ns per call",
        details.window_s,
        1e3 * details.guard_s,
        blocks.join(", "),
        dropped.concat(),
        details.harness_ns_per_call
    )
}
