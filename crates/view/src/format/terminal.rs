//! Terminal output: blocks as lines that fit, pictures as characters.

use std::fmt::Write as _;

use hopcost_core::{Finding, ProbeReport, Published, Verdict};

use super::output::{Canvas, Format, Shown};
use crate::page::Section;
use crate::story::between::between;
use crate::story::block::{Block, Fact, Heading, Item, Picture, Sentence, Tone, brief};
use crate::story::report::{Of, story};
use crate::story::verdict::found;
use crate::story::{doctor as findings, probe, section};
use crate::text::cells;
use crate::text::costs::costs;
use crate::text::ink::Ink;
use crate::text::table::table;
use crate::text::times::times;
use crate::text::wrap::{LEAST_WIDTH, flow, labelled, pad, prose, width};
use crate::words::verdict_in_words;

pub const FORMAT: Format = Format {
    name: "terminal",
    about: "text for a terminal: the verdict first, then what it rests on",
    media: "text/plain",
    of: terminal,
};

const INDENT: usize = 11;
/// Longer lines of prose are hard to read.
const MOST_COLUMNS: usize = 100;

fn terminal(shown: &Shown<'_>, canvas: Canvas) -> String {
    let page = match shown {
        Shown::Between(found) => return told(&between(found), canvas.columns),
        Shown::Report(page) => page,
    };
    let story = story(page);
    let parts = story.parts.iter().filter(|part| part.of != Of::Surroundings);
    parts.map(|part| told(&part.blocks, canvas.columns) + "\n").collect()
}

pub fn doctor(all: &[Finding], columns: usize) -> String {
    told(&findings::doctor(all), columns)
}

pub fn probe_report(report: &ProbeReport, columns: usize) -> String {
    let mut blocks = vec![Block::heading(report.probe.to_string())];
    blocks.extend(probe::probe(report));
    told(&blocks, columns)
}

pub fn published(results: &[&Published], columns: usize) -> String {
    let blocks = section::published(results);
    if blocks.is_empty() { String::new() } else { format!("\n{}", told(&blocks, columns)) }
}

/// One line: title, verdict, and the finding or why there is none.
pub fn outcome(section: &Section<'_>, columns: usize) -> String {
    let result = section.result;
    let verdict = verdict(result.verdict, result.emulated);
    let label = format!("{}{verdict}", pad(&format!("  {}", result.experiment), 24));
    labelled(&label, 38, &found(section), columns.clamp(LEAST_WIDTH, MOST_COLUMNS))
}

/// Two columns in, wrapped.
pub fn indented(text: &str, columns: usize) -> String {
    labelled("", 2, text, columns.clamp(LEAST_WIDTH, MOST_COLUMNS))
}

pub fn survey(lines: &[(&str, &str)], columns: usize) -> String {
    let columns = columns.clamp(LEAST_WIDTH, MOST_COLUMNS);
    let line = |(label, text): &(&str, &str)| labelled(&Ink::Strong.on(label), 12, text, columns);
    lines.iter().map(line).collect()
}

fn told(blocks: &[Block<'_>], columns: usize) -> String {
    let columns = columns.max(LEAST_WIDTH);
    let most = columns.min(MOST_COLUMNS);
    let mut out = String::new();
    for block in brief(blocks) {
        match block {
            Block::Heading(Heading { text, .. }) => {
                if !out.is_empty() && !out.ends_with("\n\n") {
                    out.push('\n');
                }
                if !text.is_empty() {
                    let _ = writeln!(out, "{}", Ink::Strong.on(text));
                }
            }
            Block::Sentence(sentence) if sentence.tone == Tone::Strong => {
                let gap = if out.is_empty() { "" } else { "\n" };
                let _ = writeln!(out, "{gap}{}", said(sentence, most));
            }
            Block::Sentence(sentence) => out.push_str(&said(sentence, most)),
            Block::Aside(pieces) => {
                for line in flow(pieces, " · ", most) {
                    let _ = writeln!(out, "{}", Ink::Faint.on(&line));
                }
            }
            Block::Facts(all) => out.push_str(&facts(all, most)),
            Block::Table(all) => out.push_str(&table(all, columns)),
            Block::List(items) => out.extend(items.iter().map(|it| item(it, most))),
            Block::Figures(figures) => {
                out.extend(figures.iter().map(|it| drawn(&it.picture, columns)));
            }
            Block::Command(command) => {
                out.extend(command.lines().map(|line| format!("  {line}\n")));
            }
        }
    }
    out
}

fn verdict(verdict: Verdict, is_emulated: bool) -> String {
    let ink = match verdict {
        Verdict::Refused => Ink::Bad,
        Verdict::NotApplicable | Verdict::Disturbed | Verdict::Inconclusive => Ink::Faint,
        _ => Ink::Strong,
    };
    ink.on(&verdict_in_words(verdict, is_emulated))
}

fn said(sentence: &Sentence, columns: usize) -> String {
    let text = match sentence.verdict {
        Some((of, is_emulated)) => format!("{}  {}", verdict(of, is_emulated), sentence.text),
        None => sentence.text.clone(),
    };
    let ink = |line: String| match sentence.tone {
        Tone::Plain => line,
        Tone::Strong => Ink::Strong.on(&line),
        Tone::Faint => Ink::Faint.on(&line),
    };
    prose(&text, columns).into_iter().map(|line| ink(line) + "\n").collect()
}

fn marked(name: &str) -> String {
    match name.chars().next() {
        Some('!') => Ink::Bad.on(name),
        Some('✓') => Ink::Good.on(name),
        _ if name == "void" => Ink::Bad.on(name),
        _ => Ink::Faint.on(name),
    }
}

fn facts(facts: &[Fact], columns: usize) -> String {
    let widest = facts.iter().map(|(name, _)| width(name) + 4).max().unwrap_or(0);
    let indent = widest.clamp(INDENT, 2 * INDENT);
    let mut out = String::new();
    for (name, text) in facts {
        let text = if name == "plan" { shortened(text) } else { text.clone() };
        for (n, line) in text.lines().enumerate() {
            let label = if n == 0 { format!("  {}", marked(name)) } else { String::new() };
            out.push_str(&labelled(&label, indent, line, columns));
        }
    }
    out
}

/// The JSON has the full text.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 240;
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{} … (whole with --json)", text[..at].trim_end()),
        None => text.to_owned(),
    }
}

fn item(item: &Item, columns: usize) -> String {
    if item.name.is_empty() {
        return labelled("", 2, &item.text, columns);
    }
    if width(&item.name) > INDENT {
        let name = labelled("", 2, &item.name, columns);
        return name + &labelled("", 4, &item.text, columns);
    }
    let indent = (width(&item.name) + 4).clamp(9, INDENT);
    labelled(&format!("  {}", marked(&item.name)), indent, &item.text, columns)
}

fn drawn(picture: &Picture<'_>, columns: usize) -> String {
    match picture {
        Picture::Costs(rows) if !rows.is_empty() => format!("\n{}", costs(rows, columns)),
        Picture::Times(section) => section.result.details.as_ref().map_or(String::new(), times),
        Picture::Cells(shape) => cells::draw(shape, columns.min(120)),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use hopcost_core::{
        Between, CellPair, Code, CpuId, Estimate, Known, Lacking, Likeness, Place, Side, Unit,
    };

    use super::*;
    use crate::sample::{Sample, page};
    use crate::xml::plain;

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

    fn compared(cells: Vec<CellPair>, missing: Vec<Lacking>, columns: usize) -> String {
        let side = || {
            let host = Known::missing(Code::NotMeasured, "a test");
            Side { name: "a.db".into(), host, runs: Vec::new() }
        };
        let between = Between {
            version: 1,
            a: side(),
            b: side(),
            emulated: false,
            found: "B is faster.".into(),
            explained_by: Vec::new(),
            traits: Vec::new(),
            cells,
            scores: Vec::new(),
            effects: Vec::new(),
            missing,
            notes: Vec::new(),
        };
        terminal(&Shown::Between(&between), Canvas { columns })
    }

    #[test]
    fn a_figure_stands_in_one_line_where_there_is_room() {
        let text = |columns| compared(vec![pair(1, Likeness::Different)], Vec::new(), columns);
        let wide = text(120);
        assert!(
            wide.contains("cpu 0 → cpu 1  70.0 ±1.0") && wide.contains("−38.0% (−41.0 … −35.0%)")
        );
        let narrow = text(80);
        assert_eq!(narrow.lines().count(), wide.lines().count() + 1, "{narrow}");
        assert!(narrow.lines().all(|line| width(line) <= 80), "{narrow}");
    }

    #[test]
    fn of_many_figures_those_are_shown_that_differ() {
        let likeness = |cpu| if cpu == 7 { Likeness::Different } else { Likeness::Inconclusive };
        let many = (1..40).map(|cpu| pair(cpu, likeness(cpu))).collect();
        let text = compared(many, Vec::new(), 100);
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
        let text = compared(Vec::new(), all, 100);
        assert!(
            text.contains("cell 1; cell 2; cell 3 and 2 more: missing, because no memory"),
            "{text}"
        );
        assert_eq!(text.matches("missing, because").count(), 2);
    }

    #[test]
    fn a_verdict_comes_first_and_details_have_no_room() {
        let mut sample = Sample::compared("remote-memory", Verdict::Cost, 0.06, 0.02);
        sample.result.emulated = true;
        let page = page(vec![sample.section()]);
        let text = |columns| plain(&terminal(&Shown::Report(&page), Canvas { columns }));
        let narrow = text(80);
        assert!(
            narrow.starts_with("EMULATED COST 6.0% fewer queries with remote memory than with")
        );
        assert!(narrow.contains("✓ holds") && narrow.contains("●"), "{narrow}");
        assert!(!narrow.contains("Observed from") && !narrow.contains("median"), "{narrow}");
        assert!(narrow.lines().all(|line| width(line) <= 80), "{narrow}");
        assert!(text(140).contains("median"));
    }
}
