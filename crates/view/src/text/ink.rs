//! Colors by meaning, which words or signs also carry.

use anstyle::{Ansi256Color, AnsiColor, Color, Style};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    Strong,
    Faint,
    Good,
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

/// `heat` is 0 (near) to 1 (far). Light to dark blue is also readable without color vision.
pub fn heat(text: &str, heat: f64) -> String {
    const SCALE: [(u8, bool); 6] =
        [(195, true), (153, true), (111, true), (69, false), (26, false), (18, false)];
    let step = (heat.clamp(0.0, 1.0) * (SCALE.len() - 1) as f64).round() as usize;
    let (ground, dark_text) = SCALE[step];
    let ink = if dark_text { 16 } else { 231 };
    let colour = |number| Some(Color::Ansi256(Ansi256Color(number)));
    paint(Style::new().bg_color(colour(ground)).fg_color(colour(ink)), text)
}

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
