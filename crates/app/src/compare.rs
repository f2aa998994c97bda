//! Compares two machines by their stored runs.

use std::path::{Path, PathBuf};

use hopcost_core::{Between, Code, Known};
use hopcost_method::between::{self, Differing};
use hopcost_method::run::{differing_keys, known_as};
use hopcost_store::{Header, Kept, Listed, Store, StoreError};

use crate::report::listed;
use crate::shared::{self, comparable};
use crate::{Control, Failure, InContext, Outcome};

/// Each argument is a store or a shared file, or one run of it: `STORE:RUN`, or for the default store
/// a run's number or an experiment's name.
pub fn compare(
    (a, b): (&str, &str),
    default_store: &Path,
    control: &mut Control<'_>,
) -> Outcome<Between> {
    let a = Side::read(a, default_store, control)?;
    let b = Side::read(b, default_store, control)?;
    let tell_apart = |in_a: &between::KeptRun<'_>, in_b: &between::KeptRun<'_>| {
        a.run(in_a.id).zip(b.run(in_b.id)).map_or_else(Differing::default, |(a, b)| differing(a, b))
    };
    Ok(between::compare(&a.kept(), &b.kept(), &tell_apart))
}

struct Side {
    name: String,
    /// Latest first.
    runs: Vec<Run>,
}

struct Run {
    header: Header,
    kept: Kept,
}

impl Side {
    fn read(asked: &str, default_store: &Path, control: &mut Control<'_>) -> Outcome<Self> {
        let (path, wanted) = what_is_asked(asked, default_store);
        if shared::is_shared(&path) {
            return Self::shared(asked, &path, &wanted);
        }
        let place = path.display().to_string();
        let store = Store::open_to_read(&path).in_context(&place)?;
        let all = store.runs().in_context(&place)?;
        let ids = match wanted {
            Wanted::All => latest_of_each(&all),
            Wanted::Number(id) => all.iter().filter(|run| run.id == id).map(|run| run.id).collect(),
            Wanted::Experiment(name) => {
                let mut finished = all.iter().filter(|run| run.verdict.is_some());
                let latest = finished.find(|run| run.experiment == name);
                latest.map(|run| run.id).into_iter().collect()
            }
        };
        if ids.is_empty() {
            return Err(Failure::usage(
                Code::UnknownName,
                format!("{place}: there is no finished run for '{asked}'; {}", listed(&all)),
            ));
        }
        let runs = ids.into_iter().map(|id| Run::read(&store, id));
        let runs: Vec<Run> = runs.collect::<Result<_, _>>().in_context(&place)?;
        Ok(Self { name: asked.to_owned(), runs: of_one_host(asked, runs, control) })
    }

    fn shared(asked: &str, path: &Path, wanted: &Wanted<'_>) -> Outcome<Self> {
        let mut runs = shared::read(path)?;
        runs.retain(|(header, kept)| match wanted {
            Wanted::All => true,
            Wanted::Number(id) => kept.id == *id,
            Wanted::Experiment(name) => header.experiment == *name,
        });
        if runs.is_empty() {
            let words = format!("{}: there is no run for '{asked}'", path.display());
            return Err(Failure::usage(Code::UnknownName, words));
        }
        let runs = runs.into_iter().map(|(header, kept)| Run { header, kept }).collect();
        Ok(Self { name: asked.to_owned(), runs })
    }

    fn run(&self, id: i64) -> Option<&Run> {
        self.runs.iter().find(|run| run.kept.id == id)
    }

    fn kept(&self) -> between::Kept<'_> {
        let machine = self.runs.first().map(|run| run.header.machine.as_ref());
        between::Kept {
            name: self.name.clone(),
            machine: machine.unwrap_or_else(|| Known::missing(Code::NotStored, "there is no run")),
            runs: self.runs.iter().map(Run::for_comparison).collect(),
        }
    }
}

enum Wanted<'a> {
    All,
    Number(i64),
    /// Its latest run.
    Experiment(&'a str),
}

fn what_is_asked<'a>(asked: &'a str, default_store: &Path) -> (PathBuf, Wanted<'a>) {
    let run = |text: &'a str| text.parse().map_or(Wanted::Experiment(text), Wanted::Number);
    let is_store = |path: &str| {
        let path = Path::new(path);
        path.is_file() || path.extension().is_some_and(|extension| extension == "db")
    };
    if is_store(asked) {
        return (PathBuf::from(asked), Wanted::All);
    }
    match asked.rsplit_once(':') {
        Some((path, text)) if is_store(path) => (PathBuf::from(path), run(text)),
        _ => (default_store.to_owned(), run(asked)),
    }
}

/// Only finished runs, latest first.
fn latest_of_each(all: &[Listed]) -> Vec<i64> {
    let mut seen: Vec<&str> = Vec::new();
    let mut latest = Vec::new();
    for run in all.iter().filter(|run| run.verdict.is_some()) {
        if !seen.contains(&run.experiment.as_str()) {
            seen.push(&run.experiment);
            latest.push(run.id);
        }
    }
    latest
}

/// Keeps the runs of the latest run's host: others come from another machine.
fn of_one_host(asked: &str, mut runs: Vec<Run>, control: &mut Control<'_>) -> Vec<Run> {
    let host = runs.first().map(Run::host);
    let all = runs.len();
    runs.retain(|run| Some(run.host()) == host);
    if runs.len() < all {
        control.remark(&format!(
            "{asked}: {} of other hosts skipped; this side is {}",
            hopcost_view::plural(all - runs.len(), "run"),
            host.unwrap_or_else(|| Known::missing(Code::NotStored, "there is no run"))
        ));
    }
    runs
}

impl Run {
    fn read(store: &Store, id: i64) -> Result<Self, StoreError> {
        let header = store.header(id)?.ok_or(StoreError::Absent)?;
        let kept = store.run(id)?.ok_or(StoreError::Absent)?;
        Ok(Self { header, kept })
    }

    fn host(&self) -> Known<String> {
        self.header.machine.as_ref().and_then(|machine| machine.host.clone())
    }

    fn for_comparison(&self) -> between::KeptRun<'_> {
        between::KeptRun {
            id: self.kept.id,
            experiment: &self.header.experiment,
            target: self.header.target.as_deref(),
            begun_s: self.header.begun_s,
            result: self.kept.result.as_ref(),
            reports: &self.kept.reports,
        }
    }
}

/// Options in which two runs differ: some change the question, the others only how it was measured.
fn differing(a: &Run, b: &Run) -> Differing {
    const QUESTION: [&str; 3] = ["comparison", "rows", "sliced"];
    let identity = |run: &Run| comparable(run.header.identity.as_deref().unwrap_or_default());
    let keys = differing_keys(&identity(a), &identity(b)).into_iter();
    let (question, manner): (Vec<String>, Vec<String>) =
        keys.partition(|key| QUESTION.contains(&key.as_str()));
    let known = |keys: Vec<String>| -> Vec<String> {
        keys.iter().map(|key| known_as(key).to_owned()).collect()
    };
    let mut differing = Differing { question: known(question), manner: known(manner) };
    let kind = |run: &Run| {
        let url = run.header.target.clone().unwrap_or_default();
        url.split(':').next().unwrap_or_default().to_owned()
    };
    if kind(a) != kind(b) {
        differing.question.push(format!("the database ({} / {})", kind(a), kind(b)));
    }
    differing.manner.extend(other_versions(a, b));
    differing
}

fn other_versions(a: &Run, b: &Run) -> Vec<String> {
    let database = |run: &Run| {
        let details = run.kept.result.as_ref().and_then(|result| result.details.as_ref());
        details.map_or(String::new(), |details| details.identity.clone())
    };
    let told = [
        ("the database", database(a), database(b)),
        ("hopcost", a.header.version.clone(), b.header.version.clone()),
    ];
    // What a file does not share is not known to differ.
    let is_other = |(_, a, b): &(_, String, String)| a != b && !a.is_empty() && !b.is_empty();
    let other = told.into_iter().filter(is_other);
    other.map(|(what, a, b)| format!("{what} ({a} / {b})")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_is_a_store_a_run_of_it_or_a_run_of_the_default() {
        let asked = |text| {
            let (path, wanted) = what_is_asked(text, Path::new("mine.db"));
            let wanted = match wanted {
                Wanted::All => "all".to_owned(),
                Wanted::Number(id) => id.to_string(),
                Wanted::Experiment(name) => name.to_owned(),
            };
            format!("{} {wanted}", path.display())
        };
        assert_eq!(asked("there/other.db"), "there/other.db all");
        assert_eq!(asked("other.db:7"), "other.db 7");
        assert_eq!(asked("other.db:access-cost"), "other.db access-cost");
        assert_eq!(asked("7"), "mine.db 7");
        assert_eq!(asked("access-cost"), "mine.db access-cost");
    }

    #[test]
    fn of_each_experiment_the_latest_that_was_finished_counts() {
        let run = |id, experiment: &str, verdict: Option<&str>| Listed {
            id,
            experiment: experiment.to_owned(),
            begun_s: 0,
            verdict: verdict.map(str::to_owned),
            target: None,
            baselines: Vec::new(),
        };
        let all = [
            run(4, "x", None),
            run(3, "y", Some("COST")),
            run(2, "x", Some("COST")),
            run(1, "x", Some("GAIN")),
        ];
        assert_eq!(latest_of_each(&all), [3, 2]);
    }
}
