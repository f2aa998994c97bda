//! The whole report.

use hopcost_core::{ExperimentResult, Known, Machine, Verdict};

use super::block::{Block, Fact, Figure, Item, Picture};
use super::doctor::doctor;
use super::findings::{Sentences, sentences};
use super::probe::probe;
use super::section::{published, section};
use super::trust;
use crate::charts::{Kind, Row, effect};
use crate::page::{Page, Section};
use crate::svg;
use crate::words::{self, cost_of, duration, headline, moment, spoken, stamped_verdict};

pub struct Story<'a> {
    pub said: Sentences,
    /// Warnings such as emulation.
    pub stamps: Vec<&'static str>,
    /// Results without a cost: figures, refusals, experiments that do not apply.
    pub not_tested: Vec<Item>,
    pub trust: Vec<Fact>,
    pub parts: Vec<Part<'a>>,
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
    pub blocks: Vec<Block<'a>>,
}

const METHOD: [&str; 6] = [
    "A block is four windows, A B B A or B A A B by the toss of a coin; a drift that is linear over \
     it cancels.",
    "Each node is as often near as far, so what is peculiar to one cancels too.",
    "Before and after each window it is read back where workers, pages and look-ups were; what was \
     not where it had to be voids the run.",
    "A block that was disturbed from outside is dropped whole, whatever it shows, and counted.",
    "The intervals hold at all looks together: a run ends when they are narrow enough, never because \
     they have just become significant.",
    "The worst of a sweep is looked for in one set of blocks and measured in another.",
];

pub fn story<'a>(page: &'a Page<'a>) -> Story<'a> {
    let stamps = [(is_emulated(page), "EMULATED"), (page.interrupted, "INTERRUPTED")];
    let mut parts: Vec<Part<'a>> = page
        .sections
        .iter()
        .map(|it| Part {
            of: Of::Experiment,
            place: place(it),
            title: it.title(),
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
        parts.push(Part { of: Of::Probes, place, title, blocks: told.collect() });
    }
    let findings = known(&page.findings, doctor);
    let rest = [
        ("Doctor", findings),
        ("Machine", known(&page.machine, machine_drawn)),
        ("Method", vec![Block::list(METHOD.map(ToOwned::to_owned))]),
        ("Changes", changes(&page.changed)),
    ];
    parts.extend(rest.into_iter().map(|(title, blocks)| Part {
        of: Of::Surroundings,
        place: title.to_lowercase(),
        title: title.to_owned(),
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
    vec![page.title.clone(), host, moment(page.begun_unix_s), took]
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
    let about = if rows.iter().any(|row| row.margin.is_some()) {
        "change in throughput with its interval; inside the gray band no difference matters"
    } else {
        "change in throughput with its interval"
    };
    let svg = effect("Verdicts", &rows);
    let (name, about) = ("Verdicts".to_owned(), about.to_owned());
    (!rows.is_empty()).then(|| (Figure { name, about, picture: Picture::Costs(rows) }, svg))
}

pub fn others(page: &Page<'_>) -> Vec<(Item, String)> {
    let others = page.sections.iter().filter(|section| !has_cost_that_counts(section.result));
    let item = |section: &Section<'_>| {
        let result = section.result;
        let text = match &result.estimate {
            _ if result.verdict == Verdict::Refused => result.reason.to_string(),
            Known::Is(figure) => format!("{} ({})", headline(figure), words::of(figure)),
            Known::Missing(reason) => reason.to_string(),
        };
        let item = Item { name: section.title(), text, place: Some(place(section)) };
        (item, stamped_verdict(result))
    };
    others.map(item).collect()
}

fn not_tested(page: &Page<'_>) -> Vec<Item> {
    let left = page.not_tested.iter().map(|left| {
        let takes = left.takes_s.map(|s| format!(" It would take {}.", duration(s)));
        let text = format!("{}.{}", words::end_less(&left.why), takes.unwrap_or_default());
        Item { name: left.what.clone(), text, place: None }
    });
    let of_itself = page.sections.iter().filter_map(|section| {
        let details = section.result.details.as_ref().filter(|it| !it.left_out.is_empty())?;
        let name = |text: &String| text.split(": ").next().unwrap_or_default().to_owned();
        let text = details.left_out.iter().map(name).collect::<Vec<_>>().join(", ");
        Some(Item { name: section.result.experiment.clone(), text, place: Some(place(section)) })
    });
    left.chain(of_itself).collect()
}
