//! The few meanings that colour supports. Each is also said in words or signs.

use anstyle::{Ansi256Color, AnsiColor, Color, Style};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// A name or a headline.
    Strong,
    /// Secondary matter.
    Faint,
    /// All is well.
    Good,
    /// Something to mend.
    Bad,
}

impl Ink {
    pub fn on(self, text: &str) -> String {
        let style = match self {
            Self::Strong => Style::new().bold(),
            Self::Faint => Style::new().dimmed(),
            Self::Good => Style::new().fg_color(Some(AnsiColor::Cyan.into())),
            Self::Bad => Style::new().fg_color(Some(AnsiColor::Yellow.into())).bold(),
        };
        paint(style, text)
    }
}

/// A cell of a heat map: `heat` from 0 (cool, near) to 1 (hot, far). The scale runs from light to
/// dark blue, which the colour-blind and a grey screen see too.
pub fn heat(text: &str, heat: f64) -> String {
    const SCALE: [(u8, bool); 6] =
        [(195, true), (153, true), (111, true), (69, false), (26, false), (18, false)];
    let step = (heat.clamp(0.0, 1.0) * (SCALE.len() - 1) as f64).round() as usize;
    let (ground, dark_text) = SCALE[step];
    let ink = if dark_text { 16 } else { 231 };
    let colour = |number| Some(Color::Ansi256(Ansi256Color(number)));
    paint(Style::new().bg_color(colour(ground)).fg_color(colour(ink)), text)
}

/// The same scale without colour: a sign for each step.
pub fn shade(heat: f64) -> char {
    const SCALE: [char; 5] = ['·', '░', '▒', '▓', '█'];
    SCALE[(heat.clamp(0.0, 1.0) * (SCALE.len() - 1) as f64).round() as usize]
}

fn paint(style: Style, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    format!("{style}{text}{style:#}")
}
