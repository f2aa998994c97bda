//! What hopcost and the process that has the library in it say to each other.
//!
//! What the process is there for is its argument; how far it is, lines of its standard output; all else are messages.

use std::path::PathBuf;

use hopcost_core::{Answer, Audit, Request};
use serde::{Deserialize, Serialize};

use super::super::server::input::Framing;

/// What a process says when all is loaded; the library's version follows.
pub const READY: &str = "ready ";
/// What it says while it loads: the share of it that is done, and what it is at.
pub const LOADING: &str = "loading ";

/// What a process is to serve.
#[derive(Serialize, Deserialize)]
pub struct Order {
    /// The library.
    pub file: PathBuf,
    pub dataset: Option<String>,
    pub rows: u64,
    /// Those of the data set's that are asked for.
    pub tables: Vec<String>,
    pub statements: Vec<Asked>,
    /// Rows that a call appends to a table of its session's, if it does.
    pub load: Option<u64>,
    /// Where it answers. Its sessions have files of their own beside that.
    pub socket: PathBuf,
}

/// A statement that calls name by its number.
#[derive(Serialize, Deserialize)]
pub struct Asked {
    pub name: String,
    pub sql: String,
    pub arguments: usize,
    /// Arguments for a look at how it is carried out.
    pub example: [i64; 4],
}

/// What is asked beside calls, in JSON, as its answer is.
#[derive(Serialize, Deserialize)]
pub enum Question {
    /// How each statement is carried out: a text for each.
    Plans,
    /// How many rows the session's table holds: they are gone then.
    Rows,
    /// So many threads are to work on a query: nothing.
    Threads(u32),
    /// Calls are to be written down from here on: the file of statements, and that of how each was done.
    Audit(Audit),
}

/// A tag, and the length of what follows.
pub struct Tagged;

impl Framing for Tagged {
    const HEAD: usize = 5;

    #[inline]
    fn read(head: &[u8]) -> (u8, usize) {
        (head[0], u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize)
    }
}

/// A call: its statement's number, and four arguments. All numbers are of eight bytes.
pub const CALL: u8 = b'C';
/// An answer: how many rows, and their digest.
pub const ANSWER: u8 = b'A';
pub const QUESTION: u8 = b'Q';
/// What a question is answered by. The first of a session is unasked: the number of the thread that serves it.
pub const REPLY: u8 = b'R';
/// What went wrong, in words.
pub const ERROR: u8 = b'E';

/// Appends a message.
pub fn put(out: &mut Vec<u8>, tag: u8, content: &[u8]) {
    out.push(tag);
    out.extend_from_slice(&(content.len() as u32).to_le_bytes());
    out.extend_from_slice(content);
}

pub fn put_call(out: &mut Vec<u8>, request: &Request) {
    let [a, b, c, d] = request.arguments;
    let numbers = [(request.statement as u64).cast_signed(), a, b, c, d];
    put(out, CALL, numbers.map(i64::to_le_bytes).as_flattened());
}

/// A call, if it is one.
pub fn call(content: &[u8]) -> Option<Request> {
    let [statement, arguments @ ..] = <[_; 5]>::try_from(content.as_chunks().0).ok()?;
    let statement = u64::from_le_bytes(statement) as usize;
    Some(Request { statement, arguments: arguments.map(i64::from_le_bytes) })
}

pub fn put_answer(out: &mut Vec<u8>, answer: Answer) {
    put(out, ANSWER, [answer.rows, answer.digest].map(u64::to_le_bytes).as_flattened());
}

/// An answer, if it is one.
pub fn answer(content: &[u8]) -> Option<Answer> {
    let [rows, digest] = <[_; 2]>::try_from(content.as_chunks().0).ok()?.map(u64::from_le_bytes);
    Some(Answer { rows, digest })
}
