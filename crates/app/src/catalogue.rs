//! Built-in experiments and probes by name, and the user's experiment files.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use hopcost_core::{Code, Experiment, Probe, Reason};
use hopcost_data::advice;
use hopcost_data::datasets::DATASETS;
use hopcost_data::experiments::EXPERIMENTS;
use hopcost_data::published;
use hopcost_data::workloads::WORKLOADS;
use hopcost_engines::TARGETS;
use hopcost_host::probes::PROBES;
use hopcost_method::advice::Recipe;
use hopcost_method::{Vocabulary, read_experiment};

/// By built-in name, or the path of a file.
pub fn experiment(name: &str) -> Result<Experiment, Reason> {
    if let Some((name, text)) = EXPERIMENTS.iter().find(|(known, _)| *known == name) {
        return read(name, name, text);
    }
    let path = Path::new(name);
    if path.extension().is_none_or(|extension| extension != "toml") {
        let known: Vec<&str> = experiment_names().collect();
        let words = format!(
            "there is no experiment '{name}'; known: {} (or name a .toml file)",
            known.join(", ")
        );
        return Err(Code::UnknownName.because(words));
    }
    let unread = |error| Code::SystemFailed.because(format!("{name}: {error}"));
    let text = std::fs::read_to_string(path).map_err(unread)?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    read(&stem, name, &text)
}

/// An experiment that comes with hopcost.
pub(crate) fn built_in(name: &str) -> Option<Experiment> {
    let (name, text) = EXPERIMENTS.iter().find(|(known, _)| *known == name)?;
    read(name, name, text).ok()
}

static RECIPES: LazyLock<BTreeMap<&'static str, Recipe>> = LazyLock::new(|| {
    let read = |(name, text): &(&'static str, &str)| Some((*name, Recipe::read(text).ok()?));
    advice::RECIPES.iter().filter_map(read).collect()
});

pub fn recipe(name: &str) -> Option<&'static Recipe> {
    RECIPES.get(name)
}

pub fn experiments() -> Result<Vec<Experiment>, Reason> {
    EXPERIMENTS.iter().map(|(name, text)| read(name, name, text)).collect()
}

pub fn of_a_survey() -> Result<Vec<Experiment>, Reason> {
    let mut all = experiments()?;
    all.retain(|experiment| experiment.survey.is_some());
    all.sort_by_key(|experiment| experiment.survey);
    Ok(all)
}

pub fn experiment_names() -> impl Iterator<Item = &'static str> {
    EXPERIMENTS.iter().map(|(name, _)| *name)
}

pub fn probe_names() -> impl Iterator<Item = &'static str> {
    PROBES.iter().map(|probe| probe.name())
}

pub fn dataset_names() -> impl Iterator<Item = &'static str> {
    DATASETS.iter().map(|dataset| dataset.name())
}

pub fn workload_names() -> impl Iterator<Item = &'static str> {
    WORKLOADS.iter().map(|workload| workload.info().name)
}

fn read(name: &str, place: &str, text: &str) -> Result<Experiment, Reason> {
    let probes: Vec<&str> = probe_names().collect();
    let datasets: Vec<&str> = dataset_names().collect();
    let targets: Vec<&str> = TARGETS.iter().map(|target| target.name()).collect();
    let workloads: Vec<&str> = workload_names().collect();
    let published: Vec<&str> = published::names().collect();
    let known = Vocabulary {
        targets: &targets,
        datasets: &datasets,
        workloads: &workloads,
        probes: &probes,
        published: &published,
    };
    read_experiment(name, text, &known)
        .map_err(|error| Code::BadFile.because(format!("{place}:{error}")))
}

pub fn probe(name: &str) -> Option<&'static dyn Probe> {
    PROBES.iter().copied().find(|probe| probe.name() == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use hopcost_core::{Estimate, Subject, Verdict, Words};
    use hopcost_method::advice::{self as method, ENGINES, ENVIRONMENTS, PLACEHOLDERS, Verified};

    use super::*;

    #[test]
    fn every_experiment_can_be_read_and_has_its_own_place_in_a_survey() {
        let all = experiments().unwrap_or_else(|wrong| panic!("{wrong}"));
        let places: Vec<u32> = all.iter().filter_map(|experiment| experiment.survey).collect();
        assert!(places.len() > 2);
        assert_eq!(places.len(), places.iter().collect::<BTreeSet<_>>().len(), "{places:?}");
    }

    #[test]
    fn every_cost_and_gain_of_every_variant_has_advice() {
        let names: BTreeSet<&str> = advice::RECIPES.iter().map(|(name, _)| *name).collect();
        for experiment in experiments().unwrap() {
            let used = experiment.advice.iter().flat_map(|rule| &rule.recipes);
            for name in used {
                assert!(names.contains(name.as_str()), "{}: no recipe {name}", experiment.name);
            }
            let Subject::Database(comparison) = &experiment.subject else { continue };
            for level in comparison.levels.iter().skip(1) {
                for (verdict, point) in [(Verdict::Cost, 0.3), (Verdict::Gain, -0.3)] {
                    let (low, high) = (point - 0.01, point + 0.01);
                    let cost = Estimate { point, low, high, level: 0.95, n: 8, n_effective: 8.0 };
                    let name = Some(level.name.as_str());
                    let rule = method::rule(&experiment, verdict, name, Some(&cost), 0.03);
                    assert!(rule.is_some(), "{} {} {verdict}", experiment.name, level.name);
                }
            }
        }
    }

    #[test]
    fn recipes_say_what_they_rest_on_and_leave_nothing_open() {
        let (mut counts, mut of_steps) = (BTreeMap::new(), BTreeMap::new());
        for (name, text) in advice::RECIPES {
            let recipe = Recipe::read(text).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
            assert_eq!(
                recipe.verified == Verified::Unverified,
                recipe.sources.is_empty(),
                "{name}"
            );
            let changes_nothing = *name == "leave-as-is";
            assert!(recipe.title.len() <= 60, "{name}");
            assert_eq!(recipe.steps.is_empty(), changes_nothing, "{name}");
            for step in &recipe.steps {
                *of_steps.entry(recipe.verified(step)).or_insert(0) += 1;
                assert!(step.engine.iter().all(|it| ENGINES.contains(&it.as_str())), "{name}");
                assert!(step.env.iter().all(|it| ENVIRONMENTS.contains(&it.as_str())), "{name}");
                let parts = [&step.lines, &step.check, &step.undo];
                assert!(parts.iter().all(|lines| !lines.is_empty()), "{name}");
                for line in parts.into_iter().flatten().chain(&step.then).chain(&step.file) {
                    for part in line.split('{').skip(1).filter_map(|rest| rest.split_once('}')) {
                        let is_word =
                            part.0.bytes().all(|it| it.is_ascii_lowercase() || it == b'_');
                        let is_known = PLACEHOLDERS.contains(&part.0);
                        assert!(!is_word || is_known, "{name}: {line}");
                    }
                }
            }
            *counts.entry(recipe.verified).or_insert(0) += 1;
        }
        // Change these only with what was executed, or with what a source was found for.
        let all = [Verified::Measured, Verified::Documented, Verified::Unverified];
        let expect = |numbers: [i32; 3]| all.into_iter().zip(numbers).collect::<BTreeMap<_, _>>();
        assert_eq!(counts, expect([4, 14, 10]), "recipes, if their steps do not say");
        assert_eq!(of_steps, expect([33, 32, 26]), "steps");
    }

    #[test]
    fn every_published_figure_belongs_beside_a_probe_or_an_experiment() {
        let is_known = |name: &str| {
            probe(name).is_some() || EXPERIMENTS.iter().any(|(known, _)| *known == name)
        };
        for published in published::all() {
            for beside in &published.beside {
                assert!(is_known(beside), "{}: {beside}?", published.source);
            }
        }
    }

    #[test]
    fn every_experiment_has_words_for_people_and_so_has_each_of_its_levels() {
        for experiment in experiments().unwrap_or_else(|wrong| panic!("{wrong}")) {
            let Words { title, unit, why } = &experiment.words;
            let all = [title, unit, why];
            assert!(all.iter().all(|text| text.is_some()), "{}: {all:?}", experiment.name);
            let Subject::Database(comparison) = &experiment.subject else { continue };
            let labels: BTreeSet<_> = comparison.levels.iter().map(|level| &level.label).collect();
            assert_eq!(labels.len(), comparison.levels.len(), "{}: {labels:?}", experiment.name);
            assert!(labels.iter().all(|label| label.is_some()), "{}", experiment.name);
        }
    }
}
