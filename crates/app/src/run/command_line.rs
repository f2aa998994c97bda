//! The command line, as stored with its run.

/// Quoted for a shell, without secrets in the target's URL.
pub fn kept(words: &[String], target: &str) -> Option<String> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--target" {
            words.next();
            kept.extend([word.clone(), quoted(target)]);
        } else if word.starts_with("--target=") {
            kept.push(quoted(&format!("--target={target}")));
        } else {
            kept.push(quoted(word));
        }
    }
    (!kept.is_empty()).then(|| kept.join(" "))
}

/// Quoted if a shell would split or expand it.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,:/+%@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_reach_a_shell_whole() {
        assert_eq!(quoted("--set=streams=1+2"), "--set=streams=1+2");
        assert_eq!(quoted("my file's"), r"'my file'\''s'");
        assert_eq!(quoted(""), "''");
        let words =
            ["hopcost", "run", "x", "--target", "postgres://u:secret@h/d"].map(String::from);
        let command = kept(&words, "postgres://h/d").unwrap();
        assert_eq!(command, "hopcost run x --target postgres://h/d");
    }
}
