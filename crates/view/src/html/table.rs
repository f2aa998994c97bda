//! Tables that can be copied into a spreadsheet: a figure a cell, its unit in the head, decimals under
//! decimals.

use std::fmt::Write as _;

use hopcost_core::Published;

use crate::words::{minus, thousands};
use crate::xml::escape;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Words.
    Words,
    /// Figures, right-aligned.
    Figures,
}

/// A table of text; nothing without rows.
pub fn table(head: &[(&str, Column)], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let class = |column: Column| if column == Column::Figures { " class=\"n\"" } else { "" };
    let mut out = String::from("<div class=\"scroll\"><table><thead><tr>");
    for (name, column) in head {
        let _ = write!(out, "<th scope=\"col\"{}>{}</th>", class(*column), escape(name));
    }
    out.push_str("</tr></thead><tbody>");
    for row in rows {
        out.push_str("<tr>");
        for (cell, (_, column)) in row.iter().zip(head) {
            let _ = write!(out, "<td{}>{}</td>", class(*column), escape(cell));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>\n");
    out
}

/// Figures of one column with the same decimals, so that their points stand under each other; what
/// is missing is a dash.
pub fn aligned(values: &[Option<f64>]) -> Vec<String> {
    let largest = values.iter().flatten().map(|value| value.abs()).fold(0.0, f64::max);
    let are_whole = values.iter().flatten().all(|value| value.fract() == 0.0);
    let decimals = match largest {
        _ if are_whole => 0,
        m if m >= 999.5 => 0,
        m if m >= 99.95 => 1,
        m if m >= 0.995 => 2,
        _ => 3,
    };
    let written = |value: &Option<f64>| match value {
        Some(value) if decimals == 0 => minus(&thousands(&format!("{value:.0}"))),
        Some(value) => minus(&format!("{value:.decimals$}")),
        None => "–".to_owned(),
    };
    values.iter().map(written).collect()
}

/// What others published: other machines' figures, never a verdict on this one.
pub fn published(results: &[&Published]) -> String {
    let mut out = String::new();
    for result in results {
        // As published: no digit more, no digit less.
        let rows: Vec<Vec<String>> = result
            .figures
            .iter()
            .map(|f| {
                let to = f.to.map_or(String::new(), |to| format!("–{to}"));
                vec![f.of.clone(), format!("{}{to}", f.value), f.unit.clone()]
            })
            .collect();
        let head =
            [("published of", Column::Words), ("figure", Column::Figures), ("unit", Column::Words)];
        let _ = write!(
            out,
            "<p class=\"source faint\"><b>{}</b><br>{}. {}</p>{}",
            escape(&result.title),
            escape(&result.machine),
            escape(&result.source),
            table(&head, &rows)
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_stand_under_decimals() {
        assert_eq!(aligned(&[Some(2.8), None, Some(-12.345)]), ["2.80", "–", "−12.35"]);
        assert_eq!(aligned(&[Some(41.0), Some(0.0)]), ["41", "0"]);
        assert_eq!(aligned(&[Some(1_608.4), Some(15.0)]), ["1,608", "15"]);
    }

    #[test]
    fn cells_are_text_and_nothing_else() {
        let html = table(&[("a<b", Column::Words)], &[vec!["<script>".into()]]);
        assert_eq!(crate::xml::objection(&html), None);
        assert!(!html.contains("<script"));
        assert_eq!(table(&[("a", Column::Words)], &[]), "");
    }
}
