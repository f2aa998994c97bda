//! How DuckDB says that it will carry a query out.

use std::fmt::Write as _;

use serde_json::Value;

use super::super::hosted::LibraryResult;

/// Each part in a line, those that feed it below.
pub fn lines(json: &str) -> LibraryResult<Vec<String>> {
    let parts: Vec<Value> =
        serde_json::from_str(json).map_err(|error| format!("a plan: {error}"))?;
    let mut lines = Vec::new();
    for part in &parts {
        tell(part, 1, &mut lines);
    }
    Ok(lines)
}

fn tell(part: &Value, depth: usize, lines: &mut Vec<String>) {
    let name = part["name"].as_str().unwrap_or_default().trim();
    let mut line = format!("{:indent$}{name}", "", indent = 2 * depth);
    // How many rows are expected is a guess, and changes from one time to another.
    let told = part["extra_info"].as_object().into_iter().flatten();
    for (key, value) in told.filter(|(key, _)| !key.starts_with("Estimated")) {
        let words =
            value.as_str().map_or_else(|| value.to_string(), |text| text.replace('\n', ", "));
        let _ = write!(line, ", {key} {words}");
    }
    lines.push(line);
    for child in part["children"].as_array().into_iter().flatten() {
        tell(child, depth + 1, lines);
    }
}
