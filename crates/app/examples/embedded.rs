//! hopcost as a library: prepare, run, interrupt, resume, compare.
//!
//! `cargo run --release -p hopcost-app --example embedded -- DIRECTORY`
#![allow(clippy::print_stdout)] // an example is a program

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hopcost_app::{
    App, Control, Dirs, Event, Outcome, Progress, Ran, Request, RunOptions, Store, compare,
    hosted_process, machine,
};

fn main() -> ExitCode {
    if let Some(code) = hosted_process() {
        return code;
    }
    let dir = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let found = tour(dir.as_ref());
    println!("{}", found.as_ref().map_or_else(ToString::to_string, Clone::clone));
    ExitCode::from(u8::from(found.is_err()))
}

/// Compares two runs, the first of which was interrupted after its second block and resumed.
fn tour(dir: &Path) -> Outcome<String> {
    let app = App::new(Dirs::below(dir));
    let path = dir.join("embedded.db");
    let mut store = Store::open(&path)?;
    let mut run = |seed, resume, most_blocks| -> Outcome<Ran> {
        let prepared = app.prepare(Request {
            emulate: Some("nodes=2,remote_ns=80".to_owned()),
            rows: Some(20_000),
            budget_s: Some(3.0),
            set: vec!["streams=1".to_owned()],
            seed,
            ..Request::quick("remote-memory")
        })?;
        let stop = Arc::new(AtomicBool::new(false));
        let mut told = |event: Event<'_>| {
            if let Event::Progress(Progress::Block { block, .. }) = event {
                println!("block {} at {:.1} s", block.trial.number, block.end_s());
                stop.store(block.trial.number + 1 >= most_blocks, Ordering::Relaxed);
            }
        };
        let mut control =
            Control { stop: Arc::clone(&stop), enough: Arc::default(), told: &mut told };
        let options = RunOptions { resume, ..RunOptions::default() };
        app.run(&prepared, &options, &machine(), &mut store, &mut control)
    };
    assert!(run(1, false, 2)?.result.is_none(), "it was interrupted");
    let [first, second] = [run(1, true, u64::MAX)?, run(2, false, u64::MAX)?].map(|ran| ran.id);
    let mut told = |_: Event<'_>| {};
    let mut control = Control { stop: Arc::default(), enough: Arc::default(), told: &mut told };
    let found = compare((&first.to_string(), &second.to_string()), &path, &mut control)?;
    Ok(found.found)
}
