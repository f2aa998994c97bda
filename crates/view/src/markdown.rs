//! A report that reads well in a comment on a change: the sentence, the verdicts as a table, what each
//! rests on.

use std::fmt::Write as _;

use hopcost_core::Known;

use crate::findings::sentences;
use crate::page::{Page, Section};
use crate::svg;
use crate::words::{
    cost, duration, headline, known_by, moment, plural, share_found, stamped_verdict,
};

/// The report.
pub fn markdown(page: &Page<'_>) -> String {
    let said = sentences(page);
    let mut out = format!("**{}**\n\n{}\n", safe(&said.found), safe(&said.action));
    if page.interrupted {
        out.push_str("\n**INTERRUPTED** before its end: what there was is shown.\n");
    }
    if !page.sections.is_empty() {
        out.push_str("\n| experiment | verdict | figure | of |\n|---|---|---:|---|\n");
    }
    for section in &page.sections {
        let result = section.result;
        let (figure, of) = match &result.estimate {
            Known::Is(figure) => (headline(figure), figure.of.clone()),
            Known::Missing(reason) => ("–".to_owned(), format!("missing, because {reason}")),
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            safe(&result.experiment),
            stamped_verdict(result),
            safe(&figure),
            safe(&of)
        );
    }
    for section in &page.sections {
        out.push_str(&details(section));
    }
    out.push_str(&not_tested(page));
    out.push_str(&footer(page));
    out
}

fn details(section: &Section<'_>) -> String {
    let result = section.result;
    let mut out = format!(
        "\n<details><summary>{}: {}</summary>\n\n",
        safe(&result.experiment),
        safe(&result.question)
    );
    let mut fact = |text: String| {
        let _ = writeln!(out, "- {}", safe(&text));
    };
    fact(result.reason.to_string());
    if let Some(planted) = result.planted {
        fact(format!("planted: {:.2} % of throughput, as counted", 100.0 * planted));
    }
    for proved in &result.proof {
        let holds = if proved.holds() { "proved" } else { "DISPROVED" };
        fact(format!("{holds}: {}, {}", proved.claim, share_found(proved.found)));
    }
    if let Some(details) = &result.details {
        let blocks: u64 = details.blocks.values().sum();
        let dropped: u64 = details.dropped.values().sum();
        fact(format!("{}, {dropped} dropped", plural(blocks as usize, "block")));
        if let Some(placebo) = &details.placebo {
            fact(format!("baseline against itself: {}", cost(placebo)));
        }
        if let Some(known_by) = known_by(details) {
            fact(format!("locality: {known_by}"));
        }
        fact(details.identity.clone());
        for text in details.left_out.iter().chain(&details.notes) {
            fact(text.clone());
        }
    }
    let _ = write!(out, "\n```\n{}\n```\n</details>\n", section.command.replace("```", ""));
    out
}

fn not_tested(page: &Page<'_>) -> String {
    let mut out = String::new();
    for (n, left) in page.not_tested.iter().enumerate() {
        if n == 0 {
            out.push_str("\nNot tested:\n");
        }
        let takes =
            left.takes_s.map_or(String::new(), |s| format!(" (would take {})", duration(s)));
        let _ = writeln!(out, "- {}: {}{takes}", safe(&left.what), safe(&left.why));
    }
    out
}

fn footer(page: &Page<'_>) -> String {
    let host = page.host.get().map_or("an unnamed host", String::as_str);
    let machine = match &page.machine {
        Known::Is(machine) => svg::subtitle(machine),
        Known::Missing(reason) => format!("machine missing, because {reason}"),
    };
    let changed = match page.changed.len() {
        0 => "nothing".to_owned(),
        _ => safe(&page.changed.join("; ")),
    };
    format!(
        "\n<sub>{} on {}: {} · {} · took {} · changed on this host: {changed} · hopcost {}</sub>\n",
        safe(&page.title),
        safe(host),
        safe(&machine),
        moment(page.begun_unix_s),
        duration(page.seconds),
        safe(&page.version)
    )
}

/// Text that stays text, on one line and in one cell.
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
        let text = markdown(&page(vec![sample.section()]));
        assert!(text.starts_with("**Remote memory: “far” instead of “near” costs 6.0 %"), "{text}");
        assert!(text.contains("| remote-memory | COST | 6.0 % (4.0 … 8.0 %) |"), "{text}");
        assert!(text.contains("changed on this host: nothing"));
    }

    #[test]
    fn names_are_no_markup() {
        let mut sample = Sample::absent("a|b", "<script> & `x`");
        sample.command = "hopcost run ```x".into();
        let text = markdown(&page(vec![sample.section()]));
        assert!(text.contains("a\\|b") && !text.contains("<script"), "{text}");
        assert_eq!(text.matches("```").count(), 2);
    }

    #[test]
    fn nothing_at_all_is_still_a_report() {
        let text = markdown(&page(Vec::new()));
        assert!(text.starts_with("**Nothing was measured.**"), "{text}");
    }
}
