//! Parts of the help text that are generated from code.

use hopcost_method::fail_if::{FIGURES, GRAMMAR};
use hopcost_method::overrides::SETTINGS;
use hopcost_view::FORMATS;

pub fn settings() -> String {
    let known = SETTINGS.iter().map(|(key, about)| format!("  {key:<11} {about}\n"));
    format!("Change one thing about a comparison:\n{}", known.collect::<String>())
}

pub fn fail_if() -> String {
    let known = FIGURES.iter().map(|(name, about)| format!("  {name:<11} {about}\n"));
    format!(
        "End with code 4 where this holds, and with 1 where it cannot be told:\n\n{GRAMMAR}\n{}",
        known.collect::<String>()
    )
}

pub fn formats() -> String {
    let known = FORMATS.iter().map(|format| format!("  {:<11} {}\n", format.name, format.about));
    format!(
        "Show results as NAME, here or in FILE; may be given again, for other files:\n\n{}",
        known.collect::<String>()
    )
}
