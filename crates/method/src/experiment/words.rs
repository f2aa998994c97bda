//! What people call things: a line each.

use toml::Spanned;

use super::Flaw;

/// The text of a key, which has to be one line that says something.
pub(super) fn line(key: &str, text: Option<&Spanned<String>>) -> Result<Option<String>, Flaw> {
    let Some(text) = text else { return Ok(None) };
    let words = text.get_ref().trim();
    if words.is_empty() || words.contains('\n') {
        return Err(Flaw::of(text, format!("'{key}' is one line of words"), "or leave it out"));
    }
    Ok(Some(words.to_owned()))
}
