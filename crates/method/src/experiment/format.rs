//! Descriptions of the keys of an experiment file, the source of the reference.

use super::key::{Key, key};
use super::level;

pub fn keys() -> impl Iterator<Item = &'static Key> {
    BEFORE_LEVELS.iter().chain(level::KEYS).chain(AFTER_LEVELS)
}

const BEFORE_LEVELS: &[Key] = &[
    key("question", "the question, with a question mark"),
    key("title", "a short name for people"),
    key("unit", "what is counted, in the plural"),
    key("why", "why there may be a difference, in a sentence"),
    key("survey", "its place in a survey, the lowest first; without it it is not part of one"),
    key("subject.probes", "an experiment on the hardware alone: these probes, in this order"),
    key("subject.target", "the kind of database; SQLite, built in, without it"),
    key("subject.dataset", "its data"),
    key("subject.scale", "rows of the data's main table, `{ quick = ROWS, full = ROWS }`"),
    key("subject.workload", "what the clients ask of it"),
    key("factor.NAME", "the one factor that varies, with its variants; the first is the baseline"),
];

const AFTER_LEVELS: &[Key] = &[
    key("sweep.streams", "concurrent clients, 1 to 400; one without it"),
    key("load.think", "a client's pause after each answer, such as `\"10ms\"`; none without it"),
    key(
        "load.rate",
        "calls per second over all clients, each started on time whether or not the last has returned: an open loop",
    ),
    key("load.arrivals", "of an open loop: `\"fixed\"` or `\"poisson\"`"),
    key("load.ramp", "time over which the clients start, one after the other, such as `\"1s\"`"),
    key("measure.response", "what counts: `\"queries_per_hour\"` or `\"calls_per_second\"`"),
    key(
        "measure.find",
        "what is searched for: `\"worst\"`, `\"score\"` or `\"scaling\"`; without it each point is \
         reported",
    ),
    key("measure.spread", "`true`: the spread of response times has a verdict of its own, too"),
    key("measure.prove", "what has to be read back: `METRIC >= SHARE% when NAME = LEVEL`"),
    key("published.beside", "published figures to show with the result"),
    key(
        "advice",
        "`[[advice]]`, one per rule: which recipes are for which result; the first rule that fits counts",
    ),
    key("advice.verdict", "`\"COST\"`, `\"GAIN\"` or `\"MEASURED\"`; any without it"),
    key("advice.level", "the variant of the headline; any without it"),
    key(
        "advice.beyond",
        "what the difference has to exceed: `\"margin\"` (so without it), `\"zero\"`, or a factor such as \
         `\"2x\"`",
    ),
    key("advice.recipes", "their names, the best first"),
    key(
        "advice.unless",
        "`{ recipe = \"…\", says = \"…\" }`: when one of them is not for the user",
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{Vocabulary, read_experiment};

    fn known_to_the_reader(text: &str) -> BTreeSet<String> {
        let none =
            Vocabulary { targets: &[], datasets: &[], workloads: &[], probes: &[], published: &[] };
        let error = read_experiment("x", text, &none).unwrap_err();
        let known = error.advice.split("known: ").nth(1).unwrap_or_else(|| panic!("{error}"));
        known.split(", ").map(str::to_owned).collect()
    }

    #[test]
    fn the_reference_has_every_key_that_the_reader_knows_and_no_other() {
        let head = "question = \"x?\"\n";
        for (table, text) in [
            ("", "zzz = 1\n".to_owned()),
            ("subject.", format!("{head}[subject]\nzzz = 1\n")),
            ("factor.NAME.LEVEL.", format!("{head}[subject]\n[factor.f]\na = {{ zzz = 1 }}\n")),
            ("sweep.", format!("{head}[subject]\n[sweep]\nzzz = 1\n")),
            ("load.", format!("{head}[subject]\n[load]\nzzz = 1\n")),
            ("measure.", format!("{head}[subject]\n[measure]\nzzz = 1\n")),
            ("published.", format!("{head}[subject]\n[published]\nzzz = 1\n")),
        ] {
            let in_reference: BTreeSet<String> = keys()
                .filter_map(|key| key.path.strip_prefix(table))
                .map(|rest| rest.split('.').next().unwrap().to_owned())
                .filter(|name| table != "factor." && name != "NAME")
                .collect();
            assert_eq!(in_reference, known_to_the_reader(&text), "in '{table}'");
        }
    }
}
