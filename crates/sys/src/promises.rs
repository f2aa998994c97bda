//! Records of what hopcost creates on existing servers, written before it is created.
//!
//! Method: one file per promise in the state directory, synced before anything is created and
//! deleted when it is kept. `hopcost restore` keeps the promises of processes that are gone.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::own_files;

/// Nothing secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Made {
    pub target: String,
    pub address: String,
}

#[derive(Debug)]
#[must_use = "it is to be kept"]
pub struct Promise {
    path: PathBuf,
}

const PREFIX: &str = "made-";

impl Promise {
    pub fn write(dir: &Path, made: &Made) -> io::Result<Self> {
        let path = own_files::path(dir, PREFIX);
        let mut file = own_files::create(&path)?;
        file.write_all(serde_json::to_string(made)?.as_bytes())?;
        file.sync_data()?;
        Ok(Self { path })
    }

    /// A user who knows that the place is gone for good may delete this file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn keep(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

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
