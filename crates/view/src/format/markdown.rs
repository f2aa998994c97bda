//! A report for a pull request comment: the finding, a table of verdicts, the evidence.

use std::fmt::Write as _;

use super::output::{Canvas, Format, Shown};
use crate::page::Page;
use crate::story::between::between;
use crate::story::block::{Block, Column, Item, Table, brief};
use crate::story::report::{Of, machine_in_words, masthead, story};
use crate::story::verdict::found;
use crate::words::{stamped_verdict, verdict_in_words};

pub const FORMAT: Format = Format {
    name: "markdown",
    about: "Markdown, as for a comment on a change",
    media: "text/markdown",
    of: markdown,
};

fn markdown(shown: &Shown<'_>, _: Canvas) -> String {
    match shown {
        Shown::Report(page) => report(page),
        Shown::Between(found) => told(&between(found)),
    }
}

fn report(page: &Page<'_>) -> String {
    let story = story(page);
    let mut out = format!("**{}**\n\n{}\n", safe(&story.said.found), safe(&story.said.action));
    if page.interrupted {
        out.push_str("\n**INTERRUPTED** before its end: what there was is shown.\n");
    }
    out.push_str(&table(&verdicts(page)));
    for part in story.parts.iter().filter(|part| part.of == Of::Experiment) {
        let (title, blocks) = (safe(&part.title), told(&part.blocks));
        let _ = write!(out, "\n<details><summary>{title}</summary>\n{blocks}</details>\n");
    }
    if let Some(left) = &story.not_tested {
        let _ = write!(out, "\n{}:\n{}", left.summary, list(&left.reasons));
    }
    let changed = match page.changed.len() {
        0 => "nothing".to_owned(),
        _ => safe(&page.changed.join("; ")),
    };
    let facts = masthead(page).join(" · ") + " · " + &machine_in_words(page);
    let version = safe(&page.version);
    let _ = writeln!(
        out,
        "\n<sub>{} · changed on this host: {changed} · hopcost {version}</sub>",
        safe(&facts)
    );
    out
}

fn verdicts(page: &Page<'_>) -> Table {
    let rows = page.sections.iter().map(|section| {
        let result = section.result;
        vec![section.title(), stamped_verdict(result), found(section)]
    });
    let head = ["experiment", "verdict", "finding"].map(Column::words).into();
    Table { head, rows: rows.collect() }
}

fn told(blocks: &[Block<'_>]) -> String {
    let mut out = String::new();
    for block in brief(blocks) {
        match block {
            Block::Heading(heading) if heading.text.is_empty() => {}
            Block::Heading(heading) => {
                let _ = writeln!(out, "\n**{}**", safe(&heading.text));
            }
            Block::Sentence(sentence) => {
                let verdict = sentence.verdict.map_or(String::new(), |(verdict, is_emulated)| {
                    format!("**{}** ", verdict_in_words(verdict, is_emulated))
                });
                let _ = writeln!(out, "\n{verdict}{}", safe(&sentence.text));
            }
            Block::Aside(pieces) => {
                let _ = writeln!(out, "\n{}", safe(&pieces.join(" · ")));
            }
            Block::Facts(facts) => {
                out.push('\n');
                for (name, text) in facts {
                    let colon = if name.is_empty() { "" } else { ": " };
                    let _ = writeln!(out, "- {}{colon}{}", safe(name), safe(text));
                }
            }
            Block::Table(all) => out.push_str(&table(all)),
            Block::List(items) => {
                let _ = write!(out, "\n{}", list(items));
            }
            // Comments cannot hold pictures.
            Block::Figures(_) => {}
            Block::Command(command) => {
                let _ = writeln!(out, "\n```\n{}\n```", command.replace("```", ""));
            }
        }
    }
    out
}

fn table(table: &Table) -> String {
    if table.rows.is_empty() {
        return String::new();
    }
    let side = |column: &Column| if column.is_figures { "---:" } else { "---" };
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let head = line(table.head.iter().map(|column| safe(&column.name)).collect());
    let sides: Vec<&str> = table.head.iter().map(side).collect();
    let rows = table.rows.iter().map(|row| line(row.iter().map(|cell| safe(cell)).collect()));
    format!("\n{head}|{}|\n{}", sides.join("|"), rows.collect::<String>())
}

fn list(items: &[Item]) -> String {
    let line = |item: &Item| {
        let colon = if item.name.is_empty() { "" } else { ": " };
        format!("- {}{colon}{}\n", safe(&item.name), safe(&item.text))
    };
    items.iter().map(line).collect()
}

/// Escaped, on one line and in one cell.
fn safe(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut safe = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' => safe.extend(['\\', c]),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use hopcost_core::Verdict;

    use super::*;
    use crate::sample::{Sample, page};

    #[test]
    fn a_comment_begins_with_what_was_found() {
        let sample = Sample::compared("remote-memory", Verdict::Cost, 0.06, 0.02);
        let text = report(&page(vec![sample.section()]));
        assert!(text.starts_with("**6.0% fewer queries with remote memory than with"), "{text}");
        assert!(text.contains("| Remote memory | COST | 6.0% fewer queries with"), "{text}");
        assert!(text.contains("changed on this host: nothing"));
    }

    #[test]
    fn names_are_no_markup() {
        let mut sample = Sample::absent("a|b", "<script> & `x`");
        sample.command = "hopcost run ```x".into();
        let text = report(&page(vec![sample.section()]));
        assert!(text.contains("A\\|b") && !text.contains("<script"), "{text}");
        assert_eq!(text.matches("```").count(), 2);
    }

    #[test]
    fn nothing_at_all_is_still_a_report() {
        let text = report(&page(Vec::new()));
        assert!(text.starts_with("**Nothing was measured.**"), "{text}");
    }
}
