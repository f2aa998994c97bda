//! What others published, beside what was measured here.

use std::fmt::Write as _;

use hopcost_core::Published;

use super::ink::Ink;
use super::wrap::{LEAST_WIDTH, flow};

/// The published results that belong beside a probe, `columns` wide. They are other machines'
/// figures, never a verdict on this one.
pub fn published(results: &[&Published], columns: usize) -> String {
    let columns = columns.clamp(LEAST_WIDTH, 120);
    if results.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "  {}\n",
        Ink::Faint.on("published for other machines, never a verdict on this one")
    );
    for result in results {
        let pieces: Vec<String> = result
            .figures
            .iter()
            .map(|f| {
                // As published: no digit more, no digit less.
                let to = f.to.map_or(String::new(), |to| format!("–{to}"));
                format!("{} {}{to} {}", f.of, f.value, f.unit)
            })
            .collect();
        let _ = writeln!(out, "    {}", result.machine);
        for line in flow(&pieces, " · ", columns - 6) {
            let _ = writeln!(out, "      {}", Ink::Faint.on(&line));
        }
    }
    out
}
