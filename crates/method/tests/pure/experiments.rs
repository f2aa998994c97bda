//! The experiment files of `experiments/`, valid and invalid.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use hopcost_core::{Beyond, Metric, Spot, Subject, Verdict};
use hopcost_method::experiment::keys;
use hopcost_method::{Vocabulary, read_experiment};

const KNOWN: Vocabulary<'_> = Vocabulary {
    targets: &["sqlite", "null"],
    datasets: &["tran_stats"],
    workloads: &["reporting_p1", "reporting_p2", "null_call"],
    probes: &["latency", "bandwidth", "cores", "switch", "log"],
    published: &["shea-2012-remote-memory", "shea-2012-latency", "shea-2012-bandwidth"],
};

fn files(dir: &str) -> Vec<(String, String)> {
    let dir = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments")).join(dir);
    let paths = dir.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let is_file = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "toml");
    let mut files: Vec<(String, String)> = paths
        .filter(is_file)
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn a_comparison_keeps_the_order_of_its_levels() {
    let (name, text) = files("").into_iter().find(|(name, _)| name == "remote-memory").unwrap();
    let experiment = read_experiment(&name, &text, &KNOWN).unwrap();
    let Subject::Database(comparison) = experiment.subject else { panic!() };
    let levels: Vec<_> =
        comparison.levels.iter().map(|l| (l.name.as_str(), l.data, l.workers)).collect();
    let (a, b) = (Some(Spot::Node('A')), Some(Spot::Node('B')));
    assert_eq!(levels, [("local", a, a), ("remote", a, b)]);
    assert_eq!(comparison.streams, [1, 2, 4, 8, 16, 32, 64]);
    assert!(comparison.find_worst);
    assert_eq!(comparison.claims[1].metric, Metric::RemoteLookups);
    assert!((comparison.claims[1].least - 0.98).abs() < 1e-12);
}

#[test]
fn words_and_advice_are_read_and_are_no_part_of_what_is_asked() {
    let text = |label: &str, more: &str| {
        format!(
            "question = \"What?\"\ntitle = \"Remote memory\"\n[subject]\ndataset = \"tran_stats\"\n\
             scale = {{ quick = 1, full = 2 }}\nworkload = \"null_call\"\n[factor.memory]\n\
             local = {{ {label} data = \"node:A\" }}\nremote = {{ data = \"node:B\" }}\n[measure]\n\
             response = \"calls_per_second\"\n{more}"
        )
    };
    let advice = "[[advice]]\nverdict = \"COST\"\nlevel = \"remote\"\nbeyond = \"2x\"\n\
                  recipes = [\"bind-to-node\", \"interleave\"]\n\
                  unless = { recipe = \"interleave\", says = \"it is small\" }\n\
                  [[advice]]\nrecipes = [\"fewer-calls\"]\n";
    let read = |text: &str| read_experiment("x", text, &KNOWN).unwrap();
    let (plain, said) = (read(&text("", "")), read(&text("label = \"near\",", advice)));
    assert_eq!(said.words.title.as_deref(), Some("Remote memory"));
    let [rule, any] = &said.advice[..] else { panic!("{:?}", said.advice) };
    assert_eq!((rule.verdict, rule.level.as_deref()), (Some(Verdict::Cost), Some("remote")));
    assert_eq!((rule.beyond, rule.recipes.len()), (Beyond::Factor(2.0), 2));
    assert_eq!(rule.unless.as_ref().unwrap().recipe, "interleave");
    assert_eq!((any.verdict, any.beyond, any.unless.as_ref()), (None, Beyond::Margin, None));
    // Stored runs are found by the exact text of the question.
    let (Subject::Database(one), Subject::Database(other)) = (&plain.subject, &said.subject) else {
        panic!("both are on a database");
    };
    assert_eq!(other.levels[0].label.as_deref(), Some("near"));
    let written = |comparison| serde_json::to_string(comparison).unwrap();
    assert_eq!(written(one), written(other));
}

#[test]
fn a_wrong_word_is_found_where_it_stands_and_not_where_its_letters_do() {
    let files = files("invalid");
    let (name, text) = files.iter().find(|(name, _)| name == "claim-at-misspelt-level").unwrap();
    let error = read_experiment(name, text, &KNOWN).unwrap_err();
    let (line, before) = text
        .lines()
        .enumerate()
        .find_map(|(n, line)| {
            Some((
                n + 1,
                line.split_once("memory = remot\"")?.0.chars().count() + "memory = ".len(),
            ))
        })
        .unwrap();
    assert_eq!((error.line, error.column), (line, before + 1), "{error}");
    // If a text is escaped, the error points at its start instead of at a wrong place.
    let escaped = text.replace("when memory = remot", "when \\u006demory = remot");
    let error = read_experiment(name, &escaped, &KNOWN).unwrap_err();
    assert_eq!((error.line, error.column), (line, 3), "{error}");
}

/// Each file fails for the flaw in its name, not for a name missing in this vocabulary.
#[test]
fn a_wrong_experiment_is_wrong_in_what_its_name_says() {
    let unknown = [
        ("there is no data set", "dataset"),
        ("there is no workload", "workload"),
        ("there is no target", "target"),
        ("there is no probe", "probe"),
        ("there is no published", "published"),
        ("there is no metric", "claim"),
    ];
    for (name, text) in files("invalid") {
        let error = read_experiment(&name, &text, &KNOWN).unwrap_err();
        for (words, part) in unknown {
            let about_another = error.message.starts_with(words) && !name.contains(part);
            assert!(!about_another, "{name}.toml: {error}");
        }
    }
}

#[test]
fn one_is_no_plural() {
    let files = files("invalid");
    let message = |name: &str, from: &str, to: &str| {
        let (name, text) = files.iter().find(|(known, _)| known == name).unwrap();
        assert!(text.contains(from), "{text}");
        read_experiment(name, &text.replace(from, to), &KNOWN).unwrap_err().message
    };
    assert_eq!(message("streams-twice", "[1, 2, 2", "[1, 1, 2"), "1 stream twice");
    let law = message("law-of-two-numbers", "streams = [", "streams = [1]\n# [");
    assert_eq!(law, "1 number of clients");
}

#[test]
fn wrong_experiments_are_answered_as_agreed() {
    let keys = keys().filter_map(|key| key.path.strip_prefix("factor.NAME.LEVEL."));
    let keys = keys.collect::<Vec<_>>().join(", ");
    let mut answers = String::new();
    for (name, text) in files("invalid") {
        let error = read_experiment(&name, &text, &KNOWN).unwrap_err().to_string();
        let _ = writeln!(answers, "{name}.toml:{}\n", error.replace(&keys, "(keys of a level)"));
    }
    insta::assert_snapshot!("invalid", answers);
}

fn damaged(text: &str, dice: &mut Rng) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..dice.usize(1..3) {
        let from = dice.usize(0..=bytes.len());
        let to = dice.usize(from..=bytes.len().min(from + 8));
        match dice.u8(0..3) {
            0 => bytes.get_mut(from).into_iter().for_each(|byte| *byte ^= 1 << dice.u8(0..8)),
            1 => drop(bytes.drain(from..to)),
            _ => {
                let again = bytes[from..to].repeat(dice.usize(1..100));
                bytes.splice(to..to, again);
            }
        }
    }
    if dice.u8(0..4) == 0 {
        bytes.truncate(dice.usize(0..=bytes.len()));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn a_damaged_experiment_is_read_or_points_into_its_text() {
    let is_known = |(name, text): &(String, String)| read_experiment(name, text, &KNOWN).is_ok();
    let good = files("").into_iter().filter(is_known).cycle().take(files("invalid").len());
    let originals: Vec<(String, String)> = good.chain(files("invalid")).collect();
    let mut dice = Rng::with_seed(7);
    let (mut read, mut wrong) = (0, 0);
    for _ in 0..3000 {
        let (name, original) = &originals[dice.usize(0..originals.len())];
        let text = damaged(original, &mut dice);
        match read_experiment(name, &text, &KNOWN) {
            Ok(experiment) => {
                let size = format!("{experiment:?}").len();
                assert!(size < 2000 + 200 * text.len(), "{size} from {text:?}");
                read += 1;
            }
            Err(error) => {
                let lines: Vec<&str> = text.split('\n').collect();
                let columns = lines[error.line - 1].chars().count() + 1;
                assert!((1..=columns).contains(&error.column), "{text:?}: {error}");
                wrong += 1;
            }
        }
    }
    assert!(read > 100 && wrong > 1000, "{read} were read, {wrong} were wrong");
}
