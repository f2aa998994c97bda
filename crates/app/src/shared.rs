//! Reads what `--format share` wrote, as the runs of a store.

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;

use hopcost_core::Code;
use hopcost_method::run::without_own_words;
use hopcost_store::{Decided, Header, Kept, key};
use hopcost_view::{Shared, SharedRun};

use crate::{Failure, InContext, Outcome};

/// A store begins with SQLite's name.
pub fn is_shared(path: &Path) -> bool {
    let mut first = [0];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first == *b"{"
}

pub fn read(path: &Path) -> Outcome<Vec<(Header, Kept)>> {
    let file = BufReader::new(File::open(path).in_context(path.display())?);
    let Shared { hopcost_version, begun_s, machine, runs, .. } = serde_json::from_reader(file)
        .map_err(|why| {
            let place = path.display();
            let words = format!("{place}: not what 'hopcost report --format share' writes: {why}");
            Failure::usage(Code::BadFile, words)
        })?;
    let run = |(number, run): (i64, SharedRun)| {
        let SharedRun { options, result, reports } = run;
        let header = Header {
            experiment: result.experiment.clone(),
            question: result.question.clone(),
            target: result.target.get().cloned(),
            effort: String::new(),
            seed: 0,
            version: hopcost_version.clone(),
            begun_s,
            machine: machine.clone(),
            identity: Some(options),
            decided: Decided::default(),
        };
        let kept = Kept { id: number, result: Some(result), reports, blocks: 0, failure: None };
        (header, kept)
    };
    Ok((1..).zip(runs).map(run).collect())
}

/// The options of a run, without words of the user's.
pub fn comparable(identity: &str) -> String {
    without_own_words(identity, |text| {
        key(&[text.as_bytes()]).iter().map(|byte| format!("{byte:02x}")).collect()
    })
}
