//! A server's answers, put together for the tests.

use super::packet::{self, put_wide};
use super::tokens::{COUNTED, token};
use super::types::code;

/// An answer, in packets.
pub fn packets(tokens: &[Vec<u8>]) -> Vec<u8> {
    const ANSWER: u8 = 0x04;
    let mut out = Vec::new();
    packet::put(&mut out, ANSWER, 4096, &tokens.concat());
    out
}

/// Says that nothing will be encrypted.
pub fn not_encrypted() -> Vec<u8> {
    // After one option of five bytes and the end.
    vec![1, 0, 6, 0, 1, 0xff, 2]
}

/// A part of an answer after its length.
pub fn part(token: u8, body: &[&[u8]]) -> Vec<u8> {
    let body = body.concat();
    [&[token], &(body.len() as u16).to_le_bytes()[..], &body].concat()
}

pub fn wide(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    put_wide(&mut out, text);
    out
}

pub fn let_in(program: &str) -> Vec<u8> {
    let name = wide(program);
    part(token::LOGIN_ACK, &[&[1, 4, 0, 0, 0x74, (name.len() / 2) as u8], &name, &[16, 0, 0, 0]])
}

pub fn error(number: i32, words: &str) -> Vec<u8> {
    let text = wide(words);
    let units = (text.len() as u16 / 2).to_le_bytes();
    part(token::ERROR, &[&number.to_le_bytes(), &[1, 14], &units, &text, &[0; 6]])
}

/// The end of an answer in which so many rows came or were changed, if that is told.
pub fn done(count: Option<u64>) -> Vec<u8> {
    done_by(token::DONE, count)
}

pub fn done_by(token: u8, count: Option<u64>) -> Vec<u8> {
    let state = count.map_or(0, |_| COUNTED).to_le_bytes();
    [&[token], &state[..], &[0; 2], &count.unwrap_or(0).to_le_bytes()].concat()
}

/// Columns without names, of types that are described so.
pub fn columns(types: &[&[u8]]) -> Vec<u8> {
    let mut out = [&[token::COLUMNS], &(types.len() as u16).to_le_bytes()[..]].concat();
    for kind in types {
        out.extend([&[0; 6], *kind, &[0]].concat());
    }
    out
}

/// Rows of texts.
pub fn rows(rows: &[Vec<String>]) -> Vec<u8> {
    const TEXT: &[u8] = &[code::NVARCHAR, 0x40, 0x1f, 0, 0, 0, 0, 0];
    let mut out = columns(&vec![TEXT; rows.first().map_or(1, Vec::len)]);
    for row in rows {
        out.push(token::ROW);
        for value in row {
            let value = wide(value);
            out.extend((value.len() as u16).to_le_bytes());
            out.extend(value);
        }
    }
    out
}

/// The number that a procedure returns.
pub fn returned(number: i32) -> Vec<u8> {
    let head = [token::RETURN_VALUE, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, code::INTEGER, 4, 4];
    [&head[..], &number.to_le_bytes()].concat()
}
