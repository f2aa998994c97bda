//! Encodes answers of a server for the tests, and tests that they are parsed.

use super::packet::{self, wide};
use super::tokens::{COUNTED, token};
use super::types::code;

pub fn packets(tokens: &[Vec<u8>]) -> Vec<u8> {
    const ANSWER: u8 = 0x04;
    let mut out = Vec::new();
    packet::put(&mut out, ANSWER, 4096, &tokens.concat());
    out
}

pub fn not_encrypted() -> Vec<u8> {
    // Offset and length of the only option, the end, and its value.
    vec![1, 0, 6, 0, 1, 0xff, 2]
}

pub fn part(token: u8, body: &[&[u8]]) -> Vec<u8> {
    let body = body.concat();
    [&[token], &(body.len() as u16).to_le_bytes()[..], &body].concat()
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

/// `None`: the count is not valid.
pub fn done(count: Option<u64>) -> Vec<u8> {
    done_by(token::DONE, count)
}

pub fn done_by(token: u8, count: Option<u64>) -> Vec<u8> {
    let state = count.map_or(0, |_| COUNTED).to_le_bytes();
    [&[token], &state[..], &[0; 2], &count.unwrap_or(0).to_le_bytes()].concat()
}

pub fn columns(types: &[&[u8]]) -> Vec<u8> {
    let mut out = [&[token::COLUMNS], &(types.len() as u16).to_le_bytes()[..]].concat();
    for kind in types {
        out.extend([&[0; 6], *kind, &[0]].concat());
    }
    out
}

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

/// An output parameter.
pub fn returned(number: i32) -> Vec<u8> {
    let head = [token::RETURN_VALUE, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, code::INTEGER, 4, 4];
    [&head[..], &number.to_le_bytes()].concat()
}

mod tests {
    use super::super::super::server::wire::ServerError;
    use super::super::tokens::{Piece, ServerInfo};
    use super::*;

    fn told(answer: &[u8]) -> (String, Result<(), ServerError>) {
        let mut seen = Vec::new();
        let outcome = ServerInfo::default().take(answer, &mut |piece| {
            seen.push(match piece {
                Piece::Row => "row".to_owned(),
                Piece::Value(value) => value.words().unwrap_or("none".to_owned()),
                Piece::RowEnds => "ends".to_owned(),
                Piece::Changed(count) => format!("changed {count}"),
                Piece::Returned(value) => format!("returned {:?}", value.words()),
            });
            Ok(())
        });
        (seen.join(" "), outcome)
    }

    #[test]
    fn rows_are_taken_apart_and_their_number_is_no_change() {
        // An integer and a nullable text.
        let answer = [
            columns(&[&[0x38], &[0xa7, 9, 0, 0, 0, 0, 0, 0]]),
            vec![token::ROW, 7, 0, 0, 0, 1, 0, b'x'],
            vec![token::ROW_WITH_MISSING, 2, 8, 0, 0, 0],
            done_by(token::DONE_IN_PROCEDURE, Some(2)),
            vec![token::RETURN_STATUS, 0, 0, 0, 0],
            done_by(0xfe, None),
        ];
        let (seen, outcome) = told(&answer.concat());
        assert_eq!((seen.as_str(), outcome), ("row 7 x ends row 8 none ends", Ok(())));
    }

    #[test]
    fn a_change_is_counted_and_the_first_error_is_told() {
        assert_eq!(told(&done(Some(3))), ("changed 3".to_owned(), Ok(())));
        let answer = [error(208, "Invalid object name"), error(1, "and more"), done(None)];
        let (_, outcome) = told(&answer.concat());
        assert_eq!(outcome.unwrap_err().to_string(), "Invalid object name (error 208)");
        assert!(told(&[0x42]).1.unwrap_err().message.contains("0x42"));
    }
}
