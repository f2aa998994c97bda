//! Compares two machines: one sentence, then explanations, then the figures.

use hopcost_core::{
    Between, CellPair, EffectPair, Estimate, Lacking, Likeness, ScorePair, Side, SideRun, Trait,
    Unit,
};

use super::block::{Block, Column, Fact, Sentence, Table, Tone};
use crate::words::{cost, figure, margin, moment, plural};

/// A probe with more figures only shows those that differ.
const MOST_CELLS: usize = 24;
const MOST_NAMES: usize = 3;

pub fn between(between: &Between) -> Vec<Block<'_>> {
    let found = Sentence { verdict: None, text: between.found.clone(), tone: Tone::Strong };
    let because = between.explained_by.iter().enumerate().map(|(n, reason)| {
        let name = if n == 0 { "because" } else { "" };
        (name.to_owned(), reason.clone())
    });
    let mut blocks = vec![
        Block::Facts(vec![side("A", &between.a), side("B", &between.b)]),
        Block::Sentence(found),
        Block::Facts(because.collect()),
        Block::heading("machines"),
        Block::Facts(traits(&between.traits)),
    ];
    for cells in between.cells.chunk_by(|a, b| a.probe == b.probe) {
        blocks.extend(of_probe(cells));
    }
    let experiments = between.scores.iter().map(score).chain(between.effects.iter().map(effect));
    blocks.extend(pairs(experiments.collect()).under(Block::heading("experiments")));
    blocks.push(Block::heading(""));
    let differ = between.scores.iter().map(|it| (&it.experiment, &it.differ_in));
    let differ = differ.chain(between.effects.iter().map(|it| (&it.experiment, &it.differ_in)));
    let differ = differ.filter(|(_, keys)| !keys.is_empty()).map(|(experiment, keys)| {
        ("note".to_owned(), format!("{experiment}: the runs also differ in {}", keys.join(", ")))
    });
    let notes = between.notes.iter().map(|note| ("note".to_owned(), note.clone()));
    blocks.push(Block::Facts(missing(&between.missing).chain(differ).chain(notes).collect()));
    blocks.retain(|block| !block.is_empty());
    blocks
}

fn side(letter: &str, side: &Side) -> Fact {
    let run =
        |run: &SideRun| format!("{} (run {}, {})", run.experiment, run.run, moment(run.begun_s));
    let runs: Vec<String> = side.runs.iter().map(run).collect();
    let host = side.host.get().map_or("an unnamed host", String::as_str);
    (letter.to_owned(), format!("{}, {host}: {}", side.name, runs.join(", ")))
}

/// Differing traits in detail, equal ones in one line.
fn traits(traits: &[Trait]) -> Vec<Fact> {
    // Skip traits unknown on both machines.
    let is_told = |it: &&Trait| it.a.get().is_some() || it.b.get().is_some();
    let differing = traits.iter().filter(|it| !it.same).filter(is_told);
    let mut facts: Vec<Fact> =
        differing.map(|it| (it.what.to_owned(), format!("A {}, B {}", it.a, it.b))).collect();
    let same = traits.iter().filter(|it| it.same).map(|it| format!("{} {}", it.what, it.a));
    let same: Vec<String> = same.collect();
    if !same.is_empty() {
        facts.push(("on both".to_owned(), same.join(", ")));
    }
    facts
}

fn of_probe<'a>(cells: &[CellPair]) -> Vec<Block<'a>> {
    let of = |likeness| cells.iter().filter(|pair| pair.likeness == likeness).count();
    let heading = format!(
        "{}  {}: {} different, {} equivalent, {} undecided",
        cells[0].probe,
        plural(cells.len(), "figure"),
        of(Likeness::Different),
        of(Likeness::Equivalent),
        of(Likeness::Inconclusive)
    );
    let is_shown =
        |pair: &&CellPair| cells.len() <= MOST_CELLS || pair.likeness == Likeness::Different;
    let row = |pair: &CellPair| {
        let name = format!("{}, {} → {}", pair.series, pair.row, pair.column);
        row(name, [&pair.a, &pair.b], pair.unit, &pair.ratio, pair.likeness)
    };
    let mut blocks =
        vec![Block::heading(heading), pairs(cells.iter().filter(is_shown).map(row).collect())];
    if cells.len() > MOST_CELLS {
        blocks.push(Block::faint("Only differences are shown. --json has all figures."));
    }
    blocks
}

fn pairs<'a>(rows: Vec<Vec<String>>) -> Block<'a> {
    let head = vec![
        Column::words(""),
        Column::figures("A"),
        Column::figures("B"),
        Column::words("unit"),
        Column::figures("B vs. A"),
        Column::words(""),
    ];
    Block::Table(Table { head, rows })
}

/// Both figures, B's difference (`−38.0% (−41.0 … −35.0%)`) and the verdict.
fn row(
    name: String,
    [a, b]: [&Estimate; 2],
    unit: Unit,
    ratio: &Estimate,
    likeness: Likeness,
) -> Vec<String> {
    let of = |estimate: &Estimate| format!("{} {}", figure(estimate.point), margin(estimate));
    let [point, low, high] = [ratio.point, ratio.low, ratio.high].map(|of| of - 1.0);
    let change = cost(&Estimate { point, low, high, ..*ratio });
    vec![name, of(a), of(b), unit.to_string(), change, likeness.to_string()]
}

fn score(pair: &ScorePair) -> Vec<String> {
    let name = format!("{} ({})", pair.experiment, pair.of);
    row(name, [&pair.a, &pair.b], pair.unit, &pair.ratio, pair.likeness)
}

fn effect(pair: &EffectPair) -> Vec<String> {
    let name = format!("{}, {} at {}", pair.experiment, pair.level, pair.streams);
    let [a, b, dearer] = [&pair.a, &pair.b, &pair.dearer].map(cost);
    vec![name, a, b, String::new(), dearer, pair.likeness.to_string()]
}

fn missing(missing: &[Lacking]) -> impl Iterator<Item = Fact> {
    let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
    for lacking in missing {
        let reason = lacking.missing.as_str();
        match by_reason.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(&lacking.what),
            None => by_reason.push((reason, vec![&lacking.what])),
        }
    }
    by_reason.into_iter().map(|(reason, names)| {
        let more = names.len().saturating_sub(MOST_NAMES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let named = names.into_iter().take(MOST_NAMES).collect::<Vec<_>>().join("; ");
        ("missing".to_owned(), format!("{named}{more}: missing, because {reason}"))
    })
}
