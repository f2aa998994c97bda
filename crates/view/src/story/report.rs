//! The whole report.

use hopcost_core::{ExperimentResult, Known, Machine, Verdict};

use super::block::{Block, Fact, Figure, Item, Picture};
use super::doctor::{doctor, summary};
use super::findings::{Sentences, sentences};
use super::probe::probe;
use super::section::{published, section};
use super::{absence, trust, verdict};
use crate::charts::{Kind, Row, effect};
use crate::page::{Origin, Page, Section};
use crate::svg;
use crate::words::{self, cost_of, duration, moment, percent, plural, spoken, stamped_verdict};

pub struct Story<'a> {
    pub said: Sentences,
    /// Warnings such as emulation.
    pub stamps: Vec<&'static str>,
    pub not_tested: Option<NotTested>,
    pub trust: Vec<Fact>,
    pub parts: Vec<Part<'a>>,
}

/// What could not be tested, and parts of experiments that could not.
pub struct NotTested {
    pub summary: String,
    pub reasons: Vec<Item>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    Experiment,
    Probes,
    Surroundings,
}

pub struct Part<'a> {
    pub of: Of,
    pub place: String,
    pub title: String,
    /// One line that stands for the blocks while they are folded.
    pub summary: String,
    pub blocks: Vec<Block<'a>>,
}

const METHOD: [&str; 6] = [
    "A block is four windows, A B B A or B A A B by the toss of a coin; a drift that is linear over \
     it cancels.",
    "Each node is as often near as far, so what is peculiar to one cancels too.",
    "Before and after each window it is read back where workers, pages and page accesses were; \
     anything that was not where it had to be voids the run.",
    "A block that was disturbed from outside is dropped whole, whatever it shows, and counted.",
    "The intervals hold at all looks together: a run ends when they are narrow enough, never because \
     they have just become significant.",
    "The worst of a sweep is looked for in one set of blocks and measured in another.",
];

pub fn story<'a>(page: &'a Page<'a>) -> Story<'a> {
    let never_verified = page.sections.iter().any(|section| section.never_verified);
    let stamps = [
        (is_emulated(page), "EMULATED"),
        (never_verified, "NEVER VERIFIED"),
        (page.interrupted, "INTERRUPTED"),
    ];
    let mut parts: Vec<Part<'a>> = page
        .sections
        .iter()
        .map(|it| Part {
            of: Of::Experiment,
            place: place(it),
            title: it.title(),
            summary: format!("{}. {}", stamped_verdict(it.result), verdict::found(it)),
            blocks: section(it),
        })
        .collect();
    if !page.probes.is_empty() {
        let told = page.probes.iter().flat_map(|probed| {
            let mut blocks = vec![Block::heading(spoken(&probed.report.probe))];
            blocks.extend(probe(probed.report));
            blocks.extend(published(&probed.published));
            blocks
        });
        let (place, title) = ("probes".to_owned(), "Probes".to_owned());
        let names = page.probes.iter().map(|probed| spoken(&probed.report.probe));
        let summary = names.collect::<Vec<_>>().join(" · ");
        parts.push(Part { of: Of::Probes, place, title, summary, blocks: told.collect() });
    }
    let findings = known(&page.findings, doctor);
    let found = page.findings.get().map_or("Missing.".to_owned(), |it| summary(it));
    let changed = match page.changed.len() {
        0 => "Nothing was changed on this host.".to_owned(),
        n => format!("{} of this host.", plural(n, "setting")),
    };
    let method = "How the figures were measured, and what voids them.".to_owned();
    let rest = [
        ("Doctor", found, findings),
        ("Machine", machine_in_words(page), known(&page.machine, machine_drawn)),
        ("Method", method, vec![Block::list(METHOD.map(ToOwned::to_owned))]),
        ("Changes", changed, changes(&page.changed)),
    ];
    parts.extend(rest.into_iter().map(|(title, summary, blocks)| Part {
        of: Of::Surroundings,
        place: title.to_lowercase(),
        title: title.to_owned(),
        summary,
        blocks,
    }));
    Story {
        said: sentences(page),
        stamps: stamps.into_iter().filter_map(|(is_so, word)| is_so.then_some(word)).collect(),
        not_tested: not_tested(page),
        trust: trust::facts(page),
        parts,
    }
}

fn known<'a, T: ?Sized>(
    known: &Known<&'a T>,
    tell: impl FnOnce(&'a T) -> Vec<Block<'a>>,
) -> Vec<Block<'a>> {
    match known {
        Known::Is(it) => tell(it),
        Known::Missing(reason) => vec![Block::faint(format!("Missing, because {reason}."))],
    }
}

fn machine_drawn(machine: &Machine) -> Vec<Block<'_>> {
    let picture = Picture::Machine(machine);
    vec![Block::Figures(vec![Figure { name: String::new(), about: String::new(), picture }])]
}

fn changes<'a>(changed: &[String]) -> Vec<Block<'a>> {
    let nothing = if changed.is_empty() { " nothing." } else { "" };
    vec![
        Block::sentence(format!("Changed on this host:{nothing}")),
        Block::list(changed.iter().cloned()),
    ]
}

fn place(section: &Section<'_>) -> String {
    format!("run-{}", section.run)
}

pub fn is_emulated(page: &Page<'_>) -> bool {
    page.sections.iter().any(|section| section.result.emulated)
}

pub fn masthead(page: &Page<'_>) -> Vec<String> {
    let host = page.host.get().map_or("unnamed host", String::as_str).to_owned();
    let took = format!("took {}", duration(page.seconds));
    let title = match &page.sections[..] {
        [one] if !matches!(page.origin, Origin::Survey { .. }) => one.title(),
        _ => page.title.clone(),
    };
    vec![title, host, moment(page.begun_unix_s), took]
}

pub fn machine_in_words(page: &Page<'_>) -> String {
    match &page.machine {
        Known::Is(machine) => svg::subtitle(machine),
        Known::Missing(reason) => format!("machine missing, because {reason}"),
    }
}

fn has_cost_that_counts(result: &ExperimentResult) -> bool {
    cost_of(result).is_some() && result.verdict != Verdict::Refused
}

pub fn verdicts<'a>(page: &Page<'_>) -> Option<(Figure<'a>, Known<String>)> {
    let row = |section: &Section<'_>| {
        let result = section.result;
        Some(Row {
            label: format!("{}: {}", section.title(), stamped_verdict(result)),
            role: "",
            link: Some(place(section)),
            cost: *cost_of(result).filter(|_| has_cost_that_counts(result))?,
            kind: if result.emulated { Kind::Emulated } else { Kind::Estimate },
            margin: section.margin,
        })
    };
    let rows: Vec<Row> = page.sections.iter().filter_map(row).collect();
    let margin = rows.iter().filter_map(|row| row.margin).reduce(f64::max);
    let band = margin.map_or(String::new(), |margin| {
        format!("; inside the gray band (±{}) no difference matters", percent(margin))
    });
    let about = format!("change in throughput with its interval{band}");
    let svg = effect("Verdicts", &rows);
    let name = "Verdicts".to_owned();
    (!rows.is_empty()).then(|| (Figure { name, about, picture: Picture::Costs(rows) }, svg))
}

pub fn others(page: &Page<'_>) -> Vec<(Item, String)> {
    let is_other = |it: &&Section<'_>| {
        !has_cost_that_counts(it.result) && it.result.verdict != Verdict::NotApplicable
    };
    let others = page.sections.iter().filter(is_other);
    let item = |section: &Section<'_>| {
        let result = section.result;
        let text = match &result.estimate {
            _ if result.verdict == Verdict::Refused => result.reason.to_string(),
            Known::Is(figure) => format!("{} ({})", section.headline(figure), words::of(figure)),
            Known::Missing(reason) => reason.to_string(),
        };
        let item = Item { name: section.title(), text, place: Some(place(section)) };
        (item, stamped_verdict(result))
    };
    others.map(item).collect()
}

/// Grouped by reason, the most frequent first.
fn not_tested(page: &Page<'_>) -> Option<NotTested> {
    let absent = |section: &&Section<'_>| section.result.verdict == Verdict::NotApplicable;
    let of_sections = page.sections.iter().filter(absent);
    let of_sections = of_sections.map(|it| (it.title(), it.result.reason.as_str(), None));
    let of_survey =
        page.not_tested.iter().map(|left| (spoken(&left.what), left.why.as_str(), left.takes_s));
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (what, why, takes_s) in of_survey.chain(of_sections) {
        let why = words::sentence(absence::shortened(why));
        let takes = takes_s.map(|s| format!(" (takes {})", duration(s))).unwrap_or_default();
        let what = format!("{what}{takes}");
        match groups.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, all)) => all.push(what),
            None => groups.push((why, vec![what])),
        }
    }
    groups.sort_by_key(|(_, all)| std::cmp::Reverse(all.len()));
    let questions: usize = groups.iter().map(|(_, all)| all.len()).sum();
    let mut reasons: Vec<Item> = groups
        .into_iter()
        .map(|(name, all)| Item { name, text: all.join(" · "), place: None })
        .collect();
    let in_part = page.sections.iter().filter_map(|section| {
        let details = section.result.details.as_ref().filter(|it| !it.left_out.is_empty())?;
        let name =
            |text: &String| section.label(text.split(": ").next().unwrap_or_default()).to_owned();
        let text = details.left_out.iter().map(name).collect::<Vec<_>>().join(" · ");
        let name = format!("{}, in part:", section.title());
        Some(Item { name, text, place: Some(place(section)) })
    });
    let whole = reasons.len();
    reasons.extend(in_part);
    let parts = reasons.len() - whole;
    let summary = match (questions, parts) {
        (0, 0) => return None,
        (0, parts) => format!("Parts of {} could not be tested", plural(parts, "question")),
        (n, 0) => format!("{} not tested", plural(n, "question")),
        (n, parts) => format!("{} not tested, and parts of {parts} more", plural(n, "question")),
    };
    Some(NotTested { summary, reasons })
}
