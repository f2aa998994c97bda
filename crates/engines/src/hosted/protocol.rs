//! The messages between hopcost and a hosting process.
//!
//! The order is its argument; progress is lines of its standard output.

use std::path::PathBuf;

use hopcost_core::{Answer, Audit, Request};
use serde::{Deserialize, Serialize};

use super::super::server::input::Framing;

/// Output line when everything is loaded; the library's version follows.
pub const READY: &str = "ready ";
/// Output line while loading: the share that is done, and the table.
pub const LOADING: &str = "loading ";

#[derive(Serialize, Deserialize)]
pub struct Order {
    pub file: PathBuf,
    pub dataset: Option<String>,
    pub rows: u64,
    pub tables: Vec<String>,
    pub statements: Vec<Asked>,
    /// Rows that a call appends to its session's table; `None` if calls are statements.
    pub load: Option<u64>,
    pub socket: PathBuf,
}

#[derive(Serialize, Deserialize)]
pub struct Asked {
    pub name: String,
    pub sql: String,
    pub arguments: usize,
    pub example: [i64; 4],
}

#[derive(Serialize, Deserialize)]
pub enum Question {
    Plans,
    /// Reply: the number of rows in the session's table, which is then emptied.
    Rows,
    Threads(u32),
    /// Log calls from now on. Reply: the file of statements, and that of details.
    Audit(Audit),
}

pub struct Tagged;

impl Framing for Tagged {
    const HEAD: usize = 5;

    #[inline]
    fn read(head: &[u8]) -> (u8, usize) {
        (head[0], u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize)
    }
}

/// A call: the statement's index and four arguments, each of eight bytes.
pub const CALL: u8 = b'C';
/// An answer: the number of rows, and their digest.
pub const ANSWER: u8 = b'A';
pub const QUESTION: u8 = b'Q';
/// The reply to a question. A session starts with an unasked one: its thread's id.
pub const REPLY: u8 = b'R';
pub const ERROR: u8 = b'E';

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

pub fn call(content: &[u8]) -> Option<Request> {
    let [statement, arguments @ ..] = <[_; 5]>::try_from(content.as_chunks().0).ok()?;
    let statement = u64::from_le_bytes(statement) as usize;
    Some(Request { statement, arguments: arguments.map(i64::from_le_bytes) })
}

pub fn put_answer(out: &mut Vec<u8>, answer: Answer) {
    put(out, ANSWER, [answer.rows, answer.digest].map(u64::to_le_bytes).as_flattened());
}

pub fn answer(content: &[u8]) -> Option<Answer> {
    let [rows, digest] = <[_; 2]>::try_from(content.as_chunks().0).ok()?.map(u64::from_le_bytes);
    Some(Answer { rows, digest })
}
