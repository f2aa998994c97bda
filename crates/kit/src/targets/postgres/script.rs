//! A script of pgbench's over a connection: one call is one way through it.
//!
//! Method: a command is prepared when it first comes up, and sent as `pgbench -M prepared` sends it:
//! arguments and answers as text, one round trip each, or one for a whole pipeline. Between two commands
//! the thread serves other connections, and while a client sleeps, too.

use std::time::Duration;

use bytes::BytesMut;
use hopcost_core::{CallError, Seat, TargetError};
use postgres_protocol::message::frontend;

use super::session::called;
use super::wire::{Wire, column_names, columns};
use crate::pgbench::{self, Parameter, Pipeline, RunError, Script, Step, Walk, presets};

/// A client that goes through scripts, with its variables.
pub struct Client {
    variables: pgbench::Session,
    /// The commands of each script, as far as they have come up.
    known: Vec<Vec<Option<Known>>>,
    /// What is sent next.
    messages: BytesMut,
    course: Option<Course>,
    /// How long the script sleeps before it goes on.
    rest: Option<Duration>,
}

/// A command that the server knows.
struct Known {
    /// What stands at the beginning of each of its bind messages.
    head: Vec<u8>,
}

/// A way through a script that is not ended yet.
struct Course {
    script: &'static Script,
    number: usize,
    walk: Walk<'static>,
    /// The command whose answer is waited for.
    asked: Option<usize>,
    /// Are commands sent ahead of their answers?
    is_ahead: bool,
    rows: u64,
}

impl Client {
    /// The client of a seat, which will go through these scripts.
    pub fn new(
        seat: &Seat,
        scale: u32,
        mut scripts: impl Iterator<Item = &'static Script>,
    ) -> Result<Self, TargetError> {
        let presets = presets(seat.seed, seat.stream, scale);
        let seed = seat.seed.wrapping_add(u64::from(seat.stream) << 32);
        let mut variables = pgbench::Session::new(seed, &presets);
        // What the user says counts more than what a client knows by itself.
        let prepared = scripts.try_for_each(|script| script.prepare(&mut variables));
        prepared.map_err(TargetError::Failed)?;
        Ok(Self {
            variables,
            known: Vec::new(),
            messages: BytesMut::new(),
            course: None,
            rest: None,
        })
    }

    /// How long it sleeps before it goes on, if it does.
    pub fn rest(&self) -> Option<Duration> {
        self.rest
    }

    /// Begins with a script, up to where an answer is waited for: the rows that came back if it is at its
    /// end already.
    pub fn begin(
        &mut self,
        wire: &mut Wire,
        script: &'static Script,
        number: usize,
    ) -> Result<Option<u64>, CallError> {
        let walk = script.begin();
        self.messages.clear();
        self.rest = None;
        self.course = Some(Course { script, number, walk, asked: None, is_ahead: false, rows: 0 });
        self.go_on(wire)
    }

    /// Takes the answer that was waited for, or has slept, and goes on to the next.
    pub fn answered(&mut self, wire: &mut Wire) -> Result<Option<u64>, CallError> {
        if self.rest.take().is_some() {
            return self.go_on(wire);
        }
        let Some(course) = &mut self.course else { return Ok(Some(0)) };
        let wants_rows = course.asked.is_some_and(|command| course.script.wants_rows(command));
        let (mut names, mut rows) = (Vec::new(), Vec::new());
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let count = &mut course.rows;
        let taken = wire.until_ready(|tag, body| {
            match tag {
                b'T' => names = column_names(body),
                b'D' => {
                    *count += 1;
                    if wants_rows {
                        rows.push(columns(body).map(|value| value.map(text)).collect());
                    }
                }
                _ => {}
            }
            Ok(())
        });
        if let Err(error) = taken {
            let call = called(course.script.name(), error);
            return Err(self.give_up(wire, call));
        }
        let told = course.walk.answered(&mut self.variables, &names, &rows);
        if let Err(error) = told {
            return Err(self.give_up(wire, CallError::Failed(error.to_string())));
        }
        self.go_on(wire)
    }

    /// Ends the transaction that a failed script has left open.
    fn give_up(&mut self, wire: &mut Wire, error: CallError) -> CallError {
        if let Some(Course { number, asked: Some(command), .. }) = self.course.take() {
            // It may be its first time that failed: then the server does not know it.
            self.forget(wire, [number, command]);
        }
        if matches!(error, CallError::Failed(_)) && wire.is_in_transaction() {
            // A connection that cannot even do that says so at its next call.
            let _ = wire.query("ROLLBACK");
        }
        error
    }

    fn forget(&mut self, wire: &mut Wire, [number, command]: [usize; 2]) {
        let place = self.known.get_mut(number).and_then(|commands| commands.get_mut(command));
        if place.is_some_and(|place| place.take().is_some()) {
            let mut messages = BytesMut::new();
            // Closing what is not there is no error.
            let _ = frontend::close(b'S', &compiled(number, command), &mut messages);
            frontend::sync(&mut messages);
            let _ = wire.send(&messages).and_then(|()| wire.until_ready(|_, _| Ok(())));
        }
    }

    fn go_on(&mut self, wire: &mut Wire) -> Result<Option<u64>, CallError> {
        let Some(course) = &mut self.course else { return Ok(Some(0)) };
        loop {
            let step = match course.walk.next(&mut self.variables) {
                Ok(step) => step,
                Err(error) => {
                    return Err(self.give_up(wire, CallError::Failed(error.to_string())));
                }
            };
            let name = course.script.name();
            match step {
                Step::End => {
                    let rows = course.rows;
                    self.course = None;
                    return Ok(Some(rows));
                }
                Step::Sleep(time) => {
                    self.rest = Some(time);
                    return Ok(None);
                }
                Step::Pipeline(Pipeline::Start) => {
                    course.is_ahead = true;
                    continue;
                }
                Step::Pipeline(pipeline) => {
                    course.is_ahead = pipeline == Pipeline::Sync;
                    course.asked = None;
                }
                Step::Send(command) => {
                    course.asked = Some(command);
                    let (script, number) = (course.script, course.number);
                    let into = &mut self.messages;
                    let packed = known(&mut self.known, script, [number, command], into)
                        .map_err(|error| format!("{name}: {error}"))
                        .and_then(|known| {
                            let parameters = script.parameters(command, &self.variables);
                            bind(&known.head, parameters, into)
                        });
                    if let Err(words) = packed {
                        return Err(self.give_up(wire, CallError::Failed(words)));
                    }
                    if script.wants_rows(command) {
                        into.extend_from_slice(DESCRIBE);
                    }
                    into.extend_from_slice(EXECUTE);
                    if course.is_ahead {
                        continue;
                    }
                }
            }
            self.messages.extend_from_slice(SYNC);
            let sent = wire.send(&self.messages);
            self.messages.clear();
            return sent.map(|()| None).map_err(|error| called(name, error));
        }
    }
}

/// Describe, execute and synchronise: the portal without a name, all its rows.
const DESCRIBE: &[u8] = b"D\0\0\0\x06P\0";
const EXECUTE: &[u8] = b"E\0\0\0\x09\0\0\0\0\0";
const SYNC: &[u8] = b"S\0\0\0\x04";

/// A command, compiled where it comes up first.
fn known<'a>(
    known: &'a mut Vec<Vec<Option<Known>>>,
    script: &Script,
    [number, command]: [usize; 2],
    into: &mut BytesMut,
) -> std::io::Result<&'a Known> {
    if known.len() <= number {
        known.resize_with(number + 1, Vec::new);
    }
    let commands = &mut known[number];
    if commands.len() <= command {
        commands.resize_with(command + 1, || None);
    }
    let place = &mut commands[command];
    if place.is_none() {
        let name = compiled(number, command);
        frontend::parse(&name, script.commands().nth(command).unwrap_or_default(), [], into)?;
        // No portal's name, the statement's, and all arguments as text.
        let mut head = vec![0];
        head.extend_from_slice(name.as_bytes());
        head.extend_from_slice(&[0, 0, 1, 0, 0]);
        *place = Some(Known { head });
    }
    place.as_ref().ok_or_else(|| std::io::Error::other("it is not known"))
}

/// The name that pgbench gives a command.
fn compiled(script: usize, command: usize) -> String {
    format!("P{script}_{command}")
}

/// The length of what is not there.
const NULL: i32 = -1;

/// A bind message; the answer is to come as text, too.
fn bind<'a>(
    head: &[u8],
    parameters: impl ExactSizeIterator<Item = Result<Parameter<'a>, RunError>>,
    into: &mut BytesMut,
) -> Result<(), String> {
    let too_long = |_| "the parameters are too long".to_owned();
    let start = into.len() + 1;
    into.extend_from_slice(b"B\0\0\0\0");
    into.extend_from_slice(head);
    into.extend_from_slice(&u16::try_from(parameters.len()).map_err(too_long)?.to_be_bytes());
    for parameter in parameters {
        let parameter = parameter.map_err(|wrong| wrong.to_string())?;
        let place = into.len();
        into.extend_from_slice(&NULL.to_be_bytes());
        if parameter.write(into) {
            let length = i32::try_from(into.len() - place - 4).map_err(too_long)?;
            into[place..place + 4].copy_from_slice(&length.to_be_bytes());
        }
    }
    into.extend_from_slice(&[0, 1, 0, 0]);
    let length = i32::try_from(into.len() - start).map_err(too_long)?;
    into[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}
