//! The page: one HTML file that is complete in itself. It loads nothing, runs nothing, and follows the
//! reader's choice of light or dark.

mod front;
mod probes;
mod rest;
mod section;
mod table;
#[cfg(test)]
mod tests;
mod trust;

use std::fmt::Write as _;

use hopcost_core::Known;

use crate::page::Page;
use crate::words::{moment, spoken};
use crate::xml::escape;

const STYLE: &str = include_str!("page.css");

/// What the browser is told: even if something slipped in, it may load nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// The whole document.
pub fn html(page: &Page<'_>) -> String {
    let mut out = String::with_capacity(256 << 10);
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\
         <link rel=\"icon\" href=\"data:,\"><title>{}</title>\n<style>\n{STYLE}</style></head>\n<body>\n",
        escape(&title(page))
    );
    out.push_str(&front::front(page));
    out.push_str(&contents(page));
    out.push_str("<main>\n");
    for section in &page.sections {
        out.push_str(&section::section(section));
    }
    out.push_str(&probes::probes(&page.probes));
    out.push_str(&rest::doctor(&page.findings));
    out.push_str(&rest::machine(&page.machine));
    out.push_str(&rest::method());
    out.push_str(&rest::changes(&page.changed));
    let _ = write!(
        out,
        "</main>\n<footer>hopcost {} · measured {} · this file is complete in itself and loads \
         nothing</footer>\n</body></html>\n",
        escape(&page.version),
        moment(page.begun_unix_s)
    );
    out
}

fn title(page: &Page<'_>) -> String {
    match &page.host {
        Known::Is(host) => format!("{} on {host} · hopcost", page.title),
        Known::Missing(_) => format!("{} · hopcost", page.title),
    }
}

/// Where everything is.
fn contents(page: &Page<'_>) -> String {
    let mut places: Vec<(String, String)> = page
        .sections
        .iter()
        .map(|section| (section::place(section), spoken(&section.result.experiment)))
        .collect();
    if !page.probes.is_empty() {
        places.push(("probes".into(), "Probes".into()));
    }
    for name in ["Doctor", "Machine", "Method", "Changes"] {
        places.push((name.to_lowercase(), name.to_owned()));
    }
    let link = |(place, name): &(String, String)| {
        format!("<a href=\"#{}\">{}</a>", escape(place), escape(name))
    };
    let links: String = places.iter().map(link).collect();
    format!("<nav aria-label=\"Contents\">{links}</nav>\n")
}

/// A chart with its name and what to see in it, or why there is none.
fn figure(name: &str, about: &str, chart: &Known<String>) -> String {
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

/// Text whose figures stay on one line with their unit.
fn prose(text: &str) -> String {
    escape(text).replace(" %", "\u{a0}%")
}

/// A list of short texts; nothing of none.
fn list<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let items: String =
        texts.into_iter().map(|text| format!("<li>{}</li>", escape(text))).collect();
    if items.is_empty() { items } else { format!("<ul class=\"plain\">{items}</ul>\n") }
}
