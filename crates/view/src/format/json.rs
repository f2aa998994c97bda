//! Results as JSON; docs/reference/json.md documents every key.

use std::path::Path;

use hopcost_core::{ExperimentResult, ProbeReport};
use serde::Serialize;

use super::output::{Canvas, Format, Shown};
use crate::page::{NotTested, Origin, Page};
use crate::story::findings::{Sentences, sentences};

pub const FORMAT: Format = Format {
    name: "json",
    about: "everything, for programs (keys: docs/reference/json.md)",
    media: "application/json",
    of: json,
};

#[derive(Serialize)]
#[serde(untagged)]
enum Printed<'a> {
    Run {
        run: i64,
        #[serde(flatten)]
        result: &'a ExperimentResult,
        probes: Vec<&'a ProbeReport>,
    },
    Unfinished {
        version: u32,
        run: i64,
        blocks: usize,
        /// `None` if it was only interrupted.
        #[serde(skip_serializing_if = "Option::is_none")]
        failure: Option<&'a str>,
        probes: Vec<&'a ProbeReport>,
    },
    Survey {
        version: u32,
        seconds: f64,
        interrupted: bool,
        page: &'a Path,
        found: String,
        action: String,
        results: Vec<&'a ExperimentResult>,
        not_tested: &'a [NotTested],
    },
}

fn json(shown: &Shown<'_>, _: Canvas) -> String {
    let text = match shown {
        Shown::Report(page) => serde_json::to_string_pretty(&of_page(page)),
        Shown::Between(between) => serde_json::to_string_pretty(between),
    };
    // Only map keys that are not strings could fail, and there are none.
    text.map_or_else(
        |error| format!("{{\"error\": {:?}}}\n", error.to_string()),
        |text| text + "\n",
    )
}

fn of_page<'a>(page: &'a Page<'_>) -> Option<Printed<'a>> {
    let probes = || page.probes.iter().map(|probed| probed.report).collect();
    if let Origin::Survey { page: written } = page.origin {
        let Sentences { found, action, .. } = sentences(page);
        return Some(Printed::Survey {
            version: 1,
            seconds: page.seconds,
            interrupted: page.interrupted,
            page: written,
            found,
            action,
            results: page.sections.iter().filter(|it| it.is_finished).map(|it| it.result).collect(),
            not_tested: &page.not_tested,
        });
    }
    let section = page.sections.first()?;
    let (run, probes) = (section.run, probes());
    Some(match page.origin {
        Origin::Unfinished { failure } => {
            Printed::Unfinished { version: 1, run, blocks: section.blocks.len(), failure, probes }
        }
        _ => Printed::Run { run, result: section.result, probes },
    })
}

#[cfg(test)]
mod tests {
    use hopcost_core::Verdict;

    use super::*;
    use crate::sample::{Sample, page};

    #[test]
    fn a_document_is_that_of_a_run_of_one_that_was_cut_or_of_a_survey() {
        let sample = Sample::compared("remote-memory", Verdict::Cost, 0.06, 0.02).with_blocks(3);
        let cut = Sample::absent("log-distance", "it was interrupted");
        let mut page = page(vec![sample.section(), cut.section()]);
        page.sections[1].is_finished = false;
        let mut printed = |origin| {
            page.origin = origin;
            json(&Shown::Report(&page), Canvas { columns: 80 })
        };
        let run = printed(Origin::Run);
        assert!(
            run.starts_with("{\n  \"run\": 1,\n  \"version\": 1,\n") && run.ends_with("]\n}\n")
        );
        let unfinished = printed(Origin::Unfinished { failure: Some("the disk is full") });
        for words in ["\"blocks\": 3,\n  \"failure\": \"the disk is full\",\n", "\"probes\": []"] {
            assert!(unfinished.contains(words), "{unfinished}");
        }
        assert!(!printed(Origin::Unfinished { failure: None }).contains("failure"));
        let survey = printed(Origin::Survey { page: Path::new("hopcost.html") });
        assert!(survey.contains("\"page\": \"hopcost.html\",\n  \"found\": \"6.0% fewer"));
        assert!(!survey.contains("log-distance"), "only what was finished: {survey}");
    }
}
