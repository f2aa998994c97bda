//! What hopcost and the process that has DuckDB in it say to each other.

use hopcost_core::{Answer, Audit, Request};

use super::super::audit::Written;
use super::super::server::input::Framing;

/// A tag, and the length of what follows.
pub struct Tagged;

impl Framing for Tagged {
    const HEAD: usize = 5;

    #[inline]
    fn read(head: &[u8]) -> (u8, usize) {
        (head[0], u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize)
    }
}

/// The thread that serves a session: four bytes.
pub const THREAD: u8 = b'T';
/// A call: its statement's number, and four arguments.
pub const CALL: u8 = b'C';
/// How each statement is carried out, asked for and answered.
pub const PLANS: u8 = b'P';
/// The rows that the session's table holds, asked for and answered by eight bytes: they are gone then.
pub const COUNT: u8 = b'N';
/// How many threads are to work on a query, and on which CPUs they are begun; answered by the numbers of
/// those that were. All numbers are of four bytes.
pub const POOL: u8 = b'W';
/// What is to be written down of each call: a byte. Without it, what was: asked for, and answered by how many
/// statements and how many details of them, eight bytes each.
pub const AUDIT: u8 = b'D';
/// An answer: how many rows, and their digest.
pub const ANSWER: u8 = b'A';
/// What went wrong, in words.
pub const ERROR: u8 = b'E';

/// Between the plans of two statements.
pub const BETWEEN_PLANS: char = '\0';

/// Appends a message.
pub fn put(out: &mut Vec<u8>, tag: u8, content: &[u8]) {
    out.push(tag);
    out.extend_from_slice(&(content.len() as u32).to_le_bytes());
    out.extend_from_slice(content);
}

/// The bytes of numbers.
pub fn numbers(numbers: impl IntoIterator<Item = u32>) -> Vec<u8> {
    numbers.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Numbers from their bytes.
pub fn numbers_in(content: &[u8]) -> Vec<u32> {
    content.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
}

/// What is to be written down, in a byte.
pub fn audit_word(audit: Audit) -> [u8; 1] {
    [AUDITS.iter().position(|one| *one == audit).unwrap_or(0) as u8]
}

/// The same from that byte.
pub fn audit(content: &[u8]) -> Option<Audit> {
    AUDITS.get(usize::from(*content.first()?)).copied()
}

const AUDITS: [Audit; 3] = [Audit::Off, Audit::Statements, Audit::Trace];

/// What was written down, in bytes.
pub fn written(written: Written) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&written.statements.to_le_bytes());
    bytes[8..].copy_from_slice(&written.details.to_le_bytes());
    bytes
}

/// The same from those bytes.
pub fn written_in(content: &[u8]) -> Option<Written> {
    let [statements, details] = content.as_chunks::<8>().0 else { return None };
    let [statements, details] = [statements, details].map(|bytes| u64::from_le_bytes(*bytes));
    Some(Written { statements, details })
}

/// Appends a call.
pub fn put_call(out: &mut Vec<u8>, request: &Request) {
    let mut content = [0; 36];
    content[..4].copy_from_slice(&(request.statement as u32).to_le_bytes());
    for (place, argument) in content[4..].chunks_exact_mut(8).zip(request.arguments) {
        place.copy_from_slice(&argument.to_le_bytes());
    }
    put(out, CALL, &content);
}

/// A call, where it is one.
pub fn call(content: &[u8]) -> Option<Request> {
    let (statement, arguments) = content.split_first_chunk::<4>()?;
    let mut request =
        Request { statement: u32::from_le_bytes(*statement) as usize, arguments: [0; 4] };
    for (argument, bytes) in request.arguments.iter_mut().zip(arguments.chunks_exact(8)) {
        *argument = i64::from_le_bytes(bytes.try_into().ok()?);
    }
    Some(request)
}

/// Appends an answer.
pub fn put_answer(out: &mut Vec<u8>, answer: Answer) {
    let content = [answer.rows.to_le_bytes(), answer.digest.to_le_bytes()].concat();
    put(out, ANSWER, &content);
}

/// An answer, where it is one.
pub fn answer(content: &[u8]) -> Option<Answer> {
    let (rows, digest) = content.split_first_chunk::<8>()?;
    let digest = u64::from_le_bytes(digest.try_into().ok()?);
    Some(Answer { rows: u64::from_le_bytes(*rows), digest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        let request = Request { statement: 2, arguments: [1, -2, i64::MAX, 0] };
        let said = Answer { rows: 7, digest: u64::MAX };
        let mut out = Vec::new();
        put_call(&mut out, &request);
        put_answer(&mut out, said);
        let (tag, length) = Tagged::read(&out[..5]);
        assert_eq!((tag, call(&out[5..5 + length])), (CALL, Some(request)));
        let rest = &out[5 + length..];
        assert_eq!((rest[0], answer(&rest[5..])), (ANSWER, Some(said)));
        assert_eq!((call(&[1]), answer(&[1; 9])), (None, None));
    }
}
