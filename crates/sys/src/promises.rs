//! What hopcost makes in places that are not its own, written down before it is made.
//!
//! Method: one file per promise in the state directory, on disk before anything is made, named by this
//! process and its start time; it goes when the promise is kept. One whose process is gone is a leftover,
//! which `hopcost restore` keeps in its stead.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::own_files;

/// What was made, and where: nothing secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Made {
    pub target: String,
    /// The rest of its URL.
    pub address: String,
}

#[derive(Debug)]
#[must_use = "it is to be kept"]
pub struct Promise {
    path: PathBuf,
}

const PREFIX: &str = "made-";

impl Promise {
    /// Written down, in `dir`.
    pub fn write(dir: &Path, made: &Made) -> io::Result<Self> {
        let path = own_files::path(dir, PREFIX);
        let mut file = own_files::create(&path)?;
        file.write_all(serde_json::to_string(made)?.as_bytes())?;
        file.sync_data()?;
        Ok(Self { path })
    }

    /// Where it is written down: whoever knows that the place is gone for good may delete it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn keep(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// The promises in `dir` whose processes are gone.
pub fn leftovers(dir: &Path) -> io::Result<Vec<(Promise, Made)>> {
    let left = own_files::left_over(dir, PREFIX)?.into_iter();
    left.map(|path| {
        let made = serde_json::from_str(&fs::read_to_string(&path)?)?;
        Ok((Promise { path }, made))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_is_there_until_it_is_kept_and_left_over_only_by_the_dead() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        let made = Made { target: "postgres".into(), address: "//me@host/db".into() };
        let promise = Promise::write(&state, &made).unwrap();
        assert_eq!(leftovers(&state).unwrap().len(), 0, "we live");
        fs::copy(&promise.path, state.join("made-1-1.jsonl")).unwrap();
        promise.keep().unwrap();
        let mut left = leftovers(&state).unwrap();
        let (promise, found) = left.pop().unwrap();
        assert_eq!(found, made);
        promise.keep().unwrap();
        assert_eq!(fs::read_dir(&state).unwrap().count(), 0);
    }
}
