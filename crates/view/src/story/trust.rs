//! How far to trust a page's figures.

use std::collections::BTreeSet;

use hopcost_core::{BlockRecord, Locality};

use super::block::Fact;
use crate::page::{Page, Section};
use crate::words::{self, change, plural, share_found};

pub fn facts(page: &Page<'_>) -> Vec<Fact> {
    let facts = [
        ("locality", tier(page)),
        ("placement", placement(page)),
        ("evidence", evidence(page)),
        ("baseline against itself", placebo(page)),
        ("starts", starts(page)),
        ("measured on", targets(page)),
    ];
    let is_comparison = |section: &Section<'_>| section.result.details.is_some();
    let words = page.sections.iter().any(is_comparison).then(|| ("words", WORDS.to_owned()));
    facts.into_iter().chain(words).map(|(name, text)| (name.to_owned(), text)).collect()
}

const WORDS: &str = "a block is four windows of measuring, A B B A or B A A B of two variants; a block set \
    is one block for each way to use the nodes; an A/A check measures the baseline against itself, so \
    that whatever it finds is false";

pub fn localities(blocks: &[BlockRecord]) -> impl Iterator<Item = &Locality> {
    blocks.iter().filter_map(|block| block.placement.get()).flatten()
}

/// Evidence for near and far: the weakest of all comparisons.
fn tier(page: &Page<'_>) -> String {
    let details = page.sections.iter().filter_map(|section| section.result.details.as_ref());
    match details.filter_map(|details| details.tier).max() {
        Some(tier) => words::tier(tier).to_owned(),
        None => "missing, because nothing was compared".to_owned(),
    }
}

/// The strongest evidence for data placement that all comparisons have.
fn placement(page: &Page<'_>) -> String {
    let of_blocks = page.sections.iter().flat_map(|section| localities(section.blocks));
    let of_probes = page.probes.iter().flat_map(|probed| &probed.report.cells).flat_map(|cell| {
        let proofs = cell.proof.get().map_or(&[][..], |proofs| &proofs[..]);
        proofs.iter().filter_map(|proof| proof.memory.get()).flatten()
    });
    let all: Vec<&Locality> = of_blocks.chain(of_probes).collect();
    let Some(worst) = all.iter().map(|locality| locality.share_in_place()).min_by(f64::total_cmp)
    else {
        let claims = page.sections.iter().map(|section| section.result.proof.len()).sum::<usize>();
        return match claims {
            0 => "missing, because nothing was placed".to_owned(),
            _ => "by page accesses alone".to_owned(),
        };
    };
    let methods: BTreeSet<String> = all.iter().map(|l| l.method.to_string()).collect();
    let methods = methods.into_iter().collect::<Vec<_>>().join(" and ");
    let read_back = format!("pages read back by {methods}: {} in place", share_found(worst));
    let compared: Vec<&Section<'_>> =
        page.sections.iter().filter(|section| !section.blocks.is_empty()).collect();
    let counted = |section: &&Section<'_>| {
        section.blocks.iter().flat_map(|block| &block.windows).all(|w| w.lookups.is_some())
    };
    if !compared.is_empty() && compared.iter().all(counted) {
        return format!("every page access counted by its page's node; {read_back}");
    }
    read_back
}

fn evidence(page: &Page<'_>) -> String {
    let blocks: usize = page.sections.iter().map(|section| section.blocks.len()).sum();
    let all = page.sections.iter().flat_map(|section| section.blocks);
    let dropped = all.filter(|block| block.disturbed().is_some()).count();
    let rounds: u64 = page.probes.iter().map(|probed| probed.report.rounds).sum();
    let mut words = Vec::new();
    if blocks > 0 {
        words.push(format!("{}, {dropped} of them dropped", plural(blocks, "block")));
    }
    if rounds > 0 {
        words.push(format!("{} of probes", plural(rounds as usize, "round")));
    }
    if words.is_empty() { "missing, because nothing was measured".into() } else { words.join("; ") }
}

fn targets(page: &Page<'_>) -> String {
    let details = page.sections.iter().filter_map(|section| section.result.details.as_ref());
    let all: BTreeSet<&str> = details.map(|details| details.identity.as_str()).collect();
    match all.len() {
        0 => "missing, because no database was measured".to_owned(),
        _ => all.into_iter().collect::<Vec<_>>().join("; "),
    }
}

/// The A/A check: the widest result.
fn placebo(page: &Page<'_>) -> String {
    let found = page
        .sections
        .iter()
        .filter_map(|section| Some((section, section.result.details.as_ref()?.placebo.as_ref()?)));
    let widest = found.max_by(|(_, a), (_, b)| (a.high - a.low).total_cmp(&(b.high - b.low)));
    match widest {
        Some((section, placebo)) if page.sections.len() > 1 => {
            format!("{}, the widest of all: {}", section.title(), change(placebo))
        }
        Some((_, placebo)) => change(placebo),
        None if page.sections.iter().any(|section| !section.blocks.is_empty()) => {
            "missing, because there were fewer than four such blocks".to_owned()
        }
        None => "missing, because nothing was compared".to_owned(),
    }
}

fn starts(page: &Page<'_>) -> String {
    let is_started =
        |section: &&Section<'_>| section.result.details.is_some() || !section.blocks.is_empty();
    let started: Vec<&Section<'_>> = page.sections.iter().filter(is_started).collect();
    match started.iter().map(|section| section.number_of_starts()).min() {
        None => "missing, because no database was started".to_owned(),
        Some(1) => "one; another start may place memory elsewhere".to_owned(),
        Some(least) => format!("{least} or more"),
    }
}

/// The worst read-back: its claim, and the found and required share.
pub fn read_back(section: &Section<'_>) -> Option<(String, [f64; 2])> {
    // Spread data need not be exactly even.
    let ahead = |locality: &Locality| locality.share_in_place() - locality.required();
    let worst = localities(section.blocks).min_by(|a, b| ahead(a).total_cmp(&ahead(b)))?;
    let claim = format!("pages on their node, read back by {}", worst.method);
    Some((claim, [worst.share_in_place(), worst.required()]))
}
