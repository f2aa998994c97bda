//! Events to the caller of a use case, and its request to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hopcost_core::{Loading, Reason};
use hopcost_drive::Listener;
use hopcost_view::page::Section;

use crate::{ProbeResult, Progress};

#[derive(Debug)]
pub enum Event<'a> {
    Began {
        what: &'a str,
        /// Expected duration of the work that follows it.
        after: Duration,
    },
    Loading(Loading<'a>),
    Progress(Progress<'a>),
    Ended,
    Concluded(&'a Section<'a>),
    Probed(&'a ProbeResult),
    NotProbed(&'a str, &'a Reason),
    Remark(&'a str),
}

pub struct Control<'a> {
    /// Once set, work stops after the current sample, and all changes are undone.
    pub stop: Arc<AtomicBool>,
    /// Once set, the experiment in progress ends with the interval of its last look.
    pub enough: Arc<AtomicBool>,
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

    fn has_enough(&self) -> bool {
        self.enough.load(Ordering::Relaxed)
    }
}
