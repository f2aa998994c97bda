//! Parts of the help text that are generated from code.

use hopcost_method::fail_if::{FIGURES, GRAMMAR};
use hopcost_method::overrides::SETTINGS;
use hopcost_view::FORMATS;

pub fn settings() -> String {
    let known = SETTINGS.iter().map(|(key, about)| format!("  {key:<11} {about}\n"));
    format!("Change one setting of a comparison (repeatable):\n{}", known.collect::<String>())
}

pub fn fail_if() -> String {
    let known = FIGURES.iter().map(|(name, about)| format!("  {name:<11} {about}\n"));
    format!(
        "Exit with code 4 if EXPR holds for the whole interval, 1 if it cannot be checked (repeatable); 0 does not prove the opposite:\n\n{GRAMMAR}\n{}",
        known.collect::<String>()
    )
}

pub fn formats() -> String {
    let known = FORMATS.iter().map(|format| format!("  {:<11} {}\n", format.name, format.about));
    format!(
        "Print results in format NAME, or write them to FILE (repeatable):\n\n{}",
        known.collect::<String>()
    )
}
