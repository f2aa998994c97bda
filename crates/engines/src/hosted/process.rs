//! The hosting process: loads the library and the data, then serves each session in a thread.
//!
//! It is hopcost, started by hopcost with the library's hidden argument. Progress goes to standard
//! output, errors to standard error.
#![allow(clippy::print_stdout, clippy::print_stderr)] // nobody but hopcost reads them

use std::fmt::Display;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

use hopcost_core::{Answer, Audit, Request};
use hopcost_sys::affinity;
use serde_json::{Value, json};

use super::super::server::address::Wait;
use super::super::server::channel::Channel;
use super::super::server::stream::Stream;
use super::library::{Connection, Database, Library, LibraryResult, Prepared};
use super::protocol::{self, Asked, CALL, ERROR, LOADING, Order, Question, READY, REPLY, Tagged};
use super::work::Work;

pub fn serve_if_asked(libraries: &[&dyn Library]) -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let word = arguments.next()?;
    let library = libraries.iter().find(|library| word == *library.info().hidden_word())?;
    let order = serde_json::from_slice(arguments.next()?.as_encoded_bytes()).ok()?;
    Some(match serve(*library, order) {
        Ok(()) => ExitCode::SUCCESS,
        Err(words) => {
            eprintln!("{words}");
            ExitCode::FAILURE
        }
    })
}

fn serve(library: &dyn Library, order: Order) -> LibraryResult<()> {
    let database = library.open(&order.file)?;
    let socket = order.socket.clone();
    let work = Work::of(&*database, order, &mut |share, table| {
        println!("{LOADING}{share} {table}");
    })?;
    let listener = UnixListener::bind(&socket);
    let listener = listener.map_err(|error| format!("{}: {error}", socket.display()))?;
    println!("{READY}{}", database.version());
    // Serves until the process is killed.
    let served =
        &*Box::leak(Box::new(Served { name: library.info().name, database, work, socket }));
    for stream in listener.incoming().flatten() {
        thread::spawn(move || served.answer(stream));
    }
    Ok(())
}

struct Served {
    name: &'static str,
    database: Box<dyn Database>,
    work: Work,
    socket: PathBuf,
}

impl Served {
    fn answer(&self, stream: UnixStream) {
        let mut channel = Channel::new(Stream::over(stream), Wait::Receive);
        if let Err(words) = self.serve(&mut channel) {
            let mut out = Vec::new();
            protocol::put(&mut out, ERROR, words.to_string().as_bytes());
            let _ = channel.write_all(&out);
        }
    }

    fn serve(&self, channel: &mut Channel<Tagged>) -> LibraryResult<()> {
        let thread = affinity::thread_id();
        let connection = self.database.connect()?;
        let mut session = Session::begin(self, &*connection, thread)?;
        let mut out = Vec::new();
        protocol::put(&mut out, REPLY, thread.to_string().as_bytes());
        while channel.write_all(&out).is_ok() {
            out.clear();
            let Ok(message) = channel.next() else { break };
            let content = channel.body(&message);
            let done = match message.tag {
                CALL => session.call(content).map(|answer| protocol::put_answer(&mut out, answer)),
                _ => session.reply(content).map(|reply| {
                    protocol::put(&mut out, REPLY, reply.to_string().as_bytes());
                }),
            };
            if let Err(words) = done {
                protocol::put(&mut out, ERROR, words.to_string().as_bytes());
            }
        }
        session.end();
        Ok(())
    }
}

struct Session<'a> {
    served: &'a Served,
    connection: &'a dyn Connection,
    prepared: Vec<Box<dyn Prepared + 'a>>,
    table: String,
    files: [PathBuf; 2],
    details: Option<File>,
}

impl<'a> Session<'a> {
    fn begin(
        served: &'a Served,
        connection: &'a dyn Connection,
        thread: u32,
    ) -> LibraryResult<Self> {
        let table = format!("job_{thread}");
        if let Some(load) = &served.work.load {
            connection.create(&load.table, &table)?;
        }
        let prepared = served.work.statements.iter().map(|asked| {
            let refused = |why: &dyn Display| {
                format!("{} does not take the statement '{}': {why}", served.name, asked.name)
            };
            let prepared = connection.prepare(&asked.sql).map_err(|words| refused(&words))?;
            let [takes, expected] = [prepared.arguments(), asked.arguments];
            if takes != expected {
                let why = format_args!("it takes {takes} arguments, and not {expected}");
                return Err(refused(&why).into());
            }
            Ok(prepared)
        });
        let prepared = prepared.collect::<LibraryResult<_>>()?;
        let file = |of| served.socket.with_file_name(format!("{thread}.{of}"));
        let files = ["statements", "details"].map(file);
        Ok(Self { served, connection, prepared, table, files, details: None })
    }

    fn call(&mut self, content: &[u8]) -> LibraryResult<Answer> {
        let Request { statement, arguments } = protocol::call(content).ok_or("no call")?;
        if let (Some(load), 0) = (&self.served.work.load, statement) {
            return load.append(self.connection, &self.table);
        }
        let asked = self.prepared.get_mut(statement).ok_or("there is no such statement")?;
        let answer = asked.execute(&arguments[..asked.arguments().min(4)]);
        if let Some(details) = &mut self.details
            && let Some(line) = self.connection.details()
        {
            // A line that was not written is missing when lines are counted.
            let _ = details.write_all(format!("{line}\n").as_bytes());
        }
        answer
    }

    fn reply(&mut self, content: &[u8]) -> LibraryResult<Value> {
        let question = serde_json::from_slice(content).map_err(|error| error.to_string())?;
        Ok(match question {
            Question::Plans => json!(self.plans()?),
            Question::Rows => json!(self.rows()?),
            Question::Threads(count) => json!(self.connection.set_threads(count)?),
            Question::Audit(audit) => json!(self.audit(audit)?),
        })
    }

    fn plans(&self) -> LibraryResult<Vec<String>> {
        let plan = |asked: &Asked| {
            let lines = self.connection.explain(&asked.sql, &asked.example)?;
            Ok([asked.name.clone()].into_iter().chain(lines).collect::<Vec<_>>().join("\n"))
        };
        self.served.work.statements.iter().map(plan).collect()
    }

    /// Counts the rows of its table, and recreates it empty.
    fn rows(&self) -> LibraryResult<Option<i64>> {
        let Some(load) = &self.served.work.load else { return Ok(None) };
        let rows = self.connection.number(&format!("SELECT count(*) FROM \"{}\"", self.table))?;
        self.connection.create(&load.table, &self.table)?;
        Ok(rows)
    }

    fn audit(&mut self, audit: Audit) -> LibraryResult<&[PathBuf; 2]> {
        let make = |file| File::create_new(file).map_err(|error| error.to_string());
        make(&self.files[0])?;
        let details = make(&self.files[1])?;
        if audit != Audit::Off {
            self.connection.audit(audit, &self.files[0])?;
        }
        self.details = (audit == Audit::Trace).then_some(details);
        Ok(&self.files)
    }

    /// What could not be removed is deleted with the process's directory.
    fn end(&self) {
        if self.served.work.load.is_some() {
            let _ = self.connection.number(&format!("DROP TABLE \"{}\"", self.table));
        }
        self.files.iter().for_each(|file| _ = fs::remove_file(file));
    }
}
