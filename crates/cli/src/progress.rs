//! A progress bar with the remaining time, on standard error if that is a terminal.
//!
//! The thread that takes samples draws it between them: another thread would disturb the
//! measurement.

use std::time::Duration;

use hopcost_app::{Event, Progress};
use hopcost_core::Phase;
use hopcost_view::{change, plural};
use indicatif::{ProgressBar, ProgressStyle};

const STEPS: u64 = 1000;

pub struct Bar {
    drawn: ProgressBar,
    name: String,
    /// Expected duration of the work that follows.
    after: Duration,
}

impl Bar {
    /// Hidden until work begins.
    pub fn new() -> Self {
        let drawn = ProgressBar::new(STEPS);
        let style = ProgressStyle::with_template("{prefix:<17}▕{bar:10}▏ {msg}");
        if let Ok(style) = style {
            drawn.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
        }
        Self { drawn, name: String::new(), after: Duration::ZERO }
    }

    pub fn hear(&mut self, event: &Event<'_>) {
        match event {
            Event::Began { what, after } => {
                *self = Self { name: (*what).to_owned(), after: *after, ..Self::new() };
                self.drawn.set_prefix(self.name.clone());
            }
            Event::Loading(loading) => {
                self.drawn.set_position((loading.done * STEPS as f64) as u64);
                self.drawn.set_message(format!("{} · Ctrl-C stops", loading.what));
            }
            Event::Progress(progress) => self.advance(progress),
            Event::Ended => self.drawn.finish_and_clear(),
            _ => {}
        }
    }

    fn advance(&mut self, progress: &Progress<'_>) {
        match *progress {
            Progress::Opening { probe, cells } => {
                self.drawn.reset();
                self.drawn.set_prefix(probe.to_owned());
                self.drawn.set_message(format!(
                    "placing memory for {} · Ctrl-C stops",
                    plural(cells, "cell")
                ));
            }
            Progress::Sampled { done, left } => {
                self.drawn.set_position((done * STEPS as f64) as u64);
                self.drawn.set_message(self.left(left));
            }
            Progress::Pilot { seconds } => {
                self.drawn.reset();
                self.drawn.set_prefix(self.name.clone());
                self.drawn.set_message(format!("pilot, about {seconds:.0} s · Ctrl-C stops"));
            }
            Progress::Block { block, cost, done, left } => {
                self.drawn.set_prefix(self.name.clone());
                self.drawn.set_position((done * STEPS as f64) as u64);
                let blocks = plural(block.trial.number as usize + 1, "block");
                let search = if block.trial.phase == Phase::Search { "search, " } else { "" };
                let message = match &cost {
                    None => format!("{search}{blocks} · {}", self.left(left)),
                    Some(cost) => {
                        let left = clock(left + self.after);
                        format!("{} · {left} left · q ↵ ends it", change(cost))
                    }
                };
                self.drawn.set_message(message);
            }
            Progress::Closed => self.drawn.finish_and_clear(),
        }
    }

    fn left(&self, left: Duration) -> String {
        format!("{} left · Ctrl-C stops", clock(left + self.after))
    }
}

/// `0:07`.
fn clock(left: Duration) -> String {
    let seconds = left.as_secs_f64().ceil() as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}
