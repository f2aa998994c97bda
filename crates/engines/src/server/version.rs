//! Version numbers of servers.

/// `15.18` is 15 and 18; `19devel` is 19.
pub fn numbers(version: &str) -> Vec<u32> {
    let leading = |part: &str| {
        let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        part[..end].parse().ok()
    };
    version.split('.').map_while(leading).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert_eq!(numbers("15.18"), [15, 18]);
        assert_eq!(numbers("19devel"), [19]);
        assert!(numbers("15.18").starts_with(&numbers("15")));
        assert!(!numbers("15.18").starts_with(&numbers("15.1")));
        assert!(numbers("9.6") < numbers("15.1"));
    }
}
