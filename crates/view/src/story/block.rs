//! The parts of a report, independent of its format.

use hopcost_core::{Known, Machine, Verdict};

use crate::charts::{self, Row};
use crate::page::Section;
use crate::series::Shape;
use crate::words::{minus, thousands};

/// Each format prints it in its own way, and omits what it cannot show.
pub enum Block<'a> {
    Heading(Heading),
    Sentence(Sentence),
    /// Short secondary facts on one line.
    Aside(Vec<String>),
    Facts(Vec<Fact>),
    Table(Table),
    List(Vec<Item>),
    Figures(Vec<Figure<'a>>),
    Command(String),
}

pub struct Heading {
    pub text: String,
    /// Omitted in short formats.
    pub is_detail: bool,
}

pub struct Sentence {
    /// Its leading verdict, and whether it was emulated.
    pub verdict: Option<(Verdict, bool)>,
    pub text: String,
    pub tone: Tone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Strong,
    Faint,
}

/// Name and text; an empty name continues the preceding fact.
pub type Fact = (String, String);

pub struct Table {
    pub head: Vec<Column>,
    pub rows: Vec<Vec<String>>,
}

pub struct Column {
    pub name: String,
    pub is_figures: bool,
    /// Secondary: placed last, and dropped first when space is short.
    pub is_detail: bool,
}

/// `name` and `place` (a link's anchor) may be missing.
#[derive(Default)]
pub struct Item {
    pub name: String,
    pub text: String,
    pub place: Option<String>,
}

pub struct Figure<'a> {
    pub name: String,
    pub about: String,
    pub picture: Picture<'a>,
}

/// Pages draw all of them, terminals those that characters can show.
pub enum Picture<'a> {
    Costs(Vec<Row>),
    Times(&'a Section<'a>),
    Key(Vec<String>),
    Chart(Box<dyn Fn() -> Known<String> + 'a>),
    Cells(Shape<'a>),
    Machine(&'a Machine),
}

impl Block<'_> {
    pub fn heading(text: impl Into<String>) -> Self {
        Self::Heading(Heading { text: text.into(), is_detail: false })
    }

    pub fn detail(text: impl Into<String>) -> Self {
        Self::Heading(Heading { text: text.into(), is_detail: true })
    }

    pub fn sentence(text: impl Into<String>) -> Self {
        Self::Sentence(Sentence { verdict: None, text: text.into(), tone: Tone::Plain })
    }

    pub fn strong(text: impl Into<String>) -> Self {
        Self::Sentence(Sentence { verdict: None, text: text.into(), tone: Tone::Strong })
    }

    pub fn faint(text: impl Into<String>) -> Self {
        Self::Sentence(Sentence { verdict: None, text: text.into(), tone: Tone::Faint })
    }

    pub fn list(lines: impl IntoIterator<Item = String>) -> Self {
        Self::List(lines.into_iter().map(|text| Item { text, ..Item::default() }).collect())
    }

    pub fn is_empty(&self) -> bool {
        match self {
            Self::Aside(pieces) => pieces.is_empty(),
            Self::Facts(facts) => facts.is_empty(),
            Self::Table(table) => table.rows.is_empty(),
            Self::List(items) => items.is_empty(),
            Self::Figures(figures) => figures.is_empty(),
            Self::Heading(_) | Self::Sentence(_) | Self::Command(_) => false,
        }
    }

    /// Below a heading, or empty without content.
    pub fn under(self, heading: Self) -> Vec<Self> {
        if self.is_empty() { Vec::new() } else { vec![heading, self] }
    }
}

impl Column {
    pub fn words(name: &str) -> Self {
        Self { name: name.to_owned(), is_figures: false, is_detail: false }
    }

    pub fn figures(name: &str) -> Self {
        Self { is_figures: true, ..Self::words(name) }
    }

    pub fn detail(self) -> Self {
        Self { is_detail: true, ..self }
    }
}

impl Picture<'_> {
    pub fn svg(&self) -> Known<String> {
        match self {
            Self::Costs(rows) => charts::effect("Effect", rows),
            Self::Times(section) => charts::times(section),
            Self::Chart(draw) => draw(),
            Self::Cells(Shape::Matrix { series, cells }) => charts::matrix(series, cells),
            Self::Cells(Shape::Curve { series, cells }) => charts::curve(series, cells),
            Self::Machine(machine) => Known::Is(crate::svg::overview(machine)),
            Self::Cells(Shape::List { .. }) | Self::Key(_) => Known::Is(String::new()),
        }
    }
}

pub fn brief<'b, 'a>(blocks: &'b [Block<'a>]) -> impl Iterator<Item = &'b Block<'a>> {
    let mut is_detail = false;
    blocks.iter().filter(move |block| {
        if let Block::Heading(heading) = block {
            is_detail = heading.is_detail;
        }
        !is_detail
    })
}

/// Formats a column with equal decimals, so that points align. Missing values are dashes.
pub fn aligned(values: &[Option<f64>]) -> Vec<String> {
    let largest = values.iter().flatten().map(|value| value.abs()).fold(0.0, f64::max);
    let are_whole = values.iter().flatten().all(|value| value.fract() == 0.0);
    let decimals = match largest {
        _ if are_whole => 0,
        m if m >= 999.5 => 0,
        m if m >= 99.95 => 1,
        m if m >= 0.995 => 2,
        _ => 3,
    };
    let written = |value: &Option<f64>| match value {
        Some(value) if decimals == 0 => minus(&thousands(&format!("{value:.0}"))),
        Some(value) => minus(&format!("{value:.decimals$}")),
        None => "–".to_owned(),
    };
    values.iter().map(written).collect()
}

/// Aligns several columns; returns one array per row.
pub fn all_aligned<const N: usize>(rows: &[[Option<f64>; N]]) -> Vec<[String; N]> {
    let columns: [Vec<String>; N] =
        std::array::from_fn(|n| aligned(&rows.iter().map(|row| row[n]).collect::<Vec<_>>()));
    (0..rows.len()).map(|row| std::array::from_fn(|n| columns[n][row].clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_stand_under_decimals() {
        assert_eq!(aligned(&[Some(2.8), None, Some(-12.345)]), ["2.80", "–", "−12.35"]);
        assert_eq!(aligned(&[Some(41.0), Some(0.0)]), ["41", "0"]);
        assert_eq!(aligned(&[Some(1_608.4), Some(15.0)]), ["1,608", "15"]);
    }
}
