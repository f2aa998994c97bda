//! Shared by all charts: sheet, scales, round ticks, frame and the variants' shapes.

use std::fmt::Write as _;

use crate::words::{minus, thousands};
use crate::xml::escape;

/// A shape per variant beside its color, so that neither is needed alone.
pub const SIGNS: [char; 6] = ['●', '■', '▲', '◆', '▼', '✚'];

pub fn class_of(level: usize) -> usize {
    level % SIGNS.len()
}

/// In SVG units; a page scales it.
pub const WIDTH: f64 = 640.0;
pub const LEFT: f64 = 84.0;
pub const RIGHT: f64 = WIDTH - 14.0;

#[derive(Clone, Copy, Debug)]
pub struct Scale {
    values: (f64, f64),
    places: (f64, f64),
}

impl Scale {
    pub fn new(values: (f64, f64), places: (f64, f64)) -> Self {
        let (low, high) = values;
        let values = if high > low { values } else { (low - 0.5, low + 0.5) };
        Self { values, places }
    }

    pub fn at(&self, value: f64) -> f64 {
        let share = (value - self.values.0) / (self.values.1 - self.values.0);
        self.places.0 + share * (self.places.1 - self.places.0)
    }

    pub fn ticks(&self, most: usize) -> Vec<f64> {
        let (low, high) = self.values;
        let step = step(high - low, most);
        let (first, last) =
            ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
        (first..=last).map(|n| n as f64 * step).collect()
    }

    pub fn label(&self, tick: f64, most: usize) -> String {
        let step = step(self.values.1 - self.values.0, most);
        let decimals = (-step.log10() - 1e-9).ceil().max(0.0) as usize;
        let text = format!("{tick:.decimals$}");
        let zero = text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.');
        match text.strip_prefix('-') {
            Some(positive) if zero => positive.to_owned(),
            _ if decimals == 0 => minus(&thousands(&text)),
            _ => minus(&text),
        }
    }
}

/// The smallest of 1, 2, 5 · 10ⁿ that divides the span into at most `most` parts.
fn step(span: f64, most: usize) -> f64 {
    let least = (span / most.max(1) as f64).max(f64::MIN_POSITIVE);
    let power = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|f| f * power >= least * 0.999_999);
    factor.unwrap_or(10.0) * power
}

/// Adds a margin of 6% on both sides.
pub fn with_air((low, high): (f64, f64)) -> (f64, f64) {
    let air = 0.06 * (high - low).max(f64::MIN_POSITIVE);
    (low - air, high + air)
}

/// The smallest and largest finite value. `None` if there is none.
pub fn extent(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.into_iter().filter(|value| value.is_finite());
    finite.fold(None, |extent, value| {
        let (low, high) = extent.unwrap_or((value, value));
        Some((f64::min(low, value), f64::max(high, value)))
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

pub struct Sheet {
    title: String,
    words: String,
    pub height: f64,
    body: String,
}

impl Sheet {
    /// `words` describe the chart for people who cannot see it.
    pub fn new(title: impl Into<String>, words: impl Into<String>) -> Self {
        Self { title: title.into(), words: words.into(), height: 0.0, body: String::new() }
    }

    pub fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, class: &str, content: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " mid",
            Anchor::End => " end",
        };
        let content = escape(content);
        let _ = write!(
            self.body,
            r#"<text x="{x:.1}" y="{y:.1}" class="{class}{anchor}">{content}</text>"#
        );
    }

    /// Text that links to another place of the page.
    pub fn link(&mut self, at: (f64, f64), class: &str, content: &str, place: &str) {
        let _ = write!(self.body, r##"<a href="#{}">"##, escape(place));
        self.text(at, Anchor::Start, class, content);
        self.body.push_str("</a>");
    }

    pub fn path(&mut self, class: &str, path: &str) {
        if !path.is_empty() {
            let _ = write!(self.body, r#"<path class="{class}" d="{path}"/>"#);
        }
    }

    pub fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let _ =
            write!(self.body, r#"<path class="{class}" d="M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}"/>"#);
    }

    pub fn finish(self) -> String {
        let Self { title, words, height, body } = self;
        // An image has no links inside.
        let role = if body.contains("<a ") { "group" } else { "img" };
        format!(
            r#"<svg class="chart" role="{role}" viewBox="0 0 {WIDTH:.0} {height:.0}" width="{WIDTH:.0}" height="{height:.0}"><title>{}</title><desc>{}</desc>{body}</svg>"#,
            escape(&title),
            escape(&words)
        )
    }
}

pub fn add_box(path: &mut String, (left, right): (f64, f64), (top, bottom): (f64, f64)) {
    let (width, height) = (right - left, bottom - top);
    let _ = write!(path, "M{left:.1} {top:.1}h{width:.1}v{height:.1}h{:.1}z", -width);
}

pub fn add_shape(path: &mut String, level: usize, (x, y): (f64, f64), r: f64) {
    let d = 2.0 * r;
    let _ = match class_of(level) {
        0 => {
            write!(
                path,
                "M{:.1} {y:.1}a{r:.1} {r:.1} 0 1 0 {d:.1} 0a{r:.1} {r:.1} 0 1 0-{d:.1} 0",
                x - r
            )
        }
        1 => write!(path, "M{:.1} {:.1}h{d:.1}v{d:.1}h-{d:.1}z", x - r, y - r),
        2 => write!(path, "M{x:.1} {:.1}l{r:.1} {d:.1}h-{d:.1}z", y - r),
        3 => write!(path, "M{x:.1} {:.1}l{r:.1} {r:.1}l-{r:.1} {r:.1}l-{r:.1}-{r:.1}z", y - r),
        4 => write!(path, "M{x:.1} {:.1}l-{r:.1}-{d:.1}h{d:.1}z", y + r),
        _ => write!(path, "M{:.1} {y:.1}h{d:.1}M{x:.1} {:.1}v{d:.1}", x - r, y - r),
    };
}

/// Marks a dropped block.
pub fn add_cross(path: &mut String, (x, y): (f64, f64), r: f64) {
    let d = 2.0 * r;
    let _ = write!(path, "M{:.1} {:.1}l{d:.1} {d:.1}m-{d:.1} 0l{d:.1}-{d:.1}", x - r, y - r);
}

pub fn add_whisker(path: &mut String, x: f64, (low, high): (f64, f64)) {
    let _ = write!(path, "M{x:.1} {low:.1}V{high:.1}");
    for y in [low, high] {
        let _ = write!(path, "M{:.1} {y:.1}h8", x - 4.0);
    }
}

/// One variant: a line, a mark per value, and intervals if known.
#[derive(Default)]
pub struct Trace {
    line: String,
    marks: String,
    whiskers: String,
}

impl Trace {
    pub fn to(&mut self, (x, y): (f64, f64)) {
        let _ = write!(self.line, "{}{x:.1} {y:.1}", if self.line.is_empty() { 'M' } else { 'L' });
    }

    pub fn mark(&mut self, level: usize, at: (f64, f64), size: f64, ends: Option<(f64, f64)>) {
        add_shape(&mut self.marks, level, at, size);
        if let Some(ends) = ends {
            add_whisker(&mut self.whiskers, at.0, ends);
        }
    }

    pub fn draw(self, sheet: &mut Sheet, level: usize) {
        let class = class_of(level);
        sheet.path(&format!("line c{class}"), &self.line);
        sheet.path(&format!("whisker c{class}"), &self.whiskers);
        sheet.path(&format!("mark c{class}"), &self.marks);
    }
}

/// The legend of a heat map, with its left end at `left`.
pub fn draw_steps(sheet: &mut Sheet, left: f64, shades: usize) {
    for shade in 0..shades {
        let mut square = String::new();
        let x = left + SHADE * shade as f64;
        add_box(&mut square, (x, x + SHADE), (5.0, 17.0));
        sheet.path(&format!("fill h{shade}"), &square);
    }
}

pub const SHADE: f64 = 14.0;

pub struct Plot {
    pub x: Scale,
    pub y: Scale,
    pub top: f64,
    pub bottom: f64,
}

/// Maximum number of ticks on the vertical axis.
const UP: usize = 5;

impl Plot {
    pub fn new(x: (f64, f64), y: (f64, f64), (top, bottom): (f64, f64)) -> Self {
        let (x, y) = (Scale::new(x, (LEFT, RIGHT)), Scale::new(y, (bottom, top)));
        Self { x, y, top, bottom }
    }

    pub fn draw_up(&self, sheet: &mut Sheet, what: &str) {
        sheet.text((0.0, self.top - 12.0), Anchor::Start, "faint", what);
        for tick in self.y.ticks(UP) {
            let y = self.y.at(tick);
            sheet.line(if tick == 0.0 { "zero" } else { "grid" }, (LEFT, y), (RIGHT, y));
            let label = self.y.label(tick, UP);
            sheet.text((LEFT - 8.0, y + 4.5), Anchor::End, "", &label);
        }
    }

    pub fn draw_along(&self, sheet: &mut Sheet, what: &str) {
        const ALONG: usize = 6;
        for tick in self.x.ticks(ALONG) {
            let x = self.x.at(tick);
            sheet.line("axis", (x, self.bottom), (x, self.bottom + 4.0));
            let label = self.x.label(tick, ALONG);
            sheet.text((x, self.bottom + 21.0), Anchor::Middle, "", &label);
        }
        sheet.text((RIGHT, self.bottom + 43.0), Anchor::End, "faint", what);
        sheet.height = self.bottom + 50.0;
    }

    /// The band of an interval, from its ends.
    pub fn draw_belief(&self, sheet: &mut Sheet, ends: [f64; 2]) {
        let [one, other] = ends.map(|end| self.y.at(end));
        let mut band = String::new();
        add_box(&mut band, (LEFT, RIGHT), (one, other));
        sheet.path("belief", &band);
    }

    /// The band in which no difference matters.
    pub fn draw_margin(&self, sheet: &mut Sheet, margin: Option<f64>) {
        if let Some(margin) = margin {
            let mut band = String::new();
            let end = |percent| self.y.at(percent).clamp(self.top, self.bottom);
            let ends = (end(100.0 * margin), end(-100.0 * margin));
            add_box(&mut band, (LEFT, RIGHT), ends);
            sheet.path("margin", &band);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        let scale = Scale::new((-6.2, 6.2), (0.0, 100.0));
        let labels: Vec<String> = scale.ticks(6).iter().map(|&t| scale.label(t, 6)).collect();
        assert_eq!(labels, ["−5", "0", "5"]);
        let scale = Scale::new((0.0, 0.31), (0.0, 100.0));
        let labels: Vec<String> = scale.ticks(4).iter().map(|&t| scale.label(t, 4)).collect();
        assert_eq!(labels, ["0.0", "0.1", "0.2", "0.3"]);
        let scale = Scale::new((0.0, 23_000.0), (0.0, 100.0));
        assert_eq!(scale.label(scale.ticks(5)[2], 5), "10,000");
        assert!((scale.at(11_500.0) - 50.0).abs() < 1e-9);
    }

    #[test]
    fn a_span_of_nothing_is_no_division_by_zero() {
        let scale = Scale::new((3.0, 3.0), (0.0, 10.0));
        assert!(scale.at(3.0).is_finite() && !scale.ticks(4).is_empty());
        assert_eq!(extent([f64::NAN]), None);
    }

    #[test]
    fn a_sheet_is_well_formed_and_says_what_it_shows() {
        let mut sheet = Sheet::new("a <b>", "in \"words\"");
        sheet.text((1.0, 2.0), Anchor::End, "faint", "<script>");
        let svg = sheet.finish();
        assert_eq!(crate::xml::objection(&svg), None);
        assert!(svg.contains("<title>a &lt;b&gt;</title>") && !svg.contains("<script"));
    }
}
