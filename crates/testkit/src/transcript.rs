//! A client's bytes as readable text that differs if the bytes differ.

use std::fmt::Write as _;

use hopcost_core::{Answer, Row};

const LINE: usize = 100;
const MOST: usize = 3_000;

pub fn transcript(bytes: &[u8]) -> String {
    let shown: Vec<String> =
        bytes.iter().take(MOST).map(|byte| byte.escape_ascii().to_string()).collect();
    let (mut text, mut column) = (String::new(), 0);
    for byte in shown {
        if column + byte.len() > LINE {
            text.push('\n');
            column = 0;
        }
        column += byte.len();
        text.push_str(&byte);
    }
    if bytes.len() > MOST {
        let mut digest = Answer::default();
        digest.add(Row::new().text(&bytes.escape_ascii().to_string()));
        let _ = write!(text, "\n({} bytes, digest {:016x})", bytes.len(), digest.digest);
    }
    text
}
