//! What a verdict says: the one place that puts a result into sentences.

use hopcost_core::{Known, Unit, Verdict};

use super::absence;
use crate::page::Section;
use crate::words::{
    change, change_ends, changed, confidence, effect, minus, of, of_starts, range, sentence, tenths,
};

/// The options that a reason names, if more would decide.
const OF_TIME: [&str; 2] = ["--budget", "--starts"];

/// A command without the options that are to be given anew.
fn without_time(command: &str) -> String {
    let mut kept = Vec::new();
    let mut words = command.split(' ');
    while let Some(word) = words.next() {
        if OF_TIME.contains(&word) {
            words.next();
        } else if !OF_TIME.iter().any(|it| word.starts_with(&format!("{it}="))) {
            kept.push(word);
        }
    }
    kept.join(" ")
}

/// The verdict's sentences, with the interval and what it holds for.
pub fn found(section: &Section<'_>) -> String {
    let result = section.result;
    let mut reason = sentence(absence::why(&result.reason));
    for option in OF_TIME {
        let command = format!("{} {option}", without_time(&section.command));
        reason = reason.replace(option, &command);
    }
    let (Known::Is(figure), false) = (&result.estimate, result.verdict.is_without_figures()) else {
        return reason;
    };
    let cost = &figure.estimate;
    if result.verdict == Verdict::Refused {
        return format!(
            "Not valid: {reason} The figure does not count: {}.",
            section.headline(figure)
        );
    }
    if figure.unit != Unit::Fraction {
        let (headline, of) = (section.headline(figure), of(figure));
        return match result.details {
            Some(_) => format!("{headline} {of}."),
            None if is_beside(&of) => format!("{headline}: {of}."),
            None => format!("{headline} at the farthest: {of}."),
        };
    }
    let margin = section
        .margin
        .map_or("margin".to_owned(), |margin| minus(&format!("±{}%", tenths(margin))));
    match result.verdict {
        Verdict::Equivalent => format!(
            "No difference worth caring about: {} of throughput, within {margin} ({} CI {}).",
            changed(cost),
            confidence(cost),
            change_ends(cost)
        ),
        Verdict::Inconclusive => {
            // The interval is in this sentence already.
            let advice = reason.split_once(". ").map_or(reason.as_str(), |(_, advice)| advice);
            format!("Could be anything from {} throughput. {advice}", range(cost))
        }
        _ => {
            let compared = section.compared();
            let (text, ends) = effect(cost, compared.as_compared());
            let ends = format!("{} CI {ends}, {}", confidence(cost), of_starts(section.starts()));
            let small = if section.is_material() {
                ""
            } else {
                " Real, but small: act on it only if that costs nothing."
            };
            format!("{text}{} ({ends}).{small}", section.at_clients())
        }
    }
}

/// The figure alone: `−17% (−22 to −12)`, `219 ns (±42)`. `None` if the verdict has none.
pub fn figure_found(section: &Section<'_>) -> Option<String> {
    let result = section.result;
    let figure = result.estimate.get().filter(|_| !result.verdict.is_without_figures())?;
    Some(match figure.unit {
        Unit::Fraction => change(&figure.estimate),
        _ => section.headline(figure),
    })
}

/// From a node to itself, e.g. `random, 512 MiB, node 0 → node 0`: there is no farther one.
fn is_beside(of: &str) -> bool {
    of.rsplit_once(" → ").is_some_and(|(from, to)| from.ends_with(to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_decide_is_the_same_command_with_more_time() {
        let kept = "hopcost run mine.toml --target postgres://me@db1/shop --file 'my shop.sql'";
        let with = [" --budget 40s", " --budget=40s", " --starts 6 --budget 40s", ""];
        for time in with {
            assert_eq!(without_time(&format!("{kept}{time}")), kept);
        }
    }
}
