//! How the kernel's text files hold their values.

/// The value of `KEY: value` or `KEY = value` lines, first match.
pub fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once([':', '='])?;
        (name.trim() == key).then(|| value.trim())
    })
}
