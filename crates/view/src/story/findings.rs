//! The finding in one sentence and the advice in another, as a pure function of the results.

use hopcost_core::{Estimate, ExperimentResult, Known, Severity, Verdict};

use super::absence;
use crate::page::{Page, Section};
use crate::words::{cost_of, duration, end_less, headline, percent, plural, share, spoken};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentences {
    pub found: String,
    pub action: String,
}

/// Smallest relevant difference if an experiment sets none.
const USUAL_MARGIN: f64 = 0.03;

pub fn sentences(page: &Page<'_>) -> Sentences {
    let clearest = clearest(&page.sections);
    let found = match clearest {
        Some(section) => found(section, &page.sections),
        None => nothing_found(page),
    };
    let action = match clearest {
        _ if page.interrupted => {
            "It was stopped before its end: what was finished counts, the rest \
                                  has to be run again."
                .to_owned()
        }
        Some(section) => action(section),
        None => nothing_to_act_on(page),
    };
    Sentences { found, action: with_the_doctor(page, action) }
}

/// The most important section: real before emulated, certain before uncertain. Ties go to the
/// first, since experiments are ordered by importance.
fn clearest<'s, 'a>(sections: &'s [Section<'a>]) -> Option<&'s Section<'a>> {
    let rank = |section: &Section<'_>| {
        let result = section.result;
        let weight = match result.verdict {
            Verdict::Cost | Verdict::Gain if is_material(section) => 6,
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

fn clarity(result: &ExperimentResult) -> f64 {
    cost_of(result).map_or(f64::NEG_INFINITY, |cost| cost.low.max(-cost.high))
}

fn is_material(section: &Section<'_>) -> bool {
    clarity(section.result) > section.margin.unwrap_or(USUAL_MARGIN)
}

fn found(section: &Section<'_>, all: &[Section<'_>]) -> String {
    let result = section.result;
    let name = spoken(&result.experiment);
    let cost = match cost_of(result) {
        Some(cost) if result.verdict != Verdict::Refused => cost,
        _ => return without_cost(result, &name),
    };
    if result.emulated {
        return found_again(result, cost);
    }
    let (baseline, tested) = arms(section);
    let change = |verb: &str, sign: f64| {
        let range = share(cost, sign);
        format!("{name}: “{tested}” instead of “{baseline}” {verb} {range} of throughput.")
    };
    match result.verdict {
        Verdict::Gain => change("gains", -1.0),
        Verdict::Equivalent => nothing_matters(section, all),
        Verdict::Inconclusive => format!(
            "{name} is undecided: it costs between {} and {} of throughput.",
            percent(cost.low),
            percent(cost.high)
        ),
        _ => change("costs", 1.0),
    }
}

/// Emulated and measured cost; never a statement about this machine.
fn found_again(result: &ExperimentResult, cost: &Estimate) -> String {
    let planted = result
        .planted
        .map_or("the distance".to_owned(), |planted| format!("{} of throughput", percent(planted)));
    let found = match result.verdict {
        Verdict::Inconclusive => "is not surely found again yet:",
        _ => "was found again as",
    };
    format!("EMULATED: {planted} planted {found} {}.", share(cost, 1.0))
}

fn nothing_matters(section: &Section<'_>, all: &[Section<'_>]) -> String {
    let margin = percent(section.margin.unwrap_or(USUAL_MARGIN));
    let name = spoken(&section.result.experiment);
    let real = all.iter().map(|section| section.result).filter(|result| !result.emulated);
    let compared: Vec<_> = real.filter(|result| cost_of(result).is_some()).collect();
    if compared.len() > 1 {
        let open =
            |r: &&&ExperimentResult| matches!(r.verdict, Verdict::Inconclusive | Verdict::Refused);
        let open = match compared.iter().filter(open).count() {
            0 => String::new(),
            n => format!(", {n} of them undecided"),
        };
        return format!(
            "None of {} comparisons found a difference that matters{open}; {} makes less than \
             ±{margin} of throughput.",
            compared.len(),
            name.to_lowercase()
        );
    }
    format!("{name} makes no difference that matters here: less than ±{margin} of throughput.")
}

fn without_cost(result: &ExperimentResult, name: &str) -> String {
    let stamp = if result.emulated { "EMULATED: " } else { "" };
    match (&result.estimate, result.verdict) {
        (_, Verdict::Refused) => {
            format!("{stamp}{name} has figures, and they do not count: {}.", result.reason)
        }
        (_, Verdict::NotApplicable) => {
            format!("{stamp}{name} cannot be asked here: {}.", end_less(result.reason.as_str()))
        }
        (Known::Is(figure), _) => {
            format!("{stamp}{name}: {} at the farthest ({}).", headline(figure), figure.of)
        }
        (Known::Missing(reason), _) => {
            format!("{stamp}{name} is undecided: {}.", end_less(reason.as_str()))
        }
    }
}

fn action(section: &Section<'_>) -> String {
    let result = section.result;
    let (baseline, tested) = arms(section);
    if result.emulated {
        return "This checks the method and says nothing of this machine: run it without --emulate \
                where there is more than one memory node."
            .to_owned();
    }
    match result.verdict {
        Verdict::Cost if is_material(section) => {
            format!("Prefer “{baseline}” to “{tested}” wherever you can choose.")
        }
        Verdict::Gain if is_material(section) => {
            format!("Change from “{baseline}” to “{tested}” wherever you can choose.")
        }
        Verdict::Cost | Verdict::Gain => format!(
            "It is real, and small: choose “{}” where that is free, and spend your effort elsewhere.",
            if result.verdict == Verdict::Cost { baseline } else { tested }
        ),
        Verdict::Equivalent => {
            format!("Leave it as it is: “{tested}” and “{baseline}” are as good as each other.")
        }
        Verdict::Inconclusive => "Give it more time: a longer --budget narrows the interval.".into(),
        Verdict::Measured => {
            "Nothing to mend: keep the figures to hold another machine, or this one after a change, \
             against them."
                .into()
        }
        Verdict::Refused => "Mend what is named, and run it again.".into(),
        Verdict::Disturbed => "Run it again when the others are done: hopcost doctor says who they are.".into(),
        Verdict::NotApplicable => absence::advice(result.reason.as_str())
            .unwrap_or("What is missing is named: run it where that is there.")
            .into(),
    }
}

/// Names of the baseline and of the headline's variant.
fn arms(section: &Section<'_>) -> (String, String) {
    let levels = section.all_levels();
    let baseline = levels.first().cloned().unwrap_or_else(|| "baseline".to_owned());
    let tested = section.headline_point().map(|point| point.level.clone());
    let tested = tested.or_else(|| levels.get(1).cloned());
    (baseline, tested.unwrap_or_else(|| "the level under test".to_owned()))
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
        return format!("What was left out would take {} more.", duration(takes));
    }
    "Ask a question of it: hopcost list names them.".to_owned()
}

/// Problems that spoil measurements come before other advice.
fn with_the_doctor(page: &Page<'_>, action: String) -> String {
    let findings = page.findings.get().copied().unwrap_or_default();
    let warnings = findings.iter().filter(|finding| finding.severity == Severity::Warning).count();
    match warnings {
        0 => action,
        n => format!("{action} Look at the doctor’s {} first.", plural(n, "warning")),
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
            "Remote memory: “far” instead of “near” costs 6.0 % (4.0 … 8.0 %) of throughput."
        );
        assert_eq!(said.action, "Prefer “near” to “far” wherever you can choose.");
    }

    #[test]
    fn a_gain_is_told_as_one() {
        let said = said(&[Sample::compared("memory-policy", Verdict::Gain, -0.14, 0.03)]);
        assert!(said.found.contains("gains 14.0 % (11.0 … 17.0 %)"), "{}", said.found);
        assert_eq!(said.action, "Change from “near” to “far” wherever you can choose.");
    }

    #[test]
    fn nothing_that_matters_is_said_honestly() {
        let said = said(&[Sample::compared("remote-memory", Verdict::Equivalent, 0.001, 0.01)]);
        assert!(said.found.contains("no difference that matters here: less than ±3.0 %"));
        assert!(said.action.starts_with("Leave it as it is"));
        let nothing = || Sample::compared("log-distance", Verdict::Equivalent, 0.001, 0.01);
        let open = Sample::compared("memory-policy", Verdict::Inconclusive, 0.01, 0.2);
        let found = self::said(&[nothing(), nothing(), open]).found;
        assert!(found.starts_with("None of 3 comparisons found a difference that matters, 1 of"));
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
            alone.starts_with("EMULATED: 19.0 % of throughput planted was found again as 20.0 %"),
            "{alone}"
        );
        assert!(!alone.contains("costs this machine"));
    }

    #[test]
    fn refusals_and_absences_have_their_reason() {
        let mut refused = Sample::compared("remote-memory", Verdict::Refused, 0.2, 0.01);
        refused.result.reason = Code::NotMeasured.because("12 pages were elsewhere");
        assert!(said(&[refused.clone()]).found.contains("do not count: 12 pages were elsewhere."));
        refused.result.emulated = true;
        assert!(said(&[refused]).found.starts_with("EMULATED: Remote memory has figures"));
        let absent = Sample::absent("remote-memory", "there is one node");
        assert!(said(&[absent]).found.contains("cannot be asked here: there is one node."));
        assert_eq!(said(&[]).found, "Nothing was measured.");
    }

    #[test]
    fn what_to_do_about_an_absence_follows_from_what_was_missing() {
        for (reason, advice) in [
            (
                "this machine has 1 memory node with usable CPUs, and 2 are needed",
                "memory node, or",
            ),
            ("no core has two usable threads", "Switch SMT on in the firmware"),
            (
                "no core has two threads that may be used here: its siblings are off",
                "Switch SMT on",
            ),
            ("no socket has two nodes", "sub-NUMA clustering"),
            ("there is one usable socket", "a machine with two sockets"),
            ("no two usable cores share a last-level cache", "cores or more under one last-level"),
            ("the firmware rates no socket farther than the nearest other one", "four sockets"),
            ("every usable node with memory has CPUs", "CXL"),
            ("the level 'x' chooses the pages of its data, and here they are not ours", "--target"),
            ("it takes 9 GiB of memory at 5 rows, and 1 GiB are available", "--scale"),
            ("it takes 4 CPUs, and 2 may be used there", "more CPUs"),
            ("the moon is full", "What is missing is named"),
        ] {
            let said = said(&[Sample::absent("x", reason)]);
            assert!(said.action.contains(advice), "{reason}: {}", said.action);
            let of_nodes = said.action.contains("memory node");
            assert_eq!(of_nodes, reason.contains("memory node"), "{reason}: {}", said.action);
        }
    }
}
