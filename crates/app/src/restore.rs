//! Restores what a killed run left changed.

use hopcost_engines::TARGETS;
use hopcost_sys::journal::{self, Restored};
use hopcost_sys::promises::{self, Made, Promise};

use crate::{App, InContext, Outcome};

#[derive(Debug)]
pub enum PutBack {
    Removed { url: String, words: String },
    NotRemoved { url: String, why: String, file: String },
    Setting(Restored),
    Unread(String),
}

impl PutBack {
    pub fn is_failed(&self) -> bool {
        !matches!(
            self,
            Self::Removed { .. }
                | Self::Setting(
                    Restored::PutBack(_) | Restored::Unchanged(_) | Restored::LeftAlone(..)
                )
        )
    }
}

impl App {
    pub fn restore(&self) -> Outcome<Vec<PutBack>> {
        let dir = &self.dirs.state;
        let journals = journal::leftovers(dir).in_context(dir.display())?;
        let promises = promises::leftovers(dir).in_context(dir.display())?;
        let mut all: Vec<PutBack> = promises.into_iter().map(removed).collect();
        for path in journals {
            match journal::settle(&path) {
                Ok(restored) => all.extend(restored.into_iter().map(PutBack::Setting)),
                Err(error) => all.push(PutBack::Unread(error.to_string())),
            }
        }
        Ok(all)
    }
}

fn removed((promise, made): (Promise, Made)) -> PutBack {
    let url = format!("{}:{}", made.target, made.address);
    let file = promise.path().display().to_string();
    let remove = || -> Result<String, String> {
        let target = TARGETS.iter().find(|target| target.name() == made.target);
        let target = target.ok_or("this hopcost does not know that target")?;
        let words = target.clear(&made.address).map_err(|reason| reason.to_string())?;
        promise.keep().map_err(|error| error.to_string())?;
        Ok(words)
    };
    match remove() {
        Ok(words) => PutBack::Removed { url, words },
        Err(why) => PutBack::NotRemoved { url, why, file },
    }
}
