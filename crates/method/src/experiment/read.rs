//! Reads an experiment file.

use hopcost_core::{
    Claim, Comparison, Experiment, Level, Load, Metric, Open, Response, Scale, Subject, Words,
};
use toml::Spanned;

use super::advice;
use super::file::{File, LoadTable, ScaleTable, Sweep};
use super::find::Find;
use super::flaw::{FileError, Flaw, line};
use super::level::level;
use super::names::{Vocabulary, expect_one_of, list, nearest, one_of, plain, unknown};
use crate::overrides;

pub fn read(name: &str, text: &str, known: &Vocabulary<'_>) -> Result<Experiment, FileError> {
    let file: File = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let (message, advice) = reword(error.message());
        Flaw::new(at, message, advice).locate(text)
    })?;
    check(name, file, known).map_err(|flaw| flaw.locate(text))
}

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
        "duplicate key" => "it is given above already: keep one of the two",
        message if message.starts_with("invalid basic string") => "close the text with a quote",
        _ => "",
    };
    (message.to_owned(), advice.into())
}

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
    let words = |key: &str, text: &Option<Spanned<String>>| {
        text.as_ref().map(|text| line(key, text)).transpose()
    };
    let words = Words {
        title: words("title", &file.title)?,
        unit: words("unit", &file.unit)?,
        why: words("why", &file.why)?,
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
        target: plain(subject.target.as_ref()),
        dataset: dataset.get_ref().clone(),
        scale: scale(subject.scale.as_ref().ok_or_else(|| needed("scale"))?)?,
        workload: workload.get_ref().clone(),
        factor,
        levels,
        streams,
        load: load(&file.load)?,
        response: one_of("response", &measure.get_ref().response, &RESPONSES)?,
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

const RESPONSES: [(&str, Response); 2] = [
    ("queries_per_hour", Response::QueriesPerHour),
    ("calls_per_second", Response::CallsPerSecond),
];
/// Whether arrivals are random.
const ARRIVALS: [(&str, bool); 2] = [("fixed", false), ("poisson", true)];
const MOST_STREAMS: u32 = 400;

fn streams(sweep: Option<&Spanned<Sweep>>) -> Result<Vec<u32>, Flaw> {
    let Some(sweep) = sweep else { return Ok(vec![1]) };
    let streams = &sweep.get_ref().streams;
    if streams.get_ref().is_empty() {
        return Err(Flaw::of(streams, "the sweep is empty", "leave it out for one client"));
    }
    let mut seen = Vec::new();
    for count in streams.get_ref() {
        let n = *count.get_ref();
        if n == 0 || n > MOST_STREAMS {
            let advice = format!("1 to {MOST_STREAMS} are possible");
            return Err(Flaw::of(count, format!("{n} streams"), advice));
        }
        if seen.contains(&n) {
            let streams = if n == 1 { "stream" } else { "streams" };
            return Err(Flaw::of(count, format!("{n} {streams} twice"), "name each once"));
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
        Some(text) => one_of("kind of arrivals", text, &ARRIVALS)?,
    };
    let open = match (&table.rate, &table.arrivals) {
        (None, None) => None,
        (None, Some(arrivals)) => {
            return Err(Flaw::of(
                arrivals,
                "arrivals without a rate",
                "say how many calls come in a second over all clients: rate = 1000",
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
        // The offset of a word in its text is the difference of their addresses.
        let offset = word.as_ptr().addr() - text.get_ref().as_ptr().addr();
        // With escapes or other quotes the text in the file is longer than its value.
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
