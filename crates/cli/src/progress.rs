//! A progress bar with the time left, on standard error, where that is a terminal.
//!
//! It is drawn between samples, by the thread that runs them; no thread of its own disturbs a
//! measurement.

use std::time::Duration;

use hopcost_core::Loading;
use hopcost_drive::{Event, Listener};
use hopcost_view::plural;
use indicatif::{ProgressBar, ProgressStyle};

const STEPS: u64 = 1000;

/// The bar of one step after the other.
pub struct Progress {
    bar: ProgressBar,
    /// What is worked on.
    name: String,
    /// What comes after it.
    after: Duration,
}

impl Progress {
    /// A bar that is not drawn yet, with what comes after it.
    pub fn of(name: &str, after: Duration) -> Self {
        let bar = ProgressBar::new(STEPS);
        let style = ProgressStyle::with_template("{prefix:<17}▕{bar:20}▏ {msg}");
        if let Ok(style) = style {
            bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
        }
        bar.set_prefix(name.to_owned());
        Self { bar, name: name.to_owned(), after }
    }

    fn left(&self, left: Duration) -> String {
        format!("{} left · Ctrl-C stops", clock(left + self.after))
    }
}

impl Progress {
    /// A database is brought up.
    pub fn loading(&mut self, loading: Loading<'_>) {
        self.bar.set_position((loading.done * STEPS as f64) as u64);
        self.bar.set_message(format!("{} · Ctrl-C stops", loading.what));
    }

    /// Nothing more comes.
    pub fn close(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Listener for Progress {
    fn hear(&mut self, event: Event<'_>) {
        match event {
            Event::Opening { probe, cells } => {
                self.bar.reset();
                self.bar.set_prefix(probe.to_owned());
                self.bar.set_message(format!(
                    "placing memory for {} · Ctrl-C stops",
                    plural(cells, "cell")
                ));
            }
            Event::Sampled { done, left } => {
                self.bar.set_position((done * STEPS as f64) as u64);
                self.bar.set_message(self.left(left));
            }
            Event::Pilot { seconds } => {
                self.bar.reset();
                self.bar.set_prefix(self.name.clone());
                self.bar.set_message(format!("pilot, about {seconds:.0} s · Ctrl-C stops"));
            }
            Event::Block { block, done, left } => {
                self.bar.set_prefix(self.name.clone());
                self.bar.set_position((done * STEPS as f64) as u64);
                let blocks = plural(block.trial.number as usize + 1, "block");
                self.bar.set_message(format!("{blocks} · {}", self.left(left)));
            }
            Event::Closed => self.bar.finish_and_clear(),
        }
    }
}

/// `0:07`.
fn clock(left: Duration) -> String {
    let seconds = left.as_secs_f64().ceil() as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}
