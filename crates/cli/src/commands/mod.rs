//! Commands, one file each.

mod capabilities;
pub mod compare;
pub mod completions;
pub mod doctor;
pub mod drive;
mod fail_if;
pub mod list;
pub mod load;
pub mod machine;
pub mod man;
pub mod overview;
pub mod plan;
pub mod probe;
pub mod report;
pub mod restore;
pub mod run;
mod statements;
pub mod survey;
pub mod whereabouts;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hopcost_app::{Control, Event, Outcome};

use crate::output;
use crate::progress::Bar;
use crate::{enough, interrupt};

/// Runs `work` with a progress bar until it ends or Ctrl-C is pressed. `look` sees each event
/// before the bar.
fn attended<T>(
    mut look: impl FnMut(&Event<'_>),
    work: impl FnOnce(&mut Control<'_>) -> Outcome<T>,
) -> Outcome<T> {
    let mut bar = Bar::new();
    let enough = Arc::new(AtomicBool::new(false));
    let mut told = |event: Event<'_>| {
        match &event {
            Event::Began { .. } => enough.store(false, Ordering::Relaxed),
            Event::Progress(_) if enough::is_typed() => enough.store(true, Ordering::Relaxed),
            _ => {}
        }
        bar.hear(&event);
        look(&event);
        if let Event::Remark(words) = event {
            output::remark(words);
        }
    };
    let stop = interrupt::watch()?;
    work(&mut Control { stop, enough: Arc::clone(&enough), told: &mut told })
}
