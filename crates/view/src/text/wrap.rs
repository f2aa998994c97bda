//! Line breaking and padding.

use crate::xml::plain;

/// Terminals are assumed to be at least this wide.
pub const LEAST_WIDTH: usize = 60;

/// In columns, without color codes.
pub fn width(text: &str) -> usize {
    plain(text).chars().count()
}

pub fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

pub fn pad_left(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Joins pieces into lines of at most `columns`; pieces are never cut.
pub fn flow(pieces: &[String], separator: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for piece in pieces {
        match lines.last_mut() {
            Some(line) if width(line) + width(separator) + width(piece) <= columns => {
                line.push_str(separator);
                line.push_str(piece);
            }
            _ => lines.push(piece.clone()),
        }
    }
    lines
}

/// The first line begins with `head`, and the others are indented as far.
pub fn flow_beside(
    head: &str,
    indent: usize,
    pieces: &[String],
    separator: &str,
    columns: usize,
) -> Vec<String> {
    let lines = flow(pieces, separator, columns.saturating_sub(indent));
    let beside = |(n, line): (usize, String)| {
        format!("{}{line}", pad(if n == 0 { head } else { "" }, indent))
    };
    lines.into_iter().enumerate().map(beside).collect()
}

pub fn prose(text: &str, columns: usize) -> Vec<String> {
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    flow(&words, " ", columns.max(LEAST_WIDTH / 3))
}

pub fn labelled(label: &str, indent: usize, text: &str, columns: usize) -> String {
    let mut out = String::new();
    for (n, line) in prose(text, columns.saturating_sub(indent)).into_iter().enumerate() {
        let head = if n == 0 { label } else { "" };
        out.push_str(&pad(head, indent));
        if width(head) >= indent && indent > 0 {
            out.push(' ');
        }
        out.push_str(&line);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::ink::Ink;

    #[test]
    fn colours_take_no_room() {
        let text = Ink::Strong.on("four");
        assert_eq!(width(&text), 4);
        assert_eq!(width(&pad(&text, 9)), 9);
        assert_eq!(width("±0.4"), 4);
    }

    #[test]
    fn pieces_flow_without_being_cut() {
        let pieces: Vec<String> = ["0·4", "1·5", "2·6", "3·7"].map(str::to_owned).into();
        assert_eq!(flow(&pieces, "  ", 8), ["0·4  1·5", "2·6  3·7"]);
        assert_eq!(flow(&pieces, "  ", 1), ["0·4", "1·5", "2·6", "3·7"]);
    }
}
