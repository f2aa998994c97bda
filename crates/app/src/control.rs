//! What goes on between an application and who asked it: events one way, a wish to stop the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hopcost_core::{ExperimentResult, Loading, Reason};
use hopcost_drive::Listener;

use crate::{ProbeResult, Progress};

/// What happens while something is done. Told between samples, never within one.
#[derive(Debug)]
pub enum Event<'a> {
    /// Work on something begins.
    Began {
        what: &'a str,
        /// What is still to come when it is through.
        after: Duration,
    },
    /// A database is brought up.
    Loading(Loading<'a>),
    Progress(Progress<'a>),
    /// The work that began is through.
    Ended,
    /// An experiment of a survey has its result.
    Concluded(&'a ExperimentResult),
    /// A probe has its figures.
    Probed(&'a ProbeResult),
    /// A probe cannot run here.
    NotProbed(&'a str, &'a Reason),
    /// A person should know this beside the result.
    Remark(&'a str),
}

/// Who is told, and how one asks for a stop.
pub struct Control<'a> {
    /// Once set, the work stops after its current sample, and everything is put back.
    pub stop: Arc<AtomicBool>,
    pub told: &'a mut dyn FnMut(Event<'_>),
}

impl Control<'_> {
    pub(crate) fn tell(&mut self, event: Event<'_>) {
        (self.told)(event);
    }

    pub(crate) fn remark(&mut self, words: &str) {
        self.tell(Event::Remark(words));
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Listener for Control<'_> {
    fn hear(&mut self, event: Progress<'_>) {
        self.tell(Event::Progress(event));
    }
}
