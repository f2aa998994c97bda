//! Which machine is faster and by how much, in one sentence.

use hopcost_core::{Between, CellPair, EffectPair, Estimate, Likeness, ScorePair, Unit};

use super::likeness::MARGIN;

pub fn found(between: &Between) -> String {
    let stamp = if between.emulated { "EMULATED: " } else { "" };
    let said = by_scores(between)
        .or_else(|| by_cells(between))
        .or_else(|| by_effects(between))
        .unwrap_or_else(|| undecided(between));
    format!("{stamp}{said}")
}

/// Database results take precedence over hardware figures.
fn by_scores(between: &Between) -> Option<String> {
    let different = between.scores.iter().filter(|pair| pair.likeness == Likeness::Different);
    let clearest = different.max_by(|a, b| clarity(&a.ratio).total_cmp(&clarity(&b.ratio)))?;
    let ScorePair { experiment, of, unit, ratio, .. } = clearest;
    Some(format!(
        "B is {}: {experiment} is {} there ({of}).",
        if is_faster(ratio, *unit) { "faster" } else { "slower" },
        change(ratio)
    ))
}

fn by_cells(between: &Between) -> Option<String> {
    let different: Vec<&CellPair> =
        between.cells.iter().filter(|pair| pair.likeness == Likeness::Different).collect();
    let best_known = best_known(different.iter().copied())?;
    let faster = different.iter().filter(|pair| is_faster(&pair.ratio, pair.unit)).count();
    let slower = different.len() - faster;
    let of = format!("{} figures of the hardware", between.cells.len());
    let verdict = match (faster, slower) {
        (0, slower) => format!("B is slower in {slower} of {of}"),
        (faster, 0) => format!("B is faster in {faster} of {of}"),
        (faster, slower) => format!("B is faster in {faster} and slower in {slower} of {of}"),
    };
    Some(format!("{verdict}; best known is {}, {}.", named(best_known), change(&best_known.ratio)))
}

fn by_effects(between: &Between) -> Option<String> {
    let different = between.effects.iter().filter(|pair| pair.likeness == Likeness::Different);
    let farthest = |pair: &EffectPair| pair.dearer.low.max(-pair.dearer.high);
    let clearest = different.max_by(|a, b| farthest(a).total_cmp(&farthest(b)))?;
    let [point, low, high] = [clearest.dearer.point, clearest.dearer.low, clearest.dearer.high]
        .map(|share| 100.0 * share);
    Some(format!(
        "No figure says which is faster; “{}” of {} costs {point:+.1}% ({low:+.1} … {high:+.1}) of throughput more on B.",
        clearest.level, clearest.experiment
    ))
}

fn undecided(between: &Between) -> String {
    let (mut all, mut equivalent) = (0, 0);
    for likeness in between.likenesses() {
        all += 1;
        equivalent += usize::from(likeness == Likeness::Equivalent);
    }
    match (all, equivalent) {
        (0, _) => "Nothing could be compared.".to_owned(),
        (all, equivalent) if all == equivalent => {
            let margin = 100.0 * MARGIN;
            format!("The two are equivalent: each of {all} figures within {margin:.0}%.")
        }
        (all, equivalent) => format!(
            "No difference could be told: of {all} figures {equivalent} are equivalent, and {} undecided.",
            all - equivalent
        ),
    }
}

pub fn named(pair: &CellPair) -> String {
    format!("{} ({}, {} → {})", pair.probe, pair.series, pair.row, pair.column)
}

/// The narrowest interval. The largest difference of many would be biased.
pub fn best_known<'a>(pairs: impl Iterator<Item = &'a CellPair>) -> Option<&'a CellPair> {
    let width = |pair: &CellPair| (pair.ratio.high / pair.ratio.low).ln();
    pairs.min_by(|a, b| width(a).total_cmp(&width(b)))
}

fn clarity(ratio: &Estimate) -> f64 {
    ratio.low.ln().max(-ratio.high.ln())
}

pub fn is_faster(ratio: &Estimate, unit: Unit) -> bool {
    unit.more_is_better() == (ratio.point > 1.0)
}

/// `38% (35 … 41) lower`.
pub fn change(ratio: &Estimate) -> String {
    let share = |of: f64| 100.0 * (of - 1.0);
    let [point, low, high] = [ratio.point, ratio.low, ratio.high].map(share);
    if point < 0.0 {
        format!("{:.0}% ({:.0} … {:.0}) lower", -point, -high, -low)
    } else {
        format!("{point:.0}% ({low:.0} … {high:.0}) higher")
    }
}
