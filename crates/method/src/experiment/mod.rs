//! Reads an experiment from its file, with errors that point at the place and say what to do.

mod advice;
mod audit;
mod find;
mod format;
mod parallel;
mod places;
mod policy;
mod words;

pub use format::KEYS;

use std::fmt;

use hopcost_core::{
    Claim, Comparison, CopyChoice, Experiment, Level, Load, Metric, Open, Response, Scale,
    SessionChoice, Spot, Subject, Words,
};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use toml::Spanned;

use crate::overrides;
use advice::AdviceTable;
use find::Find;

use places::{apart, spot};

/// The names that an experiment may use: what the kit has.
#[derive(Clone, Copy, Debug)]
pub struct Vocabulary<'a> {
    /// Kinds of databases.
    pub targets: &'a [&'a str],
    /// Data sets.
    pub datasets: &'a [&'a str],
    /// Workloads.
    pub workloads: &'a [&'a str],
    /// Probes of the hardware.
    pub probes: &'a [&'a str],
    /// Published figures.
    pub published: &'a [&'a str],
}

/// What is wrong with an experiment file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do; empty where the message says it all.
    pub advice: String,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)?;
        if self.advice.is_empty() { Ok(()) } else { write!(f, "; {}", self.advice) }
    }
}

impl std::error::Error for FileError {}

/// What is wrong with which bytes of the file.
struct Flaw {
    at: usize,
    message: String,
    advice: String,
}

impl Flaw {
    fn new(at: usize, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { at, message: message.into(), advice: advice.into() }
    }

    fn of<T>(what: &Spanned<T>, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(what.span().start, message, advice)
    }

    fn locate(self, text: &str) -> FileError {
        let before = &text[..self.at.min(text.len())];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        FileError {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: self.message,
            advice: self.advice,
        }
    }
}

/// Reads an experiment called `name` from the text of its file.
pub fn read(name: &str, text: &str, known: &Vocabulary<'_>) -> Result<Experiment, FileError> {
    let file: File = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let (message, advice) = reword(error.message());
        Flaw::new(at, message, advice).locate(text)
    })?;
    check(name, file, known).map_err(|flaw| flaw.locate(text))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    question: Spanned<String>,
    title: Option<Spanned<String>>,
    unit: Option<Spanned<String>>,
    why: Option<Spanned<String>>,
    survey: Option<u32>,
    subject: Spanned<SubjectTable>,
    #[serde(default)]
    factor: Ordered<Ordered<LevelTable>>,
    sweep: Option<Spanned<Sweep>>,
    #[serde(default)]
    load: LoadTable,
    measure: Option<Spanned<Measure>>,
    #[serde(default)]
    published: Beside,
    #[serde(default)]
    advice: Vec<AdviceTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SubjectTable {
    probes: Option<Spanned<Vec<Spanned<String>>>>,
    target: Option<Spanned<String>>,
    dataset: Option<Spanned<String>>,
    scale: Option<Spanned<ScaleTable>>,
    workload: Option<Spanned<String>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScaleTable {
    quick: u64,
    full: u64,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct LevelTable {
    label: Option<Spanned<String>>,
    data: Option<Spanned<String>>,
    policy: Option<Spanned<String>>,
    instance: Option<Spanned<u32>>,
    pages: Option<Spanned<String>>,
    workers: Option<Spanned<String>>,
    log_writer: Option<Spanned<String>>,
    client: Option<Spanned<String>>,
    dop: Option<Spanned<u32>>,
    postmaster: Option<Spanned<String>>,
    parallel_workers: Option<Spanned<String>>,
    audit: Option<Spanned<String>>,
    siblings: Option<bool>,
    apart: Option<Spanned<String>>,
    cores: Option<Spanned<f64>>,
    cpus: Option<Spanned<u32>>,
    workload: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sweep {
    streams: Spanned<Vec<Spanned<u32>>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadTable {
    think: Option<Spanned<String>>,
    rate: Option<Spanned<f64>>,
    arrivals: Option<Spanned<String>>,
    ramp: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Measure {
    response: Spanned<String>,
    find: Option<Spanned<String>>,
    #[serde(default)]
    spread: bool,
    #[serde(default)]
    prove: Vec<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Beside {
    #[serde(default)]
    beside: Vec<Spanned<String>>,
}

/// A table in the order of its file: the first level is the baseline.
struct Ordered<T>(Vec<(Spanned<String>, T)>);

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Ordered<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder<T>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for InOrder<T> {
            type Value = Ordered<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Ordered<T>, M::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Ordered(entries))
            }
        }

        deserializer.deserialize_map(InOrder(std::marker::PhantomData))
    }
}

/// The parser's words in ours: what is wrong, and what to do.
fn reword(message: &str) -> (String, String) {
    if let Some(rest) = message.strip_prefix("unknown field ") {
        let names: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
        if let [wrong, known @ ..] = &names[..] {
            let advice = format!("{}known: {}", nearest(wrong, known), list(known));
            return (format!("there is no '{wrong}' here"), advice);
        }
    }
    if let Some(field) = message.strip_prefix("missing field ") {
        let field = field.trim_matches('`');
        return (format!("'{field}' is missing"), example(field).into());
    }
    if let Some(rest) = message.strip_prefix("invalid type: ") {
        let rest = rest.replace("u32", "a whole number").replace("u64", "a whole number");
        return (rest.replacen(", expected", " where there should be", 1), String::new());
    }
    let advice = match message {
        "duplicate key" => "it stands above already: keep one of the two",
        message if message.starts_with("invalid basic string") => "close the text with a quote",
        _ => "",
    };
    (message.to_owned(), advice.into())
}

/// How a part of an experiment is written.
fn example(field: &str) -> &'static str {
    match field {
        "question" => "begin with question = \"What does … cost …?\"",
        "subject" => "add [subject] with probes = [\"…\"], or with dataset, scale and workload",
        "scale" | "quick" | "full" => "write scale = { quick = ROWS, full = ROWS }",
        "dataset" => "write dataset = \"…\"",
        "workload" => "write workload = \"…\"",
        "streams" => "write streams = [1, 2, 4]",
        "response" => "write response = \"queries_per_hour\" or \"calls_per_second\"",
        _ => "",
    }
}

fn check(name: &str, file: File, known: &Vocabulary<'_>) -> Result<Experiment, Flaw> {
    if !file.question.get_ref().trim_end().ends_with('?') {
        return Err(Flaw::of(&file.question, "the question has no question mark", "ask something"));
    }
    for beside in &file.published.beside {
        expect_one_of("published figure", beside, known.published)?;
    }
    let beside = file.published.beside.iter().map(|name| name.get_ref().clone()).collect();
    let subject = match &file.subject.get_ref().probes {
        Some(probes) => hardware(&file, probes, known)?,
        None => Subject::Database(comparison(&file, known)?),
    };
    let words = Words {
        title: words::line("title", file.title.as_ref())?,
        unit: words::line("unit", file.unit.as_ref())?,
        why: words::line("why", file.why.as_ref())?,
    };
    let advice = file.advice.iter().map(|rule| advice::rule(rule, &subject));
    let advice = advice.collect::<Result<_, _>>()?;
    let (survey, question) = (file.survey, file.question.into_inner());
    Ok(Experiment { name: name.to_owned(), question, subject, beside, survey, words, advice })
}

fn hardware(
    file: &File,
    probes: &Spanned<Vec<Spanned<String>>>,
    known: &Vocabulary<'_>,
) -> Result<Subject, Flaw> {
    let subject = file.subject.get_ref();
    let of_database = [&subject.target, &subject.dataset, &subject.workload];
    if let Some(other) = of_database.into_iter().flatten().next() {
        return Err(Flaw::of(
            other,
            "an experiment on the hardware has no database",
            "leave out 'probes', or this",
        ));
    }
    if let Some((factor, _)) = file.factor.0.first() {
        return Err(Flaw::of(
            factor,
            "probes measure every place anyway: there is no factor to vary",
            "leave out [factor]",
        ));
    }
    if probes.get_ref().is_empty() {
        return Err(Flaw::of(
            probes,
            "no probe is named",
            format!("known: {}", list(known.probes)),
        ));
    }
    for probe in probes.get_ref() {
        expect_one_of("probe", probe, known.probes)?;
    }
    let names = probes.get_ref().iter().map(|probe| probe.get_ref().clone());
    Ok(Subject::Hardware { probes: names.collect() })
}

fn comparison(file: &File, known: &Vocabulary<'_>) -> Result<Comparison, Flaw> {
    let subject = file.subject.get_ref();
    let needed =
        |what: &str| Flaw::of(&file.subject, format!("the subject has no {what}"), example(what));
    let dataset = subject.dataset.as_ref().ok_or_else(|| needed("dataset"))?;
    expect_one_of("data set", dataset, known.datasets)?;
    let workload = subject.workload.as_ref().ok_or_else(|| needed("workload"))?;
    expect_one_of("workload", workload, known.workloads)?;
    if let Some(target) = &subject.target {
        expect_one_of("target", target, known.targets)?;
    }
    let measure = file.measure.as_ref().ok_or_else(|| {
        Flaw::of(
            &file.subject,
            "there is no [measure]",
            "say what counts: response = \"calls_per_second\"",
        )
    })?;
    let find = Find::of(measure.get_ref().find.as_ref())?;
    let (factor, levels) = factor(file, find, known)?;
    let streams = streams(file.sweep.as_ref())?;
    find.check_streams(&measure.get_ref().response, &streams)?;
    let claims = measure.get_ref().prove.iter();
    let claims =
        claims.map(|claim| self::claim(claim, &factor, &levels)).collect::<Result<_, _>>()?;
    Ok(Comparison {
        target: subject.target.as_ref().map(|target| target.get_ref().clone()),
        dataset: dataset.get_ref().clone(),
        scale: scale(subject.scale.as_ref().ok_or_else(|| needed("scale"))?)?,
        workload: workload.get_ref().clone(),
        factor,
        levels,
        streams,
        load: load(&file.load)?,
        response: response(&measure.get_ref().response)?,
        find_worst: find == Find::Worst,
        spread: measure.get_ref().spread,
        find_scaling: find == Find::Scaling,
        claims,
    })
}

fn scale(scale: &Spanned<ScaleTable>) -> Result<Scale, Flaw> {
    let ScaleTable { quick, full } = *scale.get_ref();
    if quick == 0 || quick > full {
        return Err(Flaw::of(
            scale,
            format!("quick = {quick} and full = {full} rows"),
            "quick is at least 1 and not more than full",
        ));
    }
    Ok(Scale { quick, full })
}

fn factor(file: &File, find: Find, known: &Vocabulary<'_>) -> Result<(String, Vec<Level>), Flaw> {
    let mut factors = file.factor.0.iter();
    let Some((name, levels)) = factors.next() else {
        return Err(Flaw::of(
            &file.subject,
            "there is no factor to vary",
            "add [factor.NAME] with two levels or more, the baseline first",
        ));
    };
    if let Some((second, _)) = factors.next() {
        return Err(Flaw::of(
            second,
            format!("a second factor beside '{}'", name.get_ref()),
            "one experiment varies one factor: write another file for this one",
        ));
    }
    find.check_levels(name, levels.0.len())?;
    let levels =
        levels.0.iter().map(|(name, table)| level(name, table, known)).collect::<Result<_, _>>()?;
    Ok((name.get_ref().clone(), levels))
}

fn level(
    name: &Spanned<String>,
    table: &LevelTable,
    known: &Vocabulary<'_>,
) -> Result<Level, Flaw> {
    if let Some(workload) = &table.workload {
        expect_one_of("workload", workload, known.workloads)?;
    }
    if let Some(cpus) = table.cpus.as_ref().filter(|cpus| *cpus.get_ref() == 0) {
        return Err(Flaw::of(cpus, "no CPU at all", "workers need one or more"));
    }
    if let Some(cores) =
        table.cores.as_ref().filter(|c| !(*c.get_ref() > 0.0 && *c.get_ref() <= 1.0))
    {
        return Err(Flaw::of(cores, "no share of the cores", "half of them are cores = 0.5"));
    }
    parallel::check(table)?;
    let spot = |text: &Option<Spanned<String>>| text.as_ref().map(spot).transpose();
    let level = Level {
        name: name.get_ref().clone(),
        label: words::line("label", table.label.as_ref())?,
        data: spot(&table.data)?,
        copy: CopyChoice {
            policy: policy::of(table)?,
            instance: table.instance.as_ref().map(|instance| *instance.get_ref()),
            pages: policy::pages_of(table)?,
        },
        workers: spot(&table.workers)?,
        log_writer: spot(&table.log_writer)?,
        client: spot(&table.client)?,
        dop: table.dop.as_ref().map(|dop| *dop.get_ref()),
        postmaster: spot(&table.postmaster)?,
        parallel_workers: spot(&table.parallel_workers)?,
        session: SessionChoice { audit: audit::of(table)? },
        siblings: table.siblings,
        apart: table.apart.as_ref().map(apart).transpose()?,
        cores: table.cores.as_ref().map(|cores| *cores.get_ref()),
        cpus: table.cpus.as_ref().map(|cpus| *cpus.get_ref()),
        workload: table.workload.as_ref().map(|workload| workload.get_ref().clone()),
    };
    let silent = Level { name: level.name.clone(), label: level.label.clone(), ..Level::default() };
    if level == silent {
        return Err(Flaw::of(
            name,
            format!("the level '{}' says nothing", level.name),
            "place something: data, workers, log_writer or client; or vary policy, instance, pages, \
             audit, siblings, apart, cores, cpus or workload",
        ));
    }
    if let Some(Spot::Away(_)) = level.workers {
        return Err(Flaw::of(
            table.workers.as_ref().unwrap_or(name),
            "the workers cannot stand away from themselves",
            "distances count from them: give them a node, as \"node:A\"",
        ));
    }
    Ok(level)
}

const MOST_STREAMS: u32 = 400;

fn streams(sweep: Option<&Spanned<Sweep>>) -> Result<Vec<u32>, Flaw> {
    let Some(sweep) = sweep else { return Ok(vec![1]) };
    let streams = &sweep.get_ref().streams;
    if streams.get_ref().is_empty() {
        return Err(Flaw::of(streams, "the sweep is empty", "leave it out for one stream"));
    }
    let mut seen = Vec::new();
    for count in streams.get_ref() {
        let n = *count.get_ref();
        if n == 0 || n > MOST_STREAMS {
            let advice = format!("1 to {MOST_STREAMS} are possible");
            return Err(Flaw::of(count, format!("{n} streams"), advice));
        }
        if seen.contains(&n) {
            return Err(Flaw::of(
                count,
                format!("{} twice", counted(n as usize, "stream")),
                "name each once",
            ));
        }
        seen.push(n);
    }
    Ok(seen)
}

fn load(table: &LoadTable) -> Result<Load, Flaw> {
    let seconds = |text: &Option<Spanned<String>>| match text {
        None => Ok(0.0),
        Some(text) => overrides::seconds(text.get_ref()).map_err(|wrong| Flaw::of(text, wrong, "")),
    };
    let at_random = match &table.arrivals {
        None => false,
        Some(text) => {
            expect_one_of("kind of arrivals", text, &["fixed", "poisson"])?;
            text.get_ref() == "poisson"
        }
    };
    let open = match (&table.rate, &table.arrivals) {
        (None, None) => None,
        (None, Some(arrivals)) => {
            return Err(Flaw::of(
                arrivals,
                "arrivals without a rate",
                "say how many calls come in a second over all streams: rate = 1000",
            ));
        }
        (Some(rate), _) if !rate.get_ref().is_finite() || *rate.get_ref() <= 0.0 => {
            let message = format!("{} calls a second", rate.get_ref());
            return Err(Flaw::of(rate, message, "a rate is above 0"));
        }
        (Some(rate), _) => Some(Open { calls_per_s: *rate.get_ref(), at_random }),
    };
    Ok(Load { think_s: seconds(&table.think)?, open, ramp_s: seconds(&table.ramp)? })
}

fn response(text: &Spanned<String>) -> Result<Response, Flaw> {
    const RESPONSES: [&str; 2] = ["queries_per_hour", "calls_per_second"];
    expect_one_of("response", text, &RESPONSES)?;
    Ok(match text.get_ref().as_str() {
        "queries_per_hour" => Response::QueriesPerHour,
        _ => Response::CallsPerSecond,
    })
}

/// `remote_lookups >= 98% when memory = remote`
fn claim(text: &Spanned<String>, factor: &str, levels: &[Level]) -> Result<Claim, Flaw> {
    let words: Vec<&str> = text.get_ref().split_whitespace().collect();
    let [metric, ">=", share, "when", of, "=", level] = words[..] else {
        return Err(Flaw::of(
            text,
            format!("'{}' is no claim", text.get_ref()),
            format!("write METRIC >= SHARE% when {factor} = LEVEL"),
        ));
    };
    let at = |word: &str| {
        // A word is a part of the text: how far it is from its begin is known without searching for it.
        let offset = word.as_ptr().addr() - text.get_ref().as_ptr().addr();
        // With escapes or other quotes, a text in the file is not as long as what it stands for.
        let is_plain = text.span().len() == text.get_ref().len() + 2;
        let start = text.span().start + if is_plain { 1 + offset } else { 0 };
        Spanned::new(start..text.span().end, word.to_owned())
    };
    let Some(metric) = Metric::named(metric) else {
        let names: Vec<&str> = Metric::ALL.iter().map(|metric| metric.name()).collect();
        return Err(unknown("metric", &at(metric), &names));
    };
    expect_one_of("factor", &at(of), &[factor])?;
    let names: Vec<&str> = levels.iter().map(|level| level.name.as_str()).collect();
    expect_one_of("level", &at(level), &names)?;
    let percent = share.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
    let percent = percent.filter(|percent| (0.0..=100.0).contains(percent)).ok_or_else(|| {
        Flaw::of(&at(share), format!("'{share}' is no share"), "write 0% to 100%")
    })?;
    Ok(Claim { metric, least: percent / 100.0, level: level.to_owned() })
}

fn expect_one_of(what: &str, word: &Spanned<String>, known: &[&str]) -> Result<(), Flaw> {
    if known.contains(&word.get_ref().as_str()) {
        return Ok(());
    }
    Err(unknown(what, word, known))
}

fn unknown(what: &str, word: &Spanned<String>, known: &[&str]) -> Flaw {
    let advice = format!("{}known: {}", nearest(word.get_ref(), known), list(known));
    Flaw::of(word, format!("there is no {what} '{}'", word.get_ref()), advice)
}

/// What a word of a level stands for, where it is written.
fn named<T: Copy>(
    what: &str,
    word: Option<&Spanned<String>>,
    known: &[(&str, T)],
) -> Result<Option<T>, Flaw> {
    let Some(word) = word else { return Ok(None) };
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    expect_one_of(what, word, &names)?;
    Ok(known.iter().find(|(name, _)| name == word.get_ref()).map(|(_, of)| *of))
}

/// `1 stream`, `2 streams`.
fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

/// `did you mean 'x'? `, where something is near enough.
fn nearest(word: &str, known: &[&str]) -> String {
    let likeness = |name: &&&str| (strsim::jaro_winkler(word, name) * 1000.0) as u32;
    let best = known.iter().max_by_key(likeness).filter(|name| likeness(name) > 800);
    best.map_or_else(String::new, |name| format!("did you mean '{name}'? "))
}
