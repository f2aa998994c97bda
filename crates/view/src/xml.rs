//! Escaping for XML and HTML.

/// Also removes characters that XML forbids.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            c if c.is_control() && c != '\n' && c != '\t' => {}
            c => safe.push(c),
        }
    }
    safe
}

/// Without terminal colors.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut is_escape = false;
    for c in text.chars() {
        match c {
            '\x1b' => is_escape = true,
            'm' if is_escape => is_escape = false,
            _ if is_escape => {}
            _ => plain.push(c),
        }
    }
    plain
}

/// Checks that elements nest and attributes are quoted; returns the first error.
#[cfg(test)]
pub fn objection(markup: &str) -> Option<String> {
    const EMPTY: [&str; 5] = ["meta", "link", "br", "col", "hr"];
    let mut open: Vec<&str> = Vec::new();
    let mut rest = markup;
    while let Some(at) = rest.find('<') {
        let end = at + rest[at..].find('>')?;
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if tag.starts_with('!') {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            let expected = open.pop();
            if expected != Some(name) {
                return Some(format!("</{name}> closes {expected:?}"));
            }
            continue;
        }
        if tag.matches('"').count() % 2 == 1 || tag.contains('<') {
            return Some(format!("<{tag}>"));
        }
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        if name.is_empty() {
            return Some(format!("<{tag}>"));
        }
        if !tag.ends_with('/') && !EMPTY.contains(&name) {
            open.push(name);
        }
    }
    open.pop().map(|name| format!("<{name}> stays open"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_a_name_stays_text() {
        assert_eq!(escape(r#"<script>"a" & b"#), "&lt;script&gt;&quot;a&quot; &amp; b");
        assert_eq!(escape("a\u{0}b\nc"), "ab\nc");
        assert_eq!(plain("\x1b[1mbold\x1b[0m!"), "bold!");
    }

    #[test]
    fn what_is_not_well_formed_is_named() {
        assert_eq!(objection("<!doctype html><a b=\"c\"><d/><meta x=\"y\"></a>"), None);
        for wrong in ["<a><b></a></b>", "<a>", "<a b=\"c></a>", "< a></ a>"] {
            assert!(objection(wrong).is_some(), "{wrong}");
        }
    }
}
