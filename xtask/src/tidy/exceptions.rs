//! What of older code a rule passes over.

use super::tree::{Complaint, Tree};

/// So many complaints below a folder are passed over; the number may only shrink.
pub struct Exception {
    pub below: &'static str,
    pub complaints: usize,
    pub why: &'static str,
}

pub const REWRITTEN: &str = "older than the rule, and being rewritten";

/// What is left to complain of, with the exceptions that are wider than they have to be.
pub fn beyond(
    exceptions: &[Exception],
    tree: &Tree,
    mut complaints: Vec<Complaint>,
) -> Vec<Complaint> {
    for Exception { below, complaints: most, why } in exceptions {
        let is_below = |path: &str| path.starts_with(below);
        let found = complaints.iter().filter(|complaint| is_below(&complaint.path)).count();
        if found <= *most {
            complaints.retain(|complaint| !is_below(&complaint.path));
        }
        let file = tree.files.iter().find(|file| is_below(&file.path));
        if let Some(file) = file.filter(|_| found < *most) {
            let words = format!(
                "{found} complaints below {below}, {most} were excepted ({why}): lower that"
            );
            complaints.push(file.complain(1, words));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_covers_no_more_than_it_says_and_may_only_shrink() {
        let tree = Tree::of([("a/b.rs".to_owned(), String::new())]);
        let left = |found: usize, most, below| {
            let complaints = (0..found).map(|n| tree.files[0].complain(n, "")).collect();
            beyond(&[Exception { below, complaints: most, why: "" }], &tree, complaints).len()
        };
        assert_eq!(left(2, 2, "a/"), 0);
        assert_eq!(left(2, 1, "a/"), 2);
        assert_eq!(left(1, 2, "a/"), 1);
        assert_eq!(left(2, 2, "c/"), 2);
    }
}
