//! Two machines side by side: one sentence first, then what explains it, then figure by figure.

use std::fmt::Write as _;

use hopcost_core::{
    Between, CellPair, EffectPair, Estimate, Lacking, Likeness, ScorePair, Side, SideRun, Trait,
    Unit,
};

use super::ink::Ink;
use super::wrap::{LEAST_WIDTH, labelled, pad, prose, width};
use crate::words::{cost, figure, margin, moment, plural};

const INDENT: usize = 11;
/// Of a probe with more figures than this only those are shown that differ.
const MOST_CELLS: usize = 24;
/// So many of what is missing for one reason are named.
const MOST_NAMES: usize = 3;

/// All of it, `columns` wide.
pub fn between(between: &Between, columns: usize) -> String {
    let columns = columns.clamp(LEAST_WIDTH, 120);
    let mut out = side("A", &between.a, columns);
    out.push_str(&side("B", &between.b, columns));
    out.push('\n');
    for line in prose(&Ink::Strong.on(&between.found), columns) {
        let _ = writeln!(out, "{line}");
    }
    for (n, reason) in between.explained_by.iter().enumerate() {
        let label = if n == 0 { fact("because") } else { String::new() };
        out.push_str(&labelled(&label, INDENT, reason, columns));
    }
    out.push_str(&traits(&between.traits, columns));
    for cells in between.cells.chunk_by(|a, b| a.probe == b.probe) {
        out.push_str(&of_probe(cells, columns));
    }
    if !between.scores.is_empty() || !between.effects.is_empty() {
        let _ = writeln!(out, "\n{}", Ink::Strong.on("experiments"));
        let scores = between.scores.iter().map(|pair| score(pair, columns));
        out.extend(scores.chain(between.effects.iter().map(|pair| effect(pair, columns))));
    }
    out.push('\n');
    out.push_str(&missing(&between.missing, columns));
    for note in &between.notes {
        out.push_str(&labelled(&fact("note"), INDENT, note, columns));
    }
    out
}

fn fact(label: &str) -> String {
    format!("  {}", Ink::Faint.on(label))
}

fn side(letter: &str, side: &Side, columns: usize) -> String {
    let run =
        |run: &SideRun| format!("{} (run {}, {})", run.experiment, run.run, moment(run.begun_s));
    let runs: Vec<String> = side.runs.iter().map(run).collect();
    let host = side.host.get().map_or("a host without a name", String::as_str);
    let text = format!("{}, {host}: {}", side.name, runs.join(", "));
    labelled(&Ink::Strong.on(letter), 3, &text, columns)
}

/// What differs in words of its own, and what does not in one line.
fn traits(traits: &[Trait], columns: usize) -> String {
    let mut out = format!("\n{}\n", Ink::Strong.on("machines"));
    for it in traits.iter().filter(|it| !it.same) {
        // Of what neither tells there is nothing to hold against anything.
        let text = match (it.a.get(), it.b.get()) {
            (None, None) => continue,
            _ => format!("A {}, B {}", it.a, it.b),
        };
        out.push_str(&labelled(&format!("  {}", it.what), 21, &text, columns));
    }
    let same: Vec<String> =
        traits.iter().filter(|it| it.same).map(|it| format!("{} {}", it.what, it.a)).collect();
    if !same.is_empty() {
        out.push_str(&labelled("  on both", 21, &same.join(", "), columns));
    }
    out
}

fn of_probe(cells: &[CellPair], columns: usize) -> String {
    let of = |likeness| cells.iter().filter(|pair| pair.likeness == likeness).count();
    let counts = [(Likeness::Different, "different"), (Likeness::Equivalent, "equivalent")]
        .map(|(likeness, word)| format!("{} {word}", of(likeness)));
    let mut out = format!(
        "\n{}  {}: {}, {} undecided\n",
        Ink::Strong.on(&cells[0].probe),
        plural(cells.len(), "figure"),
        counts.join(", "),
        of(Likeness::Inconclusive)
    );
    let shown =
        |pair: &&CellPair| cells.len() <= MOST_CELLS || pair.likeness == Likeness::Different;
    for pair in cells.iter().filter(shown) {
        let name = format!("{}, {} → {}", pair.series, pair.row, pair.column);
        out.push_str(&line(
            &name,
            &figures([&pair.a, &pair.b], pair.unit),
            (&change(&pair.ratio), pair.likeness),
            columns,
        ));
    }
    if cells.len() > MOST_CELLS {
        let _ =
            writeln!(out, "  {}", Ink::Faint.on("only what differs is shown; --json has them all"));
    }
    out
}

fn figures([a, b]: [&Estimate; 2], unit: Unit) -> String {
    let of = |estimate: &Estimate| format!("{} {}", figure(estimate.point), margin(estimate));
    pad(&format!("{} | {} {unit}", of(a), of(b)), 28)
}

/// How much more or less B has of it: `−38.0 % (−41.0 … −35.0 %)`.
fn change(ratio: &Estimate) -> String {
    let [point, low, high] = [ratio.point, ratio.low, ratio.high].map(|of| of - 1.0);
    cost(&Estimate { point, low, high, ..*ratio })
}

/// A name, both figures, the difference, the verdict: in one line where there is room.
fn line(name: &str, figures: &str, (apart, likeness): (&str, Likeness), columns: usize) -> String {
    let ink = match likeness {
        Likeness::Different => Ink::Bad,
        Likeness::Equivalent => Ink::Good,
        Likeness::Inconclusive => Ink::Faint,
    };
    let said = format!("{figures}  {}  {}", pad(apart, 26), ink.on(&likeness.to_string()));
    let name = format!("  {}", pad(name, 36));
    if width(&name) + width(&said) <= columns {
        return format!("{name}{said}\n");
    }
    format!("{}\n    {said}\n", name.trim_end())
}

fn score(pair: &ScorePair, columns: usize) -> String {
    let name = format!("{} ({})", pair.experiment, pair.of);
    let figures = figures([&pair.a, &pair.b], pair.unit);
    let mut out = line(&name, &figures, (&change(&pair.ratio), pair.likeness), columns);
    out.push_str(&differ_in(&pair.differ_in, columns));
    out
}

fn effect(pair: &EffectPair, columns: usize) -> String {
    let name = format!("{}, {} at {}", pair.experiment, pair.level, pair.streams);
    let costs = format!("{} | {}", cost(&pair.a), cost(&pair.b));
    let mut out = line(&name, &costs, (&cost(&pair.dearer), pair.likeness), columns);
    out.push_str(&differ_in(&pair.differ_in, columns));
    out
}

fn differ_in(differ_in: &[String], columns: usize) -> String {
    if differ_in.is_empty() {
        return String::new();
    }
    labelled("", 4, &format!("the runs also differ in {}", differ_in.join(", ")), columns)
}

/// What is missing, by the reason.
fn missing(missing: &[Lacking], columns: usize) -> String {
    let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
    for lacking in missing {
        let reason = lacking.missing.as_str();
        match by_reason.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(&lacking.what),
            None => by_reason.push((reason, vec![&lacking.what])),
        }
    }
    let mut out = String::new();
    for (reason, names) in by_reason {
        let more = names.len().saturating_sub(MOST_NAMES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let named = names.into_iter().take(MOST_NAMES).collect::<Vec<_>>().join("; ");
        let text = format!("{named}{more}: missing, because {reason}");
        out.push_str(&labelled(&fact("missing"), INDENT, &text, columns));
    }
    out
}

#[cfg(test)]
mod tests {
    use hopcost_core::{CpuId, Known, Place};

    use super::*;
    use hopcost_core::Code;

    fn pair(cpu: u32, likeness: Likeness) -> CellPair {
        let a =
            Estimate { point: 70.0, low: 69.0, high: 71.0, level: 0.95, n: 9, n_effective: 9.0 };
        let ratio = Estimate { point: 0.62, low: 0.59, high: 0.65, ..a };
        CellPair {
            probe: "cores".into(),
            series: "compare-and-swap".into(),
            row: Place::Cpu(CpuId(0)),
            column: Place::Cpu(CpuId(cpu)),
            class: Known::missing(Code::NotMeasured, "a test"),
            unit: Unit::Nanoseconds,
            a,
            b: a,
            ratio,
            likeness,
        }
    }

    #[test]
    fn a_figure_stands_in_one_line_where_there_is_room() {
        let cells = [pair(1, Likeness::Different)];
        let wide = of_probe(&cells, 120);
        assert!(wide.contains("cpu 0 → cpu 1   ") && wide.contains("−38.0 % (−41.0 … −35.0 %)"));
        assert_eq!((wide.lines().count(), of_probe(&cells, 80).lines().count()), (3, 4));
    }

    #[test]
    fn of_many_figures_those_are_shown_that_differ() {
        let likeness = |cpu| if cpu == 7 { Likeness::Different } else { Likeness::Inconclusive };
        let many: Vec<CellPair> = (1..40).map(|cpu| pair(cpu, likeness(cpu))).collect();
        let text = of_probe(&many, 100);
        assert!(text.contains("39 figures: 1 different, 0 equivalent, 38 undecided"), "{text}");
        assert!(
            text.contains("cpu 7") && !text.contains("cpu 8") && text.contains("--json"),
            "{text}"
        );
    }

    #[test]
    fn what_is_missing_for_one_reason_is_said_once() {
        let of = |what: String, reason: &'static str| Lacking {
            what,
            missing: Code::NotMeasured.because(reason),
        };
        let mut all: Vec<Lacking> = (1..6).map(|n| of(format!("cell {n}"), "no memory")).collect();
        all.push(of("server-score".into(), "B has no run of it"));
        let text = missing(&all, 100);
        assert!(
            text.contains("cell 1; cell 2; cell 3 and 2 more: missing, because no memory"),
            "{text}"
        );
        assert_eq!(text.lines().count(), 2);
    }
}
