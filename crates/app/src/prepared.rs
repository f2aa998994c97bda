//! A request with its experiment read.

use hopcost_core::Experiment;

use crate::{App, Outcome, Request, catalogue};

/// Nothing has been touched yet.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub(crate) asked: Request,
    pub experiment: Experiment,
}

impl App {
    pub fn prepare(&self, asked: Request) -> Outcome<Prepared> {
        let experiment = catalogue::experiment(&asked.experiment)?;
        Ok(Prepared { asked, experiment })
    }
}
