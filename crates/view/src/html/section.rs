//! One experiment, always in the same shape: question, verdict, the effect, why, the raw evidence, the
//! proof, what others published, how to do it again.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use hopcost_core::{Arm, Details, Estimate, ExperimentResult, Known, PointCost, Scaling, Verdict};

use super::table::{Column, aligned, published, table};
use super::{figure, list, prose, trust};
use crate::charts::{self, Kind, Row};
use crate::page::Section;
use crate::text;
use crate::words::{self, cost_of, duration, headline, minus, percent, share_found, verdict};
use crate::xml::escape;

/// Where in the page it is.
pub fn place(section: &Section<'_>) -> String {
    format!("run-{}", section.run)
}

/// All of it.
pub fn section(section: &Section<'_>) -> String {
    let result = section.result;
    let mut out = format!(
        "<section id=\"{}\">\n<h2>{}</h2>\n<p class=\"faint\">{}</p>\n<p>{}</p>\n",
        place(section),
        escape(&words::spoken(&result.experiment)),
        escape(&result.question),
        sentence(result)
    );
    // A run that was cut short has blocks, and no details yet.
    if result.details.is_some() || !section.blocks.is_empty() {
        out.push_str(&key(section));
        out.push_str(&evidence(section));
    }
    if let Some(details) = &result.details {
        out.push_str(&points(details));
        out.push_str(&scaling(section, details));
        out.push_str(&arms(details));
        out.push_str(&spreads(details));
        out.push_str(&parallel_workers(details));
        out.push_str(&observed(details));
    }
    if result.verdict != Verdict::NotApplicable {
        out.push_str(&proof(section));
    }
    if !section.published.is_empty() {
        out.push_str(
            "<h3>Published elsewhere</h3>\n<p class=\"faint\">Other machines' figures, never a \
             verdict on this one.</p>",
        );
        out.push_str(&published(&section.published));
    } else if result.details.is_some() {
        out.push_str(
            "<h3>Published elsewhere</h3>\n<p class=\"faint\">Missing, because hopcost knows of \
             nothing that was published of this question.</p>",
        );
    }
    if let Some(details) = &result.details {
        out.push_str(&circumstances(result, details));
    }
    let _ = write!(
        out,
        "<h3>Do it again</h3><pre class=\"command\">{}</pre>\n</section>\n",
        escape(&section.command)
    );
    out
}

/// The verdict, and why.
fn sentence(result: &ExperimentResult) -> String {
    let stamp = if result.emulated { "<span class=\"stamp\">EMULATED</span> " } else { "" };
    let verdict = format!("{stamp}<span class=\"verdict\">{}</span> ", verdict(result));
    let words = match (&result.estimate, result.verdict) {
        (_, Verdict::NotApplicable) | (Known::Missing(_), Verdict::Refused) => {
            result.reason.to_string()
        }
        (Known::Is(figure), Verdict::Refused) => {
            format!("{}. What was found does not count: {}", result.reason, headline(figure))
        }
        (Known::Is(figure), _) if cost_of(result).is_some() => {
            format!("{} of throughput: the {}; {}", headline(figure), figure.of, result.reason)
        }
        (Known::Is(figure), _) => {
            format!("{} at the farthest ({}); {}", headline(figure), figure.of, result.reason)
        }
        (Known::Missing(reason), _) => reason.to_string(),
    };
    let planted = result.planted.map_or(String::new(), |planted| {
        format!(" Planted was {:.2} % of throughput, as counted.", 100.0 * planted)
    });
    format!("{verdict}{}", prose(&format!("{}.{planted}", words.trim_end_matches('.'))))
}

/// The levels' signs and colours.
fn key(section: &Section<'_>) -> String {
    let levels = section.all_levels();
    let of_level = |(n, name): (usize, &String)| {
        let class = charts::class_of(n);
        let sign = charts::SIGNS[class];
        let role = if n == 0 { " (baseline)" } else { "" };
        format!("<span><i class=\"k{class}\">{sign}</i> {}{role}</span>", escape(name))
    };
    let keys: String = levels.iter().enumerate().map(of_level).collect();
    format!("<p class=\"key\">{keys}</p>\n")
}

/// The charts.
fn evidence(section: &Section<'_>) -> String {
    let rows = rows(section);
    let no_spread = if section.blocks.is_empty() {
        "mean over windows; their spread is missing, because no blocks were kept"
    } else {
        "mean over windows; nine of ten windows lie within the thin line"
    };
    let mut charts = vec![
        (
            "Effect",
            "each point of the sweep; grey marks only looked for the worst, and are never quoted",
            charts::effect("Effect", &rows),
        ),
        ("Throughput against streams", no_spread, charts::streams(section)),
        (
            "Evidence over time",
            "the interval at each look; it holds at all of them together",
            charts::looks(section),
        ),
        (
            "Block by block",
            "filled: the estimate; open: search and long windows; small: the baseline against \
             itself; ×: dropped",
            charts::contrasts(section),
        ),
        (
            "Look-ups by node",
            "page acquisitions, local where the workers stood on the page's node",
            charts::lookups(section),
        ),
        (
            "CPU time",
            "each CPU over the run; below, which level was measured when",
            charts::cpu_heat(section),
        ),
    ];
    if section.result.details.as_ref().is_some_and(|details| !details.spreads.is_empty()) {
        let about = "which share of the calls took how long, at the headline's streams";
        charts.push(("Response times", about, charts::times(section)));
    }
    let figures: String =
        charts.iter().map(|(name, about, chart)| figure(name, about, chart)).collect();
    format!("<div class=\"charts\">\n{figures}</div>\n")
}

fn rows(section: &Section<'_>) -> Vec<Row> {
    let points = section.result.details.iter().flat_map(|details| &details.points);
    let kind = |point: &PointCost| match (point.exploratory, section.result.emulated) {
        // Neither a search's figure nor a refused one counts.
        _ if section.result.verdict == Verdict::Refused => Kind::Search,
        (true, _) => Kind::Search,
        (false, true) => Kind::Emulated,
        (false, false) => Kind::Estimate,
    };
    let is_refused = section.result.verdict == Verdict::Refused;
    let word = |point: &PointCost| if is_refused { "does not count" } else { role(point) };
    let row = |point: &PointCost| Row {
        label: format!("{}, {}", name(point), word(point)),
        link: None,
        cost: point.cost,
        kind: kind(point),
        margin: section.margin,
    };
    points.map(row).collect()
}

fn name(point: &PointCost) -> String {
    let streams = if point.streams == 1 { "stream" } else { "streams" };
    format!("{} at {} {streams}", point.level, point.streams)
}

fn role(point: &PointCost) -> &'static str {
    match (point.exploratory, point.may_be_worst) {
        (false, _) => "estimate",
        (true, true) => "search: worst?",
        (true, false) => "search",
    }
}

fn percents(values: impl Iterator<Item = f64>) -> Vec<String> {
    values.map(|share| minus(&format!("{:+.1}", words::tenths(share)))).collect()
}

fn points(details: &Details) -> String {
    let points = &details.points;
    let costs = percents(points.iter().map(|point| point.cost.point));
    let lows = percents(points.iter().map(|point| point.cost.low));
    let highs = percents(points.iter().map(|point| point.cost.high));
    let row = |(n, point): (usize, &PointCost)| {
        vec![
            point.level.clone(),
            point.streams.to_string(),
            costs[n].clone(),
            lows[n].clone(),
            highs[n].clone(),
            format!("{:.1}", 100.0 * point.cost.level),
            format!("{:.0}", point.cost.n_effective),
            role(point).to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = points.iter().enumerate().map(row).collect();
    let head = [
        ("level", Column::Words),
        ("streams", Column::Figures),
        ("cost, %", Column::Figures),
        ("from", Column::Figures),
        ("to", Column::Figures),
        ("confidence, %", Column::Figures),
        ("units", Column::Figures),
        ("", Column::Words),
    ];
    titled("Costs", &table(&head, &rows))
}

/// How far response times lie apart, where that was asked.
fn spreads(details: &Details) -> String {
    let baseline = details.arms.first().map_or("the baseline", |arm| &arm.level);
    let said: Vec<String> =
        details.spreads.iter().map(|spread| text::spread_said(spread, baseline)).collect();
    let told = list(said.iter().map(String::as_str));
    if said.is_empty() { told } else { titled("Spread of response times", &told) }
}

/// Something under its name; nothing of nothing.
fn titled(name: &str, content: &str) -> String {
    if content.is_empty() { String::new() } else { format!("<h3>{name}</h3>\n{content}") }
}

/// How throughput grows with streams, where that was asked.
fn scaling(section: &Section<'_>, details: &Details) -> String {
    if details.scaling.is_empty() {
        return String::new();
    }
    let about = "the line is the Universal Scalability Law, X(N) = λN / (1 + σ(N−1) + κN(N−1)); nine of \
                 ten windows lie within the thin lines";
    let chart = figure("Throughput and its law", about, &charts::law(section));
    titled("How it grows with streams", &format!("{chart}{}", laws(&details.scaling)))
}

fn laws(all: &[Scaling]) -> String {
    let whole = |of: Option<&Estimate>, factor: f64| -> String {
        let Some(of) = of else { return "–".to_owned() };
        let [point, low, high] = [of.point, of.low, of.high].map(|it| words::figure(factor * it));
        format!("{point} ({low} … {high})")
    };
    let row = |of: &Scaling| {
        let law = of.law.get();
        let untold = law.map_or(of.law.reason(), |law| law.peak.reason());
        vec![
            of.level.clone(),
            whole(law.map(|law| &law.lambda), 1.0),
            whole(law.map(|law| &law.sigma), 100.0),
            whole(law.map(|law| &law.kappa), 100.0),
            whole(law.and_then(|law| law.peak.get()), 1.0),
            untold.map_or_else(String::new, ToString::to_string),
        ]
    };
    let head = [
        ("level", Column::Words),
        ("one stream, λ", Column::Figures),
        ("waits in line, σ, %", Column::Figures),
        ("to agree, κ, %", Column::Figures),
        ("turns down at, streams", Column::Figures),
        ("missing, because", Column::Words),
    ];
    table(&head, &all.iter().map(row).collect::<Vec<_>>())
}

fn arms(details: &Details) -> String {
    let arms = &details.arms;
    let times = |n: usize| -> Vec<String> {
        aligned(&arms.iter().map(|arm| Some(arm.latency_ms?[n])).collect::<Vec<_>>())
    };
    let [mean, sd, median, p95, p99] = [times(0), times(1), times(2), times(3), times(4)];
    let responses: Vec<Option<f64>> = arms.iter().map(|arm| Some(arm.response)).collect();
    let responses = aligned(&responses);
    let side = |arm: &Arm, n: usize| {
        arm.acquisitions.map_or("–".to_owned(), |sides| words::count(sides[n]))
    };
    let row = |(n, arm): (usize, &Arm)| {
        vec![
            arm.level.clone(),
            arm.streams.to_string(),
            responses[n].clone(),
            mean[n].clone(),
            median[n].clone(),
            p95[n].clone(),
            p99[n].clone(),
            sd[n].clone(),
            side(arm, 0),
            side(arm, 1),
            arm.windows.to_string(),
            words::count(arm.calls),
            words::count(arm.errors),
        ]
    };
    let rows: Vec<Vec<String>> = arms.iter().enumerate().map(row).collect();
    let head = [
        ("level", Column::Words),
        ("streams", Column::Figures),
        ("response", Column::Figures),
        ("mean, ms", Column::Figures),
        ("median, ms", Column::Figures),
        ("95 %, ms", Column::Figures),
        ("99 %, ms", Column::Figures),
        ("sd, ms", Column::Figures),
        ("look-ups here", Column::Figures),
        ("there", Column::Figures),
        ("windows", Column::Figures),
        ("calls", Column::Figures),
        ("errors", Column::Figures),
    ];
    let mut out = titled("Levels", &table(&head, &rows));
    let errors = arms.iter().filter_map(|arm| arm.first_error.as_deref());
    out.push_str(&list(errors));
    out
}

/// Where the workers of parallel queries really ran.
fn parallel_workers(details: &Details) -> String {
    let lines = crate::parallel::lines(details);
    let about =
        "<p class=\"faint\">Of all looks that found one at work, the share on each node.</p>";
    let told = list(lines.iter().map(String::as_str));
    if lines.is_empty() { told } else { titled("Parallel workers", &format!("{about}{told}")) }
}

/// What was observed from the side, level by level: the machine's and the nodes' sums; single CPUs and
/// workers are in the store.
fn observed(details: &Details) -> String {
    let is_sum = |of: &str| of.is_empty() || of.starts_with("node");
    let metrics: BTreeSet<(&str, &str)> = details
        .arms
        .iter()
        .flat_map(|arm| &arm.observed)
        .filter(|observation| is_sum(&observation.of))
        .map(|observation| (&*observation.metric, observation.of.as_str()))
        .collect();
    let values = |(metric, of): (&str, &str)| -> Vec<Option<f64>> {
        let is = |o: &&hopcost_core::Observation| o.metric == metric && o.of == of;
        details.arms.iter().map(|arm| Some(arm.observed.iter().find(is)?.value)).collect()
    };
    // What never moved says nothing.
    let moved = |key: &&(&str, &str)| values(**key).iter().flatten().any(|value| *value != 0.0);
    let row = |&(metric, of): &(&str, &str)| {
        let label = if of.is_empty() { metric.to_owned() } else { format!("{metric}, {of}") };
        std::iter::once(label).chain(aligned(&values((metric, of)))).collect()
    };
    let rows: Vec<Vec<String>> = metrics.iter().filter(moved).map(row).collect();
    let names: Vec<String> =
        details.arms.iter().map(|arm| format!("{}, {}", arm.level, arm.streams)).collect();
    let levels = names.iter().map(|name| (name.as_str(), Column::Figures));
    let head: Vec<(&str, Column)> =
        std::iter::once(("mean of a window", Column::Words)).chain(levels).collect();
    titled("Observed from the side", &table(&head, &rows))
}

/// What was claimed, and read back.
fn proof(section: &Section<'_>) -> String {
    let claims = section.result.proof.iter().map(|proved| {
        let holds = if proved.holds() { "✓ holds" } else { "✗ does not hold" };
        let least = format!("{:.0} %", 100.0 * proved.least);
        vec![proved.claim.clone(), share_found(proved.found), least, holds.to_owned()]
    });
    let placed = trust::read_back(section).map(|(claim, [share, least])| {
        let holds = if share >= least { "✓ holds" } else { "✗ does not hold" };
        vec![claim, share_found(share), format!("{:.0} %", 100.0 * least), holds.to_owned()]
    });
    let rows: Vec<Vec<String>> = claims.chain(placed).collect();
    let head = [
        ("claim", Column::Words),
        ("found", Column::Figures),
        ("needed", Column::Figures),
        ("", Column::Words),
    ];
    if rows.is_empty() {
        return "<h3>Proof</h3><p class=\"faint\">Missing, because this experiment claims no \
                placement of its own; each probe reads its pages back.</p>\n"
            .to_owned();
    }
    titled("Proof", &table(&head, &rows))
}

/// How it was done, and what else the reader should know.
fn circumstances(result: &ExperimentResult, details: &Details) -> String {
    let dropped: Vec<String> =
        details.dropped.iter().map(|(cause, n)| format!("{n} dropped: {cause}")).collect();
    let blocks: Vec<String> = details.blocks.iter().map(|(of, n)| format!("{n} {of}")).collect();
    let mut facts = vec![
        ("target", details.identity.clone()),
        (
            "windows",
            format!(
                "four of {} in a block, after {:.0} ms that do not count",
                duration_of_window(details.window_s),
                1e3 * details.guard_s
            ),
        ),
        ("blocks", blocks.into_iter().chain(dropped).collect::<Vec<_>>().join(", ")),
        ("harness", format!("{:.0} ns of a call are hopcost's own", details.harness_ns_per_call)),
        ("took", duration(result.seconds)),
    ];
    let bound = details.bindings.iter().filter(|binding| !binding.is_empty());
    let bound: Vec<&str> = bound.map(String::as_str).collect();
    if !bound.is_empty() {
        facts.insert(1, ("each way in turn", bound.join("; ")));
    }
    facts.extend(words::known_by(details).map(|known_by| ("locality", known_by)));
    facts.extend(details.plans.iter().map(|plan| ("plan", plan.clone())));
    facts.extend(details.left_out.iter().map(|text| ("left out", text.clone())));
    facts.extend(details.notes.iter().map(|note| ("note", note.clone())));
    if let Some(placebo) = &details.placebo {
        facts.push(("baseline against itself", words::cost(placebo)));
    }
    if let Some(planted) = result.planted {
        facts.push(("planted", percent(planted)));
    }
    let fact = |(name, text): &(&str, String)| format!("<dt>{name}</dt><dd>{}</dd>", escape(text));
    let facts: String = facts.iter().map(fact).collect();
    titled("How it was measured", &format!("<dl class=\"facts\">{facts}</dl>\n"))
}

fn duration_of_window(seconds: f64) -> String {
    format!("{seconds:.2} s")
}
