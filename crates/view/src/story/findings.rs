//! The finding in one sentence and the advice in another, as a pure function of the results.

use hopcost_core::{Estimate, ExperimentResult, Known, Severity, Verdict};

use super::absence;
use crate::page::{Page, Section};
use crate::words::{
    change, change_ends, changed, confidence, cost_of, duration, effect, of, of_starts, percent,
    plural, range, sentence,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentences {
    pub found: String,
    /// Why it matters.
    pub why: Option<String>,
    pub action: String,
    /// How sure it is, if there is an interval.
    pub sure: Option<String>,
    /// Whether the page has lines to type for it.
    pub has_lines: bool,
}

pub fn sentences(page: &Page<'_>) -> Sentences {
    let clearest = clearest(&page.sections);
    let found = match clearest {
        Some(section) => found(section, &page.sections),
        None => nothing_found(page),
    };
    let action = match clearest {
        _ if page.interrupted => {
            "It was stopped before its end. What was finished counts; run the rest again."
                .to_owned()
        }
        Some(section) => action(section),
        None => nothing_to_act_on(page),
    };
    let compares = |it: &&Section<'_>| matches!(it.result.verdict, Verdict::Cost | Verdict::Gain);
    let why = clearest.filter(compares).and_then(|it| {
        let companions = companions(it, &page.sections);
        Some(format!("{}{companions}", it.words?.why.as_ref()?))
    });
    Sentences {
        found,
        why,
        action: with_the_doctor(page, action),
        sure: clearest.filter(compares).and_then(sure),
        has_lines: clearest
            .and_then(|it| it.advice.as_ref())
            .is_some_and(|advice| !advice.lines.is_empty()),
    }
}

/// The same question under other conditions, e.g. with a disk: its name goes on where this one's ends.
fn companions(section: &Section<'_>, all: &[Section<'_>]) -> String {
    let name = format!("{}-", section.result.experiment);
    let others = all.iter().filter(|it| it.result.experiment.starts_with(&name));
    let counts = |it: &&Section<'_>| {
        matches!(it.result.verdict, Verdict::Cost | Verdict::Gain | Verdict::Equivalent)
    };
    let one = |it: &Section<'_>| Some(format!(" {}: {}.", it.title(), change(cost_of(it.result)?)));
    others.filter(counts).filter_map(one).collect()
}

/// The most important section: real before emulated, certain before uncertain. Ties go to the
/// first, since experiments are ordered by importance.
fn clearest<'s, 'a>(sections: &'s [Section<'a>]) -> Option<&'s Section<'a>> {
    let rank = |section: &Section<'_>| {
        let result = section.result;
        let weight = match result.verdict {
            Verdict::Cost | Verdict::Gain if section.is_material() => 6,
            Verdict::Cost | Verdict::Gain => 5,
            Verdict::Equivalent => 4,
            Verdict::Measured => 3,
            Verdict::Inconclusive => 2,
            Verdict::Refused => 1,
            Verdict::NotApplicable | Verdict::Disturbed => 0,
        };
        (!result.emulated, weight)
    };
    let best = sections.iter().map(rank).max()?;
    sections.iter().find(|section| rank(section) == best)
}

fn found(section: &Section<'_>, all: &[Section<'_>]) -> String {
    let result = section.result;
    let cost = match cost_of(result) {
        Some(cost) if result.verdict != Verdict::Refused => cost,
        _ => return without_cost(section),
    };
    if result.emulated {
        return found_again(result, cost);
    }
    match result.verdict {
        Verdict::Equivalent => nothing_matters(section, all),
        Verdict::Inconclusive => {
            format!("{}: undecided, from {} throughput.", section.title(), range(cost))
        }
        _ => {
            let (text, _) = effect(cost, section.compared().as_compared());
            format!("{text}{}.", section.at_clients())
        }
    }
}

/// The interval, what it holds for, and what else supports it.
fn sure(section: &Section<'_>) -> Option<String> {
    let cost = cost_of(section.result)?;
    let (_, ends) = effect(cost, section.compared().as_compared());
    let verified = if section.result.proof.is_empty() { "" } else { "; placement verified" };
    let details = section.result.details.as_ref();
    let itself = details.and_then(|details| details.placebo.as_ref());
    let itself = itself.map_or(String::new(), |placebo| {
        format!("; baseline against itself: {} ({})", changed(placebo), change_ends(placebo))
    });
    let untried = if section.advice.is_some() {
        " The advice was not tried: measure before and after it."
    } else {
        ""
    };
    let (level, start) = (confidence(cost), of_starts(section.starts()));
    let differs = if section.starts().is_none() { " (another start can differ)" } else { "" };
    Some(format!("{level} CI {ends}, {start}{differs}{verified}{itself}.{untried}"))
}

/// Injected and measured cost; never a statement about this machine.
fn found_again(result: &ExperimentResult, cost: &Estimate) -> String {
    let injected =
        result.planted.map_or("an unknown share".to_owned(), |it| percent(it).replace(' ', ""));
    format!("EMULATED: {injected} of throughput injected; change found: {}.", change(cost))
}

fn nothing_matters(section: &Section<'_>, all: &[Section<'_>]) -> String {
    let real = all.iter().map(|section| section.result).filter(|result| !result.emulated);
    let compared: Vec<_> = real.filter(|result| cost_of(result).is_some()).collect();
    if compared.len() > 1 {
        let open =
            |r: &&&ExperimentResult| matches!(r.verdict, Verdict::Inconclusive | Verdict::Refused);
        let open = match compared.iter().filter(open).count() {
            0 => String::new(),
            n => format!("; {n} undecided"),
        };
        return format!(
            "No difference worth caring about in {} comparisons{open}.",
            compared.len()
        );
    }
    format!("{}: no difference worth caring about.", section.title())
}

fn without_cost(section: &Section<'_>) -> String {
    let (result, title) = (section.result, section.title());
    let stamp = if result.emulated { "EMULATED: " } else { "" };
    match (&result.estimate, result.verdict) {
        (_, Verdict::Refused) => {
            format!("{stamp}{title}: not valid. {}", sentence(result.reason.as_str()))
        }
        (_, Verdict::NotApplicable) => {
            format!("{stamp}{title}: not tested. {}", sentence(absence::why(&result.reason)))
        }
        (Known::Is(figure), _) => {
            format!("{stamp}{title}: {} ({}).", section.headline(figure), of(figure))
        }
        (Known::Missing(reason), _) => {
            format!("{stamp}{title}: undecided. {}", sentence(reason.as_str()))
        }
    }
}

fn action(section: &Section<'_>) -> String {
    let result = section.result;
    let labels = section.compared();
    let compared = labels.as_compared();
    if result.emulated {
        return "Nothing: simulated distance tests the method and says nothing about this machine."
            .to_owned();
    }
    let is_difference = matches!(result.verdict, Verdict::Cost | Verdict::Gain);
    if let Some(advice) = section.advice.as_ref().filter(|_| is_difference) {
        return format!("{}. Not if {}.", advice.action(), advice.avoid);
    }
    let better = match result.verdict {
        Verdict::Cost => compared.baseline,
        _ => compared.variant,
    };
    match result.verdict {
        Verdict::Cost | Verdict::Gain if section.is_material() => {
            format!("If you can choose, take {better}.")
        }
        Verdict::Cost | Verdict::Gain => {
            format!("The difference is real but small. Take {better} only if it costs nothing.")
        }
        Verdict::Equivalent => "Leave it as it is.".into(),
        Verdict::Inconclusive => "Give it more time: a longer --budget narrows the interval.".into(),
        Verdict::Measured => {
            "Keep these figures: 'hopcost compare' holds another machine, or this one after a change, \
             against them."
                .into()
        }
        Verdict::Refused => "Fix what is named, then run it again.".into(),
        Verdict::Disturbed => {
            "Run it again when the other work is done: 'hopcost doctor' names it.".into()
        }
        Verdict::NotApplicable => absence::way_out(&result.reason)
            .unwrap_or_else(|| "Run it where what is missing exists.".to_owned()),
    }
}

fn nothing_found(page: &Page<'_>) -> String {
    match page.probes.len() {
        0 => "Nothing was measured.".to_owned(),
        n => format!("The hardware was measured by {}.", plural(n, "probe")),
    }
}

fn nothing_to_act_on(page: &Page<'_>) -> String {
    let takes: f64 = page.not_tested.iter().filter_map(|left| left.takes_s).sum();
    if takes > 0.0 {
        return format!("What was skipped would take {} more.", duration(takes));
    }
    "Run an experiment: 'hopcost list' names them.".to_owned()
}

/// Problems that spoil measurements come before other advice.
fn with_the_doctor(page: &Page<'_>, action: String) -> String {
    let findings = page.findings.get().copied().unwrap_or_default();
    let warnings = findings.iter().filter(|finding| finding.severity == Severity::Warning).count();
    match warnings {
        0 => action,
        n => format!("{action} First see what 'hopcost doctor' shows ({}).", plural(n, "warning")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{self, Sample};
    use hopcost_core::Code;

    fn said(results: &[Sample]) -> Sentences {
        let sections = results.iter().map(Sample::section).collect();
        sentences(&sample::page(sections))
    }

    #[test]
    fn what_is_sure_and_matters_comes_first() {
        let small = Sample::compared("log-distance", Verdict::Cost, 0.02, 0.005);
        let large = Sample::compared("remote-memory", Verdict::Cost, 0.06, 0.02);
        let wide = Sample::compared("memory-policy", Verdict::Inconclusive, 0.3, 0.4);
        let said = said(&[wide, small, large]);
        assert_eq!(
            said.found,
            "6.0% fewer queries with remote memory than with local memory, at 2 clients."
        );
        assert_eq!(said.why.as_deref(), Some("Every page is far away."));
        assert_eq!(said.action, "If you can choose, take local memory.");
        assert_eq!(
            said.sure.as_deref(),
            Some(
                "95% CI 4.0–8.0%, within this start (another start can differ); placement verified; baseline against itself: \
                 +0.2% (−0.6% to +1.0%)."
            )
        );
    }

    #[test]
    fn a_gain_is_told_as_one() {
        let said = said(&[Sample::compared("memory-policy", Verdict::Gain, -0.14, 0.03)]);
        assert!(said.found.starts_with("14.0% more queries with remote memory"), "{}", said.found);
        assert_eq!(said.action, "If you can choose, take remote memory.");
        let times = self::said(&[Sample::compared("memory-policy", Verdict::Gain, -1.367, 0.07)]);
        assert!(times.found.starts_with("2.37× as many queries with remote memory as with local"));
        let small = self::said(&[Sample::compared("memory-policy", Verdict::Gain, -0.012, 0.01)]);
        assert!(small.action.starts_with("The difference is real but small. Take remote memory"));
    }

    #[test]
    fn nothing_that_matters_is_said_honestly() {
        let said = said(&[Sample::compared("remote-memory", Verdict::Equivalent, 0.001, 0.01)]);
        assert_eq!(said.found, "Remote memory: no difference worth caring about.");
        assert_eq!(said.action, "Leave it as it is.");
        let nothing = || Sample::compared("log-distance", Verdict::Equivalent, 0.001, 0.01);
        let open = Sample::compared("memory-policy", Verdict::Inconclusive, 0.01, 0.2);
        let found = self::said(&[nothing(), nothing(), open]).found;
        assert_eq!(found, "No difference worth caring about in 3 comparisons; 1 undecided.");
    }

    #[test]
    fn an_emulated_effect_is_never_one_of_this_machine() {
        let mut emulated = Sample::compared("remote-memory", Verdict::Cost, 0.2, 0.01);
        emulated.result.emulated = true;
        emulated.result.planted = Some(0.19);
        let real = Sample::compared("log-distance", Verdict::Equivalent, 0.0, 0.01);
        assert!(said(&[emulated.clone(), real]).found.starts_with("Log distance"));
        let alone = said(&[emulated]).found;
        assert!(
            alone.starts_with("EMULATED: 19.0% of throughput injected; change found: −20.0%"),
            "{alone}"
        );
        assert!(!alone.contains("costs this machine"));
    }

    #[test]
    fn refusals_and_absences_have_their_reason() {
        let mut refused = Sample::compared("remote-memory", Verdict::Refused, 0.2, 0.01);
        refused.result.reason = Code::NotMeasured.because("12 pages were elsewhere");
        assert!(said(&[refused.clone()]).found.contains("not valid. 12 pages were elsewhere."));
        refused.result.emulated = true;
        assert!(said(&[refused]).found.starts_with("EMULATED: Remote memory: not valid."));
        let absent = Sample::absent("remote-memory", "there is one node");
        assert!(said(&[absent]).found.contains("not tested. There is one node."));
        assert_eq!(said(&[]).found, "Nothing was measured.");
    }
}
