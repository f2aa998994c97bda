//! A card of 1200 × 630 pixels with one result, for a ticket or a chat.

use std::fmt::Write as _;

use hopcost_core::Between;

use super::output::{Format, Shown};
use crate::page::Page;
use crate::story::findings::sentences;
use crate::story::report::{is_emulated, machine_in_words, masthead};
use crate::text::wrap::prose;
use crate::xml::escape;

pub const FORMAT: Format = Format {
    name: "card",
    about: "a picture of 1200 × 630 (SVG), for a ticket or a chat",
    media: "image/svg+xml",
    of: |shown, _| match shown {
        Shown::Report(page) => of_report(page),
        Shown::Between(found) => of_between(found),
    },
};

const WIDTH: u32 = 1200;
const HEIGHT: u32 = 630;
const LEFT: u32 = 64;

const STYLE: &str = "text{font-family:system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;\
    fill:#1b1f24}.faint{fill:#5b6570}.stamp{fill:#a8481c;font-weight:700}.name{font-weight:600}\
    .ground{fill:#fff}.edge{fill:#1f5fa8}";

/// Lines of text from the top down.
#[derive(Default)]
struct Card {
    body: String,
    y: u32,
}

impl Card {
    /// As many lines as fit; the last of more ends in an ellipsis.
    fn text(&mut self, text: &str, size: u32, most: usize, class: &str) {
        // A letter of a sans-serif font is about half as wide as high.
        let columns = f64::from(WIDTH - 2 * LEFT) / (f64::from(size) * 0.53);
        let mut lines = prose(text, columns as usize);
        if lines.len() > most {
            lines.truncate(most);
            lines.last_mut().into_iter().for_each(|line| line.push_str(" …"));
        }
        for line in lines {
            self.y += size * 13 / 10;
            let (y, line) = (self.y, escape(&line));
            let _ = write!(
                self.body,
                r#"<text x="{LEFT}" y="{y}" font-size="{size}" class="{class}">{line}</text>"#
            );
        }
    }

    fn finish(self, title: &str, foot: &str) -> String {
        let (title, bottom) = (escape(title), HEIGHT - 44);
        let foot = prose(foot, 100).into_iter().next().unwrap_or_default();
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"><title>{title}</title><style>{STYLE}</style><rect class="ground" width="{WIDTH}" height="{HEIGHT}"/><rect class="edge" width="12" height="{HEIGHT}"/>{}<text x="{LEFT}" y="{bottom}" font-size="20" class="faint">{}</text></svg>
"#,
            self.body,
            escape(&foot)
        )
    }
}

fn of_report(page: &Page<'_>) -> String {
    let said = sentences(page);
    let mut card = Card { y: 40, ..Card::default() };
    card.text(&masthead(page).join(" · "), 22, 1, "faint");
    if is_emulated(page) {
        card.text("EMULATED: simulated distance, says nothing about this machine", 22, 1, "stamp");
    }
    card.y += 14;
    card.text(&said.found, 44, 3, "name");
    for (name, text) in [("Why", said.why), ("Do", Some(said.action)), ("How sure", said.sure)] {
        card.y += 12;
        card.text(&text.map_or(String::new(), |text| format!("{name}: {text}")), 24, 3, "");
    }
    card.finish(&said.found, &format!("{} · hopcost {}", machine_in_words(page), page.version))
}

fn of_between(found: &Between) -> String {
    let mut card = Card { y: 40, ..Card::default() };
    card.text(&format!("{} compared with {}", found.b.name, found.a.name), 22, 1, "faint");
    card.y += 14;
    card.text(&found.found, 40, 4, "name");
    for reason in found.explained_by.iter().take(3) {
        card.y += 12;
        card.text(reason, 24, 2, "");
    }
    card.finish(&found.found, "hopcost compare")
}

#[cfg(test)]
mod tests {
    use hopcost_core::Verdict;

    use super::*;
    use crate::sample::{Sample, page};
    use crate::xml::objection;

    #[test]
    fn a_card_holds_the_result_and_stays_within_its_frame() {
        let long = "word ".repeat(400);
        for question in ["What does it cost?", &long, "<script>&"] {
            let mut sample = Sample::compared("remote-memory", Verdict::Cost, 0.06, 0.02);
            sample.result.question = question.to_owned();
            sample.result.emulated = question.starts_with('<');
            let mut page = page(vec![sample.section()]);
            page.title = question.to_owned();
            let svg = of_report(&page);
            assert_eq!(objection(&svg), None);
            assert!(!svg.contains("<script"));
            assert_eq!(svg.contains("class=\"stamp\""), question.starts_with('<'));
            let last = svg.split(" y=\"").skip(1).map(|it| it.split('"').next().unwrap());
            let last = last.map(|y| y.parse::<u32>().unwrap()).collect::<Vec<_>>();
            assert!(last.len() >= 4 && last.iter().all(|y| *y <= HEIGHT - 44), "{last:?}");
        }
    }
}
