//! Runs pgbench scripts over a connection: one call is one pass through a script.
//!
//! Method: as in `pgbench -M prepared`, a command is prepared at its first use, and takes one round
//! trip, as does a pipeline. Between commands and during sleeps the worker serves other
//! connections.

use std::time::Duration;

use bytes::BytesMut;
use hopcost_core::{CallError, SessionPlacement, TargetError};
use postgres_protocol::message::frontend;

use super::super::server::wire::Wire as _;
use super::wire::{Wire, column_names, columns};
use hopcost_pgbench::{
    self as pgbench, Parameter, Pipeline, RunError, Script, Step, Walk, presets,
};

pub struct Compiled {
    pub script: Script,
    number: usize,
    frames: Vec<Frame>,
}

struct Frame {
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Compiled {
    pub fn new(number: usize, script: Script) -> Result<Self, String> {
        let frames =
            (0..script.commands().len()).map(|command| Frame::new(number, &script, command));
        Ok(Self { frames: frames.collect::<Result<_, _>>()?, script, number })
    }

    fn parse(&self, command: usize, into: &mut Vec<u8>) -> std::io::Result<()> {
        let sql = self.script.commands().nth(command).unwrap_or_default();
        let mut message = BytesMut::new();
        frontend::parse(&compiled(self.number, command), sql, [], &mut message)?;
        into.extend_from_slice(&message);
        Ok(())
    }
}

impl Frame {
    fn new(number: usize, script: &Script, command: usize) -> Result<Self, String> {
        let count = u16::try_from(script.parameter_count(command)).map_err(|_| TOO_LONG)?;
        let name = compiled(number, command);
        // Unnamed portal, the statement's name, and all arguments as text.
        let bind = [b"B", LENGTH_BYTES, b"\0", name.as_bytes(), b"\0\0\x01\0\0"].concat();
        let head = [&bind[..], &count.to_be_bytes()].concat();
        let describe = if script.wants_rows(command) { DESCRIBE } else { b"" };
        Ok(Self { head, tail: [ALL_AS_TEXT, describe, EXECUTE].concat() })
    }

    fn put<'a>(
        &self,
        parameters: impl Iterator<Item = Result<Parameter<'a>, RunError>>,
        into: &mut Vec<u8>,
    ) -> Result<(), String> {
        let start = into.len() + 1;
        into.extend_from_slice(&self.head);
        for parameter in parameters {
            let parameter = parameter.map_err(|wrong| wrong.to_string())?;
            let place = into.len();
            into.extend_from_slice(&NULL.to_be_bytes());
            if parameter.write(into) {
                let length = into.len() - place - LENGTH_BYTES.len();
                put_length(into, place, length)?;
            }
        }
        // The tail's first bytes belong to the bind message.
        let length = into.len() + ALL_AS_TEXT.len() - start;
        put_length(into, start, length)?;
        into.extend_from_slice(&self.tail);
        Ok(())
    }
}

fn put_length(bytes: &mut [u8], place: usize, length: usize) -> Result<(), String> {
    let length = i32::try_from(length).map_err(|_| TOO_LONG)?;
    bytes[place..place + LENGTH_BYTES.len()].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

pub struct Client {
    variables: pgbench::Session,
    /// Whether the server has prepared a command: by script and command.
    known: Vec<Vec<bool>>,
    messages: Vec<u8>,
    course: Option<Course>,
    rest: Option<Duration>,
}

struct Course {
    compiled: &'static Compiled,
    walk: Walk<'static>,
    asked: Option<usize>,
    is_ahead: bool,
    rows: u64,
}

impl Course {
    fn keep(&mut self, wire: &mut Wire, variables: &mut pgbench::Session) -> Result<(), CallError> {
        let (mut names, mut rows) = (Vec::new(), Vec::new());
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let taken = wire.until_ready(|tag, body| {
            match tag {
                b'T' => names = column_names(body),
                b'D' => rows.push(columns(body).map(|value| value.map(text)).collect()),
                _ => {}
            }
            Ok(())
        });
        taken.map_err(|error| error.of_call(self.compiled.script.name()))?;
        self.rows += rows.len() as u64;
        let kept = self.walk.answered(variables, &names, &rows);
        kept.map_err(|error| CallError::Failed(error.to_string()))
    }
}

impl Client {
    pub fn new(
        at: SessionPlacement,
        scale: u32,
        mut scripts: impl Iterator<Item = &'static Script>,
    ) -> Result<Self, TargetError> {
        let presets = presets(at.seed, at.stream, scale);
        let seed = at.seed.wrapping_add(u64::from(at.stream) << 32);
        let mut variables = pgbench::Session::new(seed, &presets);
        // The user's variables override the presets.
        let prepared = scripts.try_for_each(|script| script.prepare(&mut variables));
        prepared.map_err(|why| TargetError::Failed(why.to_string()))?;
        Ok(Self { variables, known: Vec::new(), messages: Vec::new(), course: None, rest: None })
    }

    pub fn rest(&self) -> Option<Duration> {
        self.rest
    }

    /// Returns the count of rows when the script has ended without a wait.
    pub fn begin(
        &mut self,
        wire: &mut Wire,
        compiled: &'static Compiled,
        out: Option<&mut Vec<u8>>,
    ) -> Result<Option<u64>, CallError> {
        let walk = compiled.script.begin();
        self.messages.clear();
        self.rest = None;
        self.course = Some(Course { compiled, walk, asked: None, is_ahead: false, rows: 0 });
        self.go_on(wire, out)
    }

    pub fn answered(
        &mut self,
        wire: &mut Wire,
        out: Option<&mut Vec<u8>>,
    ) -> Result<Option<u64>, CallError> {
        if self.rest.take().is_some() {
            return self.go_on(wire, out);
        }
        let Some(course) = &mut self.course else { return Ok(Some(0)) };
        let script = &course.compiled.script;
        let keeps = course.asked.is_some_and(|command| script.wants_rows(command));
        let taken = if keeps {
            course.keep(wire, &mut self.variables)
        } else {
            let taken = wire.until_ready(|tag, _| {
                course.rows += u64::from(tag == b'D');
                Ok(())
            });
            taken.map_err(|error| error.of_call(script.name()))
        };
        if let Err(error) = taken {
            return Err(self.give_up(wire, error));
        }
        self.go_on(wire, out)
    }

    fn give_up(&mut self, wire: &mut Wire, error: CallError) -> CallError {
        if let Some(Course { compiled, asked: Some(command), .. }) = self.course.take() {
            // When its preparation failed, the server does not know the command.
            self.forget(wire, [compiled.number, command]);
        }
        if matches!(error, CallError::Failed(_)) && wire.is_in_transaction() {
            // A broken connection shows at the next call.
            let _ = wire.query("ROLLBACK");
        }
        error
    }

    fn forget(&mut self, wire: &mut Wire, [number, command]: [usize; 2]) {
        if std::mem::take(known(&mut self.known, [number, command])) {
            let mut messages = BytesMut::new();
            // Closing an unknown statement is no error.
            let _ = frontend::close(b'S', &compiled(number, command), &mut messages);
            frontend::sync(&mut messages);
            let _ = wire.send(&messages).and_then(|()| wire.until_ready(|_, _| Ok(())));
        }
    }

    fn go_on(
        &mut self,
        wire: &mut Wire,
        out: Option<&mut Vec<u8>>,
    ) -> Result<Option<u64>, CallError> {
        let Some(course) = &mut self.course else { return Ok(Some(0)) };
        loop {
            let step = match course.walk.next(&mut self.variables) {
                Ok(step) => step,
                Err(error) => {
                    return Err(self.give_up(wire, CallError::Failed(error.to_string())));
                }
            };
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
                    let Compiled { script, number, frames } = course.compiled;
                    let known = known(&mut self.known, [*number, command]);
                    let is_new = !std::mem::replace(known, true);
                    let parsed = if is_new {
                        course.compiled.parse(command, &mut self.messages)
                    } else {
                        Ok(())
                    };
                    let packed = parsed
                        .map_err(|error| format!("{}: {error}", script.name()))
                        .and_then(|()| {
                            let parameters = script.parameters(command, &self.variables);
                            frames[command].put(parameters, &mut self.messages)
                        });
                    if let Err(words) = packed {
                        return Err(self.give_up(wire, CallError::Failed(words)));
                    }
                    if course.is_ahead {
                        continue;
                    }
                }
            }
            self.messages.extend_from_slice(SYNC);
            let sent = wire.ask(&self.messages, out);
            self.messages.clear();
            let name = course.compiled.script.name();
            return sent.map(|()| None).map_err(|error| error.of_call(name));
        }
    }
}

fn known(all: &mut Vec<Vec<bool>>, [script, command]: [usize; 2]) -> &mut bool {
    if all.len() <= script {
        all.resize_with(script + 1, Vec::new);
    }
    let of_script = &mut all[script];
    if of_script.len() <= command {
        of_script.resize(command + 1, false);
    }
    &mut of_script[command]
}

/// Describe, execute (unnamed portal, all rows) and sync.
const DESCRIBE: &[u8] = b"D\0\0\0\x06P\0";
const EXECUTE: &[u8] = b"E\0\0\0\x09\0\0\0\0\0";
const SYNC: &[u8] = b"S\0\0\0\x04";
const ALL_AS_TEXT: &[u8] = &[0, 1, 0, 0];
const LENGTH_BYTES: &[u8] = &[0; 4];
const NULL: i32 = -1;
const TOO_LONG: &str = "the parameters are too long";

/// pgbench's name for a prepared command.
fn compiled(script: usize, command: usize) -> String {
    format!("P{script}_{command}")
}
