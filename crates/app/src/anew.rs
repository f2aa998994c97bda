//! Executes hopcost anew: a start is a process with all its memory.
//!
//! Method: the environment has a random length, since that moves the stack (T. Mytkowicz and others,
//! "Producing wrong data without doing anything obviously wrong!", ASPLOS 2009). The order goes to
//! its standard input, and then a line for each request; what it says comes from its standard output.
//! When its standard input ends, hopcost was killed: the start stops, and undoes what it changed.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use fastrand::Rng;
use hopcost_sys::child::{self, Place, Stop};
use serde::Serialize;
use serde::de::DeserializeOwned;

const MOST_PADDING: usize = 4096;
const EVERY: Duration = Duration::from_millis(20);
const STOP: &str = "stop";
const ENOUGH: &str = "enough";

/// The requests that a start passes on while it works.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    pub stop: Arc<AtomicBool>,
    /// To end with what there is.
    pub enough: Arc<AtomicBool>,
}

/// Gives a new process the order, and hears what it says until it ends.
pub fn executed_anew<S: DeserializeOwned>(
    word: &str,
    order: &impl Serialize,
    seed: u64,
    requests: &Requests,
    heard: &mut dyn FnMut(S),
) -> io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    let padding = Rng::with_seed(seed).usize(..MOST_PADDING);
    command.arg(word).env("HOPCOST_PADDING", "x".repeat(padding));
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut started = child::start(&mut command, &Place::default(), Stop::Killed)?;
    let (Some(mut to), Some(from)) = (started.stdin.take(), started.stdout.take()) else {
        return Err(io::Error::other("it has no pipes"));
    };
    let (says, hears) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            for line in BufReader::new(from).lines().map_while(Result::ok) {
                let _ = says.send(line);
            }
        });
        // If it ended early, what it said says why.
        let _ = serde_json::to_writer(&mut to, order).map(|()| writeln!(to));
        let mut passed_on = [false; 2];
        loop {
            match hears.recv_timeout(EVERY) {
                Ok(line) => heard(serde_json::from_str(&line)?),
                Err(RecvTimeoutError::Disconnected) => return started.wait().map(drop),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let flags = [(&requests.stop, STOP), (&requests.enough, ENOUGH)];
            for ((flag, request), is_passed_on) in flags.into_iter().zip(&mut passed_on) {
                if flag.load(Ordering::Relaxed) && !*is_passed_on {
                    *is_passed_on = true;
                    let _ = writeln!(to, "{request}");
                }
            }
        }
    })
}

/// If this process is such a start, does its work. `work` gets the order and says what it finds.
pub fn serve<O: DeserializeOwned, S: Serialize>(
    word: &str,
    work: impl FnOnce(O, &Requests, &mut dyn FnMut(&S)),
) -> Option<ExitCode> {
    if std::env::args_os().nth(1)? != word {
        return None;
    }
    let served =
        child::listen_to_the_parent_alone().and_then(|()| order().map_err(io::Error::other));
    // Without an order nobody is left who could be told.
    let Ok((order, requests)) = served else { return Some(ExitCode::FAILURE) };
    let mut say = |said: &S| {
        let mut line = serde_json::to_vec(said).unwrap_or_default();
        line.push(b'\n');
        let _ = io::stdout().write_all(&line);
    };
    work(order, &requests, &mut say);
    Some(ExitCode::SUCCESS)
}

fn order<O: DeserializeOwned>() -> io::Result<(O, Requests)> {
    // One reader for all: what it has read beyond the order belongs to the thread.
    let mut input = BufReader::new(io::stdin());
    let mut line = String::new();
    input.read_line(&mut line)?;
    let order = serde_json::from_str(&line)?;
    let requests = Requests::default();
    let Requests { stop, enough } = requests.clone();
    thread::Builder::new().name("requests".into()).spawn(move || {
        for line in input.lines().map_while(Result::ok) {
            match line.as_str() {
                ENOUGH => enough.store(true, Ordering::Relaxed),
                _ => stop.store(true, Ordering::Relaxed),
            }
        }
        stop.store(true, Ordering::Relaxed);
    })?;
    Ok((order, requests))
}
