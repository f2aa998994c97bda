//! A `--fail-if` condition, and its evaluation on a result.

use std::fmt;

use hopcost_core::{
    Code, Estimate, Experiment, ExperimentResult, Known, Reason, Subject, Unit, Verdict,
};

/// An interval of a lower level comes from too few samples to count.
const LEAST_LEVEL: f64 = 0.949;

#[derive(Clone, Debug, PartialEq)]
pub struct FailIf {
    pub(super) text: String,
    /// Name of the only experiment concerned; `None` for all.
    pub(super) of: Option<String>,
    /// A disjunction of conjunctions.
    pub(super) any: Vec<Vec<Condition>>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Crossed(String),
    Held,
    Unknown(Reason),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    Figure { figure: Figure, end: End, side: Side, bound: Bound },
    Verdict { is: bool, verdict: Verdict },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    Cost,
    Gain,
    Value,
    Worse,
    Dearer,
    Sees,
    Starts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Whole,
    Low,
    Point,
    High,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Above,
    Below,
}

/// In base units: parts of one, seconds, bytes per second, per second, or a number.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    pub value: f64,
    /// `None` if the value is a plain 0.
    pub kind: Option<Kind>,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Share,
    Time,
    Bandwidth,
    Rate,
    Number,
}

impl FailIf {
    /// A condition without an experiment's name concerns all that have its figures.
    pub fn concerns(&self, experiment: &Experiment) -> bool {
        match &self.of {
            Some(name) => *name == experiment.name,
            None => self.alien_figure(experiment).is_none(),
        }
    }

    pub fn of(&self) -> Option<&str> {
        self.of.as_deref()
    }

    pub fn objection(&self, experiment: &Experiment, has_baseline: bool) -> Option<String> {
        let name = &experiment.name;
        if let Some(of) = self.of.as_ref().filter(|of| *of != name) {
            return Some(format!("it is about '{of}', and '{name}' is run"));
        }
        if let Some(figure) = self.alien_figure(experiment) {
            let what = match experiment.subject {
                Subject::Hardware { .. } => "looks at the hardware alone: write value",
                Subject::Database(_) => "is a comparison: write cost or gain",
            };
            return Some(format!("there is no {figure} here, '{name}' {what}"));
        }
        let alone = self.figures().find(|figure| figure.needs_baseline() && !has_baseline);
        alone.map(|figure| {
            format!("{figure} is against a baseline: 'hopcost run' takes --baseline NAME")
        })
    }

    pub fn on(&self, result: &ExperimentResult) -> Outcome {
        if self.of.as_ref().is_some_and(|of| *of != result.experiment) {
            return Outcome::Unknown(
                Code::NotMeasured.because(format!("this is '{}'", result.experiment)),
            );
        }
        let groups = self.any.iter().map(|all| together(all.iter().map(|c| c.on(result))));
        groups.fold(Outcome::Held, |so_far, next| match (so_far, next) {
            (crossed @ Outcome::Crossed(_), _) | (_, crossed @ Outcome::Crossed(_)) => crossed,
            (unknown @ Outcome::Unknown(_), _) | (_, unknown @ Outcome::Unknown(_)) => unknown,
            _ => Outcome::Held,
        })
    }

    fn figures(&self) -> impl Iterator<Item = Figure> {
        self.any.iter().flatten().filter_map(|condition| match condition {
            Condition::Figure { figure, .. } => Some(*figure),
            Condition::Verdict { .. } => None,
        })
    }

    fn alien_figure(&self, experiment: &Experiment) -> Option<Figure> {
        let is_hardware = matches!(experiment.subject, Subject::Hardware { .. });
        self.figures().find(|figure| (*figure == Figure::Value) != is_hardware)
    }
}

impl fmt::Display for FailIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The first `Held` decides, then the first `Unknown`.
fn together(outcomes: impl Iterator<Item = Outcome>) -> Outcome {
    let both = |so_far, next| match (so_far, next) {
        (Outcome::Held, _) | (_, Outcome::Held) => Outcome::Held,
        (unknown @ Outcome::Unknown(_), _) | (_, unknown @ Outcome::Unknown(_)) => unknown,
        (Outcome::Crossed(a), Outcome::Crossed(b)) => Outcome::Crossed(format!("{a}, and {b}")),
    };
    outcomes.reduce(both).unwrap_or(Outcome::Held)
}

impl Condition {
    fn on(&self, result: &ExperimentResult) -> Outcome {
        match self {
            Self::Verdict { is, verdict } => {
                let crossed = (result.verdict == *verdict) == *is;
                let says = || Outcome::Crossed(format!("the verdict is {}", result.verdict));
                if crossed { says() } else { Outcome::Held }
            }
            Self::Figure { figure, end, side, bound } => {
                // The run that becomes the baseline is not worse than itself.
                let is_first = result.against.as_ref().is_some_and(|against| against.is_first);
                if figure.needs_baseline() && is_first {
                    return Outcome::Held;
                }
                match figure.of(result) {
                    Known::Is(measured) => measured.beyond(*figure, *end, *side, bound),
                    Known::Missing(reason) => Outcome::Unknown(reason),
                }
            }
        }
    }
}

impl Figure {
    pub const ALL: [Self; 7] =
        [Self::Cost, Self::Gain, Self::Value, Self::Worse, Self::Dearer, Self::Sees, Self::Starts];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Cost => "cost",
            Self::Gain => "gain",
            Self::Value => "value",
            Self::Worse => "worse",
            Self::Dearer => "dearer",
            Self::Sees => "sees",
            Self::Starts => "starts",
        }
    }

    const fn needs_baseline(self) -> bool {
        matches!(self, Self::Worse | Self::Dearer)
    }

    fn of(self, result: &ExperimentResult) -> Known<Measured> {
        if result.verdict.is_without_figures() {
            let (verdict, reason) = (result.verdict, &result.reason);
            return Known::missing(
                Code::NotMeasured,
                format!("the verdict is {verdict}: {reason}"),
            );
        }
        let share = |estimate| Measured { estimate, unit: Some(Unit::Fraction) };
        let headline = result
            .estimate
            .clone()
            .map(|headline| Measured { estimate: headline.estimate, unit: Some(headline.unit) });
        let details = result.details.as_ref();
        match self {
            Self::Value => headline,
            Self::Cost => headline.and_then(Measured::as_share),
            Self::Gain => headline.and_then(Measured::as_share).map(Measured::negated),
            Self::Sees => {
                let starts = details.and_then(|details| details.starts.as_ref());
                let why = "one start alone does not show what it would have found: --starts 8 does";
                Known::found(starts.map(|starts| share(exactly(starts.sees))), Code::TooFew, || why)
            }
            Self::Starts => {
                let number = details.map(|details| details.number_of_starts() as f64);
                let number =
                    number.map(|number| Measured { estimate: exactly(number), unit: None });
                Known::found(number, Code::NotApplicable, || "the hardware alone was measured")
            }
            Self::Worse | Self::Dearer => match &result.against {
                None => Known::missing(Code::NotApplicable, "there is no baseline beside this run"),
                Some(against) if self == Self::Worse => against.worse.clone().map(share),
                Some(against) => against.dearer.clone().map(share),
            },
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

const fn exactly(point: f64) -> Estimate {
    Estimate { point, low: point, high: point, level: 1.0, n: 1, n_effective: 1.0 }
}

#[derive(Clone, Copy, Debug)]
struct Measured {
    estimate: Estimate,
    /// `None` of a plain number.
    unit: Option<Unit>,
}

impl Measured {
    fn as_share(self) -> Known<Self> {
        match self.unit {
            Some(Unit::Fraction) => Known::Is(self),
            _ => Known::missing(
                Code::NotApplicable,
                "it looked at the hardware alone: there is nothing to compare",
            ),
        }
    }

    fn negated(self) -> Self {
        let Estimate { point, low, high, .. } = self.estimate;
        let estimate = Estimate { point: -point, low: -high, high: -low, ..self.estimate };
        Self { estimate, ..self }
    }

    /// Its kind, one display unit in base units, and that unit's symbol.
    const fn scale(self) -> (Kind, f64, &'static str) {
        match self.unit {
            Some(Unit::Fraction) => (Kind::Share, 1.0, "%"),
            Some(Unit::Nanoseconds) => (Kind::Time, 1e-9, "ns"),
            Some(Unit::Microseconds) => (Kind::Time, 1e-6, "us"),
            Some(Unit::GigabytesPerSecond) => (Kind::Bandwidth, 1e9, "GB/s"),
            Some(Unit::PerSecond) => (Kind::Rate, 1.0, "/s"),
            None => (Kind::Number, 1.0, ""),
        }
    }

    fn beyond(self, figure: Figure, end: End, side: Side, bound: &Bound) -> Outcome {
        let (kind, one, unit) = self.scale();
        if bound.kind.is_some_and(|of_bound| of_bound != kind) {
            return Outcome::Unknown(
                Code::NotMeasured.because(format!("it was measured in {unit}")),
            );
        }
        let Estimate { point, low, high, level, .. } = self.estimate;
        if end != End::Point && level < LEAST_LEVEL {
            let n = self.estimate.n_effective;
            return Outcome::Unknown(
                Code::NotMeasured.because(format!("{n:.0} rounds are too few for an interval")),
            );
        }
        let decides = match (end, side) {
            (End::Point, _) => point,
            (End::Low, _) | (End::Whole, Side::Above) => low,
            (End::High, _) | (End::Whole, Side::Below) => high,
        };
        let (crossed, place) = match side {
            Side::Above => (decides * one > bound.value, "above"),
            Side::Below => (decides * one < bound.value, "below"),
        };
        let (shown, places, space) = match kind {
            Kind::Share => (100.0, 2, ""),
            Kind::Number => (1.0, 0, ""),
            _ => (1.0, 2, " "),
        };
        let is_exact = low >= high;
        let [point, low, high] =
            [point, low, high].map(|value| format!("{:.places$}", shown * value));
        let unit = format!("{space}{unit}");
        let says = match end {
            End::Whole if is_exact => format!("{figure} {point}{unit}"),
            End::Whole => format!("{figure} {point}{unit} ({low} … {high}{unit})"),
            End::Low => format!("{figure}.low {low}{unit}"),
            End::Point => format!("{figure}.point {point}{unit}"),
            End::High => format!("{figure}.high {high}{unit}"),
        };
        if crossed {
            Outcome::Crossed(format!("{says} is {place} {}", bound.text.replace(" %", "%")))
        } else {
            Outcome::Held
        }
    }
}
