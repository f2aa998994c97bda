//! Parses a `--fail-if`; errors name the column.

use std::fmt;

use hopcost_core::Verdict;

use super::condition::{Bound, Condition, End, FailIf, Figure, Kind, Side};
use crate::tag;

pub const FIGURES: &[(&str, &str)] = &[
    ("cost", "share of throughput that the level under test loses"),
    ("gain", "share that it wins: the cost with its sign changed"),
    ("value", "what an experiment on the hardware found: value > 250 ns"),
    ("worse", "share of the first variant's throughput lost since --baseline"),
    ("dearer", "how much the cost rose since --baseline: dearer > 1%"),
    ("sees", "the effect that 8 of 10 such runs find: a check that cannot see it has not passed"),
    ("starts", "how many were measured: starts < 8"),
    ("verdict", "how it ended: verdict = REFUSED"),
];

/// Each line begins with a space so that a manual page does not join them.
pub const GRAMMAR: &str = concat!(
    "  [EXPERIMENT:] CONDITION, and more of them behind 'and' or 'or'\n",
    "  CONDITION   FIGURE > VALUE or FIGURE < VALUE; verdict = or != VERDICT\n",
    "  FIGURE      all of its interval has to lie there, so that it is sure;\n",
    "              FIGURE.low, .point and .high are that one number\n",
    "  VALUE       3% or 0.03 of a share; 250 ns or 20 GB/s of a value; 8 of starts; 0\n",
);

const KEYWORDS: [&str; 2] = ["and", "or"];

const VERDICTS: [Verdict; 8] = [
    Verdict::Cost,
    Verdict::Gain,
    Verdict::Equivalent,
    Verdict::Inconclusive,
    Verdict::Measured,
    Verdict::Refused,
    Verdict::NotApplicable,
    Verdict::Disturbed,
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// In characters, from 1.
    pub column: usize,
    pub says: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}", self.column, self.says)
    }
}

impl std::error::Error for Unreadable {}

impl FailIf {
    pub fn read(text: &str) -> Result<Self, Unreadable> {
        let (of, rest) = match text.split_once(':') {
            Some((name, rest)) => (Some(name.trim()), rest),
            None => (None, text),
        };
        let before = text.chars().count() - rest.chars().count();
        if of.is_some_and(str::is_empty) {
            return Err(Unreadable {
                column: 1,
                says: "an experiment's name comes before ':'".into(),
            });
        }
        let mut words = Words { all: split(rest, before)?, next: 0, end: text.chars().count() + 1 };
        let mut any = vec![vec![words.condition()?]];
        while let Some(word) = words.take() {
            let condition = match word.text.as_str() {
                "and" | "or" => words.condition()?,
                other => return Err(word.wrong(not_joined(other))),
            };
            match any.last_mut() {
                Some(all) if word.text == "and" => all.push(condition),
                _ => any.push(vec![condition]),
            }
        }
        Ok(Self { text: text.trim().to_owned(), of: of.map(str::to_owned), any })
    }
}

fn not_joined(found: &str) -> String {
    match found {
        "(" | ")" => "there are no parentheses: 'and' joins before 'or' does".into(),
        "," | ";" | "&&" | "||" => format!("'{found}': join conditions with 'and' or 'or'"),
        _ => format!("'{found}' after a whole condition: join another one with 'and' or 'or'"),
    }
}

#[derive(Clone, Debug)]
struct Word {
    text: String,
    column: usize,
}

impl Word {
    fn wrong(&self, says: impl Into<String>) -> Unreadable {
        Unreadable { column: self.column, says: says.into() }
    }
}

/// Whether `next` belongs to the word that `first` begins.
fn goes_on(first: char, next: char) -> bool {
    let in_number = |c: char| c.is_ascii_digit() || c == '.';
    match first {
        c if in_number(c) || c == '-' => in_number(next),
        c if c.is_alphabetic() || c == '/' => next.is_alphanumeric() || "_.-/".contains(next),
        '>' | '<' | '=' | '!' => next == '=',
        '&' | '|' => next == first,
        _ => false,
    }
}

fn split(text: &str, before: usize) -> Result<Vec<Word>, Unreadable> {
    let mut words = Vec::new();
    let mut characters = text.chars().zip(before + 1..).peekable();
    while let Some((first, column)) = characters.next() {
        if first.is_whitespace() {
            continue;
        }
        let mut text = String::from(first);
        while let Some((next, _)) = characters.next_if(|(next, _)| goes_on(first, *next)) {
            text.push(next);
        }
        if first == ':' {
            let says = "one ':' at most, after an experiment's name".into();
            return Err(Unreadable { column, says });
        }
        words.push(Word { text, column });
    }
    Ok(words)
}

struct Words {
    all: Vec<Word>,
    next: usize,
    /// The column after the last character.
    end: usize,
}

impl Words {
    fn take(&mut self) -> Option<Word> {
        let word = self.all.get(self.next).cloned();
        self.next += usize::from(word.is_some());
        word
    }

    fn expect(&mut self, what: &str) -> Result<Word, Unreadable> {
        let end = self.end;
        self.take().ok_or_else(|| Unreadable { column: end, says: format!("{what} is missing") })
    }

    fn condition(&mut self) -> Result<Condition, Unreadable> {
        let name = self.expect("a condition, as cost > 3%,")?;
        match name.text.as_str() {
            "verdict" => return self.verdict(),
            "(" => return Err(name.wrong(not_joined("("))),
            _ => {}
        }
        let (figure, end) = figure(&name)?;
        let sign = self.expect("> or <")?;
        let side = match sign.text.as_str() {
            ">" => Side::Above,
            "<" => Side::Below,
            ">=" | "<=" => return Err(sign.wrong("write > or <: a figure is never just equal")),
            "=" | "==" | "!=" => {
                return Err(sign.wrong("only a verdict has =: a figure is compared with > or <"));
            }
            other => return Err(sign.wrong(format!("'{other}' where > or < belongs"))),
        };
        let bound = self.bound(figure)?;
        Ok(Condition::Figure { figure, end, side, bound })
    }

    fn verdict(&mut self) -> Result<Condition, Unreadable> {
        let sign = self.expect("= or !=")?;
        let is_equal = match sign.text.as_str() {
            "=" => true,
            "!=" => false,
            other => return Err(sign.wrong(format!("'{other}': a verdict takes = or !="))),
        };
        let name = self.expect("a verdict")?;
        let next = self.all.get(self.next).map(|word| format!("{} {}", name.text, word.text));
        let is = |verdict: &&Verdict, text: &str| {
            verdict.to_string().eq_ignore_ascii_case(text)
                || tag(**verdict).eq_ignore_ascii_case(&text.replace('_', " "))
        };
        let of_two = VERDICTS.iter().find(|it| next.as_ref().is_some_and(|text| is(it, text)));
        self.next += usize::from(of_two.is_some());
        let found = of_two.or_else(|| VERDICTS.iter().find(|verdict| is(verdict, &name.text)));
        let verdict = *found.ok_or_else(|| {
            let known = VERDICTS.map(tag).join(", ");
            name.wrong(format!("there is no verdict '{}'; known: {known}", name.text))
        })?;
        Ok(Condition::Verdict { is: is_equal, verdict })
    }

    fn bound(&mut self, figure: Figure) -> Result<Bound, Unreadable> {
        let number = self.expect("a value")?;
        let Some(value) = number.text.parse().ok().filter(|value: &f64| value.is_finite()) else {
            return Err(number.wrong(format!("'{}' is no number", number.text)));
        };
        let follows = self.all.get(self.next).cloned();
        let unit = follows.filter(|word| !KEYWORDS.contains(&word.text.as_str()));
        let known = unit.as_ref().and_then(|unit| unit_of(&unit.text));
        if let (Some(unit), None) = (&unit, known) {
            return Err(unit.wrong(format!(
                "'{}' is no unit: {}; more conditions follow 'and' or 'or'",
                unit.text,
                units(figure)
            )));
        }
        self.next += usize::from(unit.is_some());
        let fits = match (figure, known) {
            (Figure::Starts, None) => Some((Some(Kind::Number), 1.0)),
            (Figure::Starts, Some(_)) => None,
            (Figure::Value, None) => (value == 0.0).then_some((None, 1.0)),
            (_, None) => (value.abs() < 1.0).then_some((Some(Kind::Share), 1.0)),
            (_, Some((kind, factor))) => {
                ((kind == Kind::Share) != (figure == Figure::Value)).then_some((Some(kind), factor))
            }
        };
        let Some((kind, factor)) = fits else { return Err(number.wrong(units(figure))) };
        let unit = unit.map_or(String::new(), |unit| format!(" {}", unit.text));
        let text = format!("{}{unit}", number.text);
        Ok(Bound { value: value * factor, kind, text })
    }
}

fn units(figure: Figure) -> String {
    match figure {
        Figure::Value => "a value has a unit: 250 ns, 2 us, 1 ms, 1 s, 20 GB/s or 5000 /s".into(),
        Figure::Starts => "starts are a plain number: starts < 8".into(),
        _ => format!("{figure} is a share: write 3% or 0.03"),
    }
}

fn unit_of(text: &str) -> Option<(Kind, f64)> {
    Some(match text {
        "%" => (Kind::Share, 0.01),
        "ns" => (Kind::Time, 1e-9),
        "us" | "µs" | "μs" => (Kind::Time, 1e-6),
        "ms" => (Kind::Time, 1e-3),
        "s" => (Kind::Time, 1.0),
        "GB/s" => (Kind::Bandwidth, 1e9),
        "/s" => (Kind::Rate, 1.0),
        _ => return None,
    })
}

/// `cost`, or `cost.high`.
fn figure(name: &Word) -> Result<(Figure, End), Unreadable> {
    let (stem, end) = name.text.split_once('.').unwrap_or((&name.text, ""));
    let figure = Figure::ALL.into_iter().find(|figure| figure.name() == stem).ok_or_else(|| {
        let known: Vec<&str> = FIGURES.iter().map(|(name, _)| *name).collect();
        name.wrong(format!("there is no figure '{stem}'; known: {}", known.join(", ")))
    })?;
    let whole = !name.text.contains('.');
    let end = match end {
        "" if whole => End::Whole,
        "low" => End::Low,
        "point" => End::Point,
        "high" => End::High,
        _ => {
            let says = format!("'{}': a figure has .low, .point and .high", name.text);
            return Err(name.wrong(says));
        }
    };
    Ok((figure, end))
}
