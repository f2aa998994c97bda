//! A self-contained HTML page: no scripts, no external resources, light or dark.

use std::fmt::Write as _;

use hopcost_core::{Code, Known, Machine};

use super::output::{Canvas, Format, Shown};
use crate::charts::{SIGNS, class_of};
use crate::page::Page;
use crate::series::Shape;
use crate::story::between::between;
use crate::story::block::{Block, Column, Fact, Figure, Item, Picture, Sentence, Table, Tone};
use crate::story::report::{self, Of, Story, story};
use crate::svg;
use crate::text;
use crate::words::verdict_in_words;
use crate::xml::{escape, plain};

pub const FORMAT: Format = Format {
    name: "html",
    about: "a page that is complete in itself, for any browser",
    media: "text/html",
    of: html,
};

const STYLE: &str = include_str!("page.css");

/// Content security policy: nothing is loaded even if markup slipped in.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

const COLUMNS: usize = 80;

fn html(shown: &Shown<'_>, _: Canvas) -> String {
    match shown {
        Shown::Report(page) => of_report(page),
        Shown::Between(found) => {
            let title = format!("{} beside {} · hopcost", found.a.name, found.b.name);
            document(
                &title,
                &format!("<main><section>{}</section></main>\n", told(&between(found))),
            )
        }
    }
}

fn document(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\
         <link rel=\"icon\" href=\"data:,\"><title>{}</title>\n<style>\n{STYLE}</style></head>\n\
         <body>\n{body}</body></html>\n",
        escape(title)
    )
}

fn of_report(page: &Page<'_>) -> String {
    let story = story(page);
    let mut out = front(page, &story);
    out.push_str("<main>\n");
    // A page of one result shows it; a page of several shows a line for each.
    let is_alone = page.sections.len() + usize::from(!page.probes.is_empty()) == 1;
    for part in &story.parts {
        let open = if is_alone && part.of != Of::Surroundings { " open" } else { "" };
        let (place, title) = (escape(&part.place), escape(&part.title));
        let (summary, blocks) = (prose(&part.summary), told(&part.blocks));
        // The target of links is inside, so that a browser unfolds it.
        let _ = write!(
            out,
            "<section><details{open}><summary><h2>{title}</h2> <span>{summary}</span></summary>\n\
             <div id=\"{place}\">\n{blocks}</div></details></section>\n"
        );
    }
    let _ = write!(
        out,
        "</main>\n<footer>hopcost {} · this file is complete in itself and loads nothing</footer>\n",
        escape(&page.version)
    );
    let on = page.host.get().map_or(String::new(), |host| format!(" on {host}"));
    document(&format!("{}{on} · hopcost", page.title), &out)
}

/// The first screen: finding, advice, machine, verdicts and how far to trust them.
fn front(page: &Page<'_>, story: &Story<'_>) -> String {
    let masthead = report::masthead(page);
    let stamp = |word: &&str| format!(" <span class=\"stamp\">{word}</span>");
    let stamps: String = story.stamps.iter().map(stamp).collect();
    let facts = masthead[1..].iter().map(|fact| format!(" · {}", escape(fact)));
    let verdicts = report::verdicts(page).map(|(it, svg)| drawn(&it.name, &it.about, &svg));
    let others: String = report::others(page)
        .iter()
        .map(|(item, verdict)| {
            let place = item.place.as_deref().unwrap_or_default();
            format!(
                "<li><a href=\"#{place}\"><b>{}</b></a> <span class=\"verdict\">{verdict}</span> \
                 <span>{}</span></li>",
                escape(&item.name),
                escape(&item.text)
            )
        })
        .collect();
    let others = match others.as_str() {
        "" => others,
        _ => format!("<ul class=\"plain others\">{others}</ul>\n"),
    };
    let not_tested = story.not_tested.as_ref().map_or(String::new(), |left| {
        let (summary, reasons) = (escape(&left.summary), list(&left.reasons));
        format!("<details class=\"aside\"><summary>{summary}</summary>\n{reasons}</details>")
    });
    let said = [
        ("Why it matters", story.said.why.as_ref()),
        ("Do", Some(&story.said.action)),
        ("How sure", story.said.sure.as_ref()),
    ];
    let said = said.into_iter().filter_map(|(name, text)| Some((name, text?)));
    let said: String = said
        .map(|(name, text)| format!("<p class=\"action\"><b>{name}.</b> {}</p>\n", prose(text)))
        .collect();
    let fact = |(name, text): &Fact| format!("<div><dt>{name}</dt><dd>{}</dd></div>", prose(text));
    format!(
        "<header class=\"front\">\n<p class=\"mast\"><strong>{}</strong>{}{stamps}</p>\n<h1>{}</h1>\n\
         {said}<div class=\"split\"><div>{}{others}{not_tested}</div><div>{}<dl class=\"trust\">{}</dl>\n</div></div>\n</header>\n",
        escape(&masthead[0]),
        facts.collect::<String>(),
        prose(&story.said.found),
        verdicts.unwrap_or_default(),
        overview(page),
        story.trust.iter().map(fact).collect::<String>()
    )
}

fn overview(page: &Page<'_>) -> String {
    let Known::Is(machine) = &page.machine else {
        let reason = page.machine.reason().map_or("", |reason| reason.as_str());
        return drawn("This machine", "", &Known::missing(Code::NotMeasured, reason.to_owned()));
    };
    let name = page.host.get().map_or("This machine", String::as_str);
    let real = if report::is_emulated(page) { " · without its emulated nodes" } else { "" };
    drawn(name, &(svg::subtitle(machine) + real), &Known::Is(svg::overview(machine)))
}

fn told(blocks: &[Block<'_>]) -> String {
    blocks.iter().map(block).collect()
}

fn block(block: &Block<'_>) -> String {
    match block {
        Block::Heading(heading) if heading.text.is_empty() => String::new(),
        Block::Heading(heading) => format!("<h3>{}</h3>\n", escape(&heading.text)),
        Block::Sentence(sentence) => said(sentence),
        Block::Aside(pieces) => format!("<p class=\"faint\">{}</p>\n", escape(&pieces.join(" · "))),
        Block::Facts(facts) => {
            let fact = |(name, text): &Fact| {
                let class = if name.starts_with('!') { " class=\"bad\"" } else { "" };
                format!("<dt{class}>{}</dt><dd>{}</dd>", escape(name), escape(text))
            };
            format!("<dl class=\"facts\">{}</dl>\n", facts.iter().map(fact).collect::<String>())
        }
        Block::Table(all) => table(all),
        Block::List(items) => list(items),
        Block::Figures(all) => figures(all),
        Block::Command(command) => {
            format!("<pre class=\"command\">{}</pre>\n", escape(command))
        }
    }
}

fn said(sentence: &Sentence) -> String {
    let verdict = sentence.verdict.map_or(String::new(), |(verdict, is_emulated)| {
        let stamp = if is_emulated { "<span class=\"stamp\">EMULATED</span> " } else { "" };
        format!("{stamp}<span class=\"verdict\">{}</span> ", verdict_in_words(verdict, false))
    });
    let text = prose(&sentence.text);
    match sentence.tone {
        Tone::Plain => format!("<p>{verdict}{text}</p>\n"),
        Tone::Strong => format!("<p><b>{verdict}{text}</b></p>\n"),
        Tone::Faint => format!("<p class=\"faint\">{verdict}{text}</p>\n"),
    }
}

/// Keeps figures and units on one line.
fn prose(text: &str) -> String {
    escape(text).replace(" %", "\u{a0}%")
}

fn list(items: &[Item]) -> String {
    let item = |item: &Item| {
        let (name, text) = (escape(&item.name), escape(&item.text));
        let name = if name.is_empty() { name } else { format!("<b>{name}</b> ") };
        let why = item.place.as_ref().map(|place| format!(" (<a href=\"#{place}\">why</a>)"));
        format!("<li>{name}{text}{}</li>", why.unwrap_or_default())
    };
    let items: String = items.iter().map(item).collect();
    if items.is_empty() { items } else { format!("<ul class=\"plain\">{items}</ul>\n") }
}

/// For copying into a spreadsheet: one figure per cell, units in the head. Empty without rows.
fn table(table: &Table) -> String {
    if table.rows.is_empty() {
        return String::new();
    }
    let class = |column: &Column| if column.is_figures { " class=\"n\"" } else { "" };
    let head = table.head.iter().map(|column| match column.name.as_str() {
        "" => "<td></td>".to_owned(),
        name => format!("<th scope=\"col\"{}>{}</th>", class(column), escape(name)),
    });
    let head: String = head.collect();
    let mut out = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table><thead><tr>{head}</tr></thead><tbody>"
    );
    for row in &table.rows {
        let cells = row.iter().zip(&table.head);
        let cell = |(cell, column): (&String, &Column)| {
            format!("<td{}>{}</td>", class(column), escape(cell))
        };
        let _ = write!(out, "<tr>{}</tr>", cells.map(cell).collect::<String>());
    }
    out.push_str("</tbody></table></div>\n");
    out
}

fn figures(all: &[Figure<'_>]) -> String {
    let mut out = String::new();
    let mut charts = String::new();
    for figure in all {
        match &figure.picture {
            Picture::Key(levels) => out.push_str(&key(levels)),
            Picture::Machine(of) => out.push_str(&machine(of)),
            Picture::Cells(Shape::List { .. }) => {}
            picture => charts.push_str(&drawn(&figure.name, &figure.about, &picture.svg())),
        }
    }
    if !charts.is_empty() {
        let _ = write!(out, "<div class=\"charts\">\n{charts}</div>\n");
    }
    out
}

fn drawn(name: &str, about: &str, chart: &Known<String>) -> String {
    let name = escape(name);
    let about = if about.is_empty() { String::new() } else { format!(" · {}", escape(about)) };
    match chart {
        Known::Is(svg) => {
            format!("<figure><figcaption><b>{name}</b>{about}</figcaption>{svg}</figure>\n")
        }
        Known::Missing(reason) => format!(
            "<figure><figcaption><b>{name}</b></figcaption><p class=\"why\">missing, because {}</p>\
             </figure>\n",
            escape(reason.as_str())
        ),
    }
}

fn key(levels: &[String]) -> String {
    let of_level = |(n, name): (usize, &String)| {
        let class = class_of(n);
        let role = if n == 0 { " (baseline)" } else { "" };
        format!("<span><i class=\"k{class}\">{}</i> {}{role}</span>", SIGNS[class], escape(name))
    };
    let keys: String = levels.iter().enumerate().map(of_level).collect();
    format!("<p class=\"key\">{keys}</p>\n")
}

/// The terminal's drawing: the small SVG has no table of distances.
fn machine(machine: &Machine) -> String {
    let mut out = format!("<pre>{}</pre>\n", escape(&plain(&text::machine(machine, COLUMNS))));
    if machine.distances.nodes.len() > 1 {
        let drawing = svg::machine(machine);
        let _ =
            writeln!(out, "<figure class=\"drawn\" style=\"margin-top:24px\">{drawing}</figure>");
    }
    out
}

#[cfg(test)]
mod tests;
